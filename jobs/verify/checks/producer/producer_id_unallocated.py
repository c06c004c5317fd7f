"""A producer id is in use that the controller never allocated.

What it finds: data, a marker or a coordinator record of a producer id above all blocks of producer
ids in `__cluster_metadata`.

Why it is suspicious: a broker takes producer ids from a block that the controller has allocated and
recorded before. Any other id can be allocated a second time. Then two producers fence each other
and share sequences.

When it is legal: the copy of `__cluster_metadata` is older than the first use of the id. A tool
that copies batches unchanged from another cluster also copies their producer ids, and some versions
lost the last block when they migrated a cluster from ZooKeeper (KAFKA-15552). If blocks are missing
in the copy, the finding cannot be proven; without a copy nothing is checked.

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
    expected=lambda: text("a producer id below {unallocated_from}"),
    found=lambda: text("producer id {producer_id}"),
    proofs=(Proof("the first use of the producer id"),),
    message=lambda: text(
        "Producer id {producer_id} is in use in {topic}-{partition} from offset {offset_first} on. "
        "By __cluster_metadata only ids below {unallocated_from} are allocated."
    ),
    remedy=lambda: text(
        "Find out which program wrote with producer id {producer_id}: a client that makes up its "
        "ids, or a tool that copies batches from another cluster. The controller will allocate "
        "this id to another producer."
    ),
)
