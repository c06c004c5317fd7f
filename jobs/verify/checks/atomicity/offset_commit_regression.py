"""The committed offset of a group went back for one commit.

What it finds: a transaction whose offset commit for a partition is lower than the commit it
replaced, while the next commit is higher than the replaced one and comes from the producer that
wrote the replaced one.

Why it is suspect: that producer had not gone back. A delayed commit request, or one of an instance
that no longer owned the partition, took effect in between. A group that had fetched its offsets at
that moment would have processed the records in between twice.

When it is legal: an application may rewind its input on purpose; it then continues from the lower
offset, and nothing is reported. If two producers commit the same partition in turn, the finding is
inconclusive: the log does not show which of them owned it.

Evidence: the replaced commit, the lower commit, and the next commit.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import (
    MISSING_RANGE,
    REWIND_POSSIBLE,
    explained,
    inconclusive,
    suspect,
)

CHECK = Check(
    code="offset_commit_regression",
    severity=WARNING,
    context="offset_commit",
    source="OffsetMetadataManager.replayEndTransactionMarker, KIP-890",
    fires=lambda: F.lit(True),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("missing_between")),
        unstable_tail("following_effective_offset"),
        inconclusive(REWIND_POSSIBLE, lambda: ~F.col("same_producer")),
        suspect(REWIND_POSSIBLE),
    ),
    expected=lambda: text("an offset of at least {replaced_committed_offset}"),
    found=lambda: text("{late_committed_offset}, then {following_committed_offset}"),
    proofs=(
        Proof("the replaced commit", "replaced_file", "replaced_position", "replaced_length"),
        Proof("the lower commit"),
        Proof("the next commit", "following_file", "following_position", "following_length"),
    ),
    message=lambda: text(
        "Group {group} had committed offset {replaced_committed_offset} of "
        "{committed_topic}-{committed_partition}. The transaction of producer {producer_id} with "
        "its marker at offset {late_effective_offset} set it back to {late_committed_offset}. The "
        "next commit was {following_committed_offset}."
    ),
    remedy=lambda: text(
        "Check in the logs of the application whether an instance of group {group} was restarted "
        "or lost {committed_topic}-{committed_partition} at that time."
    ),
    needs_records=True,
)
