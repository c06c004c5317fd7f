"""A transaction is open, and its coordinator will not end it.

What it finds: a transaction without a marker at the end of the log, whose last batch is older than
every timeout, while the last record of the transaction coordinator does not list the partition, or
no transactional id owns the producer id.

Why it is wrong: the last stable offset cannot advance beyond its first offset, so read_committed
consumers wait without end and the cleaner stops (KIP-664).

When it is legal: a prepared transaction of two-phase commit; the partition and the coordinator's
log were copied at different moments; the marker, or the coordinator's newest record, is damaged or
missing in the dump; the transactional id got another producer id after the partition was copied.
Data at or above the high watermark may still be truncated. Nothing is reported if a producer
snapshot after the missing offsets shows that the transaction has ended. If another copy of the
partition is longer, the transaction is judged there. The age is counted from the first broker
timestamp after the data; client timestamps prove nothing.
Brokers up to Kafka 2.3 forgot a transaction when all its data were deleted with the head of the
log.

If a COMMIT in front of such data shows that a coordinator knew the producer, and
`__transaction_state`, whole from offset 0 on, has no decision about it, the finding says so: its
records are lost.

Evidence: the first and the last batch of the transaction.
"""

from pyspark.sql import functions as F

from jobs.model.found import THOUGH_COMMITTED
from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.began_anew import begun_and_gone
from jobs.verify.conditions.copies import judged_on_a_longer_copy
from jobs.verify.conditions.missing import ended_before_snapshot, marker_gone_with_the_head
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.contexts.late_write import came_after
from jobs.verify.contexts.open_transaction import decided, end_may_be_lost, is_decided, is_unended
from jobs.verify.remedies import end_open_data
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    TWO_PHASE_COMMIT,
    TXNLOG_NOT_DUMPED,
    inconclusive,
)

CHECK = Check(
    code="hanging_transaction",
    severity=ERROR,
    context="transaction",
    cause=ONE_TRANSACTION,
    source="KIP-664, kafka-transactions.sh find-hanging",
    fires=is_unended,
    excuses=(
        judged_on_a_longer_copy(),
        marker_gone_with_the_head(),
        ended_before_snapshot(),
        inconclusive(MISSING_RANGE, end_may_be_lost),
        inconclusive(TWO_PHASE_COMMIT, lambda: F.col("two_phase_commit")),
        inconclusive(
            TXNLOG_NOT_DUMPED,
            lambda: ~F.col("coordinator_known") & ~F.col("coordinator_log_complete"),
        ),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~is_decided()),
        begun_and_gone(),
        unstable_tail("first_offset"),
    ),
    expected=lambda: F.lit("a COMMIT or ABORT marker, or a coordinator that lists the partition"),
    found=lambda: text(
        "no marker; coordinator: {coordinator_state}{forgotten}{late}{decided}",
        forgotten=F.when(F.col("forgotten"), F.lit(THOUGH_COMMITTED)).otherwise(F.lit("")),
        late=F.when(
            F.col("behind_own_marker"),
            text(
                "; the data arrived after the marker of their own epoch at offset {at}{ended}",
                at="opening_marker.offset",
                ended=came_after(),
            ),
        ).otherwise(F.lit("")),
        decided=decided(),
    ),
    proofs=(
        Proof("first batch of the transaction"),
        Proof("last batch of the transaction", "last_file", "last_position", "last_length"),
    ),
    message=lambda: text(
        "The transaction of producer {producer_id} (epoch {producer_epoch}) that began at offset "
        "{first_offset} hangs: it has no marker after {minutes} minutes, and its coordinator "
        "(state {coordinator_state}) does not list this partition. read_committed consumers stop "
        "there.",
        minutes=F.floor(F.col("age_ms") / 60000),
    ),
    remedy=end_open_data,
)
