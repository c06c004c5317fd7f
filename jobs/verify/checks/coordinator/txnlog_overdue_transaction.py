"""A transaction is open far beyond its timeout, and its coordinator did not abort it.

What it finds: an Ongoing record that is the last of its id in every copy, whose start and timeout
lie well before the moment up to which the copy of the log is complete.

Why it is suspect: the coordinator looks every ten seconds for transactions to abort.

When it is legal: nobody was there to act, because the coordinator was stopped; ids of two-phase
commit never time out.

Evidence: the batch of the record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.transitions import is_decoded
from jobs.verify.verdict import COORDINATOR_STOPPED, TWO_PHASE_COMMIT, explained, suspect
from schemas.coordinator_states import ONGOING, TWO_PHASE_COMMIT_TIMEOUT

CHECK = Check(
    code="txnlog_overdue_transaction",
    severity=WARNING,
    context="coordinator_step",
    source="TransactionStateManager.timedOutTransactions",
    fires=lambda: (
        is_decoded()
        & F.col("last_of_all")
        & (F.col("state") == ONGOING)
        & (F.col("overdue_ms") > 0)
    ),
    excuses=(
        explained(TWO_PHASE_COMMIT, lambda: F.col("timeout_ms") == TWO_PHASE_COMMIT_TIMEOUT),
        unstable_tail(),
        suspect(COORDINATOR_STOPPED),
    ),
    expected=lambda: text("an end within {timeout_ms} ms"),
    found=lambda: text("Ongoing, {overdue_ms} ms overdue"),
    message=lambda: text(
        "The transaction of {transactional_id} began at {start_ms} with a timeout of "
        "{timeout_ms} ms, and its coordinator has not aborted it."
    ),
    remedy=lambda: text(
        "See whether the coordinator of __transaction_state-{partition} is running, and whether "
        "it loaded that partition."
    ),
)
