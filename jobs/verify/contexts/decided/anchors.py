"""What proves that the marker of a decision must be in a copy of a partition, and from where on.

Time, extent and attribution meet here for one row of the context `decided_partition`; their rules
are those of `udfs.rules.clock`, `extent` and `attribution`.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.markers import Markers
from jobs.model.set_back_clocks import came_twice, covers_once
from jobs.spark.joins import inner, small
from jobs.verify.conditions.copies import apart_ms, one_instant
from jobs.verify.contexts.decided.moments import covers_completion
from udfs.rules import attribution
from udfs.rules.clock import BEYOND_CLOCKS_MS, within_clocks
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely


def _extent_of_row(tolerance: Column) -> list[Column]:
    """From when on and up to when a marker of the row must be in the copy of the partition.

    apart_ms: see `jobs.verify.conditions.copies`. at_once: this copy and the coordinator's are of
    one moment. whole_from: everything from then on is there (ms): a broker's clock says that
    something is older, or data of a lower epoch of the same producer are there, which a marker
    ended before the decision; whole_from_as_read: the same by the first moment, though a clock may
    have come to it twice. Both are earlier where the log begins with its partition (all_since_ms,
    null where not known). whole_to: the copy is complete up to then.
    """
    older = F.col("earlier_offset").isNotNull()
    same_broker = (
        (F.col("coordinator_broker") == F.col("broker"))
        & F.col("alone_in_cluster")
        & F.col("clean_shutdown")
        & F.col("coordinator_clean_shutdown")
    )
    at_once = surely(one_instant("coordinator_clean_shutdown")) | surely(same_broker)
    return [
        apart_ms(tolerance).alias("apart_ms"),
        at_once.alias("at_once"),
        *[
            F.when(older, F.lit(-2 * BEYOND_CLOCKS_MS))
            .otherwise(F.least(first, "all_since_ms"))
            .alias(name)
            for first, name in (
                ("first_dated_ms", "whole_from"),
                ("first_read_ms", "whole_from_as_read"),
            )
        ],
        F.when(at_once, F.lit(2 * BEYOND_CLOCKS_MS)).otherwise(F.col("complete_up_to_ms")).alias(
            "whole_to"
        ),
    ]  # fmt: skip


def _lateness(tolerance: Column) -> list[Column]:
    """Whether the copies are late enough to say that something is missing in them.

    goes_on: see `decided_partition_context`. copied_later: the copy of the partition is later than
    the Complete record. history_later, history_after_all: the copy of the coordinator's log is
    later than the first, and the last, marker of the row.
    """
    # Only replicated data count: a leader that was replaced without knowing appends further data,
    # while the marker goes to the new leader.
    goes_on = surely(is_replicated(F.col("later_run.run_first"), F.col("replicated_below"))) | (
        F.col("alone_in_cluster") & F.col("later_run").isNotNull()
    )
    # A Complete record in the copy of the coordinator's log that was made before all other copies
    # is older than the copy of the partition.
    later = goes_on | (F.col("complete_offset") < F.col("earlier_end"))
    in_time = F.col("at_once") | covers_completion(F.col("complete_up_to_ms"), tolerance)

    def history_later(marker: str) -> Column:
        covered = covers_once(F.col("history_covers_ms"), F.col(marker), tolerance)
        copied_later = attribution.is_copied_later(
            F.col("marker_epoch"),
            F.col("newest_epoch"),
            one_instant("history_clean_shutdown") | covered,
        )
        known: Column = surely(copied_later)
        return known

    return [
        goes_on.alias("goes_on"),
        surely(in_time | later).alias("copied_later"),
        history_later("earliest_marker").alias("history_later"),
        history_later("latest_marker").alias("history_after_all"),
    ]


def _anchors(tolerance: Column) -> list[Column]:
    """What in the partition is of the newest decision of the row, or older than it.

    Offsets, null for none:
    own_data_last: the last of the data that are of this transaction, as no other has their epoch.
    owned_last: the last of the data that no later transaction than this one can own, if none was
    begun since (owner_settled). early_anchor: the last of data that were ended before any later
    transaction was begun. order_anchor: the marker of a transaction that the same log completed
    before it prepared this one, whatever the clocks say. clock_anchor: the first batch with a
    moment of a broker's clock, if it is older than the decision for sure; near_anchor: if by clocks
    that may differ. replica_anchor: the offset before the one at which a replica has the marker, if
    this copy reaches over it. head_anchor: -1, if the log begins with its partition, and that was
    there at the decision.
    """
    running = surely(
        (F.col("running_epoch") == F.col("prepared_data_epoch"))
        & F.array_contains("running_partitions", F.col("listed"))
    )
    single = surely(attribution.one_transaction_an_epoch(F.col("epoch_shared")))
    held = F.col("data_run").isNotNull()
    unended = attribution.is_unended(
        F.col("data_run_last"), F.coalesce("ended_run_last", F.lit(-1))
    )
    owns = held & surely(
        # One that is not complete owns what is there, and its marker may be to come.
        attribution.owns_what_is_there(F.col("newest_completed"), F.col("newest_owner"), running)
    )
    marker_later = (F.col("last_marker_offset") > F.col("data_run_last")) & covers_once(
        F.col("history_covers_ms"), F.col("last_marker_ms"), tolerance
    )
    moved_on = F.col("newest_epoch") > F.col("prepared_data_epoch")
    prepared = F.col("completed_prepare")
    first = F.col("first_dated_ms")
    nearly = (first < prepared) & (F.col("last_marker_ms") > F.col("complete_timestamp"))
    by_clock = attribution.surely_before(first, prepared, tolerance) | (
        nearly & attribution.surely_before(first, prepared, F.col("apart_ms"))
    )
    by_order = (F.col("prepares") == 1) & attribution.ended_before(
        F.col("ended_complete"), F.col("newest_prepare")
    )
    there = attribution.surely_before(F.col("all_since_ms"), prepared, F.col("apart_ms"))
    here = (
        F.col("markers").isNull()
        & (F.col("marked_in_replica") >= F.col("first_base"))
        & (F.col("marked_in_replica") < F.col("log_end_offset"))
    )
    return [
        F.when(held & single & unended, F.col("data_run_last")).alias("own_data_last"),
        F.when(owns, F.col("data_run_last")).alias("owned_last"),
        (F.col("at_once") | surely(marker_later) | surely(moved_on)).alias("owner_settled"),
        F.when(_ended_early(running, tolerance), F.col("first_ended_last")).alias("early_anchor"),
        F.when(by_order, F.col("ended_marker")).alias("order_anchor"),
        F.when(by_clock, F.col("first_dated_offset")).alias("clock_anchor"),
        F.when(nearly, F.col("first_dated_offset")).alias("near_anchor"),
        F.when(here, F.col("marked_in_replica") - 1).alias("replica_anchor"),
        F.when(there, F.lit(-1).cast("long")).alias("head_anchor"),
    ]


def _ended_early(running: Column, tolerance: Column) -> Column:
    """Whether a marker ended data of the epoch before any transaction behind this one was begun."""
    begun = F.least("later_start_ms", F.when(running, within_clocks(F.col("running_start_ms"))))
    only = F.col("markers").isNull() & (F.col("with_transaction_version_1") == 1)
    ended_early: Column = surely(
        only
        & ~F.col("owner_may_be_lost")
        & (F.col("prepares") == F.col("completes"))
        & attribution.surely_before(F.col("first_ended_ms"), begun, F.col("apart_ms"))
        & ~came_twice(F.col("first_ended_ms"), tolerance)
    )
    return ended_early


def with_anchors(rows: DataFrame, tolerance: Column) -> DataFrame:
    """Adds the columns of `_anchors`; after `with_copies`."""
    return rows.select("*", *_anchors(tolerance))


def with_copies(rows: DataFrame, tolerance: Column) -> DataFrame:
    """Adds from when on up to when the copies are whole: `_extent_of_row`, `_lateness`."""
    return rows.select("*", *_extent_of_row(tolerance)).select("*", *_lateness(tolerance))


def with_first_once(
    copies: DataFrame, markers: Markers, tolerance: Column, keep: Callable[[DataFrame], DataFrame]
) -> DataFrame:
    """Copies of partitions, first_dated_* being the first moment to which no clock came twice.

    A batch whose moment came twice may be later than decisions with a later timestamp: there the
    first marker counts that is dated; null for none. first_read_*: the first moment, whatever it
    is. `keep`: computes a frame; where no moment came twice, nobody goes through the markers.
    """
    twice = came_twice(F.col("first_dated_ms"), tolerance)
    asked = keep(copies.filter(twice).select("partition_index", "set_backs"))
    first = F.min(F.struct("marker_offset", "marker_timestamp")).alias("first_once")
    dated = (
        inner(
            markers.in_partitions(asked.select("partition_index")),
            small(asked),
            on="partition_index",
        )
        .filter(~came_twice(F.col("marker_timestamp"), tolerance))
        .groupBy("partition_index")
        .agg(first)
    )
    names = {"first_dated_offset": "marker_offset", "first_dated_ms": "marker_timestamp"}
    chosen = {
        name: F.when(twice, F.col(f"first_once.{of_marker}")).otherwise(F.col(name))
        for name, of_marker in names.items()
    }
    as_read = {
        "first_read_offset": F.col("first_dated_offset"),
        "first_read_ms": F.col("first_dated_ms"),
    }
    placed = copies.join(small(dated), on="partition_index", how="left").withColumns(as_read)
    return placed.withColumns(chosen).drop("first_once")
