"""Replicas of a partition belong to different topics of one name.

What it finds: folders of one partition on several brokers whose `partition.metadata` have different
topic ids.

Why it is wrong: a topic id is assigned once (KIP-516), so one of the folders belongs to another
topic, deleted before the present one was created. Its records are not part of this topic.

When it is legal: a broker that was down while the topic was deleted and created anew keeps the old
folder until it starts again. Or one broker was copied before, and the other one after it. The
copies are then not compared with each other.

Evidence: both `partition.metadata`.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import TOPIC_RECREATED, suspect

CHECK = Check(
    code="topic_id_mismatch",
    severity=WARNING,
    context="replicas",
    source="KIP-516, PartitionMetadataFile",
    fires=lambda: F.col("difference") == "topic_id",
    excuses=(suspect(TOPIC_RECREATED),),
    expected=lambda: text("one topic id"),
    found=lambda: text("{one_text} on broker {broker}, {other_text} on broker {other_broker}"),
    proofs=(
        Proof("partition.metadata of one copy"),
        Proof("partition.metadata of the other", "other_file", "other_position", "other_length"),
    ),
    message=lambda: text(
        "The folders of brokers {broker} and {other_broker} belong to two topics of this name: it "
        "was deleted and created again. One of them was left over, or was copied before that."
    ),
    remedy=lambda: F.lit(
        "Compare both topic ids with kafka-topics.sh --describe. Leave the folder of the deleted "
        "topic, or the older copy, out of the dump, and ignore findings about it."
    ),
)
