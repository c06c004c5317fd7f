"""Sequences of a producer epoch skip forward.

What it finds: a data batch whose first sequence is ahead of the one that must follow the last batch
of the same producer id and epoch in the partition.

Why it is wrong: the leader refuses such a batch (OutOfOrderSequenceException). Its presence means
that batches in between were lost after they had been written.

When it is legal: the state of the producer had expired, or is below the log start offset in a
segment that a restarted broker does not read from there; the cleaner removed the batches in
between, or they are damaged or missing in the dump, and at least as many offsets are missing as
sequences. Behind its checkpoint a cleaner removes aborted transactions only, with an offset for
their marker; where something else is missing there, the finding is inconclusive.

If the head of the log is gone, the producer snapshot at its first offset shows which sequence must
follow. A broker that has forgotten the producer, as up to Kafka 2.3 with the head of the log,
accepted only 0.

Evidence: the batch before, or its entry in that snapshot, and the batch that skips.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.forgotten import forgotten_in_place, state_may_have_expired
from jobs.verify.conditions.missing import between_counts, number_missing
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import CLEANED_RANGE, MISSING_RANGE, explained, inconclusive
from udfs.rules.logic import surely
from udfs.rules.producer_step import is_ahead, sequence_distance


def _skipped() -> Column:
    """How many sequences are skipped."""
    skipped: Column = sequence_distance(F.col("expected_sequence"), F.col("first_sequence"))
    return skipped


def _skipped_fits_in_offsets() -> Column:
    """Whether so many offsets are missing: each record takes one, whatever took it from the log."""
    return _skipped() <= F.col("offsets_missing_before")


def _behind_the_keys_of_the_cleaner() -> Column:
    """Whether records are missing where this cleaner took none by their key.

    From its checkpoint to the end of that segment a pass removes aborted transactions and markers
    only; and the ABORT marker has an offset, too. But one that ends behind that segment may lack a
    part, and a cleaner of another broker may have gone further before the records were fetched.
    """
    checkpoint = F.coalesce("cleaner_checkpoint", F.lit(0).cast("long"))
    last = F.least(checkpoint, F.col("first_offset")) - 1
    most = between_counts("previous.absent_to_last", "absent_to_first")
    below = number_missing(F.col("previous.last_offset") + 1, last, most)
    plain = ~F.col("transactional") & ~F.col("previous.transactional")
    one_marker_seen = F.col("transaction_number") == F.col("data_transaction_number") + 1
    no_room = one_marker_seen & (_skipped() + 1 > F.col("offsets_missing_before"))
    # Of an aborted transaction the last batch stays, empty, and its marker comes behind that.
    whole = F.col("transactional") & no_room & (F.col("records") > 0)
    below += F.col("offsets_untold_before")
    return (_skipped() > below) & (plain | F.col("open_transaction") | surely(whole))


CHECK = Check(
    code="sequence_gap",
    severity=ERROR,
    context="run",
    source="ProducerAppendInfo.checkSequence",
    fires=lambda: (
        F.col("client_data")
        & F.col("sequence_known")
        & (F.col("producer_epoch") == F.col("state_epoch"))
        & is_ahead(F.col("expected_sequence"), F.col("first_sequence"))
    ),
    excuses=(
        explained(
            MISSING_RANGE,
            lambda: F.col("joins_earlier") | (F.col("lost_before") & _skipped_fits_in_offsets()),
        ),
        inconclusive(
            CLEANED_RANGE, lambda: _skipped_fits_in_offsets() & _behind_the_keys_of_the_cleaner()
        ),
        explained(CLEANED_RANGE, _skipped_fits_in_offsets),
        state_may_have_expired(),
        unstable_tail(),
        forgotten_in_place("state_offset"),
    ),
    expected=lambda: text("first sequence {expected_sequence}"),
    found=lambda: text("first sequence {first_sequence}"),
    proofs=(
        Proof("the batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the batch that skips"),
    ),
    message=lambda: text(
        "The batch of producer {producer_id}, epoch {producer_epoch}, at offset {first_offset} "
        "begins with sequence {first_sequence}. After the batch before it, sequence "
        "{expected_sequence} must follow."
    ),
)
