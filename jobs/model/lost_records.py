"""Whether later records of the coordinator's log may be lost, or gone."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from udfs.rules.absence import Counted, Range, overlaps, reaches_behind


def counted(prefix: str = "") -> Counted:
    """The columns of a record for a rule about what is missing beside it."""
    return Counted(F.col(f"{prefix}offset"), F.col(f"{prefix}ordinal"))


def lost_up_to(unreadable_at: Column) -> Column:
    """Up to which offset (exclusive) of a copy records may be lost; 0: none is.

    No cleaner takes the last record of a key, so only damage, what is missing above its reach, and
    records that cannot be decoded count. `unreadable_at`: offset of the last of those that may be
    of the ids in question; null for none. Columns of the row: lost_to (`jobs.replay.partitions`).
    """
    return F.greatest(F.col("lost_to"), unreadable_at + 1)


def moments_behind(records: DataFrame, copies: DataFrame, end: str) -> DataFrame:
    """One row a copy (partition_index) with a record at or behind the offset in its column `end`.

    behind_ms: the newest moment (ms) up to the first of these records.
    """
    ends = small(copies.select("partition_index", F.col(end).alias("behind")))
    return (
        inner(records, ends, on="partition_index")
        .filter(F.col("offset") >= F.col("behind"))
        .groupBy("partition_index")
        .agg(F.min_by("latest_timestamp", "offset").alias("behind_ms"))
    )


def lost_behind(offset: Column, unreadable_at: Column) -> Column:
    """Whether later records than that at `offset` may be lost, so that it may not be the newest."""
    lost: Column = reaches_behind(lost_up_to(unreadable_at), offset + 1)
    return lost


def own_unreadable_at() -> Column:
    """Aggregate: offset of the last record of an id that cannot be decoded; null for none."""
    return F.max(F.when(F.col("error").isNotNull(), F.col("offset")))


def unreadable_of_ids(txn_log_records: DataFrame) -> DataFrame:
    """One row a transactional id with such a record: transactional_id, own_unreadable_at.

    What cannot be decoded in one copy cannot be in another, so the copies are not told apart.
    """
    of_ids = txn_log_records.filter(
        F.col("error").isNotNull() & F.col("transactional_id").isNotNull()
    )
    return of_ids.groupBy("transactional_id").agg(own_unreadable_at().alias("own_unreadable_at"))


def gone_before_newest(offset: Column, newest: Column, copies: Column) -> Column:
    """Whether records of an id may be gone between that at `offset` and its `newest` one.

    The cleaner takes any but the last of a key. In its own log it takes the older ones first, but
    a follower fetches what its leader's cleaner has left, and keeps what it had fetched before; and
    a copy may have segments from before and from after a pass.
    `copies`: the `missing` (`jobs.replay.holes.holes`) of each copy; gone is what all lack.
    """

    def lacks(missing: Column) -> Column:
        return F.exists(
            missing, lambda one: overlaps(Range(one["first"], one["end"]), offset + 1, newest)
        )

    return F.forall(copies, lacks)


def is_only_here(offset: Column) -> Column:
    """Whether the record at an offset is one that only its copy tells: only_here of partitions."""
    only: Column = F.array_contains("only_here", offset)
    return F.coalesce(only, F.lit(False))
