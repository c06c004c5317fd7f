"""What a context is, and the columns that every context gives its findings."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

# Every context gives these, so that a finding says where it is without help of its check.
PLACE_COLUMNS = (
    "topic",
    "partition",
    "broker",
    "offset_first",
    "offset_last",
    "producer_id",
    "producer_epoch",
    "transactional_id",
    "file",
    "byte_position",
    "byte_length",
)


@dataclass(frozen=True)
class Context:
    """Rows that checks read. `regular`: no check of the context can fire on the row.

    `enrich` adds what only irregular rows need (paths of files, facts of the coordinator).
    """

    name: str
    rows: DataFrame
    regular: Callable[[], Column]
    enrich: Callable[[DataFrame], DataFrame] = lambda rows: rows

    def is_irregular(self) -> Column:
        """Whether a row needs a look."""
        return ~F.coalesce(self.regular(), F.lit(False))


def with_path(rows: DataFrame, files: DataFrame, index: str, path: str) -> DataFrame:
    """Adds the path of the file numbered in column `index` as column `path`."""
    names = F.broadcast(files.select(F.col("file_index").alias(index), F.col("path").alias(path)))
    return rows.join(names, on=index, how="left")
