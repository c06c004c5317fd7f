"""A state record carries a state that is never written to the log.

What it finds: a status byte of Dead (6), PrepareEpochFence (7) or above.

Why it is wrong: these states exist only in the memory of the coordinator; an expired id is written
as a tombstone.

When it is legal: a newer broker may know more states; then the finding is inconclusive.

Evidence: the batch of the record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import is_decoded
from jobs.verify.verdict import VERSION_DEPENDENT, inconclusive

CHECK = Check(
    code="txnlog_state_invalid",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionState",
    fires=lambda: is_decoded() & (F.col("status") > 5),
    excuses=(
        inconclusive(VERSION_DEPENDENT, lambda: F.col("status") > 7),
        unstable_tail(),
    ),
    expected=lambda: text("a status byte from 0 to 5"),
    found=lambda: text("status byte {status}"),
    message=lambda: text(
        "The record of transactional id {transactional_id} at offset {offset} has status byte "
        "{status}. No coordinator writes it."
    ),
)
