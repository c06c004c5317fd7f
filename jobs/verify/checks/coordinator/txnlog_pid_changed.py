"""A transactional id gets another producer id without a reason.

What it finds: two records of an id with none missing between and different producer ids, although
the old epoch was not used up and no tombstone lies between.

Why it is wrong: the producer id is what fences; with a new one the older producer is not fenced
any more, and its open transaction has no owner.

When it is legal: from epoch 32766 on InitProducerId or the end of a transaction gives out a
new one.

Evidence: the record and the one before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.transitions import EXHAUSTED_EPOCH, is_decoded, taken_from_the_older_state

CHECK = Check(
    code="txnlog_pid_changed",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata.prepareProducerIdRotation",
    fires=lambda: (
        is_decoded()
        & F.col("adjacent")
        & (F.col("producer_id") != F.col("previous.producer_id"))
        & (F.col("previous.producer_epoch") < EXHAUSTED_EPOCH)
    ),
    excuses=(
        taken_from_the_older_state(),
        unstable_tail(),
    ),
    expected=lambda: text("producer id {before}", before="previous.producer_id"),
    found=lambda: text("producer id {producer_id}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "Transactional id {transactional_id} changes from producer id {before} to {producer_id} "
        "at offset {offset} although epoch {epoch} was not used up.",
        before="previous.producer_id",
        epoch="previous.producer_epoch",
    ),
    remedy=lambda: text(
        "Read the records of {transactional_id} in __transaction_state-{partition} around offset "
        "{offset}; do not let its producer go on before its partitions were compared with them."
    ),
)
