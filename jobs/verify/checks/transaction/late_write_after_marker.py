"""A write arrived after the marker of its transaction and opened a transaction without an owner.

What it finds: transactional data at the end of the log after a marker of the same producer epoch,
while the coordinator's log has no later transaction of the producer that lists the partition.

Why it is wrong: before transaction.version 2 consecutive transactions may have the same epoch, so a
leader that does not verify with the coordinator takes a delayed produce request for the begin of
the next transaction (KIP-890). This is reported before any timeout has passed. Once the data are
older than every timeout and the coordinator does not list them, hanging_transaction reports them
instead.

If the newest decision that lists the partition was carried out, its Complete record is lost, and no
marker is behind the one before, it is open whether the data came late or that marker is missing.
Both are a break, and it is reported here.

When it is legal: the coordinator's log was copied before the partition was added to the next
transaction. What is missing between the marker and the data, as after compaction, explains them
only where records of the coordinator may be missing, too. If the producer's next transaction has
joined the data, they are told while it runs, and only where it began after a broker timestamp that
follows on the data.

Evidence: the marker and the first batch after it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.copies import judged_on_a_longer_copy
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.contexts.late_write import came_after
from jobs.verify.contexts.open_transaction import decided
from jobs.verify.remedies import end_open_data
from jobs.verify.verdict import (
    CLOCK_SKEW,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    TXNLOG_COMPACTED,
    TXNLOG_NOT_DUMPED,
    explained,
    inconclusive,
    suspect,
)


def _may_be_owned(unless: str) -> Column:
    """Whether a transaction that is not known may own the data; `unless`: what excludes it.

    Behind a decision without its marker the data are no better for it.
    """
    return ~(F.col(unless) | F.col("unmarked_decision"))


CHECK = Check(
    code="late_write_after_marker",
    severity=ERROR,
    context="transaction",
    cause=ONE_TRANSACTION,
    source="KIP-890",
    fires=lambda: (
        F.col("behind_own_marker")
        & (~F.col("coordinator_covers_partition") | F.col("began_behind"))
        & ~F.col("two_phase_commit")
        & ~F.col("hangs")
    ),
    excuses=(
        judged_on_a_longer_copy(),
        explained(MISSING_RANGE, lambda: F.col("behind_gap")),
        # A later transaction lists the partition; what its marker is, other checks ask.
        explained(DUMP_BEFORE_EVENT, lambda: F.col("listed_later") & ~F.col("unmarked_decision")),
        unstable_tail("offset_first"),
        inconclusive(
            TXNLOG_NOT_DUMPED,
            lambda: ~F.col("coordinator_known") & ~F.col("coordinator_log_complete"),
        ),
        # The transactional id has expired: no later dump has its records.
        inconclusive(TXNLOG_COMPACTED, lambda: ~F.col("coordinator_known")),
        inconclusive(DUMP_BEFORE_EVENT, lambda: _may_be_owned("registration_over")),
        inconclusive(TXNLOG_COMPACTED, lambda: _may_be_owned("listing_known")),
        suspect(CLOCK_SKEW, lambda: _may_be_owned("one_clock")),
    ),
    expected=lambda: text("a transaction of epoch {producer_epoch} that lists {listed}"),
    found=lambda: text(
        "data after the marker of epoch {producer_epoch}{ended}; coordinator: {coordinator_state}"
        "{decided}",
        ended=came_after(),
        decided=decided(),
    ),
    proofs=(
        Proof(
            "the marker of the same epoch",
            "opening_marker_file",
            "opening_marker_position",
            "opening_marker_length",
        ),
        Proof("first batch after it"),
    ),
    message=lambda: text(
        "Producer {producer_id} (epoch {producer_epoch}, {transactional_id}) wrote at offset "
        "{first_offset}, after its marker at offset {marker}{outside}. {then} read_committed "
        "consumers stop there.",
        marker="opening_marker.offset",
        outside=F.when(F.col("unmarked_decision"), "").otherwise(
            F.lit(" and outside any transaction")
        ),
        then=F.when(
            F.col("began_behind"),
            F.lit("A transaction that began later runs here; its marker will decide these data."),
        )
        .when(
            F.col("unmarked_decision"),
            F.lit(
                "A later transaction that lists the partition was completed and has no marker "
                "here: its marker is missing, or these data came late."
            ),
        )
        .otherwise(F.lit("No marker will end these data.")),
    ),
    remedy=end_open_data,
)
