"""A transactional id goes back to a producer id that it had given up.

What it finds: a record with a producer id that an earlier record of the same id has, and another
producer id between.

Why it is wrong: a producer id that was used up or expired is never used again. Under the old one
the fencing of the new one is void, and its epochs begin where others ended.

When it is legal: appends of records with new producer ids failed late: they are in the log but
never took effect, and the next step was taken from the older state. A second step of the new
producer id shows that the first took effect.

Evidence: the record and the one before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.transitions import (
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
    expected=lambda: text("producer id {before} or a new one", before="previous.producer_id"),
    found=lambda: text("producer id {producer_id}, given up before"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "Transactional id {transactional_id} goes back from producer id {before} to "
        "{producer_id}, which it had given up, at offset {offset}.",
        before="previous.producer_id",
    ),
    remedy=lambda: text(
        "Stop the producers of {transactional_id}, and compare the partitions that its records "
        "list with what both producer ids wrote; start them again under a new transactional id."
    ),
)
