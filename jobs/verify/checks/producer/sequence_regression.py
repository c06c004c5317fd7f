"""Sequences of a producer epoch go back.

What it finds: a data batch whose first sequence is lower than the one that must follow the last
batch of the same producer id and epoch in the partition, and that does not only repeat earlier
batches (see duplicate_batch).

Why it is wrong: the leader refuses such a batch (OutOfOrderSequenceException). Its presence means
that some records were written twice, or that the log was changed.

When it is legal: the wrap from 2147483647 to 0; the state of the producer had expired (clients
before 2.5 then began at 0 in the same epoch), or, up to Kafka 2.3, was lost with the head of the
log. The log-start-offset-checkpoint of a broker that stopped cleanly shows where the log began;
that of another broker does not.

Evidence: the batch before and the batch that goes back.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.began_anew import (
    began_anew_above_the_start,
    began_anew_where_the_start_is_unknown,
)
from jobs.verify.conditions.forgotten import (
    data_forgotten_with_the_head,
    forgotten_behind_a_marker,
    state_may_have_expired,
)
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import MISSING_RANGE, explained
from udfs.rules.producer_step import is_behind

CHECK = Check(
    code="sequence_regression",
    severity=ERROR,
    context="run",
    source="ProducerAppendInfo.checkSequence",
    fires=lambda: (
        F.col("client_data")
        & F.col("sequence_known")
        & (F.col("producer_epoch") == F.col("state_epoch"))
        & is_behind(F.col("expected_sequence"), F.col("first_sequence"))
        & ~F.col("repeats")
    ),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("joins_earlier") | F.col("overlaps")),
        began_anew_above_the_start(),
        state_may_have_expired(),
        unstable_tail(),
        data_forgotten_with_the_head(),
        forgotten_behind_a_marker(),
        *began_anew_where_the_start_is_unknown(),
    ),
    expected=lambda: text("first sequence {expected_sequence}"),
    found=lambda: text("first sequence {first_sequence}"),
    proofs=(
        Proof("the batch before", "previous_file", "previous_position", "previous_length"),
        Proof("the batch that goes back"),
    ),
    message=lambda: text(
        "The batch of producer {producer_id}, epoch {producer_epoch}, at offset {first_offset} "
        "goes back to sequence {first_sequence}. After the batch before it, sequence "
        "{expected_sequence} must follow."
    ),
)
