"""Decisions and markers of an epoch as events: when a marker is allowed, due and there."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import came_twice, came_twice_within, earliest, latest
from jobs.spark.joins import inner
from jobs.verify.contexts.decided.matching import (
    in_effect,
    listed_decisions,
)
from jobs.verify.contexts.decided.moments import (
    outer_moments,
    sure_moments,
)
from jobs.verify.contexts.decided.places import marker_told, place_number
from udfs.rules import attribution
from udfs.rules.clock import KEPT_IN_TIME_MS, within_clocks
from udfs.rules.logic import surely

OF_EPOCH = ["partition_index", "producer_id", "marker_epoch"]
# Events, in their order within one moment: what a decision allows from then on comes first. Its
# marker is written between OPENS and CLOSES, as far as the clocks of the brokers agree. ALLOWED is
# earlier, by the tolerance: for findings that rest on nothing but the order of two clocks. EARLIEST
# and LATEST are there for OPENS and CLOSES where a clock came to a moment between them twice.
ALLOWED, OPENS, EARLIEST, PREPARED, MARKER, CLOSES, LATEST = range(7)


def runs_from() -> Column:
    """Since when its id runs a transaction of the epoch that lists the partition, ms.

    Of the coordinator's clock; negative where no record tells it, null where none runs.
    """
    running = (F.col("running_epoch") == F.col("marker_epoch")) & F.array_contains(
        "running_partitions", F.col("listed")
    )
    return F.when(running, within_clocks(F.col("running_start_ms")))


def _of_outcome(name: str) -> Column:
    """That of the two which has the outcome of the row."""
    return F.when(F.col("commit"), F.col(f"commits_{name}")).otherwise(F.col(f"aborts_{name}"))


def events(keys: DataFrame, decided: DataFrame, markers: DataFrame, tolerance: Column) -> DataFrame:
    """Events of each key: time (ms), kind, at (offset of the decision or marker in its log)."""
    return _decision_events(keys, decided, tolerance).unionByName(
        _marker_events(keys, markers, tolerance), allowMissingColumns=True
    )


def _decision_events(keys: DataFrame, decided: DataFrame, tolerance: Column) -> DataFrame:
    """ALLOWED to LATEST of each decision.

    own: the markers of the decision have the epoch of the key; due, due_as_read: see `is_due`;
    surely_from, surely_to: see `sure_moments`; reached: the log was there before it, if the
    clocks are kept in time, and no clock came twice to any moment between its two records; is_open,
    newer_there: of the key; clocks_apart_ms: its apart_ms, and 0 for one clock.
    """
    prepared, completed = F.col("prepare_timestamp"), F.col("complete_timestamp")
    lower, higher = outer_moments(prepared, completed)
    opens, closes = lower - F.col("apart_ms"), higher + F.col("apart_ms")
    surely_from, surely_to = sure_moments(prepared, completed, tolerance, "kept_apart")
    # A window that ends within moments that came twice has all of these.
    first = earliest(surely_from - F.col("apart_ms"), tolerance, "kept_apart")
    last = latest(surely_to + F.col("apart_ms"), tolerance, "kept_apart")
    # What is older than the first decision of one outcome may be later than those of the other.
    whole_from, as_read = _of_outcome("whole_from"), _of_outcome("whole_from_as_read")
    due = is_due(surely_from, surely_to, whole_from)
    due &= ~came_twice_within(opens, closes, tolerance, "misleading")
    due_as_read = is_due(prepared, completed, as_read)
    due_as_read &= surely(attribution.clock_went_on(prepared, completed))
    of_decision = F.struct(
        "complete_offset",
        place_number("record_file_index", "record_position").alias("place"),
        F.col("record_length").alias("length"),
        F.col("start_ms").alias("start"),
        prepared.alias("prepared"),
        completed.alias("completed"),
        surely_from.alias("surely_from"),
        surely_to.alias("surely_to"),
        F.col("leader_epoch").alias("from_leader"),
        F.col("complete_leader_epoch").alias("to_leader"),
    )
    one_clock = F.when(F.col("alone_in_cluster"), 0)
    # A fence raises the epoch of the data: its markers have another one, its data may be here.
    own = F.col("decided_epoch") == F.col("marker_epoch")
    moments = F.array(
        *[
            F.struct(F.lit(kind).alias("kind"), time.alias("time"))
            for kind, time in (
                (ALLOWED, F.when(own, lower - tolerance)),
                (OPENS, F.when(own, opens)),
                (EARLIEST, F.when(own & (first < opens), first)),
                (PREPARED, prepared),
                (CLOSES, F.when(own, closes)),
                (LATEST, F.when(own & (last > closes), last)),
            )
        ]
    )
    decisions = (
        listed_decisions(decided.filter(in_effect()))
        .withColumnRenamed("marker_epoch", "decided_epoch")
        .withColumn(
            "marker_epoch", F.explode(F.array_distinct(F.array("decided_epoch", "data_epoch")))
        )
    )
    return (
        inner(keys, decisions, on=["producer_id", "marker_epoch", "listed"])
        .filter(own | (F.col("data_epoch") == F.col("marker_epoch")))
        .select(*OF_EPOCH, "commit", F.col("prepare_offset").alias("at"), own.alias("own"),
                due.alias("due"), due_as_read.alias("due_as_read"),
                of_decision.alias("decision"), "set_backs", "is_open", "newer_there",
                _reached(lower, higher, tolerance).alias("reached"),
                one_clock.otherwise(F.col("apart_ms")).alias("clocks_apart_ms"),
                *[_of_outcome(name).alias(name) for name in ("shown", "lacking", "fewer")],
                F.explode(moments).alias("moment"))
        .select("*", "moment.*")
        .drop("moment")
        .filter("time is not null")
    )  # fmt: skip


def _reached(lower: Column, higher: Column, tolerance: Column) -> Column:
    """Whether the log was there before a decision, of an epoch whose decisions are all known."""
    # What is older than all of one outcome may be later than some of the other.
    older = F.greatest("commits_whole_from", "aborts_whole_from") + KEPT_IN_TIME_MS
    told = surely(F.col("all_decided") & (older < lower))
    reached: Column = told & ~came_twice_within(lower, higher, tolerance)
    return reached


def is_due(prepared: Column, completed: Column, whole_from: Column) -> Column:
    """Whether the marker of a decision must be in the copy, as that is whole around it.

    `prepared`, `completed`: it was made and completed between these moments, ms.
    """
    copied_later = (completed + F.col("apart_ms") <= F.col("whole_to")) | (
        F.col("complete_offset") < F.col("earlier_end")
    )
    due: Column = surely(
        attribution.surely_before(whole_from, prepared, F.col("apart_ms"))
        & copied_later
        & F.col("complete_offset").isNotNull()
    )
    return due


def _marker_events(keys: DataFrame, markers: DataFrame, tolerance: Column) -> DataFrame:
    """MARKER of each marker.

    may_cut: it may have ended data of the transaction that runs; twice: a clock came to its moment
    twice; misled: and that set-back is misleading.
    """
    marked, begun = F.col("marker_timestamp"), F.col("runs_from")
    twice = came_twice(marked, tolerance)
    in_front = attribution.surely_before(marked, begun, F.col("apart_ms")) & ~twice
    in_front &= ~came_twice(begun, tolerance)
    return inner(markers, keys, on=OF_EPOCH).select(
        *OF_EPOCH,
        F.col("marker_commit").alias("commit"),
        F.col("marker_offset").alias("at"),
        F.lit(MARKER).alias("kind"),
        F.col("marker_timestamp").alias("time"),
        "too_many",
        (begun.isNotNull() & ~surely(in_front)).alias("may_cut"),
        twice.alias("twice"),
        came_twice(marked, tolerance, "misleading").alias("misled"),
        marker_told().alias("marker"),
    )
