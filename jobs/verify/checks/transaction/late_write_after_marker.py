"""A write arrived after the marker of its own transaction, and opened one that nobody will end.

What it finds: transactional data at the end of the log behind a marker of the same producer epoch,
while the coordinator's log has no later transaction of the producer that lists the partition.

Why it is wrong: before protocol 2 a transaction and the next may have the same epoch, so a leader
that does not ask the coordinator takes a delayed produce request for the begin of the next one
(KIP-890). It is told before any timeout has passed; once it is older than that, and its
coordinator does not know of it, hanging_transaction tells it instead.

When it is legal: the coordinator's log was copied before the partition was added to the next
transaction. Where the producer's next transaction has joined the data, nothing proves them late.

Evidence: the marker and the first batch behind it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions import told_of_a_longer_copy, unstable_tail
from jobs.verify.remedies import abort_command
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

CHECK = Check(
    code="late_write_after_marker",
    severity=ERROR,
    context="transaction",
    cause=ONE_TRANSACTION,
    source="KIP-890",
    fires=lambda: (
        F.col("behind_own_marker")
        & ~F.col("coordinator_covers_partition")
        & ~F.col("two_phase_commit")
        & ~F.col("hangs")
    ),
    excuses=(
        told_of_a_longer_copy(),
        explained(MISSING_RANGE, lambda: F.col("behind_gap")),
        # A later transaction lists the partition; what its marker is, other checks ask.
        explained(DUMP_BEFORE_EVENT, lambda: F.col("listed_later")),
        unstable_tail("offset_first"),
        inconclusive(TXNLOG_NOT_DUMPED, lambda: ~F.col("coordinator_known")),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("registration_over")),
        inconclusive(TXNLOG_COMPACTED, lambda: ~F.col("listing_known")),
        suspect(CLOCK_SKEW, lambda: ~F.col("one_clock")),
    ),
    expected=lambda: text("a transaction of epoch {producer_epoch} that lists {listed}"),
    found=lambda: text(
        "data behind the marker of epoch {producer_epoch}; coordinator: {coordinator_state}"
    ),
    proofs=(
        Proof(
            "the marker of the same epoch",
            "opening_marker_file",
            "opening_marker_position",
            "opening_marker_length",
        ),
        Proof("first batch behind it"),
    ),
    message=lambda: text(
        "Producer {producer_id} (epoch {producer_epoch}, {transactional_id}) wrote at offset "
        "{first_offset} after its marker at offset {marker}, outside any transaction: nobody will "
        "end it, and read_committed consumers will stop there.",
        marker="opening_marker.offset",
    ),
    remedy=abort_command,
)
