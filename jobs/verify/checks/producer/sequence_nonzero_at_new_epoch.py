"""The first batch of a new producer epoch does not begin at sequence 0.

What it finds: the first data batch of an epoch that is at least as high as every earlier epoch of
the producer in the partition, with a first sequence other than 0.

Why it is wrong: a leader that has state of the producer accepts only 0 for a new epoch, so batches
at the start of the epoch were lost.

When it is legal: the start of the log is not in the dump; the cleaner removed the batches before
and their offsets are missing too; they are damaged or missing; the producer's state had expired, or
all of it is below the log start offset. Inside an open transaction epoch_bump_inside_open_txn
reports it.

Evidence: the last known batch or marker of the producer, and the batch.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions import forgotten_in_place, state_may_have_expired, unstable_tail
from jobs.verify.verdict import (
    CLEANED_RANGE,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    explained,
    inconclusive,
)


def _began_in_what_is_missing() -> Column:
    """Whether the epoch may have begun in offsets that the cleaner took.

    Where nothing is known of the producer's data, a broker may have met it there without any state,
    and then takes any sequence (KIP-360).
    """
    unknown_there = F.col("previous").isNull() & F.col("missing_before")
    return unknown_there | (F.col("first_sequence") <= F.col("offsets_missing_before"))


def _highest_epoch() -> Column:
    return F.coalesce(F.greatest("highest_data_epoch", "highest_marker_epoch"), F.lit(-1))


CHECK = Check(
    code="sequence_nonzero_at_new_epoch",
    severity=ERROR,
    context="run",
    source="ProducerAppendInfo.checkSequence",
    fires=lambda: (
        F.col("client_data")
        & F.col("state_epoch").isNotNull()
        & (F.col("producer_epoch") >= _highest_epoch())
        & (F.col("producer_epoch") > F.coalesce("highest_data_epoch", F.lit(-1)))
        & (F.col("first_sequence") != 0)
        & ~(F.col("transactional") & F.col("open_transaction"))
    ),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("lost_before")),
        explained(CLEANED_RANGE, _began_in_what_is_missing),
        inconclusive(NO_INITIAL_STATE, lambda: ~F.col("start_known") & F.col("previous").isNull()),
        state_may_have_expired(),
        unstable_tail(),
        # A marker above the log start offset would be remembered.
        forgotten_in_place("state_offset"),
    ),
    expected=lambda: F.lit("first sequence 0"),
    found=lambda: text("first sequence {first_sequence}"),
    proofs=(
        Proof("the batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the first batch of the epoch"),
    ),
    message=lambda: text(
        "Producer {producer_id} begins epoch {producer_epoch} at offset {first_offset} with "
        "sequence {first_sequence} instead of 0."
    ),
)
