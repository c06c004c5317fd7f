"""Decisions whose Complete record is lost, though their id went on, and the markers they owe.

The record with which an id goes on is written when its transaction is complete
(`TransactionMarkerChannelManager.maybeWriteTxnCompletion`). So it stands for the Complete record.
Which attempt to decide took effect is not known: one that is lost, too, may have had the other
outcome, or a higher epoch, but it lists the same partitions.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import came_twice_within
from jobs.spark.joins import inner, small
from jobs.verify.contexts.decided.events import is_due, runs_from
from jobs.verify.contexts.decided.matching import KEY, in_effect, listed_decisions
from jobs.verify.contexts.decided.moments import misleading
from jobs.verify.contexts.decided.places import marker_told, place_number
from udfs.rules import attribution
from udfs.rules.logic import surely

# What a row lacks, as `with_counts` tells it of decisions that are complete.
OF_GAP = ("next", "behind")
OF_SHORT = (
    "place", "length", "complete", "told", "start", "prepared", "completed", "as_read", *OF_GAP,
)  # fmt: skip
OF_DECISION = (
    "record_file_index", "record_position", "record_length", "complete_offset", "start_ms",
    "prepare_timestamp", "complete_timestamp", "runs_here", "before", "behind",
)  # fmt: skip


def with_unseen(
    rows: DataFrame,
    in_copies: DataFrame,
    decided: DataFrame,
    markers: DataFrame,
    tolerance: Column,
    keep: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """Adds unseen_short: the first decision that was carried out unseen and has no marker.

    A struct of OF_SHORT; null for none. No marker of the producer, of either outcome and any epoch,
    lies between the Prepare record and the record with which its id went on. complete, completed:
    offset and moment of that record. as_read: markers are there, and those of completed decisions
    beside it do not show that the clocks agree. `rows`: of `with_counts`, made of `in_copies`, of
    which unseen is how many of its decisions are asked; `keep`: computes a frame that is read more
    than once.
    """
    asked = keep(_asked(in_copies.filter(F.col("unseen") > 0), decided, tolerance))
    found = _unmarked(_with_markers(asked, markers))
    return rows.join(small(found), on=KEY, how="left")


def _asked(rows: DataFrame, decided: DataFrame, tolerance: Column) -> DataFrame:
    """One row a decision that was carried out unseen, and is due in the copy of a partition.

    opens, closes: between these moments its marker was written, ms. before, behind: the same of the
    completed decisions next to it that list the partition; null for none.
    """
    epochs = rows.select("producer_id", "listed").distinct()
    at = Window.partitionBy("producer_id", "listed")
    so_far = (Window.unboundedPreceding, -1)
    ended = F.struct(
        F.col("prepare_timestamp").alias("from"), F.col("complete_timestamp").alias("to")
    )
    complete = F.when(F.col("complete_offset").isNotNull(), ended)
    # From the end: Spark reads a frame that ends there anew for each of its rows.
    first, last = at.orderBy("prepare_offset"), at.orderBy(F.desc("prepare_offset"))
    beside = (
        listed_decisions(decided.filter(in_effect()))
        .join(small(epochs), on=["producer_id", "listed"], how="left_semi")
        .withColumns(
            {
                name: F.last(complete, ignorenulls=True).over(order.rowsBetween(*so_far))
                for name, order in (("before", first), ("behind", last))
            }
        )
        .filter(F.col("went_on_at").isNotNull())
        .withColumns({"complete_offset": F.col("went_on_at"),
                      "complete_timestamp": F.col("went_on_ms")})
    )  # fmt: skip
    of_copy = rows.select(
        *KEY, "listed", "whole_from", "whole_to", "earlier_end", "apart_ms", "set_backs",
        "alone_in_cluster", runs_from().isNotNull().alias("runs_here"),
    )  # fmt: skip
    prepared, went_on = F.col("prepare_timestamp"), F.col("complete_timestamp")
    opens, closes = prepared - F.col("apart_ms"), went_on + F.col("apart_ms")
    ordered = ~came_twice_within(opens, closes, tolerance) & attribution.clock_went_on(
        prepared, went_on
    )
    ordered &= ~surely(F.size(misleading(tolerance)) > 0)
    return (
        inner(beside, small(of_copy), on=["producer_id", "marker_epoch", "commit", "listed"])
        .filter(is_due(prepared, went_on, F.col("whole_from")) & ordered)
        .withColumns({"opens": opens, "closes": closes})
    )


def _with_markers(asked: DataFrame, markers: DataFrame) -> DataFrame:
    """Each decision beside the markers of its producer in the partition.

    inside: one lies between the moments of the decision; before_marked, behind_marked: of the one
    beside it; marked: their number; next: the first that is later.
    """
    producers = asked.select("partition_index", "producer_id").distinct()
    of_producers = markers.join(
        small(producers), on=["partition_index", "producer_id"], how="left_semi"
    )
    there = of_producers.select(
        "partition_index",
        "producer_id",
        "marker_timestamp",
        marker_told().alias("marker"),
    )
    at, apart = F.col("marker_timestamp"), F.col("apart_ms")
    beside = [
        surely(at.between(F.col(f"{name}.from") - apart, F.col(f"{name}.to") + apart))
        for name in ("before", "behind")
    ]
    inside = surely(at.between(F.col("opens"), F.col("closes")))
    return (
        asked.join(there, on=["partition_index", "producer_id"], how="left")
        .groupBy(*KEY, "prepare_offset")
        .agg(
            F.max(inside).alias("inside"),
            F.max(beside[0]).alias("before_marked"),
            F.max(beside[1]).alias("behind_marked"),
            F.count("marker").alias("marked"),
            F.min(F.when(at > F.col("closes"), F.col("marker"))).alias("next"),
            *[F.first(name).alias(name) for name in OF_DECISION],
        )
    )


def _clocks_agree() -> Column:
    """Whether the decisions before and after have a marker at their moments, of one at least."""
    before, behind = F.col("before").isNotNull(), F.col("behind").isNotNull()
    agree: Column = (
        (before | behind) & (F.col("before_marked") | ~before) & (F.col("behind_marked") | ~behind)
    )
    return agree


def _unmarked(asked: DataFrame) -> DataFrame:
    """The first decision of each row that has no marker: KEY, unseen_short."""
    lost = F.struct(
        "prepare_offset",
        place_number("record_file_index", "record_position").alias("place"),
        F.col("record_length").alias("length"),
        F.col("complete_offset").alias("complete"),
        F.col("complete_offset").alias("told"),
        F.col("start_ms").alias("start"),
        F.col("prepare_timestamp").alias("prepared"),
        F.col("complete_timestamp").alias("completed"),
        "next",
        F.lit(None).cast("long").alias("behind"),
        ((F.col("marked") > 0) & ~_clocks_agree()).alias("as_read"),
    )
    # The checks of open transactions tell what nothing ends, unless the id runs one there: then
    # they do not know whose the data are.
    told_here = F.col("next").isNotNull() | F.col("runs_here")
    unmarked = asked.filter(~F.col("inside") & told_here)
    return unmarked.groupBy(*KEY).agg(F.min(lost).alias("unseen_short"))
