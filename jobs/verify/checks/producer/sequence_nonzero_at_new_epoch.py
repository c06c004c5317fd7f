"""The first batch of a new producer epoch does not begin at sequence 0.

What it finds: the first data batch of an epoch that is at least as high as every earlier epoch of
the producer in the partition, with a first sequence other than 0.

Why it is wrong: a leader that has state of the producer accepts only 0 for a new epoch, so batches
at the start of the epoch were lost.

When it is legal: the start of the log is not in the dump; the batches before were removed by the
cleaner, or are damaged or missing, and at least as many offsets are missing as the first sequence
says; the producer's state had expired, or all of it is below the log start offset. Inside an open
transaction epoch_bump_inside_open_txn reports it.

Evidence: the last known batch or marker of the producer, and the batch.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.forgotten import forgotten_in_place, state_may_have_expired
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import (
    CLEANED_RANGE,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    explained,
    inconclusive,
)
from udfs.rules.logic import surely
from udfs.rules.producer_step import sequence_distance


def _met_without_state() -> Column:
    """Whether a broker may have met the producer anew in what is missing behind its known data.

    Where nothing of it was known, or it had been forgotten by then, any sequence is accepted since
    2.5 (KIP-360). A marker behind what is missing says nothing of the state before: only that of
    the known data does.
    """
    expired = F.col("data_may_have_expired") | F.col("marker_may_have_expired")
    forgotten = expired | forgotten_in_place("previous.last_offset").when()
    return F.col("previous").isNull() | surely(forgotten)


def _began_in_what_is_missing() -> Column:
    """Whether the epoch may have begun in missing offsets: each record from 0 on takes one."""
    unseen = sequence_distance(F.lit(0), F.col("first_sequence"))
    has_room: Column = unseen <= F.col("offsets_missing_before")
    return has_room | (F.col("missing_before") & _met_without_state())


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
        explained(MISSING_RANGE, lambda: F.col("lost_before") & _began_in_what_is_missing()),
        explained(CLEANED_RANGE, _began_in_what_is_missing),
        # A replica that began to fetch in front of a snapshot knows less in it than its leader did.
        inconclusive(
            NO_INITIAL_STATE, lambda: (F.col("first_base") > 0) & F.col("previous").isNull()
        ),
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
