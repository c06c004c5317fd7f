"""What a context is, and the columns that every context gives its findings."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.rules.logic import surely

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

    `folded`: rows that were found regular by the decoder already and are not in `rows`.
    `empty`: it is known to have no rows, and costs no pass. `within_cluster`: its rows are put
    together from several partitions by producer ids, transactional ids or groups, which mean
    something within one cluster only.
    `enrich` adds what only irregular rows need (paths of files, partition_info of the coordinator).
    """

    name: str
    rows: DataFrame
    regular: Callable[[], Column]
    enrich: Callable[[DataFrame], DataFrame] = lambda rows: rows
    folded: int = 0
    empty: bool = False
    within_cluster: bool = False

    def is_irregular(self) -> Column:
        """Whether a row needs a look."""
        return ~surely(self.regular())


def no_rows(name: str, frame: DataFrame, folded: int = 0) -> Context:
    """A context of which it is known that it has no rows; nothing of `frame` is read.

    `folded`: what was found regular already.
    """
    # Not even limited: the engine never touches it, and each call to the JVM costs.
    return Context(name, frame, lambda: F.lit(True), folded=folded, empty=True)


def with_paths(rows: DataFrame, files: DataFrame, **paths: str) -> DataFrame:
    """Adds paths of files: `with_paths(rows, files, file="file_index")` adds the column `file`.

    Files are numbered from 0 without gaps, so all paths travel as one array in one broadcast.
    """
    numbered = F.array_sort(F.collect_list(F.struct("file_index", "path")))
    names = files.agg(numbered.getField("path").alias("all_paths"))
    added = [F.expr(f"all_paths[{index}]").alias(path) for path, index in paths.items()]
    return rows.crossJoin(F.broadcast(names)).select("*", *added).drop("all_paths")
