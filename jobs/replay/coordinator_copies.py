"""Copies of one partition of `__transaction_state` beside each other: what the others can tell."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from schemas.topics import TXN_LOG_TOPIC
from udfs.rules.extent import goes_on_with, is_cut_off, is_outlasted, is_replicated

# The same for copies of one partition of one topic.
OF_TOPIC = ["replica_set", "incarnation"]
OF_COPY = ("partition_index", *OF_TOPIC, "log_end_offset", "replicated_below", "high_watermark")


def with_other_copies(
    partition_info: DataFrame,
    txn_log_records: DataFrame,
    keep: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """Adds to copies of the coordinator's log what others of their partition say about them.

    cut_off_at: the first offset that another copy has of a leader later than all of this one, null
    for none; where the high watermark is not known `replicated_below` is at most that. only_here:
    offsets of the records that are not replicated, and that no copy that outlasts this one has, or
    shows to be cut off; null for none. `keep`: computes a frame that is read more than once.
    """
    outlasted = (F.col("topic") == TXN_LOG_TOPIC) & F.col("outlasted")
    if partition_info.filter(outlasted).isEmpty():
        return partition_info.withColumns(
            {
                "cut_off_at": F.lit(None).cast("bigint"),
                "only_here": F.lit(None).cast("array<bigint>"),
            }
        )
    records = txn_log_records.filter(F.col("error").isNull())
    cut_off = _cut_off(partition_info, records, keep)
    replicated_below = F.when(
        F.col("high_watermark").isNull(), F.least("replicated_below", "cut_off_at")
    ).otherwise(F.col("replicated_below"))
    known = keep(
        partition_info.join(small(cut_off), on="partition_index", how="left").withColumn(
            "replicated_below", replicated_below
        )
    )
    alone = _only_here(known.filter(outlasted), keep(_copies(known, records)), records, keep)
    return known.join(small(alone), on="partition_index", how="left")


def _copies(partition_info: DataFrame, records: DataFrame) -> DataFrame:
    """Copies of the coordinator's log; newest_epoch: the highest leader epoch of its records."""
    newest = records.groupBy("partition_index").agg(F.max("leader_epoch").alias("newest_epoch"))
    of_log = partition_info.filter(F.col("replica_set").isNotNull())
    return inner(of_log.select(*OF_COPY), small(newest), on="partition_index")


def _cut_off(
    partition_info: DataFrame, records: DataFrame, keep: Callable[[DataFrame], DataFrame]
) -> DataFrame:
    """One row a copy with a `cut_off_at`: see `with_other_copies`."""
    copies = keep(_copies(partition_info, records))
    later = _first_of_leaders(copies, records)
    return (
        inner(copies, small(later), on=OF_TOPIC)
        .filter(F.col("their_epoch") > F.col("newest_epoch"))
        .groupBy("partition_index")
        .agg(F.min("their_first").alias("cut_off_at"))
    )


def _first_of_leaders(copies: DataFrame, records: DataFrame) -> DataFrame:
    """One row a copy and leader epoch: the offset of its first record, and the end of the copy."""
    return inner(
        records.groupBy("partition_index", F.col("leader_epoch").alias("their_epoch")).agg(
            F.min("offset").alias("their_first")
        ),
        small(_theirs(copies)),
        on="partition_index",
    ).drop("partition_index")


def _theirs(copies: DataFrame) -> DataFrame:
    return copies.select(
        "partition_index",
        *OF_TOPIC,
        F.col("newest_epoch").alias("their_newest_epoch"),
        F.col("log_end_offset").alias("their_end"),
    )


def _only_here(
    outlasted: DataFrame,
    copies: DataFrame,
    records: DataFrame,
    keep: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """One row a copy with an `only_here`: see `with_other_copies`. `outlasted`: partitions."""
    record = ("partition_index", "offset", "leader_epoch", "transactional_id")
    mine = inner(copies, small(outlasted.select("partition_index")), on="partition_index")
    untold = keep(
        inner(records.select(*record), small(mine), on="partition_index").filter(
            ~is_replicated(F.col("offset"), F.col("replicated_below"))
        )
    )
    theirs = small(_theirs(copies))
    of_ids = records.groupBy("partition_index", "transactional_id").agg(
        F.max("offset").alias("their_offset")
    )
    of_offsets = records.select("partition_index", "offset")

    def told(others: DataFrame, on: list[str], tells: Column) -> DataFrame:
        beside = inner(untold, others, on=[*OF_TOPIC, *on])
        return beside.filter(_goes_further() & tells).select("partition_index", "offset")

    def placed(others: DataFrame) -> DataFrame:
        return inner(others, theirs, on="partition_index").drop("partition_index")

    goes_on = goes_on_with(F.col("offset"), F.col("their_offset"))
    later = F.col("their_epoch") > F.col("leader_epoch")
    cut_off = later & is_cut_off(F.col("offset"), F.col("their_first"))
    elsewhere = (
        told(placed(of_ids), ["transactional_id"], goes_on)
        .unionByName(told(small(_first_of_leaders(copies, records)), [], cut_off))
        .unionByName(told(placed(of_offsets), ["offset"], F.lit(True)))
    )
    return (
        untold.join(elsewhere, on=["partition_index", "offset"], how="left_anti")
        .groupBy("partition_index")
        .agg(F.collect_set("offset").alias("only_here"))
    )


def _goes_further() -> Column:
    """Whether the other copy goes on after the one of a record."""
    answer: Column = is_outlasted(
        F.col("newest_epoch"),
        F.col("log_end_offset"),
        F.col("their_newest_epoch"),
        F.when(F.col("their_newest_epoch") >= F.col("newest_epoch"), F.col("their_end")).otherwise(
            F.lit(0)
        ),
    )
    return answer
