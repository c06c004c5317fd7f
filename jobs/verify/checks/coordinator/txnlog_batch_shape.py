"""A batch of the coordinator's log has a shape that no coordinator gives it.

What it finds: a batch in `__transaction_state` that is compressed, transactional, has a producer
id, or holds a state and further records.

Why it is suspicious: the coordinator stores every state plain in a batch of its own; something
else wrote here, or the topic was configured by hand.

When it is legal: tombstones of expired ids lie together in one batch; the configuration of the
topic may have been changed by hand.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.verdict import CONFIG_UNKNOWN, suspect

CHECK = Check(
    code="txnlog_batch_shape",
    severity=WARNING,
    context="coordinator_step",
    source="TransactionStateManager.appendTransactionToLog",
    fires=lambda: F.col("batch_shape").isNotNull(),
    excuses=(
        unstable_tail(),
        suspect(CONFIG_UNKNOWN),
    ),
    expected=lambda: text("one state, not compressed, without a producer id"),
    found=lambda: text("{batch_shape}"),
    message=lambda: text(
        "The batch at offset {offset} of __transaction_state-{partition} was not written as a "
        "coordinator writes: {batch_shape}."
    ),
)
