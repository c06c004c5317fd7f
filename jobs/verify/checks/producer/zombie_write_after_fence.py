"""A fenced producer wrote after the marker that fenced it.

What it finds: a data batch with a lower producer epoch than an earlier marker of the same producer
id in the partition, while no earlier data have a higher epoch (see producer_epoch_regression).

Why it is wrong: the marker raised the producer's epoch, so the leader must refuse the batch
(InvalidProducerEpochException). Its records belong to a transaction that was already decided. A
batch that is in the log before, byte for byte, was stored again by a broker that had lost the
producer's state; the finding then says so.

When it is legal: the state of the producer had expired, or, up to Kafka 2.3, was lost with the head
of the log, which only the log-start-offset-checkpoint of a clean shutdown shows. A COMMIT that
ended data with an impossible epoch (marker_epoch_invalid) fenced no producer.

Evidence: the marker and the batch.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.began_anew import began_anew_where_the_start_is_unknown
from jobs.verify.conditions.forgotten import (
    fence_may_be_forgotten,
    forgotten_with_the_head,
    state_may_have_expired,
)
from jobs.verify.conditions.missing import between_counts, own_missing_between
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.conditions.stored_again import again, correct_readers_or
from jobs.verify.verdict import MISSING_RANGE, explained
from udfs.rules.logic import surely


def _marker_is_wrong() -> Column:
    """Whether the marker ended the data before it, which it cannot, and this batch fits to those.

    A marker behind theirs ended nothing here: whatever its epoch, it raised that of the producer.
    So did one whose own data, or the marker of those before, are missing in front of it.
    """
    step = F.col("previous_marker.epoch") - F.col("previous.epoch")
    ended_them = F.col("transaction_number") == F.col("data_transaction_number") + 1
    unseen = F.col("previous.last_offset") + 1, F.col("previous_marker.offset") - 1
    most = between_counts("previous.absent_to_last", "previous_marker.absent_to_marker")
    return (
        (F.col("previous_marker.offset") > F.col("previous.last_offset"))
        & ended_them
        & ~surely(own_missing_between(*unseen, most))
        & (F.col("previous_marker.commit") & (step > 1))
        & (F.col("producer_epoch") >= F.col("previous.epoch"))
    )


CHECK = Check(
    code="zombie_write_after_fence",
    severity=ERROR,
    context="run",
    source="ProducerAppendInfo.checkProducerEpoch",
    fires=lambda: (
        (F.col("producer_epoch") < F.col("highest_marker_epoch"))
        & F.coalesce(F.col("producer_epoch") >= F.col("highest_data_epoch"), F.lit(True))
        & (F.col("state_epoch") > F.col("producer_epoch"))
    ),
    excuses=(
        explained(MISSING_RANGE, lambda: _marker_is_wrong() | F.col("overlaps")),
        state_may_have_expired(),
        unstable_tail(),
        forgotten_with_the_head("previous_marker.offset"),
        fence_may_be_forgotten(),
        *began_anew_where_the_start_is_unknown(),
    ),
    expected=lambda: text("producer epoch {highest_marker_epoch} or higher"),
    found=lambda: text("producer epoch {producer_epoch}{again}", again=again()),
    proofs=(
        Proof(
            "the marker before",
            "previous_marker_file",
            "previous_marker_position",
            "previous_marker_length",
        ),
        Proof("the batch of the fenced producer"),
    ),
    message=lambda: text(
        "Producer {producer_id} wrote with epoch {producer_epoch} at offset {first_offset}, "
        "although an earlier marker had raised its epoch to {highest_marker_epoch}{again}.",
        again=again(),
    ),
    remedy=lambda: correct_readers_or(
        text(
            "Look for an old instance of the application that is still running. Its batch at "
            "offset {first_offset} of {topic}-{partition} opened a transaction: find the marker "
            "that ends it."
        )
    ),
)
