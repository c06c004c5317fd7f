"""A producer snapshot names a producer that nothing before it knows.

What it finds: an entry of a `.snapshot` for a producer id that neither the snapshot before it has
nor any batch between the two.

Why it is told: the entry has no origin in the log. A broker that loads it judges the sequences of
that producer by it, and keeps an open transaction of it for ever.

When it is legal: the producer had been forgotten when an older snapshot was written once more. In
what the cleaner has passed nothing is told, since it takes batches.

Evidence: the entry of the snapshot.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import (
    OTHER_OUTCOME,
    STATE_MAY_HAVE_EXPIRED,
    UNSTABLE_TAIL,
    explained,
    inconclusive,
    suspect,
)
from udfs.arrow.snapshot_ranges import FOREIGN

CHECK = Check(
    code="snapshot_foreign_producer",
    severity=WARNING,
    context="snapshot",
    source="ProducerStateManager.takeSnapshot",
    fires=lambda: F.col("what") == FOREIGN,
    excuses=(
        explained(OTHER_OUTCOME, lambda: F.col("told_before")),
        inconclusive(
            UNSTABLE_TAIL,
            lambda: ~F.col("clean_shutdown") & (F.col("snapshot_offset") > F.col("stable_below")),
        ),
        suspect(STATE_MAY_HAVE_EXPIRED),
    ),
    expected=lambda: text("{expected}"),
    found=lambda: text("{found}"),
    proofs=(Proof("the entry of the snapshot"),),
    message=lambda: text(
        "The producer snapshot at offset {snapshot_offset} names producer {producer_id}, of which "
        "neither the snapshot before it nor the log between knows anything: {found}."
    ),
    remedy=lambda: F.lit(
        "Stop the broker, delete this and all later .snapshot files of the partition and the "
        "file .kafka_cleanshutdown, and start it: the state is rebuilt from the log."
    ),
)
