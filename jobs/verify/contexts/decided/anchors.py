"""What proves that the marker of a decision must be in a copy of a partition, and from where on.

Time, extent and attribution meet here for one row of the context `decided_partition`; their rules
are those of `udfs.rules.clock`, `extent` and `attribution`.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.markers import Markers
from jobs.model.set_back_clocks import came_twice, covers_once
from jobs.spark.joins import small
from jobs.verify.conditions.copies import one_instant
from jobs.verify.conditions.missing import marker_lost, marker_missing_between
from jobs.verify.contexts.decided.moments import covers_completion
from jobs.verify.verdict import CLOCK_SKEW, DUMP_BEFORE_EVENT, MISSING_RANGE
from udfs.rules import attribution
from udfs.rules.clock import ADJUSTED_MS, BEYOND_CLOCKS_MS, within_clocks
from udfs.rules.extent import MAX_OFFSET, is_replicated
from udfs.rules.logic import surely


def apart_ms(tolerance: Column) -> Column:
    """How far the clocks of coordinator and partition may be apart, ms; see `_extent_of_row`."""
    one_clock = F.least(F.lit(ADJUSTED_MS), tolerance)
    apart: Column = F.when(F.col("alone_in_cluster"), one_clock).otherwise(tolerance)
    return apart


def _extent_of_row(tolerance: Column) -> list[Column]:
    """From when on and up to when a marker of the row must be in the copy of the partition.

    apart_ms: how far the clocks of coordinator and partition may be apart; the broker of a cluster
    of one has one clock. at_once: this copy and the coordinator's are of one moment. whole_from:
    everything from then on is there (ms): a broker's clock says that something is older, or data of
    a lower epoch of the same producer are there, which a marker ended before the decision;
    whole_from_as_read: the same by the first moment, though a clock may have come to it twice.
    whole_to: the copy is complete up to then.
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
            F.when(older, F.lit(-2 * BEYOND_CLOCKS_MS)).otherwise(F.col(first)).alias(name)
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
    goes_on = surely(is_replicated(F.col("later_run.run_first"), F.col("stable_below"))) | (
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
    this copy reaches over it.
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


def _begun_late(tolerance: Column) -> Column:
    """Whether data of the epoch may first have come to a log that is younger than the decision.

    Its first moment, in front of them, is later than the Prepare record; or their own is, where the
    broker stamps them, as a client asks for the end of a transaction when its data are in the log
    (`Sender.maybeSendAndPollTransactionalRequest`). Or the marker that ended the first of them may
    be: an operator may have ended what came late. A topic that was created again takes them, too.
    One with the epoch of the decision took the place of its marker, whoever wrote it.
    """
    first = F.col("data_run.first_offset")
    in_front = F.when(F.col("first_read_offset") < first, F.col("first_read_ms"))
    own, ended = F.col("data_begun_ms"), F.col("first_ended_ms")
    prepared = F.col("completed_prepare")
    in_place = F.col("prepared_data_epoch") == F.col("marker_epoch")
    before = attribution.marked_before(
        ended, prepared, F.col("apart_ms"), in_place | F.col("first_ended_commit"), F.lit(True)
    )
    later = surely(F.greatest(in_front, own) > prepared) | surely(~before)
    twice = came_twice(in_front, tolerance) | came_twice(own, tolerance)
    late: Column = later | twice | came_twice(ended, tolerance)
    return late


def _of_counted() -> list[Column]:
    """counted_from, counted_gone: `_held` of the decision that counting tells; null for none.

    Its marker is due where something is older.
    """
    short = F.col("short_place").isNotNull()
    older = F.coalesce("earlier_offset", "order_anchor", "first_dated_offset", "first_read_offset")
    gone = surely(_gone_behind(older, F.lit(False), "around_counted"))
    return [
        F.when(short, F.coalesce("own_data_last", older)).alias("counted_from"),
        F.when(short, gone).alias("counted_gone"),
    ]


def _by_count() -> Column:
    """Whether a row is judged by the decision that counting tells, and not by its newest one.

    Where it has no marker at all, each of its decisions lacks one: the count tells the first that
    is due. That proves more than the newest one if it is another, and nothing explains that its
    marker is not there. The newest one may be too late for the copy, or its marker may be lost.
    """
    of_version_2 = surely(F.col("with_transaction_version_1") == 0)
    refused = attribution.format_may_refuse(
        F.col("last_legacy_offset"), F.col("counted_from"), of_version_2
    )
    proven = (
        (F.col("short_complete") < F.col("complete_offset"))
        & is_replicated(F.col("short_complete"), F.col("coordinator_stable_below"))
        & ~(F.col("short_as_read") | F.col("counted_gone"))
        & ~surely(refused)
    )
    told: Column = F.col("markers").isNotNull() | F.col("short_unseen") | surely(proven)
    return F.col("short_place").isNotNull() & told


def _of_newest(tolerance: Column) -> list[Column]:
    """newest_from, newest_unproven, newest_gone: `_held` of the newest decision of the row.

    Data of an epoch that transactions share may have come late, behind the marker of their own one,
    which may be gone with the head of the log. So they prove that a marker is due only where the
    log has had no other head since their epoch began in it: then it is due from offset 0 on.
    """
    older = F.coalesce("earlier_offset", "order_anchor", "clock_anchor", "replica_anchor")
    settled = F.col("owner_settled") & ~F.col("owner_may_be_lost")
    theirs = F.coalesce(F.when(settled, F.col("owned_last")), F.col("early_anchor"))
    whole = attribution.has_had_no_other_head(
        F.col("first_base"), F.col("coordinator_topic"), F.col("data_first_sequence")
    )
    there = F.col("coordinator_topic") | ~_begun_late(tolerance)
    from_start = F.when(theirs.isNotNull() & surely(whole & there), F.lit(-1))
    surely_from = F.coalesce("own_data_last", older, from_start)
    held_from = F.coalesce(surely_from, "owned_last", "early_anchor", "near_anchor")
    # The cleaner keeps the marker of data that are still there, at or above the log start.
    own_data = F.col("own_data_last").isNotNull()
    likely_from = F.coalesce("own_data_last", "owned_last", "early_anchor", held_from)

    def gone(anchor: Column) -> Column:
        return surely(_gone_behind(anchor, own_data, "around_newest"))

    proven = surely_from.isNotNull() & ~gone(surely_from)
    # A later transaction may own the data: it is lost, or not in the copy of the log yet.
    not_yet = F.col("owned_last").isNotNull() & ~F.col("owner_may_be_lost")
    by_near_clock = surely_from.isNull() & F.col("owned_last").isNull()
    unproven = (
        F.when(proven, F.lit(None))
        .when(theirs.isNotNull(), F.lit(MISSING_RANGE))
        .when(not_yet, F.lit(DUMP_BEFORE_EVENT))
        .when(by_near_clock, F.lit(CLOCK_SKEW))
        .otherwise(F.lit(MISSING_RANGE))
    )
    return [
        held_from.alias("newest_from"),
        unproven.alias("newest_unproven"),
        gone(likely_from).alias("newest_gone"),
    ]


def _gone_behind(anchor: Column, own_data: Column, around: str) -> Column:
    """Whether a marker may be missing between an offset and where it is due at last.

    `own_data`: the offset is that of data of this transaction alone; `around`: see `with_window`.
    """
    first = F.greatest(anchor, F.col(f"{around}.behind_marker")) + 1
    held_to = F.least("later_run.run_first", f"{around}.before_marker", F.lit(MAX_OFFSET))
    # A decision's markers have the epoch of its Prepare record, if that is the one in effect.
    epoch = F.when(~F.col("short_unseen"), F.col("marker_epoch"))
    return F.when(own_data, marker_lost(anchor, first, held_to, F.col("commit"))).otherwise(
        marker_missing_between(first, held_to, epoch)
    )


def _may_come(tolerance: Column) -> Column:
    """Whether the marker that is missing may be one that a replica has behind the end of the copy.

    Of an epoch that transactions share it may be that of another one: then its moment is surely
    later than the Complete record. That counts in a copy whose high watermark is known: what lies
    above it may be of a leader that was replaced. A copy that is only shorter has no data from
    after the marker.
    """
    behind, apart = F.col("behind_end_ms"), F.col("apart_ms")
    of_another = (
        attribution.surely_before(F.col("short_completed"), behind, apart)
        & ~F.col("short_unseen")
        & ~came_twice(behind, tolerance)
        & F.col("high_watermark").isNotNull()
    )
    may: Column = behind.isNotNull() & ~surely(of_another) & ~surely(F.col("goes_on"))
    return may


# What counting tells of a row that is judged by it.
OF_COUNTED = (
    "place", "length", "told", "complete", "start", "prepared", "completed", "as_read",
)  # fmt: skip


def _held(tolerance: Column) -> dict[str, Column]:
    """From where on the marker of the row must be there, and what is not proven of it.

    short_number: null where something of the copy is missing, which may hold some of the markers.
    """
    by_count = F.col("by_count")
    lacks = (F.size("missing") > 0) | (F.size("holes") > 0) | F.col("emptied").isNotNull()
    return {
        "short_number": F.when(by_count & ~surely(lacks), F.col("short_number")),
        **{f"short_{name}": F.when(by_count, F.col(f"short_{name}")) for name in OF_COUNTED},
        "held_from": F.when(by_count, F.col("counted_from")).otherwise(F.col("newest_from")),
        "unproven": F.when(~by_count, F.col("newest_unproven")),
        "marker_missing": F.when(by_count, F.col("counted_gone")).otherwise(F.col("newest_gone")),
    }


def with_anchors(rows: DataFrame, tolerance: Column) -> DataFrame:
    """Adds held_from and what it rests on: `_anchors`, `_held`; after `with_window`.

    by_count: see `_by_count`; may_come: see `_may_come`.
    """
    anchored = rows.select("*", *_anchors(tolerance))
    read = anchored.select("*", *_of_counted(), *_of_newest(tolerance))
    judged = read.withColumn("by_count", _by_count()).withColumns(_held(tolerance))
    return judged.withColumn("may_come", _may_come(tolerance))


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
        markers.in_partitions(asked.select("partition_index"))
        .join(small(asked), on="partition_index", how="inner")
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
