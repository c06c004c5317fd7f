"""Offsets that an exported copy has more than once: a consumer gets each of them once."""

from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.export.export import Range

# What a record has besides its offset.
CONTENT = ("timestamp", "key", "value", "producer_id", "producer_epoch")
PLACE = "place_in_log"


class Repeated(NamedTuple):
    """A partition in which offsets go back.

    `again`: records with the offset of an earlier one; `differing`: those of other content.
    """

    topic: str
    partition: int
    again: int
    differing: int


def going_back(discontinuities: DataFrame, asked: Iterable[Range]) -> set[int]:
    """The partition_index of the ranges in whose log offsets go back (`offset_not_increasing`)."""
    wanted = {one.partition_index for one in asked}
    rows = discontinuities.filter(F.col("discontinuity") == "overlap")
    return wanted & {row[0] for row in rows.select("partition_index").distinct().collect()}


def in_order(found: DataFrame) -> DataFrame:
    """Rows of RECORD_ROW, as the tasks read one split after the other, with their PLACE."""
    return found.withColumn(PLACE, F.monotonically_increasing_id())


def repeated(ordered: DataFrame, asked: Iterable[Range]) -> list[Repeated]:
    """One row a range. `ordered`: rows of `in_order`."""
    of_offset = Window.partitionBy("partition_index", "offset").orderBy(PLACE)
    content = F.xxhash64(*CONTENT)
    counts = (
        ordered.select(
            "partition_index",
            (F.row_number().over(of_offset) > 1).alias("again"),
            (content != F.first(content).over(of_offset)).alias("differs"),
        )
        .groupBy("partition_index")
        .agg(F.count_if("again").alias("again"), F.count_if("differs").alias("differing"))
    )
    found = {row.partition_index: (row.again, row.differing) for row in counts.collect()}
    return [
        Repeated(one.topic, one.partition, *found.get(one.partition_index, (0, 0))) for one in asked
    ]


def once(ordered: DataFrame) -> DataFrame:
    """The record that comes first of each offset.

    A consumer that has got an offset goes on behind it (`CompletedFetch.nextFetchedRecord`).
    `ordered`: rows of `in_order`.
    """
    of_offset = Window.partitionBy("partition_index", "offset").orderBy(PLACE)
    numbered = ordered.withColumn("nth", F.row_number().over(of_offset))
    return numbered.filter(F.col("nth") == 1).drop("nth", PLACE)
