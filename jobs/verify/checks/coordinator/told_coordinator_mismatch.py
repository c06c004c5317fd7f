"""A coordinator says something else of a transactional id than its log.

What it finds: in a dump over the protocol, a coordinator that named the same state and producer id
before the data were fetched and after them, where the last record of the id in
`__transaction_state`, there since before, has another one.

Why it is suspicious: a coordinator answers its clients by its memory, and rebuilds that from the
log when it restarts or moves: transactions then end otherwise than clients were told.

When it is legal: an append to the log that failed late, for its timeout, leaves a record that never
took effect. What moved meanwhile is compared with nothing, and an id that is not listed may be
hidden by ACLs.

Evidence: none in a file; the offset is that of the record.
"""

from pyspark.sql import functions as F

from jobs.model.commands import DESCRIBE_TRANSACTION
from jobs.verify.check import WARNING, Check, text
from jobs.verify.verdict import APPEND_REPEATED, suspect

CHECK = Check(
    code="told_coordinator_mismatch",
    severity=WARNING,
    context="told_transaction",
    source="TransactionStateManager.listTransactionStates",
    fires=lambda: (
        F.col("quiet")
        & ~(
            F.col("state").eqNullSafe(F.col("told_state"))
            & F.col("producer_id").eqNullSafe(F.col("told_producer_id"))
        )
    ),
    excuses=(suspect(APPEND_REPEATED),),
    expected=lambda: text("{state} of producer {producer_id}"),
    found=lambda: text("{told_state} of producer {told_producer_id}"),
    proofs=(),
    message=lambda: text(
        "Broker {answering_broker} has {transactional_id} in state {told_state} with producer "
        "{told_producer_id}; the last record of __transaction_state-{partition} about it says "
        "{state} of producer {producer_id}."
    ),
    remedy=lambda: text(
        f"Ask again with {DESCRIBE_TRANSACTION}; if it is the same, restart that broker: its "
        "memory is rebuilt from the log."
    ),
)
