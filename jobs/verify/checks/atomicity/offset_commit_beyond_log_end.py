"""A group committed an offset that its partition does not have.

What it finds: a partition whose log end offset, in each copy of the dump, lies below the newest
committed offset of a group.

Why it is suspect: a consumer commits the offset behind the last record that it got, and gets only
records below the high watermark. So the partition had them, and lost them: by an unclean leader
election, or with the log of a broker. The group finds its offset out of range and goes to
`auto.offset.reset`: to the beginning, or behind records that it has not read.

When it is legal: an application may commit any offset. Nothing is reported unless all brokers that
have the partition had stopped cleanly, and the one with the longest copy has the commit, too; or
that copy has something later than the commit, by the brokers' clocks. Nor where
`__cluster_metadata` has an older topic of the name.

Evidence: the record of the commit. Of several groups the one with the highest offset.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import (
    ANY_OFFSET,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    TOPIC_RECREATED,
    explained,
    suspect,
)

CHECK = Check(
    code="offset_commit_beyond_log_end",
    severity=WARNING,
    context="committed_end",
    source="SubscriptionState.allConsumed, Fetcher, UnifiedLog.fetchOffsetSnapshot",
    fires=lambda: F.lit(True),
    excuses=(
        explained(DUMP_BEFORE_EVENT, lambda: ~F.col("late_enough")),
        explained(MISSING_RANGE, lambda: F.col("lost_to") > F.col("log_end_offset")),
        explained(TOPIC_RECREATED, lambda: F.col("created_again")),
        suspect(ANY_OFFSET),
    ),
    expected=lambda: text("a log end offset of at least {committed_offset}"),
    found=lambda: text("log end offset {log_end_offset}"),
    proofs=(Proof("the commit"),),
    message=lambda: F.concat(
        text(
            "Group {group} has committed offset {committed_offset} of {topic}-{partition}, which "
            "ends at offset {log_end_offset}: it read records that the partition has no longer, "
            "unless its application chose the offset itself."
        ),
        F.when(F.col("groups") > 1, text(" {groups} groups are beyond the end.")).otherwise(""),
    ),
    remedy=lambda: text(
        "Look for an unclean leader election of {topic}-{partition}, and for a broker that lost "
        "its disk: a copy of the old log has the records. The group continues where "
        "auto.offset.reset tells. To let it continue behind the last record, stop its consumers "
        "and set it to {log_end_offset}, before anything is produced there: "
        "kafka-consumer-groups.sh --bootstrap-server HOST:PORT "
        "--group {group} --topic {topic}:{partition} --reset-offsets "
        "--to-offset {log_end_offset} --execute."
    ),
    needs_records=True,
)
