"""Records of a producer were written twice.

What it finds: a data batch with only such sequences as the same producer id and epoch has already
written to the partition.

Why it is wrong: the leader remembers the last five batches of a producer and appends none of them
again. Consumers read the records twice, which idempotence is there to prevent.

When it is legal: different records may have the sequences of older ones if the broker had forgotten
the producer, because its state had expired or was lost with the head of the log. The
log-start-offset-checkpoint of a broker that stopped cleanly shows where the log began; that of
another broker does not. An identical batch is a retry that was stored twice in any case, and the
message then says so. One of an older epoch is reported by producer_epoch_regression or
zombie_write_after_fence, which say so, too; overlapping offsets by the checks of segments.

Evidence: the batch before and the batch that repeats.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.began_anew import (
    began_anew_above_the_start,
    began_anew_where_the_start_is_unknown,
)
from jobs.verify.conditions.forgotten import data_forgotten_with_the_head, forgotten_behind_a_marker
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import (
    MISSING_RANGE,
    STATE_MAY_HAVE_EXPIRED,
    explained,
    inconclusive,
)
from udfs.rules.producer_step import is_behind

CHECK = Check(
    code="duplicate_batch",
    severity=ERROR,
    context="run",
    source="ProducerStateEntry.findDuplicateBatch",
    fires=lambda: (
        F.col("client_data")
        & F.col("sequence_known")
        & (F.col("producer_epoch") == F.col("state_epoch"))
        & is_behind(F.col("expected_sequence"), F.col("first_sequence"))
        & F.col("repeats")
    ),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("joins_earlier") | F.col("overlaps")),
        began_anew_above_the_start(),
        inconclusive(
            STATE_MAY_HAVE_EXPIRED, lambda: F.col("state_may_have_expired") & ~F.col("same_bytes")
        ),
        unstable_tail(),
        data_forgotten_with_the_head(),
        forgotten_behind_a_marker(),
        *began_anew_where_the_start_is_unknown(),
    ),
    expected=lambda: text("first sequence {expected_sequence}"),
    found=lambda: text("sequences {first_sequence} to {first_batch_last_sequence} again"),
    proofs=(
        Proof("the batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the batch that repeats"),
    ),
    message=lambda: text(
        "Sequences {first_sequence} to {first_batch_last_sequence} of producer {producer_id}, "
        "epoch {producer_epoch}, are in the log twice. The second time is at offset "
        "{first_offset}{cause}.",
        cause=F.when(
            F.col("state_may_have_expired") & F.col("same_bytes"),
            F.lit(
                ", byte for byte. The broker may have forgotten the producer in between: the "
                "timestamps of its records are older than producer.id.expiration.ms"
            ),
        ).otherwise(F.lit("")),
    ),
    remedy=lambda: text(
        "Consumers of {topic}-{partition} have read these records twice. Remove the duplicates "
        "downstream, from offset {first_offset} on."
    ),
)
