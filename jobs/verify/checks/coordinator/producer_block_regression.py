"""The controller gave out producer ids a second time.

What it finds: a block of producer ids in `__cluster_metadata` that does not begin behind the block
before.

Why it is wrong: every block is given out once. Two producers with one id fence each other, and a
broker takes what one writes for what the other has written already.

When it is legal: never; a controller that reads such a log stops.

Evidence: both records of `__cluster_metadata`.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text

CHECK = Check(
    code="producer_block_regression",
    severity=ERROR,
    context="producer_block",
    source="ProducerIdControlManager.replay",
    fires=lambda: F.col("next_producer_id") <= F.col("previous_next_producer_id"),
    expected=lambda: text("next producer id above {previous_next_producer_id}"),
    found=lambda: text("{next_producer_id}"),
    proofs=(
        Proof("gives out the block"),
        Proof("the block before", "previous_file", "previous_position", "previous_length"),
    ),
    message=lambda: text(
        "At offset {offset_first} of __cluster_metadata the next producer id is "
        "{next_producer_id}, though it was {previous_next_producer_id} at offset "
        "{previous_offset}: producer ids were given out twice."
    ),
    remedy=lambda: text(
        "Stop the producers that use ids from {next_producer_id} on, and compare the copies of "
        "__cluster_metadata of all controllers before one of them is restarted."
    ),
)
