"""A producer id is in use that was never given out.

What it finds: data, a marker or a record of the coordinator of a producer id behind all blocks
of producer ids in `__cluster_metadata`.

Why it is suspicious: a broker takes producer ids from a block that the controller gave it, and the
controller has written that down before. An id from elsewhere can be given out a second time, and
then two producers fence each other and share sequences.

When it is legal: where the copy of `__cluster_metadata` is older than the first use of the id. What
copies batches as they are from another cluster brings its producer ids along, and some versions
lost the last block when they moved a cluster from ZooKeeper (KAFKA-15552). A copy in which blocks
are missing decides nothing, and without one nothing is looked at.

Evidence: the batch or record that uses it first.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import DUMP_BEFORE_EVENT, VERSION_DEPENDENT, inconclusive, suspect

CHECK = Check(
    code="producer_id_unallocated",
    severity=WARNING,
    context="producer",
    source="ProducerIdControlManager, KIP-730",
    fires=lambda: F.col("unallocated").isNotNull(),
    excuses=(
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("metadata_later")),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: text("a producer id below {next_producer_id}"),
    found=lambda: text("producer id {producer_id}"),
    proofs=(Proof("uses the producer id first"),),
    message=lambda: text(
        "Producer id {producer_id} is in use in {topic}-{partition} from offset {offset_first} on, "
        "but __cluster_metadata has given out only ids below {next_producer_id}."
    ),
    remedy=lambda: text(
        "Find out what wrote with producer id {producer_id}: a client that makes up its ids, or a "
        "tool that copies batches from another cluster. The controller will give this id out again."
    ),
)
