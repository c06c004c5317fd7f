"""The start timestamp of a transaction does not fit its state.

What it finds: an Empty record with a start timestamp; an Ongoing, Prepare or Complete record
without one; a start that changes within a transaction, or is later than the update timestamp of its
own record.

Why it is wrong: the coordinator aborts a transaction by its start and its timeout. With a wrong
start it is aborted too early or never.

When it is legal: if records between two are missing, a change is not judged. After appends that
failed late, another transaction may begin from the older state. If a clock was set back, or another
coordinator has a different clock, the update of a running transaction may be earlier than its
start; only at the begin of a transaction are both taken from one reading of one clock.

Evidence: the record and the one before it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.transitions import is_decoded, same_transaction, taken_from_the_older_state
from jobs.verify.verdict import CLOCK_SKEW, suspect
from schemas.coordinator_states import AT_REST, COMPLETE_ABORT, EMPTY, ONGOING
from udfs.rules.logic import surely


def _contradicts_itself() -> Column:
    """A start where there is none, or none where there is one."""
    return ((F.col("state") == EMPTY) & (F.col("start_ms") != -1)) | (
        F.col("state").between(ONGOING, COMPLETE_ABORT) & (F.col("start_ms") < 0)
    )


def _moved() -> Column:
    return same_transaction() & (F.col("start_ms") != F.col("previous.start_ms"))


def _does_not_fit() -> Column:
    """A start where there is none, none where there is one, or one that moved."""
    return _contradicts_itself() | _moved()


def _begins_late() -> Column:
    return F.col("start_ms") > F.col("last_update_ms")


def _begins() -> Column:
    """Whether the record begins a transaction: one reading of the clock is start and update."""
    return (
        F.col("adjacent")
        & (F.col("state") == ONGOING)
        & surely(F.col("previous.state").isin(*AT_REST))
    )


CHECK = Check(
    code="txnlog_start_timestamp_invalid",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata.prepareAddPartitions",
    fires=lambda: is_decoded() & (_does_not_fit() | _begins_late()),
    excuses=(
        taken_from_the_older_state(unless=lambda: surely(_contradicts_itself() | _begins_late())),
        unstable_tail(),
        suspect(CLOCK_SKEW, lambda: ~surely(_does_not_fit()) & ~_begins()),
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
        "{offset}; keep its producer stopped until its partitions have been compared with them."
    ),
)
