"""Groups whose committed offsets lie in or beyond an affected range."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import small
from schemas.incident import AFFECTED_GROUP
from schemas.topics import OFFSETS_TOPIC

COLUMNS = [field for field in AFFECTED_GROUP if field.name != "audit_id"]
# Kind of the ranges that applications derived of affected ones.
DERIVED = "derived_records"
KEY = ("group", "committed_topic", "committed_partition")


def furthest_offsets(info: DataFrame) -> DataFrame:
    """partition_index: the copy of each partition of `__consumer_offsets` that reaches furthest."""
    offsets = info.filter(F.col("topic") == OFFSETS_TOPIC)
    furthest = Window.partitionBy("topic", "partition").orderBy(
        F.desc("log_end_offset"), "partition_index"
    )
    chosen = offsets.withColumn("turn", F.row_number().over(furthest)).filter("turn = 1")
    return chosen.select("partition_index")


def newest_offsets(commits: DataFrame, info: DataFrame) -> DataFrame:
    """The newest committed offset a group and partition: KEY, committed_offset; no tombstones.

    `commits`: `Decoded.effective_commits`. Of several copies of a partition of
    `__consumer_offsets` the one that reaches furthest is asked.
    """
    mine = commits.join(small(furthest_offsets(info)), on="partition_index")
    newest = F.max(F.struct("commit.effective_offset", "commit.committed_offset"))
    return (
        mine.groupBy(*KEY)
        .agg(newest.alias("newest"))
        .select(*KEY, "newest.committed_offset")
        .filter(F.col("committed_offset").isNotNull())
    )


def affected_groups(consequences: DataFrame, derived: DataFrame, offsets: DataFrame) -> DataFrame:
    """Rows of AFFECTED_GROUP without audit_id: each group with each range of its partitions.

    `derived`: rows of AFFECTED. A committed offset is the next one to be read: beyond the last of a
    range all of it was read.
    """
    names = ("incident", "topic", "partition", "kind", "first_offset", "last_offset")
    of_derived = derived.withColumn("kind", F.lit(DERIVED)).select(*names)
    both = consequences.select(*names).unionByName(of_derived)
    ranges = both.filter(F.col("first_offset").isNotNull()).groupBy(*names[:4])
    affected = ranges.agg(
        F.min("first_offset").alias("first_offset"), F.max("last_offset").alias("last_offset")
    )
    joined = affected.join(
        offsets.withColumnsRenamed(
            {"committed_topic": "topic", "committed_partition": "partition"}
        ),
        on=["topic", "partition"],
    )
    at = F.col("committed_offset")
    position = (
        F.when(at > F.col("last_offset"), "read")
        .when(at > F.col("first_offset"), "inside")
        .otherwise("before")
    )
    return joined.withColumn("position", position).select(
        *[F.col(field.name).cast(field.dataType) for field in COLUMNS]
    )
