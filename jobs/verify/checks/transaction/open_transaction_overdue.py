"""A transaction is open far beyond its timeout, and its coordinator is still in state Ongoing.

What it finds: a transaction without a marker at the end of the log, whose coordinator is in state
Ongoing, lists the partition, and should have aborted it before its log was copied.

Why it is suspicious: the coordinator looks every ten seconds for transactions that are older than
their timeout. Until it aborts this one, read_committed consumers wait. The transaction does not
hang: the coordinator lists it and can still end it.

When it is legal: the coordinator was stopped or is loading its log; ids of two-phase commit never
time out. Texts of kafka-dump-log up to 3.9 do not show when a transaction began: then the finding
is inconclusive, unless the last update alone is old enough.

Evidence: the first batch of the transaction.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ONE_TRANSACTION, WARNING, Check, Proof, text
from jobs.verify.conditions.copies import judged_on_a_longer_copy
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import (
    COORDINATOR_STOPPED,
    TEXT_DUMP_LACKS_FIELD,
    inconclusive,
    suspect,
)

CHECK = Check(
    code="open_transaction_overdue",
    severity=WARNING,
    context="transaction",
    cause=ONE_TRANSACTION,
    source="TransactionStateManager.timedOutTransactions",
    fires=lambda: F.col("overdue") | F.col("start_untold"),
    excuses=(
        judged_on_a_longer_copy(),
        inconclusive(TEXT_DUMP_LACKS_FIELD, lambda: ~F.col("overdue")),
        unstable_tail("offset_first"),
        suspect(COORDINATOR_STOPPED),
    ),
    expected=lambda: text("COMMIT or ABORT within {timeout} ms", timeout="coordinator.timeout_ms"),
    found=lambda: F.when(F.col("overdue"), text("Ongoing, {overdue_ms} ms overdue")).otherwise(
        F.lit("Ongoing; the text does not show since when")
    ),
    proofs=(Proof("first batch of the transaction"),),
    message=lambda: F.when(
        F.col("overdue"),
        text(
            "The transaction of {transactional_id} (producer {producer_id}) that began at offset "
            "{first_offset} is {minutes} minutes beyond its timeout. Its coordinator "
            "(__transaction_state-{coordinator_partition}) has not aborted it.",
            minutes=F.floor(F.col("overdue_ms") / 60000),
            coordinator_partition="coordinator.partition",
        ),
    ).otherwise(
        text(
            "The transaction of {transactional_id} (producer {producer_id}) that began at offset "
            "{first_offset} may be beyond its timeout: the text does not show when it began."
        )
    ),
    remedy=lambda: text(
        "Check whether the leader of __transaction_state-{partition} is running and has loaded it. "
        "It then aborts the transaction itself. A producer that starts again with this "
        "transactional id ends it too. If neither does, as after transaction.version was lowered "
        "while it was open, move the leader of that partition: the next one loads it anew.",
        partition="coordinator.partition",
    ),
)
