"""Conditions: what a broker may have forgotten of a producer."""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.conditions.missing import marker_missing_between
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    SIDE_FILES_NOT_DUMPED,
    STATE_MAY_HAVE_EXPIRED,
    VERSION_DEPENDENT,
    Excuse,
    inconclusive,
    suspect,
)
from udfs.rules import attribution
from udfs.rules.absence import most_missing
from udfs.rules.logic import surely
from udfs.rules.memory import may_be_gone_with_the_head


def state_may_have_expired() -> Excuse:
    """The broker may have forgotten the producer in between (producer.id.expiration.ms)."""
    return inconclusive(STATE_MAY_HAVE_EXPIRED, lambda: F.col("state_may_have_expired"))


def below_the_start(offset: str) -> Column:
    """Whether an offset lies below the log start, with what a broker may forget there."""
    below: Column = may_be_gone_with_the_head(F.col(offset), F.col("log_start_offset"))
    return below


def log_start_unknown(concerned: Callable[[], Column] = lambda: F.lit(True)) -> Excuse:
    """Without the log-start-offset-checkpoint nobody knows how far DeleteRecords came.

    What lies below the log start a broker may have forgotten (`udfs.rules.memory`), and the cleaner
    indexes no transaction that ends there. Brokers from 0.11 on always have the file (KIP-107).
    """
    return inconclusive(
        SIDE_FILES_NOT_DUMPED, lambda: ~F.col("has_log_start_checkpoint") & concerned()
    )


def forgotten_with_the_head(offset: str) -> Excuse:
    """A broker may have forgotten producers with the head of the log (`udfs.rules.memory`).

    `offset`: the column with the last offset of the earlier state, from a snapshot or from the
    first segment below the log start offset.
    """
    return suspect(VERSION_DEPENDENT, lambda: below_the_start(offset))


def data_forgotten_with_the_head() -> Excuse:
    """The same of data (context `run`), whose marker may lie above the log start.

    A rebuild reads that marker, and without a batch only sequence 0 is accepted behind it; as where
    a broker up to 2.3 had forgotten all.
    """

    def forgotten() -> Column:
        begins = (F.col("first_sequence") == 0) | ~F.col("client_data")
        of_data = begins & below_the_start("previous.last_offset")
        return of_data | below_the_start("state_offset")

    return suspect(VERSION_DEPENDENT, forgotten)


def forgotten_in_place(offset: str) -> Excuse:
    """The same for batches in the first segment; the column `offset` as above.

    It may be that of a marker: behind one, without a batch, only sequence 0 is accepted, too.
    Without state any sequence is accepted since Kafka 2.5. If a snapshot at the log start offset
    remains, nothing was rebuilt without it, and only a broker up to 2.3 forgot: it accepted only 0.
    """
    return suspect(
        VERSION_DEPENDENT,
        lambda: (F.col(offset) >= F.col("first_base")) & below_the_start(offset),
    )


def forgotten_behind_a_marker() -> Excuse:
    """From 1.0.0 to 2.4.0 data with old event times expire despite a new marker (KAFKA-9144).

    A broker up to 2.4 accepts only sequence 0 from a producer without state. A topic that KRaft
    created was on newer brokers only.
    """

    def forgotten() -> Column:
        begins = (F.col("first_sequence") == 0) & ~F.col("created_once")
        return F.col("data_may_have_expired") & begins

    return suspect(VERSION_DEPENDENT, forgotten)


def fence_may_be_forgotten() -> Excuse:
    """Up to 2.3 any rise of the log start offset forgets a producer without data of its epoch.

    That is the state after a marker of a higher epoch (`ProducerStateManager.isProducerRetained`).
    DeleteRecords and retention raise it, and nobody knows when; a broker up to 2.4 then accepts
    only sequence 0. A topic that KRaft created was on newer brokers only, and a COMMIT that raised
    the epoch of its data was written by a newer one (transaction.version 2).
    """

    def raised() -> Column:
        ended = F.col("transaction_number") == F.col("data_transaction_number") + 1
        return ended & _raised_by_commit(F.col("previous"), "last_offset")

    return suspect(
        VERSION_DEPENDENT, lambda: _head_went() & (F.col("first_sequence") == 0) & ~surely(raised())
    )


def _raised_by_commit(data: Column, last: str) -> Column:
    """Whether the marker before is a COMMIT that raised the epoch of `data`, which it ended.

    `data`: a struct; `last`: the name of its last offset. Not where the COMMIT's own data, and the
    marker of these, may be missing in between; nor where their transaction need not be the first of
    its epoch: it may have come late, behind its own marker, and the COMMIT of the next instance
    ended it.
    """
    marker = F.col("previous_marker")
    by_one: Column = marker["commit"] & (marker["epoch"] == data["epoch"] + 1)
    most = most_missing(data["absent_to_last"], marker["absent_to_marker"])
    gone = marker_missing_between(data[last] + 1, marker["offset"] - 1, most=most)
    return by_one & _begins_epoch(F.col("newest_begin"), data["epoch"]) & ~gone


def _begins_epoch(begin: Column, epoch: Column) -> Column:
    """Whether a transaction is the first of its epoch in the partition; null where none is known.

    `begin`: as of `jobs.replay.producers`. The marker before it has a lower epoch; or the log has
    had no other head since the epoch began, and no marker of the producer before.
    """
    before = begin["offset_before"]
    first = attribution.has_had_no_other_head(
        F.col("first_base"), F.col("coordinator_topic"), begin["first_sequence"]
    )
    most = most_missing(begin["absent_to_before"], begin["absent_to_first"])
    from_offset = F.coalesce(before + 1, F.lit(0))
    gone = marker_missing_between(from_offset, begin["first_offset"] - 1, epoch, most)
    behind_lower: Column = F.coalesce(begin["epoch_before"] < epoch, first)
    return behind_lower & ~gone


def _head_went() -> Column:
    """Whether the log start offset has risen, and brokers may have been older than KRaft."""
    return (F.col("log_start_offset") > 0) & ~F.col("created_once")


def markers_may_be_forgotten(harmless: Callable[[], Column]) -> tuple[Excuse, ...]:
    """The same for a marker that ends no data, and is `harmless`: nothing is decided by it.

    Without data of the epoch of the marker before, the state also has no timestamp up to 2.4.0, and
    is gone when the broker looks next (KAFKA-9144). With such data it goes as they do, and where
    the log began is not known of a running or killed broker.
    """

    def alone() -> Column:
        return F.col("first_offset").isNull() & ~F.col("created_once") & harmless()

    def has_data() -> Column:
        kept = ~below_the_start("previous_data.offset") & ~F.col("data_may_have_expired")
        return surely(F.col("state_has_batches") & kept)

    def raised() -> Column:
        ended = F.col("previous_closed_data")
        return surely(ended & _raised_by_commit(F.col("previous_data"), "offset"))

    return (
        suspect(VERSION_DEPENDENT, lambda: alone() & ~has_data() & ~raised()),
        log_start_unknown(alone),
        # The log start from which a broker of 4.0 rebuilt is in its checkpoint.
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown") & alone() & ~raised()),
    )
