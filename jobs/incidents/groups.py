"""Groups whose committed offsets lie in or beyond an affected range, or are affected themselves."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.incidents.known import Known
from jobs.incidents.lost import LOSSES
from jobs.incidents.outcome_steps import VISIBLE
from jobs.incidents.signature import BLOCKED
from jobs.incidents.whose import same_place
from jobs.model.incident import DERIVED
from jobs.spark.joins import inner, small
from jobs.spark.local import local_frame
from schemas.incident import AFFECTED_GROUP, BEFORE, INSIDE, OWN, READ
from schemas.topics import OFFSETS_TOPIC
from udfs.arrow.own_commits import CommitsIn

COLUMNS = [field for field in AFFECTED_GROUP if field.name != "audit_id"]
KEY = ("group", "committed_topic", "committed_partition")
# Columns of own commits beside those of the table: what a plan asks.
OF_PLAN = ("behind", "ended_by")
# Affected ranges of `__consumer_offsets` that are read again.
MOST_RANGES = 10_000
RANGES = (
    "number int, incident int, kind string, first_offset long, last_offset long, provable boolean, "
    "ended_by string"
)


def furthest_offsets(info: DataFrame) -> DataFrame:
    """The copy of each partition of `__consumer_offsets` that clients read.

    Columns: partition_index, partition, `missing` and `holes` (`jobs.replay.holes`). Of copies that
    reach as far, the one that lacks least.
    """
    offsets = info.filter((F.col("topic") == OFFSETS_TOPIC) & F.col("furthest"))
    names = ("partition_index", "partition", "missing", "holes")
    lacks = [F.coalesce(F.size(name), F.lit(0)) for name in ("holes", "missing")]
    copies = offsets.groupBy("cluster_id", "topic", F.col("partition").alias("number"))
    best = F.min_by(F.struct(*names), F.struct(*lacks, "partition_index"))
    return copies.agg(best.alias("copy")).select("copy.*")


def newest_offsets(commits: DataFrame, copies: list[int]) -> DataFrame:
    """The newest committed offset a group and partition: KEY, committed_offset; no tombstones.

    `commits`: `jobs.replay.offsets.in_effect`; `copies`: partition_index of `furthest_offsets`.
    """
    mine = commits.filter(F.col("partition_index").isin(copies))
    newest = F.max(F.struct("commit.effective_offset", "commit.committed_offset"))
    return (
        mine.groupBy(*KEY)
        .agg(newest.alias("newest"))
        .select(*KEY, "newest.committed_offset")
        .filter(F.col("committed_offset").isNotNull())
    )


def own_commits(consequences: DataFrame, known: Known, newest: DataFrame) -> DataFrame | None:
    """Commits of groups that are affected themselves; None where no range has any.

    Columns of AFFECTED_GROUP without audit_id, `ended_by` of the consequence, and `behind`: the
    group has no commit that took effect with this offset or a later one, and no other commit may
    be meant; of one that was to be aborted and is visible: it is the newest of the group. `newest`:
    see `newest_offsets`. What blocks is the commit of the transaction that the consequence names: a
    group gets its offsets with its own marker, whatever is open in front.
    """
    place = small(known.info.select("partition_index", *PLACE)).alias("p")
    mine = consequences.filter(
        (F.col("topic") == OFFSETS_TOPIC) & F.col("last_offset").isNotNull()
    ).alias("c")
    of_copy = mine.join(place, same_place("c", "p"))
    names = ("incident", "kind", "first_offset", "last_offset", "provable", "ended_by")
    asked = (
        of_copy.select("partition_index", "c.producer_id", *[f"c.{name}" for name in names])
        .orderBy("partition_index", *names, "producer_id")
        .limit(MOST_RANGES)
        .collect()
    )
    ranges: dict[int, list[CommitsIn]] = {}
    for number, row in enumerate(asked):
        producer = row.producer_id if row.kind == BLOCKED else None
        one = CommitsIn(number, row.first_offset, row.last_offset, producer)
        ranges.setdefault(row.partition_index, []).append(one)
    if not ranges:
        return None
    told = [(number, *[row[name] for name in names]) for number, row in enumerate(asked)]
    numbered = small(local_frame(consequences.sparkSession, told, RANGES))
    commit = F.struct("record_offset", "committed_offset", "first_offset", "last_offset")
    found = inner(known.commits_in(ranges), numbered, on="number")
    last = found.groupBy("incident", "kind", "ended_by", *KEY).agg(
        F.max(commit).alias("commit"),
        # Splits have commits of their own, copies the same ones.
        F.greatest(F.max("commits"), F.count_distinct("record_offset")).alias("commits"),
        F.bool_and("provable").alias("provable"),
    )
    reached = newest.withColumnRenamed("committed_offset", "newest")
    ahead = F.coalesce(F.col("newest") < F.col("committed_offset"), F.lit(True))
    # Of several that are open, or were ended by one marker, some may be of aborted transactions.
    one_decision = F.col("provable") & ((F.col("kind") != BLOCKED) | (F.col("commits") == 1))
    # What took effect though it was to be aborted is wrong as long as nothing came after it.
    stands = F.col("newest") == F.col("committed_offset")
    lacks = ahead & (F.col("kind").isin(*LOSSES) | one_decision)
    behind = F.when(F.col("kind") == VISIBLE, stands).otherwise(lacks)
    return (
        last.join(reached, on=[*KEY], how="left")
        .select("*", "commit.*")
        .withColumnsRenamed({"committed_topic": "topic", "committed_partition": "partition"})
        .withColumns({"position": F.lit(OWN), "behind": behind})
        .select(*[F.col(field.name).cast(field.dataType) for field in COLUMNS], *OF_PLAN)
    )


def affected_groups(consequences: DataFrame, derived: DataFrame, offsets: DataFrame) -> DataFrame:
    """Rows of AFFECTED_GROUP without audit_id: each group with ranges of its partitions.

    Of each kind the last range that a group has read of, and the first one that it has not.
    `derived`: rows of AFFECTED. A committed offset is the next one to be read: beyond the last of a
    range all of it was read; of one whose end nothing tells, it is inside.
    """
    names = ("incident", "topic", "partition", "kind", "first_offset", "last_offset")
    of_derived = derived.withColumn("kind", F.lit(DERIVED)).select(*names)
    both = consequences.select(*names).unionByName(of_derived)
    joined = inner(
        both.filter(F.col("first_offset").isNotNull()),
        offsets.withColumnsRenamed(
            {"committed_topic": "topic", "committed_partition": "partition"}
        ),
        on=["topic", "partition"],
    )
    at = F.col("committed_offset")
    position = (
        F.when(at > F.col("last_offset"), READ)
        .when(at > F.col("first_offset"), INSIDE)
        .otherwise(F.lit(BEFORE))
    )
    ends = F.struct("first_offset", "last_offset", "committed_offset", position.alias("position"))
    of_group = (*names[:4], "group")
    told = joined.select(*of_group, ends.alias("ends"), (at > F.col("first_offset")).alias("read"))
    last, following = F.max("ends"), F.min("ends")
    nearest = told.groupBy(*of_group, "read").agg(
        F.when(F.bool_and("read"), last).otherwise(following).alias("ends")
    )
    return nearest.select(*of_group, "ends.*").select(
        *[F.col(field.name).cast(field.dataType) for field in COLUMNS]
    )
