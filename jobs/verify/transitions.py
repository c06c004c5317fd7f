"""Which record of an id may follow which (`TransactionMetadata`, docs/kafka-rules.md)."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.verdict import (
    APPEND_REPEATED,
    TWO_PHASE_COMMIT,
    Excuse,
    inconclusive,
    suspect,
)
from schemas.coordinator_states import (
    AT_REST,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    IN_TRANSACTION,
    NO_STATE,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    TWO_PHASE_COMMIT_TIMEOUT,
)

# From this epoch on InitProducerId gives out a new producer id.
EXHAUSTED_EPOCH = 32766


def may_follow(before: str) -> Column:
    """Whether the record of the row may follow the record in the struct column `before`."""
    state, last = F.col("state"), F.col(f"{before}.state")
    resting = last.isin(*AT_REST)
    # Only transaction.version 2 aborts a transaction that never began.
    empty_abort = resting & (F.col("client_transaction_version") >= 2)
    return F.coalesce(
        F.when(state == NO_STATE, resting)
        .when(state == EMPTY, resting | (last == NO_STATE))
        .when(state == ONGOING, resting | (last == ONGOING))
        .when(state == PREPARE_COMMIT, last == ONGOING)
        .when(state == PREPARE_ABORT, (last == ONGOING) | empty_abort)
        .when(state == COMPLETE_COMMIT, last == PREPARE_COMMIT)
        .when(state == COMPLETE_ABORT, last == PREPARE_ABORT),
        F.lit(False),
    )


def lacks_raise() -> Column:
    """Whether a decision under transaction.version 2 leaves the epoch as it is (KIP-890)."""
    return F.coalesce(
        F.col("state").isin(PREPARE_COMMIT, PREPARE_ABORT)
        & (F.col("client_transaction_version") >= 2)
        & (F.col("producer_epoch") == F.col("previous.producer_epoch")),
        F.lit(False),
    )


def is_repeated() -> Column:
    """The same record once more, as a retry after an append that failed late leaves it."""
    return (
        (F.col("state") == F.col("previous.state"))
        & (F.col("producer_id") == F.col("previous.producer_id"))
        & (F.col("producer_epoch") == F.col("previous.producer_epoch"))
    ) | ((F.col("state") == NO_STATE) & (F.col("previous.state") == NO_STATE))


def is_decoded() -> Column:
    """Whether key and value of the record could be read."""
    return F.col("error").isNull()


def same_transaction() -> Column:
    """Whether this record goes on with the transaction of the record directly before."""
    return (
        F.col("adjacent")
        & F.col("previous.state").isin(*IN_TRANSACTION)
        & F.col("state").isin(*IN_TRANSACTION, COMPLETE_COMMIT, COMPLETE_ABORT)
    )


def taken_from_the_older_state() -> Excuse:
    """The append of the record before failed late: it is in the log, but never took effect."""
    return suspect(APPEND_REPEATED, lambda: F.col("adjacent") & may_follow("earlier"))


def of_two_phase_commit() -> Excuse:
    """An id of two-phase commit may hold a second producer id and epoch while it is prepared."""
    return inconclusive(TWO_PHASE_COMMIT, lambda: F.col("timeout_ms") == TWO_PHASE_COMMIT_TIMEOUT)


def number_of(partitions: str) -> Column:
    """Partitions in a list that may be null."""
    return F.coalesce(F.size(F.col(partitions)), F.lit(0))


def lacks(held: str, wanted: str) -> Column:
    """Whether the list of partitions `held` lacks one of `wanted`; null lists are empty."""
    nothing = F.array().cast("array<string>")
    return F.size(F.array_except(F.coalesce(wanted, nothing), F.coalesce(held, nothing))) > 0
