"""Records of a group are in a partition where its coordinator does not look for them.

What it finds: a group whose hash, modulo the number of partitions of `__consumer_offsets`, is not
the number of the partition that holds its records.

Why it is wrong: the coordinator of a group is the leader of exactly that partition. Offsets in
another partition are lost to the group: it starts from its reset policy and may process records
twice.

When it is legal: a group that was deleted, or whose offsets expired, before partitions were added
to the topic: the last record of each of its keys there is a tombstone, and nothing is reported. The
number of partitions is not written in the log. If one number fits every group of the dump, nothing
is reported. If none does, the groups that contradict the number most groups fit are reported.

Evidence: the batch of the group's first record there.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import CONFIG_UNKNOWN, explained, inconclusive

CHECK = Check(
    code="group_wrong_partition",
    severity=ERROR,
    context="group_record",
    source="GroupCoordinatorService.partitionFor",
    fires=lambda: F.col("fault") == "misplaced",
    excuses=(
        explained(CONFIG_UNKNOWN, lambda: F.col("some_number_fits")),
        unstable_tail(),
        inconclusive(CONFIG_UNKNOWN, lambda: ~F.col("most_fit")),
    ),
    expected=lambda: text("the partition that its hash gives"),
    found=lambda: text("partition {partition}"),
    message=lambda: text(
        "Group {group} has records in {topic}-{partition}, first at offset {offset}. Its "
        "coordinator does not read that partition, so its committed offsets there are lost to "
        "the group."
    ),
    remedy=lambda: text(
        "Check whether partitions were added to {topic}. Compare the committed offsets that group "
        "{group} now has with those stored here, and set them with kafka-consumer-groups.sh."
    ),
    needs_records=True,
)
