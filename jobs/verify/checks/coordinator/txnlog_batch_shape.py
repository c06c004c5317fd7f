"""A batch of the coordinator's log was not written by a coordinator.

What it finds: a batch in `__transaction_state` that is compressed, is transactional, has a producer
id, or holds a state record together with other records.

Why it is suspicious: the coordinator writes every state record uncompressed, in a batch of its own.
Another program wrote here, or the topic configuration was changed by hand.

When it is legal: tombstones of expired ids are together in one batch; the topic configuration may
have been changed by hand.

Evidence: the batch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, text
from jobs.verify.conditions.settled import unstable_tail
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
    expected=lambda: text("one state record, uncompressed, without a producer id"),
    found=lambda: text("{batch_shape}"),
    message=lambda: text(
        "The batch at offset {offset} of __transaction_state-{partition} does not have the form "
        "that a coordinator writes: {batch_shape}."
    ),
)
