"""The producer epoch of a transactional id rises by more or less than its step must.

What it finds: two records of an id and producer id with none missing between, a legal step, and
an epoch that rises by more than one, or rises where it must not: to Ongoing, or on completion; or
a decision under transaction.version 2 that does not raise it.

Why it is suspect: each step has its rise; a larger one means that steps were left out of the log.
Without it the next transaction has the epoch of this one, and a delayed request of this one may
end or join it (KIP-890).

When it is legal: a fence of 4.0.0 raises the epoch by two, and fences whose appends failed raise it
again and again (KAFKA-9666).

Evidence: the record and the one before it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.transitions import is_decoded, lacks_raise, may_follow, of_two_phase_commit
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from schemas.coordinator_states import EMPTY, PREPARE_ABORT, PREPARE_COMMIT


def _most() -> Column:
    """The largest legal rise of the epoch in this step."""
    return (
        F.when(F.col("state") == PREPARE_ABORT, F.lit(2))
        .when(F.col("state").isin(EMPTY, PREPARE_COMMIT), F.lit(1))
        .otherwise(F.lit(0))
    )


CHECK = Check(
    code="txnlog_epoch_jump",
    severity=WARNING,
    context="coordinator_step",
    source="TransactionMetadata.prepareFenceProducerEpoch",
    fires=lambda: (
        is_decoded()
        & F.col("adjacent")
        & may_follow("previous")
        & (F.col("producer_id") == F.col("previous.producer_id"))
        & ((F.col("producer_epoch") - F.col("previous.producer_epoch") > _most()) | lacks_raise())
    ),
    excuses=(
        of_two_phase_commit(),
        unstable_tail(),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: text(
        "producer epoch {least} to {most} above {before}",
        least=lacks_raise().cast("int"),
        most=_most(),
        before="previous.producer_epoch",
    ),
    found=lambda: text("producer epoch {producer_epoch}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "Transactional id {transactional_id} goes from producer epoch {before} to "
        "{producer_epoch} in the step to {state_name} at offset {offset}.",
        before="previous.producer_epoch",
    ),
)
