"""A replica lacks a range of offsets that another replica has.

What it finds: offsets below the high watermark of two copies that are missing between two batches
of one copy, while the other copy has batches there.

Why it is wrong: a follower appends what it fetches without a gap, and retention deletes only from
the start of the log. The records are lost here, and for consumers as soon as this replica becomes
leader.

When it is legal: the cleaner has passed on one of the copies (not reported), or on another broker
from which this one fetched (suspect; inconclusive if the topic is known to be compacted), or the
file is damaged (a separate finding). The files of a running broker are copied one after another:
between two segments, its copy may lack offsets that were written, or deleted, in the meantime.

Evidence: the batch after the gap, and the first batch that the other copy has there.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.verdict import (
    CLEANED_RANGE,
    CONFIG_UNKNOWN,
    DUMP_BEFORE_EVENT,
    TOPIC_RECREATED,
    UNSTABLE_TAIL,
    inconclusive,
    suspect,
)

CHECK = Check(
    code="replica_range_hole",
    severity=ERROR,
    context="replicas",
    source="ReplicaFetcherThread, UnifiedLog.deleteOldSegments",
    fires=lambda: F.col("difference") == "lacks",
    excuses=(
        inconclusive(UNSTABLE_TAIL, lambda: ~F.col("both_high_watermarks_known")),
        inconclusive(CONFIG_UNKNOWN, lambda: F.col("cleaning_unknown")),
        inconclusive(
            CLEANED_RANGE, lambda: F.col("may_be_cleaned") | F.col("may_be_fetched_cleaned")
        ),
        inconclusive(DUMP_BEFORE_EVENT, lambda: F.col("between_segments") & ~F.col("clean")),
        # It may have been fetched from a broker that had cleaned further and is not in the dump.
        suspect(CLEANED_RANGE, lambda: ~F.col("never_compacted")),
        # The checkpoint of the cleaner may be older than its first pass.
        suspect(CLEANED_RANGE, lambda: ~F.col("clean")),
        suspect(TOPIC_RECREATED, lambda: ~F.col("topic_known")),
    ),
    expected=lambda: text("the batches of offsets {offset_first} to {offset_last}"),
    found=lambda: text("a gap where broker {other_broker} has batches"),
    proofs=(
        Proof("the batch after the gap"),
        Proof("the first missing batch", "other_file", "other_position", "other_length"),
    ),
    message=lambda: text(
        "The copy of broker {broker} lacks offsets {offset_first} to {offset_last}, which broker "
        "{other_broker} has and which lie below the high watermark of both."
    ),
    remedy=lambda: text(
        "Do not let broker {broker} become leader of this partition. Stop it, move the folder "
        "away, and start it: it fetches the partition again."
    ),
)
