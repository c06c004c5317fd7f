"""Context `committed_end`: one row is a partition that ends below what a group has committed."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.conditions.copies import apart_ms
from jobs.verify.contexts.context import Context, with_paths
from schemas.topics import OFFSETS_TOPIC
from udfs.rules.clock import covers
from udfs.rules.logic import surely

PLACE = ("cluster", "topic", "partition")


def committed_end_context(
    commits: DataFrame, partition_info: DataFrame, files: DataFrame, clock_tolerance: int
) -> Context:
    """The commit that lies farthest beyond the log end of a partition, and of how many groups.

    `commits`: those that took effect, the newest of each group and partition among them
    (`jobs.replay.offsets.in_effect`); `clock_tolerance`: how far brokers' clocks may be apart, ms.
    log_end_offset: that of the longest copy. late_enough: it has all that could be read when the
    offset was committed. groups: how many have such a commit.
    """
    copies = partition_info.filter("furthest").withColumn(
        # Without a name all is one cluster.
        "cluster",
        F.coalesce("cluster_id", F.lit("")),
    )
    beyond = inner(_newest(commits, copies), small(_ends(copies)), on=[*PLACE]).filter(
        F.col("commit.committed_offset") > F.col("log_end_offset")
    )
    at_commit = covers(
        F.col("complete_up_to_ms"), F.col("commit.timestamp"), apart_ms(F.lit(clock_tolerance))
    )
    # Of brokers that were stopped and copied one after another each copy has its own moment.
    of_one_stop = F.col("all_stopped") & F.col("by_stopped") & (F.col("by") == F.col("broker"))
    late_enough = surely(of_one_stop) | surely(at_commit)
    farthest = F.struct(late_enough.alias("late_enough"), "commit.committed_offset", "group")
    rows = (
        beyond.withColumn("farthest", farthest)
        .groupBy(*PLACE)
        .agg(F.max_by(F.struct("*"), "farthest").alias("one"), F.count("*").alias("groups"))
        .select("one.*", "groups")
    )

    def enrich(selected: DataFrame) -> DataFrame:
        return with_paths(selected, files, file="commit.file_index").select(
            "*",
            "farthest.late_enough",
            "commit.committed_offset",
            F.col("log_end_offset").alias("offset_first"),
            (F.col("commit.committed_offset") - 1).alias("offset_last"),
            F.col("commit.position").alias("byte_position"),
            F.col("commit.length").alias("byte_length"),
            F.lit(None).cast("long").alias("producer_id"),
            F.lit(None).cast("int").alias("producer_epoch"),
            F.lit(None).cast("string").alias("transactional_id"),
        )

    return Context("committed_end", rows, lambda: F.lit(False), enrich, within_cluster=True)


def _newest(commits: DataFrame, copies: DataFrame) -> DataFrame:
    """The newest commit of each group and partition: group, PLACE of the partition, commit.

    by, by_stopped: the broker of the copy that has it, and whether that had stopped cleanly.
    """
    logs = copies.filter(F.col("topic") == OFFSETS_TOPIC).select(
        "partition_index",
        "cluster",
        F.col("broker").alias("by"),
        F.col("clean_shutdown").alias("by_stopped"),
    )
    newest = F.max_by(F.struct("commit", "by", "by_stopped"), "commit.effective_offset")
    return (
        inner(commits, small(logs), on="partition_index")
        .groupBy(
            "cluster",
            F.col("committed_topic").alias("topic"),
            F.col("committed_partition").alias("partition"),
            "group",
        )
        .agg(newest.alias("newest"))
        .select(*PLACE, "group", "newest.*")
        .filter(F.col("commit.committed_offset").isNotNull())
    )


def _ends(copies: DataFrame) -> DataFrame:
    """Of each partition the longest copy: PLACE, broker, log_end_offset, and how late it is."""
    columns = (
        "broker", "log_end_offset", "complete_up_to_ms", "alone_in_cluster", "created_again",
        "all_stopped", "lost_to",
    )  # fmt: skip
    longest = F.max_by(F.struct(*columns), F.struct("log_end_offset", "broker")).alias("copy")
    return copies.groupBy(*PLACE).agg(longest).select(*PLACE, "copy.*")
