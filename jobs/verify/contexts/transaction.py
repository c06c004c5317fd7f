"""Context `transaction`: one row is a transaction on one partition with its marker."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.coordinator_listing import CoordinatorListing
from jobs.model.coordinator_log import CoordinatorLog
from jobs.model.ending import runs_here
from jobs.model.in_memory import ended_in_memory
from jobs.model.owners import with_coordinator
from jobs.model.set_back_clocks import latest_reading
from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames
from jobs.verify.conditions.missing import (
    between_counts,
    end_may_be_another,
    marker_lost_behind,
    marker_missing_between,
    own_missing_between,
)
from jobs.verify.contexts.context import Context, with_paths
from jobs.verify.contexts.late_write import late_write_columns
from jobs.verify.contexts.marker_decisions import (
    TOLD,
    contradicts,
    known_histories,
    marker_decision_columns,
    shared_epochs,
)
from jobs.verify.contexts.open_coordinator import (
    appended_by,
    coordinator_columns,
    log_columns,
    logs_later,
)
from jobs.verify.contexts.open_lookups import (
    OF_TRANSACTION,
    decided_producers,
    epochs,
    gone_on,
    log_ages,
    moments,
    newest_decisions,
)
from jobs.verify.contexts.open_transaction import (
    age,
    all_aborted,
    hangs,
    overdue,
    start_untold,
    unmarked_decision,
)
from schemas.coordinator_states import TWO_PHASE_COMMIT_TIMEOUT
from udfs.rules.logic import surely
from udfs.rules.memory import at_least_later, may_be_gone_with_the_head
from udfs.rules.producer_step import Marker, is_regular_end

# Paths of files that a finding may show, and where their indexes are.
FILES = {
    "first_file": "first_file_index",
    "last_file": "last_file_index",
    "marker_file": "marker_file_index",
    "previous_marker_file": "previous_marker.file_index",
    "opening_marker_file": "opening_marker.file_index",
    "epoch_record_file": "epoch_record.file_index",
}
# What is looked up for other columns only.
ASKED_ONLY = (
    "none_lost_since_ms",
    "coordinator_log_whole",
    "committed_before",
    "told_of",
    "shared_epoch",
    *TOLD,
)


@dataclass(frozen=True)
class TransactionInputs:
    """What the context is built from.

    `transactions`: of `jobs.replay.transactions`; `states`: producer runs; `owners`: the ids that
    own producer ids; `history`: producer ids, of `jobs.replay.decisions`; `folded`: transactions
    that were folded away.
    """

    transactions: DataFrame
    states: DataFrame
    partition_info: DataFrame
    owners: DataFrame
    log: CoordinatorLog
    history: DataFrame
    listing: CoordinatorListing
    folded: int
    kept: KeptFrames


@dataclass(frozen=True)
class Ages:
    """What ages are measured against; all in ms. `now` is null in an audit without a clock."""

    now: int | None
    transaction_max_timeout: int
    late_slack: int
    clock_tolerance: int
    producer_expiration: int


def _lies_since() -> Column:
    """A moment at which the first batch of an open transaction was in the log already, ms.

    That of a marker after it. Without one it is what its client says, but not before the last
    marker, which lies in front of it then, nor the start of the transaction, if the coordinator
    runs it.
    """
    begun = F.when(runs_here() & (F.col("coordinator.start_ms") > 0), F.col("coordinator.start_ms"))
    in_front = F.when(F.col("first_timestamp").isNotNull(), F.col("last_marker_ms"))
    by_client = F.greatest(F.col("first_timestamp"), in_front, begun)
    return F.coalesce(F.col("begun_by_ms"), by_client)


def longest_open(ages: Ages) -> Column:
    """How long a transaction may be open, ms: any, or that of an id whose timeout is longer."""
    timeout = F.col("coordinator.timeout_ms").cast("long")
    own = F.when(runs_here() & (timeout != TWO_PHASE_COMMIT_TIMEOUT), timeout)
    longest = F.greatest(F.lit(ages.transaction_max_timeout).cast("long"), own)
    limit: Column = longest + F.lit(ages.late_slack)
    return limit


def _is_row(one: Column) -> Column:
    began: Column = one["first_offset"].between(F.col("first_offset"), F.col("last_offset"))
    return began & (one["producer_id"] == F.col("producer_id"))


def _open_in_snapshot() -> Column:
    """Offset of the newest producer snapshot, if it has the transaction of the row open."""
    return F.when(F.exists("open_in_snapshot", _is_row), F.col("newest_snapshot"))


def _marker_was_there() -> Column:
    """Whether the newest producer snapshot has it ended by a marker that is missing before it.

    A broker may have forgotten what lies below the log start (`udfs.rules.memory`).
    """
    data = F.col("last_offset")
    missing = marker_missing_between(data + 1, F.col("newest_snapshot") - 1)
    remembered = ~may_be_gone_with_the_head(data, F.col("log_start_offset"))
    is_open = F.col("outcome") == "open"
    known: Column = surely(is_open & ended_in_memory() & missing & remembered)
    return known


def _open_at_the_stop() -> Column:
    """Whether the broker stopped cleanly with the transaction open: its last snapshot has it."""
    last = F.col("clean_shutdown") & (F.col("newest_snapshot") >= F.col("log_end_offset"))
    return surely(last & _open_in_snapshot().isNotNull())


def _regular() -> Column:
    """Whether it has data and the marker that ends them, with the epochs that both should have."""
    settled = F.col("first_offset").isNotNull() & F.col("marker_offset").isNotNull()
    marker = Marker(
        F.col("marker_offset"),
        F.col("marker_epoch"),
        F.col("outcome") == "commit",
        F.col("coordinator_epoch"),
        F.col("highest_coordinator_epoch"),
    )
    plain: Column = (
        settled
        & is_regular_end(marker, F.col("highest_epoch"), F.col("cleaner_checkpoint"))
        & F.coalesce(F.col("earlier_epoch") <= F.col("marker_epoch"), F.lit(True))
    )
    return plain


def _holding(now: int | None) -> list[Column]:
    """What it holds back.

    has_data; held_ms: since its first batch at least, or by the client's clock where a broker's
    says nothing; holds_lso: the oldest open one of its partition.
    """
    return [
        F.col("first_offset").isNotNull().alias("has_data"),
        F.try_subtract(F.lit(now).cast("long"), _lies_since()).alias("held_ms"),
        surely(F.col("first_offset") == F.col("oldest_open")).alias("holds_lso"),
    ]


def _lost_around_marker() -> list[Column]:
    """Whether the marker, or what it ended, may be among missing offsets.

    missing_before_marker: offsets between data and marker are lost; of a marker alone: any between
    the marker before and it are missing. behind_data_gap: lost after the data, and after the
    snapshot that has them open; completion_lost: the same up to where the coordinator had gone on
    for sure. marker_was_there: the newest snapshot shows that the marker is among what is
    missing. open_at_the_stop: the broker had them open when it stopped cleanly.
    """
    last = F.col("last_offset")
    after_marker = F.coalesce(F.col("previous_marker.offset") + 1, F.lit(0))
    most = between_counts("previous_marker.absent_to_marker", "absent_to_marker")
    alone = own_missing_between(after_marker, F.col("marker_offset") - 1, most)
    missing = F.when(F.col("first_offset").isNotNull(), end_may_be_another()).otherwise(alone)
    return [
        surely(missing).alias("missing_before_marker"),
        marker_lost_behind(last, _open_in_snapshot()).alias("behind_data_gap"),
        marker_lost_behind(last, _open_in_snapshot(), F.col("gone_on_at")).alias("completion_lost"),
        _marker_was_there().alias("marker_was_there"),
        _open_at_the_stop().alias("open_at_the_stop"),
    ]


def _places() -> list[Column]:
    """Where a finding lies, and the batches that it may show."""
    return [
        F.coalesce("first_offset", "marker_offset").alias("offset_first"),
        F.coalesce("marker_offset", "last_offset").alias("offset_last"),
        F.coalesce("highest_epoch", "marker_epoch").alias("producer_epoch"),
        F.coalesce("first_file", "marker_file").alias("file"),
        F.coalesce("first_position", "marker_position").alias("byte_position"),
        F.coalesce("first_length", "marker_length").alias("byte_length"),
        *[
            F.col(f"{batch}.{name}").alias(f"{batch}_{name}")
            for batch in ("previous_marker", "opening_marker", "epoch_record")
            for name in ("position", "length")
        ],
    ]


def _places_of_regression() -> list[Column]:
    """regression_* (first, last, epoch, file, position): of two markers the wrong one."""
    before = F.col("previous_of_no_coordinator")
    offset = F.col("previous_marker.offset")
    of_both = {
        "first": (offset, F.col("offset_first")),
        "last": (offset, F.col("offset_last")),
        "epoch": (F.col("previous_marker.epoch"), F.col("producer_epoch")),
        "file": (F.col("previous_marker_file"), F.col("file")),
        "position": (F.col("previous_marker_position"), F.col("byte_position")),
    }
    return [
        F.when(before, one).otherwise(other).alias(f"regression_{name}")
        for name, (one, other) in of_both.items()
    ]


def _looked_up(selected: DataFrame, given: TransactionInputs, tolerance: int) -> DataFrame:
    """Rows beside what the logs say of their producers: the tables of `open_lookups` and others."""
    opened = selected.filter(F.col("outcome") == "open")
    contradicting = selected.filter(contradicts())
    beside = given.kept.keep_all(
        ages=log_ages(given.log.txn_log_records, given.partition_info, given.listing),
        decisions=newest_decisions(opened, given.log),
        moments=moments(opened, given.states, tolerance),
        gone_on=gone_on(opened, given.states, given.owners, given.partition_info, tolerance),
        epochs=epochs(opened, given.log),
        told_of=decided_producers(opened, given.log),
        shared=shared_epochs(contradicting, given.log),
        known=known_histories(contradicting, given.history),
    )
    return (
        with_coordinator(selected, given.owners)
        .withColumn("listed", F.concat_ws("-", "topic", "partition"))
        .join(small(beside["decisions"]), on=["producer_id", "listed"], how="left")
        .join(small(beside["told_of"]), on="producer_id", how="left")
        .join(small(beside["moments"]), on=OF_TRANSACTION, how="left")
        .join(small(beside["gone_on"]), on=OF_TRANSACTION, how="left")
        .join(small(beside["epochs"]), on=["producer_id", "highest_epoch"], how="left")
        .join(
            small(beside["shared"]),
            on=["producer_id", "marker_epoch", "marker_commit", "listed"],
            how="left",
        )
        .join(small(beside["known"]), on="producer_id", how="left")
        .crossJoin(F.broadcast(beside["ages"]))
    )


def transaction_context(given: TransactionInputs, files: DataFrame, ages: Ages) -> Context:
    """Rows of `jobs.replay.transactions.transactions`, transactions and lone markers alike.

    Added: what `open_lookups` and `marker_decisions` look up, the columns of `open_transaction`
    (`appended_by`, `log_columns`, `coordinator_columns`, `late_write_columns`, `all_aborted`,
    hangs, overdue, start_untold, unmarked_decision) and of `marker_decision_columns`, of `_holding`
    and `_lost_around_marker`; age_ms (see `age`); state_may_have_expired;
    data_may_have_expired (the same of a broker that asks previous_data alone).
    """
    transactions = given.transactions
    is_open = F.col("outcome") == "open"
    oldest = transactions.groupBy("partition_index").agg(
        F.min(F.when(is_open, F.col("first_offset"))).alias("oldest_open"),
    )
    known = given.partition_info.drop("batches", "records")  # those of the whole partition
    # What is open at or above the log end has a wrong offset, which tells nothing of its marker.
    in_log = ~is_open | (F.col("first_offset") < F.col("log_end_offset"))
    rows = (
        inner(transactions, small(known), on="partition_index")
        .filter(in_log)
        .join(small(oldest), on="partition_index", how="left")
    )
    tolerance = ages.clock_tolerance

    # The marker's own moment, or that of data which it ends, is the broker's.
    def expired(timestamp: str) -> Column:
        later = latest_reading(F.col("marker_timestamp"), F.lit(tolerance))
        since: Column = at_least_later(F.col(timestamp), later, ages.producer_expiration)
        return surely(since)

    def enrich(selected: DataFrame) -> DataFrame:
        timed = _looked_up(selected, given, tolerance).select(
            "*",
            appended_by(tolerance).alias("appended_by_ms"),
            longest_open(ages).alias("limit_ms"),
        )
        named = with_paths(timed, files, **FILES)
        described = named.select(
            *[name for name in named.columns if name not in ASKED_ONLY],
            *marker_decision_columns(tolerance),
            *log_columns(tolerance),
            *coordinator_columns(ages.now, ages.late_slack, tolerance),
            *late_write_columns(tolerance),
            all_aborted(tolerance).alias("all_aborted"),
            logs_later(tolerance).alias("logs_later"),
            *_holding(ages.now),
            *_lost_around_marker(),
            expired("state_timestamp").alias("state_may_have_expired"),
            expired("previous_data.timestamp").alias("data_may_have_expired"),
            *_places(),
        )
        aged = described.withColumn("age_ms", age(ages.now))
        return aged.select(
            "*",
            hangs().alias("hangs"),
            overdue().alias("overdue"),
            start_untold().alias("start_untold"),
            unmarked_decision(tolerance).alias("unmarked_decision"),
            *_places_of_regression(),
        )

    return Context("transaction", rows, _regular, enrich, given.folded, within_cluster=True)
