"""A group's committed offset went back for one commit, as a late request makes it.

What it finds: a transaction whose commit of a partition is lower than the one that it replaced,
while the next commit goes on beyond that one, by the producer that had written it.

Why it is suspect: that producer had not gone back. A commit request that was delayed, or one of
an instance that no longer owned the partition, took effect in between: had the group been read at
that moment, what lies between would have been processed twice.

When it is legal: an application may go back in its input on purpose; then it goes on from the
lower offset, and nothing is told. Two producers that commit the same partition in turn are
inconclusive: the log does not say which of them owned it.

Evidence: the commit before, the lower one, and the next.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.conditions import unstable_tail
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
        Proof("the commit before", "replaced_file", "replaced_position", "replaced_length"),
        Proof("the lower commit"),
        Proof("the next commit", "following_file", "following_position", "following_length"),
    ),
    message=lambda: text(
        "Group {group} had committed offset {replaced_committed_offset} of "
        "{committed_topic}-{committed_partition}; the transaction of producer {producer_id} that "
        "was committed at offset {late_effective_offset} took it back to {late_committed_offset}, "
        "until {following_committed_offset} was committed."
    ),
    remedy=lambda: text(
        "See in the logs of the application whether an instance of group {group} was restarted or "
        "lost {committed_topic}-{committed_partition} at that time."
    ),
    needs_records=True,
)
