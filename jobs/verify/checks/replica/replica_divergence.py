"""Two replicas of a partition hold different batches at one offset.

What it finds: an offset below the high watermark of two copies at which they have batches that are
not the same bytes. Told once a partition, at the first such offset.

Why it is wrong: a follower stores what it fetches as it is (ReplicaFetcherThread), down to the
partition leader epoch. What was below the high watermark was acknowledged, and one of the two
histories is lost: an unclean election, or bytes that changed on a disk. Consumers and producers see
another log after the next change of the leader.

When it is legal: above the high watermark, where a follower truncates; in what the cleaner has
passed, which is left out, since each replica is cleaned at its own time; between two topics that
had the same name one after the other, which partition.metadata tells apart. A copy of a broker
that had not stopped cleanly may hold what was truncated before its checkpoint was copied.

Evidence: the batch in both copies.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.verdict import (
    CLEANED_RANGE,
    CONFIG_UNKNOWN,
    TOPIC_RECREATED,
    UNSTABLE_TAIL,
    inconclusive,
    suspect,
)

CHECK = Check(
    code="replica_divergence",
    severity=ERROR,
    context="replicas",
    source="ReplicaFetcherThread",
    fires=lambda: F.col("what") == "differs",
    excuses=(
        inconclusive(UNSTABLE_TAIL, lambda: ~F.col("both_stable_known")),
        inconclusive(CONFIG_UNKNOWN, lambda: F.col("cleaning_unknown")),
        inconclusive(CLEANED_RANGE, lambda: F.col("may_be_cleaned")),
        suspect(UNSTABLE_TAIL, lambda: ~F.col("both_clean")),
        suspect(TOPIC_RECREATED, lambda: ~F.col("topic_known")),
    ),
    expected=lambda: text("the same batch on brokers {broker} and {other_broker}"),
    found=lambda: text(
        "leader epochs {one_text} and {other_text}; the copies of brokers {pairs} differ"
    ),
    proofs=(
        Proof("the batch in one copy"),
        Proof("the batch in the other", "other_file", "other_position", "other_length"),
    ),
    message=lambda: text(
        "The copies of brokers {broker} and {other_broker} hold different batches from offset "
        "{offset_first} on, below the high watermark of both: one of two histories is lost."
    ),
    remedy=lambda: text(
        "See who led the partition around offset {offset_first} and whether "
        "unclean.leader.election.enable is set; keep both folders before a replica truncates, and "
        "restore what only the copy that is not the leader has."
    ),
)
