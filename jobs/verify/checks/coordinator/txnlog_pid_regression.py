"""A transactional id returns to a producer id that it had before.

What it finds: a record with a producer id that an earlier record of the same id has, with another
producer id between them.

Why it is wrong: an exhausted or expired producer id is never used again. Under the old producer id
the fencing of the new one has no effect, and its epochs begin where others ended.

When it is legal: appends of records with new producer ids failed late: they are in the log but
never took effect, and the coordinator made the next transition from its older state. A second
transition of the new producer id shows that the first took effect.

Evidence: the record and the one before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import (
    before_tombstone,
    failed_raise,
    is_decoded,
    of_two_phase_commit,
    taken_from_the_older_state,
)
from jobs.verify.verdict import APPEND_REPEATED, suspect

CHECK = Check(
    code="txnlog_pid_regression",
    severity=ERROR,
    context="coordinator_step",
    source="ProducerIdManager.generateProducerId",
    fires=lambda: is_decoded() & F.col("returns_to_producer_id"),
    excuses=(
        of_two_phase_commit(),
        taken_from_the_older_state(),
        suspect(APPEND_REPEATED, lambda: ~F.col("adjacent") & failed_raise()),
        unstable_tail(),
    ),
    expected=lambda: text(
        "producer id {before} or a new one", before=before_tombstone("producer_id")
    ),
    found=lambda: text("producer id {producer_id}, which was replaced before"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "At offset {offset} transactional id {transactional_id} goes back from producer id "
        "{before} to {producer_id}, which had been replaced before.",
        before=before_tombstone("producer_id"),
    ),
    remedy=lambda: text(
        "Stop the producers of {transactional_id}. Compare the data of both producer ids with the "
        "partitions that its records list. Start the producers again under a new transactional id."
    ),
)
