"""Transactional offset commits are in a partition that their transaction never listed.

What it finds: transactional data in a partition of `__consumer_offsets`, while no record of that
producer id and epoch in `__transaction_state` lists the partition, although all these records are
present.

Why it is wrong: the coordinator writes markers only to the partitions it lists, so no marker ends
these offset commits. They stay pending and block the group, or take the outcome of the marker of a
later transaction.

When it is legal: never. If an ABORT marker ended them, as an operator's abort does, they have no
effect and nothing is reported. If the copy of the coordinator's log is older than the commits, the
finding is inconclusive.

Evidence: the first batch of the commits, and the last record of the epoch.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.remedies import abort_unlisted
from jobs.verify.verdict import ADMIN_ABORT_POSSIBLE, DUMP_BEFORE_EVENT, explained, inconclusive

CHECK = Check(
    code="offset_commit_unlisted",
    severity=ERROR,
    context="offset_transaction",
    cause=ONE_TRANSACTION,
    source="KIP-98 AddOffsetsToTxn, KIP-890",
    fires=lambda: F.col("first_offset").isNotNull() & ~F.col("listed"),
    excuses=(
        explained(ADMIN_ABORT_POSSIBLE, lambda: F.col("outcome") == "abort"),
        unstable_tail("first_offset"),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("history_covers")),
    ),
    expected=lambda: text(
        "{topic}-{partition} among the partitions of the transaction of epoch {producer_epoch}"
    ),
    found=lambda: F.lit("not listed"),
    proofs=(
        Proof("the first batch of the commits"),
        Proof("the last record of the epoch", "record_file", "record_position", "record_length"),
    ),
    message=lambda: text(
        "Producer {producer_id} (epoch {producer_epoch}) committed offsets at offset "
        "{first_offset} of {topic}-{partition}, but no transaction of {transactional_id} in that "
        "epoch lists the partition."
    ),
    remedy=abort_unlisted,
)
