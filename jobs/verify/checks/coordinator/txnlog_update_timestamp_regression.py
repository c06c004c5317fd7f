"""The update timestamp of a transactional id goes back.

What it finds: two records of an id with no record missing between them, written by one coordinator,
of which the later has the lower update timestamp.

Why it is suspect: one coordinator has one clock. A lower timestamp means that the records are in a
wrong order, or that the clock was set back.

When it is legal: another coordinator with another clock; a clock that was corrected.

Evidence: the record and the one before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, moment, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import is_decoded
from jobs.verify.verdict import CLOCK_SKEW, explained, suspect

CHECK = Check(
    code="txnlog_update_timestamp_regression",
    severity=WARNING,
    context="coordinator_step",
    source="TransactionMetadata",
    fires=lambda: (
        is_decoded()
        & F.col("adjacent")
        & (F.col("last_update_ms") < F.col("previous.last_update_ms"))
    ),
    excuses=(
        explained(CLOCK_SKEW, lambda: F.col("leader_epoch") != F.col("previous.leader_epoch")),
        unstable_tail(),
        suspect(CLOCK_SKEW),
    ),
    expected=lambda: text("last update {before} or later", before="previous.last_update_ms"),
    found=lambda: text("last update {last_update_ms}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "The {state_name} record of transactional id {transactional_id} at offset {offset} has "
        "update timestamp {now}. The record before it has {before}.",
        now=moment("last_update_ms"),
        before=moment("previous.last_update_ms"),
    ),
)
