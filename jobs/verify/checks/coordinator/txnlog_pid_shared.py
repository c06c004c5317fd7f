"""Two transactional ids have the same producer id.

What it finds: a producer id in the records of two transactional ids, at any time.

Why it is wrong: a producer id is allocated once. Partitions identify producers by it alone, so the
two producers fence each other, end each other's transactions, and lose data as duplicates.

When it is legal: never. A controller that allocates a block of producer ids twice affects a
thousand of them (KAFKA-15552).

Evidence: the first record of each of the two ids with the producer id.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.transitions import is_decoded

CHECK = Check(
    code="txnlog_pid_shared",
    severity=ERROR,
    context="coordinator_step",
    # A block that was handed out twice is one fault, however many of its ids are in use.
    cause=("producer_id_block",),
    source="ProducerIdManager.generateProducerId",
    fires=lambda: (
        is_decoded()
        & F.col("first_use")
        & (F.col("transactional_id") != F.col("first_user.transactional_id"))
    ),
    expected=lambda: text("a producer id of its own"),
    found=lambda: text(
        "producer id {producer_id} of transactional id {other}", other="first_user.transactional_id"
    ),
    proofs=(
        Proof("the first record of the other id", "user_file", "user_position", "user_length"),
        Proof("the first record of this id with the producer id"),
    ),
    message=lambda: text(
        "Transactional ids {transactional_id} and {other} both have producer id {producer_id}. The "
        "first record of {transactional_id} with it is at offset {offset}.",
        other="first_user.transactional_id",
    ),
    remedy=lambda: text(
        "Look for other findings from producer id {producer_id_block} on: the block may have been "
        "allocated twice. Stop the producers of both ids, and start them again under transactional "
        "ids that were never used."
    ),
)
