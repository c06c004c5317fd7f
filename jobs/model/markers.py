"""Markers of a dump, each with the data that it ended; of those folded away only what is asked."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from udfs.rules.clock import within_clocks

COLUMNS = (
    "partition_index",
    "producer_id",
    "marker_epoch",
    "marker_commit",
    "marker_offset",
    "coordinator_epoch",
    "marker_timestamp",
    "file_index",
    "marker_position",
    "marker_length",
    "data_epoch",
    "first_offset",
    "last_offset",
    "first_timestamp",
)


@dataclass(frozen=True)
class Markers:
    """Frames of COLUMNS; one row is a marker.

    data_epoch: the highest producer epoch of the data, null for none, and where the marker need not
    be that of the data in front of it. first_timestamp: the largest of the first batch of the data.
    Both moments (ms) are cut by `within_clocks`.

    `rows`: those that were not folded away, the last one of each partition among them; `every`: all
    of the dump; `not_plain`: those of epochs that are not plain (`jobs.model.plain_epochs`).
    `of_producers`, `in_partitions`: those of the producers or partitions of a frame (distinct, one
    column, producer_id or partition_index).
    """

    rows: DataFrame
    every: DataFrame
    not_plain: DataFrame
    of_producers: Callable[[DataFrame], DataFrame]
    in_partitions: Callable[[DataFrame], DataFrame]


def as_markers(transactions: DataFrame) -> DataFrame:
    """Frames of COLUMNS of rows of `jobs.model.transactions.all_transactions` that have ended."""
    return transactions.withColumns(
        {
            "data_epoch": F.col("highest_epoch"),
            "file_index": F.col("marker_file_index"),
            **{
                name: within_clocks(F.col(name)) for name in ("marker_timestamp", "first_timestamp")
            },
        }
    ).select(*COLUMNS)
