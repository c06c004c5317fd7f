"""Named conditions that excuses are made of, so that no check forgets one or words it anew.

They read columns that the contexts join from `jobs.replay.partitions.facts`.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.verdict import (
    ADMIN_ABORT_POSSIBLE,
    CLEANED_RANGE,
    CONFIG_UNKNOWN,
    DUMP_BEFORE_EVENT,
    OPERATOR_ABORT,
    STATE_MAY_HAVE_EXPIRED,
    UNSTABLE_TAIL,
    VERSION_DEPENDENT,
    Excuse,
    explained,
    inconclusive,
    suspect,
)
from schemas.dump_partition import CLEANED, CLEANING_UNKNOWN
from udfs.wire.batches.batch_layout import MAX_SEQUENCE

SEQUENCE_SPACE = MAX_SEQUENCE + 1
# Behind every offset, with room for arithmetic.
MAX_OFFSET = 1 << 62


def sequence_distance(start: Column, end: Column) -> Column:
    """Steps from `start` forward to `end` in the circle of sequences, 0 to 2^31 - 1."""
    return F.pmod(end.cast("long") - start.cast("long"), F.lit(SEQUENCE_SPACE))


def is_ahead(expected: Column, found: Column) -> Column:
    """Whether `found` lies ahead of `expected` rather than behind it, on the circle."""
    distance = sequence_distance(expected, found)
    return (distance > 0) & (distance < SEQUENCE_SPACE // 2)


def is_behind(expected: Column, found: Column) -> Column:
    """Whether `found` lies behind `expected`, on the circle."""
    return sequence_distance(expected, found) >= SEQUENCE_SPACE // 2


def one_instant(coordinator_clean_shutdown: str) -> Column:
    """Whether partition and coordinator log are one moment: one broker, stopped cleanly.

    Nothing in its folder is older than the rest.
    """
    return F.col("single_broker") & F.col("clean_shutdown") & F.col(coordinator_clean_shutdown)


def missing_between(first: Column, last: Column) -> Column:
    """Whether offsets between `first` and `last` (both inclusive) are missing or damaged."""
    return F.exists("holes", lambda hole: (hole["first"] <= last) & (hole["end"] > first))


def missing_behind(offset: Column) -> Column:
    """Whether offsets anywhere behind `offset` (exclusive) are missing; false for a null."""
    return F.coalesce(missing_between(offset + 1, F.lit(MAX_OFFSET)), F.lit(False))


def unstable_tail(offset: str = "offset_last") -> Excuse:
    """At or above the high watermark a batch may still be truncated."""
    return inconclusive(UNSTABLE_TAIL, lambda: F.col(offset) >= F.col("stable_below"))


def unstable_damage() -> Excuse:
    """Damage in the active segment at or above the high watermark: a write cut short."""
    return inconclusive(
        UNSTABLE_TAIL,
        lambda: (
            F.col("active")
            & (F.col("offset_first") >= F.coalesce("checkpoint_high_watermark", "stable_below"))
        ),
    )


def state_may_have_expired() -> Excuse:
    """Between the two the broker may have forgotten the producer (producer.id.expiration.ms)."""
    return inconclusive(STATE_MAY_HAVE_EXPIRED, lambda: F.col("state_may_have_expired"))


def forgotten_with_the_head(known: str) -> Excuse:
    """Up to Kafka 2.3 a broker forgot the producers whose data went with the head of the log.

    `known`: the struct of what was known before; only a snapshot may tell that.
    """
    return suspect(VERSION_DEPENDENT, lambda: F.col(f"{known}.initial"))


def begun_and_gone() -> Excuse:
    """All data of the transaction went with the head of the log: see `forgotten_with_the_head`."""
    return suspect(VERSION_DEPENDENT, lambda: F.col("last_offset") < F.col("log_start_offset"))


def cleaned_between(first: Column) -> Column:
    """Whether the cleaner has passed the offsets from `first` on."""
    return (F.col("cleaning") == CLEANED) & (first < F.col("cleaned_below"))


def cleaning_excuses() -> tuple[Excuse, ...]:
    """For traces that only the cleaner leaves: none in its range, else undecided or suspect."""
    return (
        explained(
            CLEANED_RANGE,
            lambda: (
                (F.col("cleaning") == CLEANED) & (F.col("offset_first") < F.col("cleaned_below"))
            ),
        ),
        inconclusive(CLEANED_RANGE, lambda: F.col("cleaning") == CLEANED),
        inconclusive(CONFIG_UNKNOWN, lambda: F.col("cleaning") == CLEANING_UNKNOWN),
    )


def is_torn() -> Column:
    """Whether an ABORT, before transaction.version 2, stands in place of a COMMIT of others.

    Of the context `decided_partition`: the coordinator committed, this partition has no COMMIT
    marker, and another one has.
    """
    return (
        ~F.col("commit")
        & F.col("prepares").isNull()
        & (F.col("decidable") == 1)
        & F.col("unraised_offset").isNotNull()
        & F.col("replaces_decided")
        & F.col("history_later")
        & F.coalesce("committed_somewhere", F.lit(False))
        & F.col("decided_commit")
        & ~F.col("decided_abort")
    )


def undecided_marker_excuses() -> tuple[Excuse, ...]:
    """Why a marker may have no Prepare record of its own: an operator wrote it, or a copy is older.

    An operator's abort (`kafka-transactions.sh abort`, KIP-664) has the epoch of the open data; a
    marker that raised the epoch of its data is none. Where every decision about that epoch is one
    of transaction.version 2, whose markers raise the epoch, nothing else explains it. Otherwise,
    and where it ended no data, it is only possible; not where the marker of the decision is
    missing in its place.
    """

    def aborts() -> Column:
        return ~F.col("commit") & F.col("raised_offset").isNull()

    def with_epoch_of_data() -> Column:
        return aborts() & F.col("unraised_offset").isNotNull()

    return (
        # Of a transaction that was then committed: torn_transaction tells it.
        explained(
            OPERATOR_ABORT,
            lambda: (
                with_epoch_of_data()
                & F.col("committed_place").isNotNull()
                & ~F.col("replaces_decided")
            ),
        ),
        explained(
            OPERATOR_ABORT,
            lambda: with_epoch_of_data() & (F.col("decided_with_protocol_1") == F.lit(False)),
        ),
        inconclusive(
            ADMIN_ABORT_POSSIBLE,
            lambda: (
                aborts()
                & ~F.col("replaces_decided")
                & (F.col("unraised_offset").isNotNull() | F.col("data_first").isNull())
            ),
        ),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("history_later")),
    )
