"""Between which markers of a partition the marker of a decision must lie, by brokers' clocks.

A marker is written between the Prepare and the Complete record of its decision
(`TransactionMarkerChannelManager`), and offsets are given out in the order of appending. So it lies
behind every marker that is earlier for sure, and in front of every one that is later: what is
missing elsewhere in the partition is not this marker.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.markers import Markers
from jobs.model.set_back_clocks import came_twice, came_twice_within, earliest, latest
from jobs.spark.joins import inner, small
from jobs.spark.kept import is_known_empty
from jobs.verify.contexts.decided.matching import KEY
from jobs.verify.contexts.decided.moments import kept_apart, misleading, sure_moments

OF_READING = [*KEY, "which"]
# Decisions of a row that may lack their marker: the first that counting tells, the first that was
# carried out unseen, and the newest that is complete.
COUNTED, UNSEEN, NEWEST = "counted", "unseen", "newest"


def _moments(rows: DataFrame, tolerance: Column) -> DataFrame:
    """Of each row its KEY, and before and behind which moment its marker was not written (at_ms).

    which: COUNTED, UNSEEN, or NEWEST, which is asked in a row without a marker.
    Leaders of the partition before and after it may each differ from the coordinator by apart_ms.
    `KafkaApis.handleWriteTxnMarkersRequest` stamps a marker before it appends it.
    A moment to which a clock came twice may be any of those; it dates nothing where what lies
    outside of them has no order.
    """
    apart, kept = 2 * F.col("apart_ms"), kept_apart(tolerance)
    # A marker has its moment before it is appended, so one that is earlier may lie behind.
    apart_before = F.greatest(apart, tolerance)
    begin, end = sure_moments(F.col("from_ms"), F.col("to_ms"), tolerance, "kept_apart")
    placed = (
        rows.withColumn("reading", F.explode(_readings()))
        .filter("reading is not null")
        .select("*", "reading.*")
        .withColumns({"kept_apart": kept, "misleading": misleading(tolerance)})
        .withColumns({"begin": begin - apart_before, "end": end + apart})
        .withColumns(
            {
                "begin": earliest(F.col("begin"), tolerance, "kept_apart"),
                "end": latest(F.col("end"), tolerance, "kept_apart"),
            }
        )
        .filter(~came_twice_within(F.col("begin"), F.col("end"), tolerance, "misleading"))
    )
    ends = F.array(
        F.struct(F.lit(True).alias("behind"), F.col("begin").alias("at_ms")),
        F.struct(F.lit(False).alias("behind"), F.col("end").alias("at_ms")),
    )
    moments = placed.select(*OF_READING, "set_backs", F.explode(ends).alias("end")).select(
        *OF_READING, "set_backs", "end.*"
    )
    return moments.filter(F.col("at_ms").isNotNull())


def _readings() -> Column:
    """The decisions of a row that are asked (which, from_ms, to_ms): null for none."""
    asked = (
        (COUNTED, F.col("short_place").isNotNull(), "short_prepared", "short_completed"),
        (UNSEEN, F.col("unseen_short").isNotNull(), "unseen_short.prepared",
         "unseen_short.completed"),
        (NEWEST, F.col("markers").isNull(), "completed_prepare", "complete_timestamp"),
    )  # fmt: skip
    return F.array(
        *[
            F.when(
                there,
                F.struct(
                    F.lit(which).alias("which"),
                    F.col(prepared).alias("from_ms"),
                    F.col(completed).alias("to_ms"),
                ),
            )
            for which, there, prepared, completed in asked
        ]
    )


def nearest_markers(
    asked: DataFrame, markers: DataFrame, key: list[str], tolerance: Column
) -> DataFrame:
    """Of each `key` of `asked`, which begins with partition_index: behind_marker, before_marker.

    The last marker that is earlier than the moment at_ms (where `behind`), and the first that is
    later (where not); offsets, null for none. `markers`: partition_index, marker_timestamp,
    marker_offset. A marker to whose moment a clock came twice is neither.
    """
    partitions = asked.groupBy("partition_index").agg(F.first("set_backs").alias("set_backs"))
    there = (
        inner(markers, small(partitions), on="partition_index")
        .filter(~came_twice(F.col("marker_timestamp"), tolerance))
        .select(
            "partition_index",
            F.col("marker_timestamp").alias("at_ms"),
            F.col("marker_offset").alias("at_offset"),
        )
    )
    # What is asked has no offset, and comes first of one moment: of that no marker counts.
    of_partition, first = (
        Window.partitionBy("partition_index"),
        F.col("at_offset").asc_nulls_first(),
    )
    earlier = of_partition.orderBy("at_ms", first)
    later = of_partition.orderBy(F.desc("at_ms"), first)
    before = (Window.unboundedPreceding, -1)
    highest = F.max("at_offset").over(earlier.rowsBetween(*before))
    lowest = F.min("at_offset").over(later.rowsBetween(*before))
    behind = F.col("behind")
    return (
        asked.unionByName(there, allowMissingColumns=True)
        .select("*", highest.alias("highest"), lowest.alias("lowest"))
        .filter(behind.isNotNull())
        .groupBy(*key)
        .agg(
            F.max(F.when(behind, F.col("highest"))).alias("behind_marker"),
            F.min(F.when(~behind, F.col("lowest"))).alias("before_marker"),
        )
    )


def with_window(
    rows: DataFrame,
    gapped: DataFrame,
    markers: Markers,
    tolerance: Column,
    keep: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """Adds the nearest markers, of any producer, around the one that a decision lacks.

    around_counted, around_unseen, around_newest: of each decision of `_readings`. behind_marker:
    the last that is surely earlier than the decision; before_marker: the first that is surely later
    than its Complete record; offsets, null for none. `rows`: of `with_unseen`, kept; `gapped`:
    partition_index of the partitions in which something is missing; in the others nothing is looked
    for. `keep`: computes a frame that is read more than once.
    """
    lacking = rows.filter(
        (F.col("complete_offset").isNotNull() & F.col("markers").isNull())
        | F.col("short_place").isNotNull()
        | F.col("unseen_short").isNotNull()
    )
    in_gapped = lacking.join(small(gapped), on="partition_index", how="left_semi")
    asked = keep(_moments(in_gapped, tolerance))
    there = markers.in_partitions(asked.select("partition_index").distinct())
    around = F.struct("behind_marker", "before_marker")
    found = (
        nearest_markers(asked, there, OF_READING, tolerance)
        .groupBy(*KEY)
        .agg(
            *[
                F.max(F.when(F.col("which") == one, around)).alias(f"around_{one}")
                for one in (COUNTED, UNSEEN, NEWEST)
            ]
        )
    )
    return rows.join(found, on=KEY, how="left")


def with_last_older(
    judged: DataFrame, markers: Markers, tolerance: Column, keep: Callable[[DataFrame], DataFrame]
) -> DataFrame:
    """Adds last_older: the offset behind which a transaction was lost of which nothing is there.

    That is held_from, or behind it the last marker that is earlier than the Prepare record, as both
    were written: the most probable place, while held_from is what proves that something is lost.
    So is short_behind, of a decision of a shared epoch behind which no marker of it comes.
    `judged`: of `decided.judged`, kept.
    """
    nothing = F.col("data_run").isNull() & F.col("markers").isNull()
    nothing &= F.col("held_from").isNotNull()
    counted = F.col("short_behind").isNotNull() & F.col("short_next").isNull()
    lost = judged.filter((nothing | counted) & ~F.col("marker_missing"))
    which = F.when(counted, COUNTED).otherwise(F.col("judged"))
    reading = F.get(F.filter(_readings(), lambda one: one["which"] == which), 0)
    at_ms = reading["from_ms"].alias("at_ms")
    moments = lost.select(*KEY, "set_backs", F.lit(True).alias("behind"), at_ms)
    asked = keep(moments.filter(~came_twice(F.col("at_ms"), tolerance)))
    if is_known_empty(asked):
        return judged.withColumn("last_older", F.col("held_from"))
    there = markers.in_partitions(asked.select("partition_index").distinct())
    earlier = nearest_markers(asked, there, KEY, tolerance).drop("before_marker")
    return (
        judged.join(small(earlier), on=KEY, how="left")
        .withColumns(
            {
                "last_older": F.greatest("held_from", F.when(nothing, F.col("behind_marker"))),
                "short_behind": F.greatest("short_behind", F.when(counted, F.col("behind_marker"))),
            }
        )
        .drop("behind_marker")
    )
