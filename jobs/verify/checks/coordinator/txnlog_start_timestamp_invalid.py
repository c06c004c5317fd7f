"""The start timestamp of a transaction does not fit its state.

What it finds: an Empty record with a start; an Ongoing, Prepare or Complete record without one; a
start that changes inside a transaction.

Why it is wrong: the coordinator aborts a transaction by its start and its timeout; with a wrong
start it is aborted early or never.

When it is legal: never; where records are missing between two, a change is not judged.

Evidence: the record and the one before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.transitions import is_decoded, same_transaction, taken_from_the_older_state
from schemas.coordinator_states import COMPLETE_ABORT, EMPTY, ONGOING

CHECK = Check(
    code="txnlog_start_timestamp_invalid",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata.prepareAddPartitions",
    fires=lambda: (
        is_decoded()
        & (
            ((F.col("state") == EMPTY) & (F.col("start_ms") != -1))
            | (F.col("state").between(ONGOING, COMPLETE_ABORT) & (F.col("start_ms") < 0))
            | (same_transaction() & (F.col("start_ms") != F.col("previous.start_ms")))
        )
    ),
    excuses=(
        taken_from_the_older_state(),
        unstable_tail(),
    ),
    expected=lambda: text("start {before} in state {state_name}", before="previous.start_ms"),
    found=lambda: text("start {start_ms}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "The {state_name} record of transactional id {transactional_id} at offset {offset} has "
        "start timestamp {start_ms} after {before}.",
        before="previous.start_ms",
    ),
    remedy=lambda: text(
        "Read the records of {transactional_id} in __transaction_state-{partition} around offset "
        "{offset}; do not let its producer go on before its partitions were compared with them."
    ),
)
