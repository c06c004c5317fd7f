"""A transactional id lies in a partition where its coordinator will not look.

What it finds: an id whose hash, modulo the number of partitions of `__transaction_state`, is
another partition than the one it lies in.

Why it is wrong: clients ask the coordinator of the right partition, which knows nothing of these
records: an open transaction is never ended, and the id gets a new producer id beside the old one.

When it is legal: where the dump cannot tell the number of partitions. It is found from where all
ids of the dump lie; a number that fits all of them accuses none.

Evidence: the first record of the id there.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.transitions import is_decoded
from jobs.verify.verdict import CONFIG_UNKNOWN, inconclusive

CHECK = Check(
    code="txnlog_wrong_partition",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionStateManager.partitionFor",
    # One finding for each id, at its first record.
    fires=lambda: (
        is_decoded() & F.col("previous").isNull() & (F.col("home_partition") != F.col("partition"))
    ),
    excuses=(
        inconclusive(CONFIG_UNKNOWN, lambda: ~F.col("partition_count_proven")),
        unstable_tail(),
    ),
    expected=lambda: text("partition {home_partition} of {partition_count}"),
    found=lambda: text("partition {partition}"),
    message=lambda: text(
        "Transactional id {transactional_id} lies in __transaction_state-{partition}, but with "
        "{partition_count} partitions it belongs to partition {home_partition}."
    ),
    remedy=lambda: text(
        "See whether the folder of the copy has its right name, and whether somebody added "
        "partitions to __transaction_state; their number must never change."
    ),
)
