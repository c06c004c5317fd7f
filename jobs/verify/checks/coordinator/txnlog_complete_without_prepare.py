"""A transaction was completed without a Prepare record.

What it finds: a CompleteCommit or CompleteAbort record directly after an Empty, Ongoing or other
Complete record of the same id, with no record missing between them.

Why it is wrong: the Prepare record is the decision, and markers are sent only after it is
replicated. Without it neither the decision nor its partitions are known.

When it is legal: the same record written twice; or the coordinator repeated a transition from its
older state because an append had failed late.

Evidence: the record and the one before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import is_decoded, is_repeated, taken_from_the_older_state
from schemas.coordinator_states import AT_REST, COMPLETED, ONGOING

CHECK = Check(
    code="txnlog_complete_without_prepare",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata.prepareComplete",
    fires=lambda: (
        is_decoded()
        & F.col("adjacent")
        & F.col("state").isin(*COMPLETED)
        & F.col("previous.state").isin(*AT_REST, ONGOING)
        & ~is_repeated()
    ),
    excuses=(
        taken_from_the_older_state(),
        unstable_tail(),
    ),
    expected=lambda: text("a Prepare record before {state_name}"),
    found=lambda: text("{previous_state_name}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "Transactional id {transactional_id} changes from {previous_state_name} to {state_name} at "
        "offset {offset}, without a Prepare record between them."
    ),
    remedy=lambda: text(
        "Look for the markers of producer {producer_id} in the partitions that its Ongoing records "
        "list. In partitions without a marker the transaction hangs."
    ),
)
