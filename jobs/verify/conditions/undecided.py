"""Conditions: markers that no decision of the coordinator leads to."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.verdict import (
    ADMIN_ABORT_POSSIBLE,
    DUMP_BEFORE_EVENT,
    OPERATOR_ABORT,
    OTHER_OUTCOME,
    Excuse,
    explained,
    inconclusive,
)
from udfs.rules.logic import surely


def is_torn() -> Column:
    """Whether, before transaction.version 2, an ABORT took the place of a COMMIT.

    Of the context `decided_partition`: the coordinator committed, this partition has no COMMIT
    marker, and another one has.
    """
    return (
        ~F.col("commit")
        & F.col("prepares").isNull()
        & (F.col("decidable") == 1)
        & F.col("unraised_offset").isNotNull()
        & F.col("replaces_decided")
        & ~F.col("other_short")
        & F.col("history_later")
        & surely(F.col("committed_somewhere"))
        & F.col("decided_commit")
        & ~F.col("decided_abort")
    )


def undecided_marker_excuses() -> tuple[Excuse, ...]:
    """A marker may have no Prepare record: an operator wrote it, or a copy is older.

    An operator's abort (`kafka-transactions.sh abort`, KIP-664) has the epoch of the open data; a
    marker that raised the epoch of its data is not one. If every decision about that epoch is one
    of transaction.version 2, whose markers raise the epoch, it must be an operator's. Otherwise,
    and if it ended no data, it is only possible; but not if the decision's marker is missing there.

    Decisions that an older copy of the coordinator's log lacks explain no marker that ended the
    data of a transaction which that copy has completed, if its own marker is missing there.
    """

    def aborts() -> Column:
        return ~F.col("commit") & F.col("raised_offset").isNull()

    def with_epoch_of_data() -> Column:
        return aborts() & F.col("unraised_offset").isNotNull()

    def ends_decided_data() -> Column:
        # Under version 2, what was decided later was about data of a higher epoch.
        return F.col("other_settled") & F.col("raised_offset").isNotNull()

    return (
        # Two markers prove it without the coordinator's log: epoch_committed_and_aborted.
        explained(
            OTHER_OUTCOME,
            lambda: (
                F.col("raised_both_ways")
                & (~F.col("history_later") | (F.col("decidable") == 0) | F.col("unnamed"))
            ),
        ),
        # Of a transaction that was then committed: torn_transaction reports it.
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
            lambda: (
                with_epoch_of_data() & (F.col("decided_with_transaction_version_1") == F.lit(False))
            ),
        ),
        inconclusive(ADMIN_ABORT_POSSIBLE, lambda: aborts() & ~F.col("replaces_decided")),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("history_later") & ~ends_decided_data()),
    )
