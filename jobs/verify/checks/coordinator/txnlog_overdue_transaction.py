"""A transaction is open far beyond its timeout, and its coordinator has not aborted it.

What it finds: an Ongoing record that is the last of its id in every copy, whose start plus timeout
is well before the moment up to which the copy of the log is complete.

Why it is suspect: the coordinator looks every ten seconds for transactions to abort.

When it is legal: the coordinator was stopped; ids of two-phase commit never time out. Texts of
kafka-dump-log up to 3.9 do not show when a transaction began: then the finding is inconclusive,
unless the last update alone is old enough. It is also inconclusive if later records of that
partition are lost or cannot be decoded.

Evidence: the batch of the record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, moment, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import is_decoded
from jobs.verify.verdict import (
    COORDINATOR_STOPPED,
    MISSING_RANGE,
    TEXT_DUMP_LACKS_FIELD,
    TWO_PHASE_COMMIT,
    explained,
    inconclusive,
    suspect,
)
from schemas.coordinator_states import ONGOING, TWO_PHASE_COMMIT_TIMEOUT
from udfs.rules.logic import surely

CHECK = Check(
    code="txnlog_overdue_transaction",
    severity=WARNING,
    context="coordinator_step",
    source="TransactionStateManager.timedOutTransactions",
    fires=lambda: (
        is_decoded()
        & F.col("last_of_all")
        & (F.col("state") == ONGOING)
        & ((F.col("overdue_ms") > 0) | F.col("start_ms").isNull())
    ),
    excuses=(
        explained(TWO_PHASE_COMMIT, lambda: F.col("timeout_ms") == TWO_PHASE_COMMIT_TIMEOUT),
        inconclusive(
            TEXT_DUMP_LACKS_FIELD,
            lambda: F.col("start_ms").isNull() & ~surely(F.col("overdue_ms") > 0),
        ),
        unstable_tail(),
        inconclusive(MISSING_RANGE, lambda: F.col("lost_behind")),
        suspect(COORDINATOR_STOPPED),
    ),
    expected=lambda: text("COMMIT or ABORT within {timeout_ms} ms"),
    found=lambda: F.when(
        F.col("overdue_ms") > 0, text("Ongoing, {overdue_ms} ms overdue")
    ).otherwise(F.lit("Ongoing; the text does not show since when")),
    message=lambda: F.when(
        F.col("overdue_ms") > 0,
        text(
            "The transaction of {transactional_id} began at {start} with a timeout of "
            "{timeout_ms} ms. Its coordinator has not aborted it.",
            start=F.coalesce(
                moment("start_ms"), F.concat(moment("last_update_ms"), F.lit(" or before"))
            ),
        ),
    ).otherwise(
        text(
            "The transaction of {transactional_id} has a timeout of {timeout_ms} ms and may be "
            "overdue: the text does not show when it began."
        )
    ),
    remedy=lambda: text(
        "Check whether the coordinator of __transaction_state-{partition} is running and has "
        "loaded that partition. If it has and nothing ends the transaction, as after "
        "transaction.version was lowered while it was open, move the leader of that partition: the "
        "next one loads it anew. A coordinator of 4.0.0 never aborts one of epoch 32766 "
        "(KAFKA-19367): upgrade it to 4.0.1 or later."
    ),
)
