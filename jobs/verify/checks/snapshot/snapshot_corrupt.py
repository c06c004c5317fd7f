"""A producer snapshot cannot be read.

What it finds: a `.snapshot` whose version is unknown, whose checksum is wrong, whose length does
not fit its number of entries, or that has two entries for a producer.

Why it is wrong: a broker that loads the partition drops such a file and rebuilds the state from an
older one (ProducerStateManager.readSnapshot). Producers whose batches are gone are forgotten:
duplicates are accepted, and an open transaction may be forgotten too.

When it is legal: the broker was writing the newest snapshot when it was copied or killed. A power
failure may leave several snapshots that never reached the disk.

Evidence: the file.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.contexts.snapshot import CORRUPT
from jobs.verify.verdict import UNSTABLE_TAIL, inconclusive, suspect

CHECK = Check(
    code="snapshot_corrupt",
    severity=ERROR,
    context="snapshot",
    source="ProducerStateManager.readSnapshot",
    fires=lambda: F.col("fault") == CORRUPT,
    excuses=(
        inconclusive(UNSTABLE_TAIL, lambda: ~F.col("clean_shutdown") & F.col("newest")),
        suspect(UNSTABLE_TAIL, lambda: ~F.col("clean_shutdown")),
    ),
    expected=lambda: F.lit(
        "version 1, a valid checksum and length, one entry for each producer id"
    ),
    found=lambda: text("{detail}"),
    proofs=(Proof("the snapshot"),),
    message=lambda: text(
        "The producer snapshot at offset {snapshot_offset} of {topic}-{partition} cannot be read: "
        "{detail}."
    ),
    remedy=lambda: F.lit(
        "Check the disk. When the broker loads the partition, it drops the file and rebuilds the "
        "state from an older snapshot and the log."
    ),
)
