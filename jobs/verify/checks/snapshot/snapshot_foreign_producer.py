"""A producer snapshot has a producer without an origin.

What it finds: an entry of a `.snapshot` for a producer id that is neither in the previous snapshot
nor in any batch between the two.

Why it is suspicious: the entry has no origin in the log. A broker that loads it checks the
sequences of that producer against it, and keeps an open transaction of it without end.

When it is legal: the producer had expired when an older snapshot was written again. Ranges that the
cleaner has passed are not judged, because it removes batches.

Evidence: the entry of the snapshot.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.remedies import rebuild_snapshots
from jobs.verify.verdict import (
    OTHER_OUTCOME,
    STATE_MAY_HAVE_EXPIRED,
    UNSTABLE_TAIL,
    explained,
    inconclusive,
    suspect,
)
from udfs.arrow.snapshot_ranges import FOREIGN
from udfs.rules.extent import is_replicated

CHECK = Check(
    code="snapshot_foreign_producer",
    severity=WARNING,
    context="snapshot",
    source="ProducerStateManager.takeSnapshot",
    fires=lambda: F.col("fault") == FOREIGN,
    excuses=(
        explained(OTHER_OUTCOME, lambda: F.col("reported_before")),
        inconclusive(
            UNSTABLE_TAIL,
            # A snapshot tells what lies before its offset.
            lambda: (
                ~F.col("clean_shutdown")
                & ~is_replicated(F.col("snapshot_offset") - 1, F.col("replicated_below"))
            ),
        ),
        suspect(STATE_MAY_HAVE_EXPIRED),
    ),
    expected=lambda: text("{expected}"),
    found=lambda: text("{found}"),
    proofs=(Proof("the entry of the snapshot"),),
    message=lambda: text(
        "The producer snapshot at offset {snapshot_offset} has producer {producer_id}: {found}. "
        "That producer is neither in the previous snapshot nor in the log between them."
    ),
    remedy=rebuild_snapshots,
)
