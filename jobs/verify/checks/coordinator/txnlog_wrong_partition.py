"""Records of a transactional id are in a partition where its coordinator does not look for them.

What it finds: an id whose hash, modulo the number of partitions of `__transaction_state`, is not
the number of the partition that holds its records.

Why it is wrong: clients ask the coordinator of the right partition, which does not know these
records. An open transaction is never ended, and the id gets a new producer id in addition to the
old one.

When it is legal: if the dump does not show the number of partitions. The number is derived from the
partitions of all ids in the dump; if one number fits all of them, nothing is reported.

Evidence: the first record of the id there.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import unstable_tail
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
        "Transactional id {transactional_id} is in __transaction_state-{partition}. By its hash "
        "and {partition_count} partitions it belongs to partition {home_partition}."
    ),
    remedy=lambda: text(
        "Check whether the folder of the copy has the right name, and whether partitions were "
        "added to __transaction_state. Their number must never change."
    ),
)
