"""What was completed first with a marker in a partition: what comes later must have one, too."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.plain_epochs import PlainEpochs
from jobs.model.set_back_clocks import came_twice
from jobs.spark.joins import inner, small
from jobs.verify.conditions.copies import apart_ms
from udfs.rules import attribution
from udfs.rules.logic import surely


def _completed_alone(rows: DataFrame, tolerance: Column, apart_ms: Column) -> DataFrame:
    """Decisions with one Complete record and one marker, which came before that record.

    Columns: partition_index, coordinator_index, complete_offset, marker_offset. `rows`: those of
    `matched` with the set_backs of their copy; `apart_ms`: how far the clocks of coordinator and
    partition may be apart, and `tolerance`: those of any brokers.
    """
    single = (F.col("prepares") == 1) & (F.col("completes") == 1) & (F.col("markers") == 1)
    # A later one may be that of a transaction whose Prepare record is compacted away.
    single &= attribution.marked_before(
        F.col("latest_marker"),
        F.col("complete_timestamp"),
        apart_ms,
        ~attribution.may_be_operators(F.col("commit"), F.col("raised_offset").isNotNull()),
        F.col("closing") > 0,
    )
    single &= ~came_twice(F.col("latest_marker"), tolerance)
    return rows.filter(single).select(
        "partition_index",
        F.col("prepared_index").alias("coordinator_index"),
        "complete_offset",
        "marker_offset",
    )


def completed(
    rows: DataFrame,
    plain: PlainEpochs | None,
    every_row: Callable[[], DataFrame],
    copies: DataFrame,
    tolerance: Column,
) -> DataFrame:
    """`_completed_alone` of all rows, of plain epochs the first ones.

    `rows`: those of the context; `every_row`: these and those of plain epochs; `copies`: of
    partitions; `tolerance`: of clocks, ms.
    """
    of_copy = copies.select("partition_index", "alone_in_cluster", "set_backs")

    def alone(some: DataFrame) -> DataFrame:
        placed = inner(some, small(of_copy), on="partition_index")
        return _completed_alone(placed, tolerance, apart_ms(tolerance))

    if plain is None:
        return alone(rows)
    # Where a moment may be two, which of the plain ones is the first is for the rows to say.
    if not copies.filter(F.size("set_backs") > 0).isEmpty():
        return alone(every_row())
    firsts = inner(plain.first_ended, small(of_copy), on="partition_index")
    of_clocks = firsts.filter(F.col("one_clock") == surely(F.col("alone_in_cluster")))
    return alone(rows).unionByName(
        of_clocks.select("partition_index", "coordinator_index", "complete_offset", "marker_offset")
    )


def first_ended(completed: DataFrame, coordinators: DataFrame) -> DataFrame:
    """What was completed first, of each partition of the coordinator's log, with a marker here.

    One row a partition_index and coordinator_partition. ended_complete, ended_marker: offsets of
    the Complete record and of the marker. `completed`: of `completed`;
    `coordinators`: partitions of `__transaction_state` by deciding_index.
    """
    placed = completed.join(
        small(coordinators.select("deciding_index", "coordinator_partition")),
        F.col("coordinator_index") == F.col("deciding_index"),
        "inner",
    )
    first = F.min(F.struct("complete_offset", "marker_offset"))
    return (
        placed.groupBy("partition_index", "coordinator_partition")
        .agg(first.alias("first"))
        .select(
            "partition_index",
            "coordinator_partition",
            F.col("first.complete_offset").alias("ended_complete"),
            F.col("first.marker_offset").alias("ended_marker"),
        )
    )
