"""The controller allocated producer ids a second time.

What it finds: a block of producer ids in `__cluster_metadata` that does not begin after the
previous block. A record has the first id behind its block, and a block has 1000 ids.

Why it is wrong: every block is allocated once. Two producers with one id fence each other, and a
broker takes the batches of one for duplicates of the other's.

When it is legal: never; a controller stops that reads a log in which the number does not rise. A
block of a metadata transaction that was aborted was never given out, and does not count; nor does
one in front of lost records of its transaction, as its abort may be among them.

Evidence: both records of `__cluster_metadata`.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from udfs.rules.producer_ids import overlaps_block_before

CHECK = Check(
    code="producer_block_regression",
    severity=ERROR,
    context="producer_block",
    source="ProducerIdControlManager.generateNextProducerId",
    fires=lambda: overlaps_block_before(
        F.col("previous_next_producer_id"), F.col("next_producer_id")
    ),
    expected=lambda: text("next producer id at least 1000 above {previous_next_producer_id}"),
    found=lambda: text("{next_producer_id}"),
    proofs=(
        Proof("the record that allocates the block"),
        Proof("the block before", "previous_file", "previous_position", "previous_length"),
    ),
    message=lambda: text(
        "At offset {offset_first} of __cluster_metadata the next producer id is "
        "{next_producer_id}, behind a block of 1000 ids. At offset {previous_offset} it already "
        "was {previous_next_producer_id}, so producer ids were allocated twice."
    ),
    remedy=lambda: text(
        "Stop the producers that use one of the 1000 ids in front of {next_producer_id}. "
        "Compare the copies of __cluster_metadata of all controllers before you restart one of "
        "them."
    ),
)
