"""Context `offset_transaction`: one row is a transaction in a partition of `__consumer_offsets`."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.coordinator_listing import CoordinatorListing
from jobs.model.owners import with_coordinator
from jobs.model.set_back_clocks import covers_once, once
from jobs.model.transactions import CLOSED_COLUMNS, all_transactions
from jobs.spark.joins import inner, small
from jobs.verify.conditions.copies import one_instant
from jobs.verify.conditions.missing import (
    LOST_OFFSETS,
    data_lost_between,
    end_may_be_another,
    first_since,
    marker_lost_behind,
)
from jobs.verify.contexts.context import Context, with_paths
from jobs.verify.contexts.open_coordinator import coordinator_columns
from jobs.verify.contexts.open_lookups import log_completeness
from jobs.verify.contexts.transaction import Ages, longest_open
from schemas.topics import OFFSETS_TOPIC
from udfs.rules.attribution import may_end, surely_before
from udfs.rules.logic import surely

MAX_GROUPS = 5
# What is asked of `jobs.replay.epoch_history`.
OF_HISTORY = (
    "producer_id", "producer_epoch", "transactional_id", "listed", "decisions", "aborted",
    "moved_on", "coordinator_up_to_ms", "coordinator_clean_shutdown", "record", "replicated",
)  # fmt: skip


@dataclass(frozen=True)
class OffsetTransactions:
    """What the context is built from.

    `transactions`: those of replay; `regular`: those folded away in the decoder, `regular_aborts`
    the aborted ones among them; `epochs_of`: of `jobs.model.coordinator_log`; `pending`: offset
    commits without a marker in their split; `owners`: the ids that own producer ids; `listing`: of
    the coordinator's log.
    """

    transactions: DataFrame
    regular: DataFrame
    regular_aborts: DataFrame
    epochs_of: Callable[[DataFrame], DataFrame]
    pending: DataFrame
    owners: DataFrame
    listing: CoordinatorListing


def _ended(transactions: DataFrame, kinds: DataFrame, commit: bool) -> DataFrame:
    """Transactions with data that one marker of their epoch, or of the next, has ended.

    And ABORT markers alone, as of data of their epoch. `kinds`: see `_contradictions`.
    """
    alone = F.col("first_offset").isNull()
    epoch = F.when(alone, F.col("marker_epoch")).otherwise(F.col("producer_epoch"))
    decided = (
        transactions.filter(
            (F.col("marker_commit") == F.lit(commit)) & (~alone | F.lit(not commit))
        )
        .withColumn("producer_epoch", epoch)
        .filter(may_end(F.col("marker_epoch"), F.col("producer_epoch")))
    )
    placed = inner(decided, small(kinds), on="partition_index")
    return placed.filter(
        (F.col("of_offsets") | ~F.col("coordinator_topic")) & ~end_may_be_another()
    )


def _aborts() -> Column:
    """How many aborts of one epoch a partition shows; aggregates.

    An ABORT marker alone behind another may be that one once more: a coordinator that takes over
    sends the markers of a Prepare record again
    (`TransactionStateManager.loadTransactionsForTxnTopicPartition`).
    """
    alone = F.col("first_offset").isNull()
    first_is_alone = F.min_by(alone.cast("int"), F.col("marker_offset"))
    return F.count_if(~alone) + first_is_alone


def _kinds(partition_info: DataFrame, tolerance: int) -> DataFrame:
    """What contradictions ask of a partition; there_since_ms: see `first_since`."""
    dated = once(F.col("first_dated_ms"), F.lit(tolerance))
    # Whether a topic of the coordinators was made again is not asked (docs/trust.md).
    never_again = F.col("coordinator_topic") | surely(F.col("created_once"))
    since = F.when(never_again, F.lit(0)).otherwise(dated)
    return partition_info.select(
        "partition_index",
        (F.col("topic") == OFFSETS_TOPIC).alias("of_offsets"),
        "coordinator_topic",
        F.concat_ws("-", "topic", "partition").alias("place"),
        F.col("replicated_below").alias("place_replicated_below"),
        since.alias("there_since_ms"),
        *LOST_OFFSETS,
    )


def _contradictions(
    given: OffsetTransactions, partition_info: DataFrame, tolerance: int
) -> DataFrame:
    """Transactions of `__consumer_offsets` whose output elsewhere was decided the other way.

    Columns: partition_index, first_offset, and `output`, a struct of the first place. `tolerance`:
    of brokers' clocks, ms.
    """
    kinds = _kinds(partition_info, tolerance)
    aborts = all_transactions(given.transactions, given.regular_aborts, "previous_marker_offset")
    aborted = _ended(aborts, kinds, False)
    committed = _ended(all_transactions(given.transactions, given.regular), kinds, True)
    whole = F.struct(*[*CLOSED_COLUMNS, "place", "place_replicated_below"])
    # Before transaction.version 2 an epoch may have any number of them, and pairing each with each
    # would never end; the first in a partition stands for all.
    first_aborted = (
        aborted.groupBy(
            "producer_id", "producer_epoch", "of_offsets", "partition_index", "marker_epoch"
        )
        .agg(
            F.min(F.when(F.col("first_offset").isNotNull(), whole)).alias("aborted"),
            F.min_by(first_since(), "first_offset").alias("aborted_first"),
            _aborts().alias("aborts"),
        )
        .filter(F.col("aborted").isNotNull())
        .select("producer_id", "producer_epoch", "of_offsets", "aborted", "aborted_first", "aborts")
    )
    pairs = inner(
        first_aborted,
        committed.select(
            "producer_id",
            "producer_epoch",
            (~F.col("of_offsets")).alias("of_offsets"),
            whole.alias("committed"),
        ),
        on=["producer_id", "producer_epoch", "of_offsets"],
    )
    offsets = F.when(F.col("of_offsets"), F.col("aborted")).otherwise(F.col("committed"))
    output = F.when(F.col("of_offsets"), F.col("committed")).otherwise(F.col("aborted"))
    # Offset commits have their coordinator's moment, and come before the decision.
    decided = F.when(F.col("of_offsets"), F.col("committed.marker_timestamp")).otherwise(
        F.col("committed.last_timestamp")
    )
    first = surely(surely_before(F.col("aborted_first"), decided, F.lit(tolerance)))
    disagreeing = pairs.select(
        offsets["partition_index"].alias("partition_index"),
        offsets["first_offset"].alias("first_offset"),
        F.struct(
            F.col("aborted.marker_epoch").alias("aborted_epoch"),
            F.col("committed.marker_epoch").alias("committed_epoch"),
            F.col("aborted.place").alias("aborted_place"),
            F.col("aborts").alias("aborts"),
            first.alias("aborted_first"),
            output["place"].alias("place"),
            output["first_file_index"].alias("file_index"),
            output["first_position"].alias("position"),
            output["first_length"].alias("length"),
            output["first_offset"].alias("first_offset"),
            output["marker_offset"].alias("marker_offset"),
            output["place_replicated_below"].alias("replicated_below"),
            F.greatest("aborted.marker_timestamp", "committed.marker_timestamp").alias("moment"),
        ).alias("output"),
    )
    # What both epochs prove comes first, so that one finding names the strongest place.
    return disagreeing.groupBy("partition_index", "first_offset").agg(
        F.max_by("output", F.struct("output.aborted_epoch", "output.place")).alias("output")
    )


def offset_transaction_context(
    given: OffsetTransactions, partition_info: DataFrame, files: DataFrame, ages: Ages
) -> Context:
    """Transactions and lone markers of `__consumer_offsets`.

    `outcome`: commit, abort or open; first_offset is null for a marker alone. `history`: what the
    coordinator's log says of the epoch (`jobs.replay.epoch_history`), null where that is not
    known as a whole; `listed`: it lists this partition. `output`: a partition with data of the
    same producer and epoch that was decided the other way, null for none, with the number of
    ABORT markers of that epoch there (aborts), and whether what was aborted is surely the first of
    its epoch in its partition (aborted_first). Added for irregular
    rows: decided_once (the history has one transaction), history_covers (nothing can have been
    added to it before this transaction ended), pending_groups (at most five), and the columns of
    the context `transaction` about coordinator, age and what is lost behind the data
    (behind_data_gap); coordinator_log_complete: see `jobs.verify.contexts.open_lookups.log_ages`.
    """
    known = partition_info.filter(F.col("topic") == OFFSETS_TOPIC).select(
        "partition_index", "topic", "partition", "broker", "replicated_below", "cleaning",
        "cleaned_below", "start_known", "single_broker", "clean_shutdown",
        "complete_up_to_ms", "alone_in_cluster", "outlasted",
        "set_backs", *LOST_OFFSETS,
    )  # fmt: skip
    transactions = (
        inner(
            all_transactions(given.transactions, given.regular).select(*CLOSED_COLUMNS, "outcome"),
            small(known),
            on="partition_index",
        )
        # The group's coordinator stamps what it writes.
        .withColumn("appended_by_ms", once(F.col("last_timestamp"), F.lit(ages.clock_tolerance)))
    )
    histories = given.epochs_of(transactions.select("producer_id").distinct()).select(
        "producer_id", "producer_epoch", F.struct(*OF_HISTORY).alias("history")
    )
    rows = (
        transactions.join(histories, on=["producer_id", "producer_epoch"], how="left")
        .join(
            _contradictions(given, partition_info, ages.clock_tolerance),
            on=["partition_index", "first_offset"],
            how="left",
        )
        .withColumn(
            "listed",
            F.array_contains("history.listed", F.concat_ws("-", "topic", "partition")),
        )
    )

    def regular() -> Column:
        settled = F.col("first_offset").isNotNull() & F.col("marker_offset").isNotNull()
        return settled & F.coalesce(F.col("listed"), F.lit(True)) & F.col("output").isNull()

    def enrich(selected: DataFrame) -> DataFrame:
        whole = F.broadcast(log_completeness(partition_info, given.listing))
        return _enriched(selected.crossJoin(whole), given, files, ages)

    return Context("offset_transaction", rows, regular, enrich, within_cluster=True)


def _groups_of_open_transaction() -> Column:
    """Groups whose offsets wait, at most five; what a split left waiting may have ended since."""
    mine = F.filter("waiting", lambda one: one["record_offset"] >= F.col("first_offset"))
    groups = F.array_sort(F.array_distinct(F.transform(mine, lambda one: one["group"])))
    return F.array_join(F.slice(groups, 1, MAX_GROUPS), ", ")


def _enriched(
    selected: DataFrame, given: OffsetTransactions, files: DataFrame, ages: Ages
) -> DataFrame:
    waiting = given.pending.groupBy(
        F.col("partition_index").alias("pending_partition"),
        F.col("commit.producer_id").alias("pending_producer"),
    ).agg(F.collect_set(F.struct("commit.record_offset", "group")).alias("waiting"))
    joined = with_coordinator(selected, given.owners).join(
        small(waiting),
        on=(F.col("partition_index") == F.col("pending_partition"))
        & (F.col("producer_id") == F.col("pending_producer"))
        & (F.col("outcome") == "open"),
        how="left",
    )
    named = with_paths(
        joined,
        files,
        file="first_file_index",
        output_file="output.file_index",
        record_file="history.record.file_index",
    )
    moment = F.coalesce("output.moment", "marker_timestamp", "last_timestamp")
    up_to_ms = F.col("history.coordinator_up_to_ms")
    covered = (
        F.col("history.moved_on")
        | one_instant("history.coordinator_clean_shutdown")
        | covers_once(up_to_ms, moment, F.lit(ages.clock_tolerance))
    )
    now = F.lit(ages.now).cast("long")
    behind_marker_before = F.col("marker_offset") - 1
    return named.select(
        "*",
        *coordinator_columns(
            ages.now, ages.late_slack, ages.clock_tolerance, epoch="producer_epoch"
        ),
        surely(F.col("history.decisions") == 1).alias("decided_once"),
        surely(covered).alias("history_covers"),
        F.try_subtract(now, "appended_by_ms").alias("age_ms"),
        longest_open(ages).alias("limit_ms"),
        _groups_of_open_transaction().alias("pending_groups"),
        surely(data_lost_between(F.lit(0), behind_marker_before)).alias("missing_before_marker"),
        marker_lost_behind(F.col("last_offset")).alias("behind_data_gap"),
        F.coalesce("first_offset", "marker_offset").alias("offset_first"),
        F.coalesce("last_offset", "marker_offset").alias("offset_last"),
        F.col("first_position").alias("byte_position"),
        F.col("first_length").alias("byte_length"),
        F.col("output.position").alias("output_position"),
        F.col("output.length").alias("output_length"),
        F.col("history.record.position").alias("record_position"),
        F.col("history.record.length").alias("record_length"),
    )
