"""A producer snapshot contradicts the log before it.

What it finds: a producer whose epoch, last sequence, last offset, timestamp, coordinator epoch or
open transaction in a `.snapshot` differs from the state that the batches before it lead to. The
state is replayed from the previous snapshot, or from offset 0. Where neither is known, or the log
lacks something, the newest batches of a producer still tell its epoch, last sequence, last offset
and open transaction, if nothing is missing behind them. Each difference is reported once.

Why it is wrong: a broker that restarts or becomes leader continues from the snapshot
(ProducerStateManager.loadFromSnapshot): it refuses valid sequences, accepts duplicates, or has a
last stable offset that no marker advances.

When it is legal: the broker forgets a producer without an open transaction after
producer.id.expiration.ms. In ranges that the cleaner has passed, the log has less than the
snapshot. Kafka 0.11 counts a marker as the last offset. What is missing or damaged may have been
any batch, also a marker. In a live copy, batches above the high watermark may have been truncated
since. A broker that was killed knows nothing below the log start offset, which is unknown without
the log-start-offset-checkpoint.

Evidence: the entry of the snapshot, and the newest batch of the producer before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.forgotten import log_start_unknown
from jobs.verify.remedies import rebuild_snapshots
from jobs.verify.verdict import (
    OTHER_OUTCOME,
    STATE_MAY_HAVE_EXPIRED,
    UNSTABLE_TAIL,
    explained,
    inconclusive,
)
from udfs.arrow.snapshot_ranges import DIFFERS, FORGOTTEN
from udfs.rules.extent import is_replicated

CHECK = Check(
    code="snapshot_state_mismatch",
    severity=ERROR,
    context="snapshot",
    source="ProducerStateManager.takeSnapshot",
    fires=lambda: F.col("fault").isin(DIFFERS, FORGOTTEN),
    excuses=(
        # A row of several producers names only one of them.
        explained(OTHER_OUTCOME, lambda: F.col("reported_before") & (F.col("number") == 1)),
        inconclusive(STATE_MAY_HAVE_EXPIRED, lambda: F.col("fault") == FORGOTTEN),
        inconclusive(
            UNSTABLE_TAIL,
            # A snapshot tells what lies before its offset.
            lambda: (
                ~F.col("clean_shutdown")
                & ~is_replicated(F.col("snapshot_offset") - 1, F.col("replicated_below"))
            ),
        ),
        log_start_unknown(lambda: F.col("lacks_head")),
    ),
    expected=lambda: text("{expected}"),
    found=lambda: text("{found}"),
    proofs=(
        Proof("the entry of the snapshot"),
        Proof("the newest batch before it", "log_file", "log_position", "log_length"),
    ),
    message=lambda: F.when(
        F.col("number") > 1,
        text(
            "The producer snapshot at offset {snapshot_offset} lacks {number} producers of the log "
            "before it. The newest of them is producer {producer_id}: {found}."
        ),
    ).otherwise(
        text(
            "The producer snapshot at offset {snapshot_offset} has for producer {producer_id}: "
            "{found}. The log before it gives: {expected}."
        )
    ),
    remedy=rebuild_snapshots,
)
