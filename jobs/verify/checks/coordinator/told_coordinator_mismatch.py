"""A coordinator reports another state of a transactional id than its log has.

What it finds: in a dump over the protocol, a coordinator that reported the same state and producer
id of a transactional id before and after the fetch, while the last record of the id in
`__transaction_state`, written before the fetch, has another state or producer id.

Why it is suspicious: a coordinator answers its clients from its memory. When it restarts or moves,
it rebuilds that from the log; transactions may then end otherwise than clients were told.

When it is legal: an append that failed late, by a timeout, leaves a record that never took effect.
An id that changed during the fetch is not compared. An id that is not listed may be hidden by ACLs.

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
        "Broker {answering_broker} reports {transactional_id} in state {told_state} with producer "
        "id {told_producer_id}. The last record of {transactional_id} in "
        "__transaction_state-{partition} has state {state} and producer id {producer_id}."
    ),
    remedy=lambda: text(
        "Ask the broker again. If the answer is the same, restart it. It then rebuilds its state "
        f"from the log. To ask: {DESCRIBE_TRANSACTION}"
    ),
)
