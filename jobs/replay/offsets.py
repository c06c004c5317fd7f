"""Offset commits over the seams of splits: what the decoder could not follow to its end."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.decoded import Decoded
from jobs.spark.joins import inner
from schemas import log_row
from udfs.rules.offset_commit import Commit, is_late, takes_effect

KEY = ("partition_index", "group", "committed_topic", "committed_partition")
NAMES = ("group", "committed_topic", "committed_partition")


def in_effect(decoded: Decoded, transactions: DataFrame) -> DataFrame:
    """Commits that took effect near the ends of splits, the newest of each key among them.

    Columns of `Decoded.effective_commits`. A split has what its own markers ended; what waited at
    its end took effect with a marker in a later one, as a segment may be rolled between the two
    (`UnifiedLog.maybeRoll`).
    """
    if not (decoded.commits_at_seams and decoded.counts.get(log_row.PENDING_COMMIT)):
        return decoded.effective_commits()
    return _in_effect(decoded.commits(), transactions)


def _in_effect(commits: DataFrame, transactions: DataFrame) -> DataFrame:
    """The commits that took effect; those that waited at the end of their split meet their marker.

    Whether a waiting one does is the rule of `udfs.wire.offsets.offset_replay`, which goes through
    the commits of a split one by one.
    """
    ended = transactions.filter(F.col("marker_commit")).select(
        "partition_index",
        F.col("producer_id").alias("owner"),
        F.col("first_offset").alias("began"),
        "marker_offset",
    )
    waiting = F.col("commit.effective_offset").isNull()
    met = inner(
        commits.filter(waiting),
        ended,
        on=(commits["partition_index"] == ended["partition_index"])
        & (F.col("commit.producer_id") == F.col("owner"))
        & F.col("commit.record_offset").between(F.col("began"), F.col("marker_offset")),
    )
    settled = met.select(
        *[commits[name] for name in commits.columns if name not in ("commit", "split_start")],
        # It stands between the splits, beside nothing in its own.
        (F.lit(-1) - F.col("commit.record_offset")).alias("split_start"),
        F.col("commit").withField("effective_offset", F.col("marker_offset")).alias("commit"),
    )
    # Of several waiting records of one transaction and key, the last is the one that counts.
    last = settled.groupBy(*KEY, "commit.effective_offset").agg(
        F.max_by(F.struct("*"), "commit.record_offset").alias("last")
    )
    everything = commits.filter(~waiting).unionByName(last.select("last.*"))
    order = Window.partitionBy(*KEY).orderBy("commit.effective_offset")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    newest = F.max("commit.record_offset").over(before)
    return everything.withColumn("newest", newest).filter(
        F.coalesce(takes_effect(F.col("commit.record_offset"), F.col("newest")), F.lit(True))
    )


def late_commits(decoded: Decoded, transactions: DataFrame) -> DataFrame:
    """Rows of `log_row.LATE_COMMIT_TYPE`, with partition_index, that cross a seam of splits."""
    order = Window.partitionBy(*KEY).orderBy("commit.effective_offset")

    split = F.struct("file_index", "split_start", "ordinal", "number")
    placed = _in_effect(decoded.commits(), transactions).select(
        "partition_index",
        *NAMES,
        F.lag("commit").over(order).alias("replaced"),
        F.col("commit").alias("late"),
        F.lead("commit").over(order).alias("following"),
        F.lag(split).over(order).alias("replaced_split"),
        split.alias("late_split"),
        F.lead(split).over(order).alias("following_split"),
    )
    late_ones = placed.filter(
        is_late(_commit("replaced"), _commit("late"), _commit("following"))
        & _next_to("replaced_split", "late_split")
        & _next_to("late_split", "following_split")
        & ~(_same("replaced_split", "late_split") & _same("late_split", "following_split"))
    )
    return late_ones.select("partition_index", *NAMES, "replaced", "late", "following")


def _commit(name: str) -> Commit:
    return Commit(F.col(f"{name}.producer_id"), F.col(f"{name}.committed_offset"))


def _same(before: str, after: str) -> Column:
    """Whether both lie in one split."""
    return (F.col(f"{before}.file_index") == F.col(f"{after}.file_index")) & (
        F.col(f"{before}.split_start") == F.col(f"{after}.split_start")
    )


def _next_to(before: str, after: str) -> Column:
    """Whether nothing that was left out of the blocks stands between the two."""
    in_one = F.col(f"{after}.ordinal") == F.col(f"{before}.ordinal") + 1
    last = F.col(f"{before}.ordinal") == F.col(f"{before}.number") - 1
    return F.when(_same(before, after), in_one).otherwise(last & (F.col(f"{after}.ordinal") == 0))
