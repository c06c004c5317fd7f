"""A state record carries a negative producer epoch.

What it finds: a producer epoch below 0 in a record of `__transaction_state`.

Why it is wrong: the epoch of an id begins at 0. Brokers refuse markers with a negative epoch, so
the transaction never ends.

When it is legal: never. An id whose first append failed has epoch -1 in the memory of its
coordinator (KAFKA-14880), but no record carries it.

Evidence: the batch of the record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.remedies import compare_with_records
from jobs.verify.transitions import is_decoded

CHECK = Check(
    code="txnlog_epoch_invalid",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata",
    fires=lambda: is_decoded() & (F.col("producer_epoch") < 0),
    excuses=(unstable_tail(),),
    expected=lambda: text("producer epoch 0 or higher"),
    found=lambda: text("producer epoch {producer_epoch}"),
    message=lambda: text(
        "The record of transactional id {transactional_id} at offset {offset} has producer epoch "
        "{producer_epoch}."
    ),
    remedy=compare_with_records,
)
