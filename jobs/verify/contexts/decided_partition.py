"""Context `decided_partition`: one row is a decision of the coordinator and a partition of it."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.verify.conditions import lost_between, marker_missing_between, one_instant
from jobs.verify.contexts.context import Context
from jobs.verify.contexts.decided_counts import with_counts
from jobs.verify.contexts.decided_data import runs_of, with_data, with_reach
from jobs.verify.contexts.decided_epochs import with_decision, with_other_outcome, with_outcomes
from jobs.verify.contexts.decided_matching import (
    first_ended,
    has_too_many,
    matched,
    one_copy,
    regular,
    with_last_outcomes,
)
from jobs.verify.contexts.decided_places import with_places
from jobs.verify.contexts.transaction import Ages
from udfs.rules import attribution
from udfs.rules.clock import covers
from udfs.rules.extent import MAX_OFFSET
from udfs.rules.logic import surely

# Moments of a file, which may be any number, are cut here: beyond every clock, and sums still fit.
BEYOND_CLOCKS_MS = 1 << 60
# A clock that is set right goes back by less.
ONE_CLOCK_MS = 1000
PLACES = (
    "marker", "record", "unraised", "wrong", "stale", "committed", "decided", "unexpected",
    "torn", "lacking", "odd",
)  # fmt: skip


@dataclass(frozen=True)
class Decided:
    """What the context is built from.

    `history`: producer ids, of `jobs.replay.decisions`; `owners`: the ids that own producer ids;
    `markers`: those of `jobs.audit.audit.markers`; `states`: producer runs; `regular`: transactions
    that were folded away. `several_copies`: a partition of the coordinator's log is there on
    several brokers.
    """

    log: CoordinatorLog
    history: DataFrame
    owners: DataFrame
    states: DataFrame
    markers: DataFrame
    regular: DataFrame
    several_copies: bool


def _clipped(name: str) -> Column:
    return F.greatest(F.least(F.col(name), F.lit(BEYOND_CLOCKS_MS)), F.lit(-BEYOND_CLOCKS_MS))


def _decisions(decided: DataFrame, several_copies: bool) -> DataFrame:
    names = ("prepare_timestamp", "complete_timestamp")
    safe = decided.withColumns(
        {name: F.when(F.col(name).isNotNull(), _clipped(name)) for name in names}
    )
    return one_copy(safe, several_copies)


def _reach_of_row(tolerance: Column) -> list[Column]:
    """From when on and up to when a marker of the row must be in the copy of the partition.

    apart_ms: how far the clocks of coordinator and partition may be apart; the broker of a cluster
    of one has one clock. at_once: this copy and the coordinator's are of one moment. whole_from:
    everything from then on is there (ms): a broker's clock says that something is older, or the
    same producer wrote with a lower epoch. whole_to: the copy is complete up to then.
    """
    same_broker = (
        (F.col("coordinator_broker") == F.col("broker"))
        & F.col("alone_in_cluster")
        & F.col("clean_shutdown")
        & F.col("coordinator_clean_shutdown")
    )
    at_once = surely(one_instant("coordinator_clean_shutdown")) | surely(same_broker)
    one_clock = F.least(F.lit(ONE_CLOCK_MS), tolerance)
    return [
        F.when(F.col("alone_in_cluster"), one_clock).otherwise(tolerance).alias("apart_ms"),
        at_once.alias("at_once"),
        F.when(F.col("earlier_offset").isNotNull(), F.lit(-2 * BEYOND_CLOCKS_MS))
        .otherwise(F.col("first_marker_ms"))
        .alias("whole_from"),
        F.when(at_once, F.lit(2 * BEYOND_CLOCKS_MS)).otherwise(F.col("complete_up_to_ms")).alias(
            "whole_to"
        ),
    ]  # fmt: skip


def _lateness(tolerance: Column) -> list[Column]:
    """Whether the copies are late enough to miss something in them."""
    # What a copy of the coordinator's log from before all data holds is older than the data's.
    later = F.col("later_run").isNotNull() | (F.col("complete_offset") < F.col("earlier_end"))
    in_time = covers(F.col("complete_up_to_ms"), F.col("complete_timestamp"), tolerance)

    def history_later(marker: str) -> Column:
        covered = covers(F.col("history_covers_ms"), F.col(marker), tolerance)
        copied_later = attribution.is_copied_later(
            F.col("marker_epoch"),
            F.col("newest_epoch"),
            one_instant("history_clean_shutdown") | covered,
        )
        return F.coalesce(copied_later, F.lit(False))

    return [
        F.coalesce(one_instant("coordinator_clean_shutdown") | in_time | later, F.lit(False)).alias(
            "copied_later"
        ),
        history_later("earliest_marker").alias("history_later"),
        history_later("latest_marker").alias("history_behind_all"),
    ]


def _anchors(tolerance: Column) -> list[Column]:
    """What in the partition is older than the newest decision of the row, and proves a marker.

    by_epoch: data of this transaction or of an earlier one of the producer. by_owner: data that no
    later transaction than this one can own; owner_settled: none was begun since. order_anchor: the
    marker of a transaction that the same log completed before it prepared this one, whatever the
    clocks say. by_clock: a marker of any producer, older than the decision for sure; nearly: by
    clocks that may differ.
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
        attribution.owns_what_is_there(F.col("newest_prepare"), F.col("newest_owner"), running)
    )
    marker_later = (F.col("last_marker_offset") > F.col("data_run_last")) & covers(
        F.col("history_covers_ms"), F.col("last_marker_ms"), tolerance
    )
    moved_on = F.col("newest_epoch") > F.col("prepared_data_epoch")
    prepared = F.col("completed_prepare")
    first = F.col("first_marker_ms")
    nearly = (first < prepared) & (F.col("last_marker_ms") > F.col("complete_timestamp"))
    by_clock = attribution.surely_before(first, prepared, tolerance) | (
        nearly & attribution.surely_before(first, prepared, F.col("apart_ms"))
    )
    by_order = (F.col("prepares") == 1) & attribution.ended_before(
        F.col("ended_complete"), F.col("newest_prepare")
    )
    return [
        F.when(held & single & unended, F.col("data_run_last")).alias("own_data_last"),
        F.when(owns, F.col("data_run_last")).alias("owned_last"),
        (F.col("at_once") | surely(marker_later) | surely(moved_on)).alias("owner_settled"),
        F.when(by_order, F.col("ended_marker")).alias("order_anchor"),
        F.when(by_clock, F.col("first_marker_offset")).alias("clock_anchor"),
        F.when(nearly, F.col("first_marker_offset")).alias("near_anchor"),
    ]


def _held() -> list[Column]:
    """From where on the marker of the row must be in the partition, and whether it can be gone."""
    short = F.col("short_place").isNotNull()
    # What counting proves, it proves by something older.
    counted = F.when(short, F.col("first_marker_offset"))
    by_order = F.coalesce("earlier_offset", "order_anchor", "clock_anchor", counted)
    owned = F.when(F.col("owner_settled"), F.col("owned_last"))
    surely_from = F.coalesce(F.col("own_data_last"), owned, by_order)
    held_from = F.coalesce(surely_from, "owned_last", "near_anchor")
    held_to = F.coalesce(F.col("later_run.run_first"), F.lit(MAX_OFFSET))
    # The cleaner keeps the marker of data that are still there.
    own_data = F.col("own_data_last").isNotNull() & F.col("short_place").isNull()
    known_from = F.coalesce(
        F.when(own_data, F.col("own_data_last")), "owned_last", by_order, held_from
    )
    # A decision's markers have the epoch of its Prepare record.
    searched_from = F.when(short, by_order).otherwise(known_from) + 1
    gone = F.when(own_data, lost_between(known_from + 1, held_to)).otherwise(
        marker_missing_between(searched_from, held_to, F.col("marker_epoch"))
    )
    return [
        held_from.alias("held_from"),
        (surely_from.isNull() & F.col("owned_last").isNotNull()).alias("owner_unsettled"),
        (surely_from.isNull() & F.col("owned_last").isNull()).alias("held_by_near_clock"),
        F.coalesce(gone, F.lit(False)).alias("marker_missing"),
    ]


def _judged(rows: DataFrame) -> DataFrame:
    """Adds what follows for the marker that stands there, and for the one that does not."""
    undecided = surely(
        has_too_many()
        & F.col("commit")
        & F.col("history_behind_all")
        & F.col("never_committed")
        & attribution.too_many_commits(F.col("closing"), F.col("prepares"))
    )
    return with_other_outcome(rows.withColumn("commits_undecided", undecided)).select(
        "*",
        # It stands where the marker of the decision is missing: no operator's, or not only.
        surely(
            (F.col("other_unmet") | F.col("other_short"))
            & ~(
                F.col("unraised_offset").isNotNull()
                & F.col("raised_offset").isNull()
                & (F.col("decided_with_transaction_version_1") == F.lit(False))
            )
        ).alias("replaces_decided"),
        surely(
            attribution.format_may_refuse(F.col("last_legacy_offset"), F.col("held_from"))
            & F.col("data_run").isNull()
        ).alias("format_refused"),
        # The one marker that is missing, and a COMMIT that nobody decided.
        (F.col("other_undecided") & F.col("markers").isNull() & (F.col("completes") == 1)).alias(
            "committed_undecided_instead"
        ),
    )


def _kinds(partition_info: DataFrame) -> DataFrame:
    """Each partition's `listed` (topic-partition), topic and coordinator_topic."""
    listed = F.concat_ws("-", "topic", "partition").alias("listed")
    return partition_info.select("partition_index", listed, "topic", "coordinator_topic")


def _replica_offsets(markers: DataFrame, places: DataFrame) -> DataFrame:
    """One row a marker of a topic partition: the highest offset it has on any broker."""
    placed = markers.join(F.broadcast(places), on="partition_index", how="inner")
    return placed.groupBy(
        "listed", "producer_id", "marker_epoch", F.col("marker_commit").alias("commit")
    ).agg(F.max("marker_offset").alias("replica_offset"))


def _coordinator_epochs() -> list[Column]:
    """The coordinator epoch of a marker of the row that fits none of its decisions.

    misfit_epoch, and from_epoch to to_epoch that would fit; null where all fit. An operator's abort
    has the epoch of the data and names no coordinator; under version 2 no other marker has.
    """
    single = attribution.one_transaction_an_epoch(F.col("with_transaction_version_1"))
    lowest = F.when(single, F.col("lowest_raised_coordinator_epoch")).otherwise(
        F.col("lowest_coordinator_epoch")
    )
    highest = F.when(single, F.col("highest_raised_coordinator_epoch")).otherwise(
        F.col("highest_coordinator_epoch")
    )
    known = single | (F.col("decidable") == 1)
    old, new = lowest < F.col("lowest_leader_epoch"), highest > F.col("latest_leader_epoch")
    odd = F.col("odd_place").isNotNull()
    return [
        F.when(known & old, lowest)
        .when(known & new, highest)
        .when(odd, F.col("odd_epoch"))
        .alias("misfit_epoch"),
        F.when(odd & ~(old | new), F.col("odd_lowest"))
        .otherwise(F.col("lowest_leader_epoch"))
        .alias("from_epoch"),
        F.when(odd & ~(old | new), F.col("odd_highest"))
        .otherwise(F.col("latest_leader_epoch"))
        .alias("to_epoch"),
    ]


def _located(rows: DataFrame, files: DataFrame) -> DataFrame:
    """Places of everything that a finding may show."""
    of_transaction_version_2 = F.col("with_transaction_version_1") == 0
    named = rows.select(
        "*",
        *[
            F.when(of_transaction_version_2, F.col(f"unraised_{name}"))
            .otherwise(F.col(f"raised_{name}"))
            .alias(f"wrong_{name}")
            for name in ("place", "offset", "first", "last")
        ],
        *_coordinator_epochs(),
        F.coalesce("committed_place", "decided_place").alias("torn_place"),
        F.coalesce("committed_length", "decided_length").alias("torn_length"),
        F.coalesce("committed_epoch", "marker_epoch").alias("torn_epoch"),
        F.when(F.col("commits_undecided"), F.col("undecided_place"))
        .otherwise(F.col("marker_place"))
        .alias("unexpected_place"),
        F.coalesce("short_place", "record_place").alias("lacking_place"),
        F.coalesce("short_length", "record_length").alias("lacking_length"),
        F.coalesce("short_complete", "complete_offset").alias("lacking_complete"),
    )
    return with_places(
        named, files, *PLACES, "short_next",
        data_file="data_run.file_index", later_file="later_run.file_index",
    )  # fmt: skip


def _enriched(located: DataFrame, ages: Ages) -> DataFrame:
    """The place of a finding, and how long it waits."""
    now = F.least("history_covers_ms", F.lit(ages.now).cast("long"))
    marked = F.col("markers").isNotNull()
    short = F.col("short_place").isNotNull()
    first = F.when(marked, F.coalesce("data_first", "marker_offset")).otherwise(
        F.coalesce("data_run.first_offset", "later_run.run_first", "held_from")
    )
    last = F.when(marked, F.col("marker_offset")).otherwise(
        F.coalesce("data_run_last", "later_run.run_first", "held_from")
    )
    next_first = F.coalesce("short_next.first", "short_next.offset")
    return located.select(
        "*",
        F.when(F.col("commit"), "COMMIT").otherwise("ABORT").alias("decision"),
        (now - F.col("earliest_prepare")).alias("pending_ms"),
        F.lit(ages.clock_tolerance).alias("clock_tolerance_ms"),
        F.coalesce(
            "transactional_id",
            "decided_id",
            "committed_id",
            F.when(F.col("contradicted") == 1, F.col("last_id")),
            F.when(F.col("contradicted_early") == 1, F.col("first_id")),
        ).alias("owner"),
        first.alias("offset_first"),
        last.alias("offset_last"),
        F.when(short, F.coalesce(next_first, first)).otherwise(first).alias("lacking_first"),
        F.when(short, F.coalesce("short_next.last", next_first, last)).otherwise(last).alias(
            "lacking_last"
        ),
        F.when(F.col("commits_undecided"), F.col("undecided_first")).otherwise(first).alias(
            "unexpected_first"
        ),
        F.when(F.col("commits_undecided"), F.col("undecided_offset")).otherwise(last).alias(
            "unexpected_last"
        ),
        F.coalesce("prepared_data_epoch", "marker_epoch").alias("producer_epoch"),
        F.coalesce("marker_file", "data_file", "later_file", "record_file").alias("file"),
        F.coalesce(
            "marker_position", "data_run.first_position", "later_run.run_position",
            "record_position",
        ).alias("byte_position"),
        F.coalesce(
            F.when(marked, F.col("marker_length")), "data_run.first_length", "later_run.run_length",
            "record_length",
        ).cast("int").alias("byte_length"),
    ).drop("transactional_id").withColumnRenamed("owner", "transactional_id")  # fmt: skip


def decided_partition_context(
    given: Decided, partition_info: DataFrame, files: DataFrame, ages: Ages
) -> Context:
    """Decisions of the coordinator beside the markers of each partition, one a broker's copy.

    A row is (partition_index, producer_id, marker_epoch, commit). Which of them belong together is
    said in `udfs.rules.attribution`; what did not take effect is no decision here.

    prepares, completes, markers, closing: how many Prepare records list the partition, Complete
    records follow them, markers are there and ended data; null for none. Under transaction.version
    0 and 1 several transactions share a row.
    lowest_leader_epoch: that of their Prepare records; latest_leader_epoch: the highest of their
    Complete records, ANY_LEADER_EPOCH where one has none. pending: the last
    record of the id. decidable: the coordinator's log is whole where the decision would stand.
    unraised_*, raised_*: a marker with the epoch of its own data, or a higher one; wrong_*: that of
    them which the transaction.version of the decision does not make. stale_*, undecided_*, short_*,
    odd_*: see `with_counts`. committed_*: the Prepare record that committed data of the marker's
    epoch here, under version 2. decided_*: Prepare records of the producer id and epoch, whatever
    they list. contradicted: see `with_last_outcomes`. lacking_*: the decision whose marker is not
    there. copied_later: the copy of the partition is later than the Complete record; history_later:
    that of the coordinator's log than the first marker, history_behind_all: than all markers.
    """
    kinds = _kinds(partition_info)
    places = kinds.select("partition_index", "listed")
    known = partition_info.select(
        "partition_index", "broker", "topic", "partition", "complete_up_to_ms", "clean_shutdown",
        "single_broker", "alone_in_cluster", "holes", "missing",
        "emptied", "last_legacy_offset", "log_end_offset", "with_kraft",
    ).join(F.broadcast(places), on="partition_index", how="inner")  # fmt: skip
    coordinators = partition_info.select(
        F.col("partition_index").alias("deciding_index"),
        F.col("broker").alias("coordinator_broker"),
        F.col("clean_shutdown").alias("coordinator_clean_shutdown"),
        F.col("stable_below").alias("coordinator_stable_below"),
        F.col("partition").alias("coordinator_partition"),
        "earlier_end",
    )
    markers = given.markers.withColumn("marker_timestamp", _clipped("marker_timestamp"))
    decisions = _decisions(given.log.decisions, given.several_copies)
    known_ends = with_last_outcomes(given.history, given.owners)
    rows = matched(decisions, partition_info, markers, known_ends)

    def enrich(selected: DataFrame) -> DataFrame:
        producers = selected.select("producer_id").distinct()
        decided = _decisions(given.log.decisions_of(producers), given.several_copies)
        # The states of a snapshot lie before the log, where markers are not looked for.
        in_log = given.states.filter(~F.col("initial"))
        runs = runs_of(in_log, given.regular.join(producers, on="producer_id", how="left_semi"))
        tolerance = F.lit(ages.clock_tolerance)
        placed = selected.join(F.broadcast(known), on="partition_index", how="inner")
        deciding = F.coalesce("coordinator_index", "committed_index")
        with_history = (
            with_decision(placed, decided, known_ends, given.owners)
            .withColumn("deciding_index", deciding)
            .join(F.broadcast(coordinators), on="deciding_index", how="left")
            .join(_replica_offsets(markers, places),
                  on=["listed", "producer_id", "marker_epoch", "commit"], how="left")
        )  # fmt: skip
        ended = first_ended(rows, coordinators)
        outcomes = with_outcomes(with_history, markers, kinds, tolerance)
        owned = with_data(outcomes, runs, markers)
        beside = with_reach(owned, markers).join(
            F.broadcast(ended), on=["partition_index", "coordinator_partition"], how="left"
        )
        reached = beside.select("*", *_reach_of_row(tolerance), *_lateness(tolerance))
        counted = with_counts(reached, decided, markers, tolerance)
        held = counted.select("*", *_anchors(tolerance)).select("*", *_held())
        return _enriched(_located(_judged(held), files), ages)

    return Context("decided_partition", rows, regular, enrich, within_cluster=True)
