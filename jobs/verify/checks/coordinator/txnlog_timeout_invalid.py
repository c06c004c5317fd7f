"""A transaction timeout is out of the range that a coordinator accepts.

What it finds: a timeout of 0 or less, or longer than transaction.max.timeout.ms as far as that is
known.

Why it is wrong: the timeout ends a transaction whose producer is gone.

When it is legal: 2147483647 marks an id of two-phase commit. Whether the brokers allow more than
the configuration of the audit says is not in the dump: then the finding is inconclusive.

Evidence: the batch of the record.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import is_decoded
from jobs.verify.verdict import CONFIG_UNKNOWN, TWO_PHASE_COMMIT, explained, inconclusive
from schemas.coordinator_states import TWO_PHASE_COMMIT_TIMEOUT


def _first_with_it() -> Column:
    """One finding for each id and timeout, not one for each of its records."""
    return F.coalesce(F.col("previous.timeout_ms") != F.col("timeout_ms"), F.lit(True))


CHECK = Check(
    code="txnlog_timeout_invalid",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionStateManager.validateTransactionTimeoutMs",
    fires=lambda: (
        is_decoded()
        & (
            (F.col("timeout_ms") <= 0)
            | ((F.col("timeout_ms") > F.col("limit_ms")) & _first_with_it())
        )
    ),
    excuses=(
        explained(TWO_PHASE_COMMIT, lambda: F.col("timeout_ms") == TWO_PHASE_COMMIT_TIMEOUT),
        unstable_tail(),
        inconclusive(CONFIG_UNKNOWN, lambda: F.col("timeout_ms") > 0),
    ),
    expected=lambda: text("a timeout from 1 to {limit_ms} ms"),
    found=lambda: text("{timeout_ms} ms"),
    message=lambda: text(
        "The record of transactional id {transactional_id} at offset {offset} has a timeout of "
        "{timeout_ms} ms."
    ),
)
