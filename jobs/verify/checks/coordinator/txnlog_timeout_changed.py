"""The timeout of a transactional id changes without InitProducerId.

What it finds: two records of an id with different timeouts and no record missing between them, of
which the later is not Empty.

Why it is wrong: only InitProducerId, which writes Empty, can change the timeout.

When it is legal: the coordinator repeated a transition from its older state because an append had
failed late.

Evidence: the record and the one before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import is_decoded, taken_from_the_older_state
from schemas.coordinator_states import COMPLETE_ABORT, ONGOING

CHECK = Check(
    code="txnlog_timeout_changed",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata",
    fires=lambda: (
        is_decoded()
        & F.col("adjacent")
        & (F.col("timeout_ms") != F.col("previous.timeout_ms"))
        & F.col("state").between(ONGOING, COMPLETE_ABORT)
    ),
    excuses=(
        taken_from_the_older_state(),
        unstable_tail(),
    ),
    expected=lambda: text("a timeout of {before} ms", before="previous.timeout_ms"),
    found=lambda: text("{timeout_ms} ms"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "The timeout of transactional id {transactional_id} changes from {before} to {timeout_ms} "
        "ms with the {state_name} record at offset {offset}. Only an Empty record changes it.",
        before="previous.timeout_ms",
    ),
)
