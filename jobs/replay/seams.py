"""Splits of files with what lies between them, and what the files themselves tell."""

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from schemas import log_row
from udfs.rules.absence import (
    is_gap,
)
from udfs.rules.batch_order import goes_back, leader_epoch_fell


def named_splits(rows_of_summary: DataFrame, files: DataFrame) -> DataFrame:
    """The summaries of the splits of segments with base_offset, next_base_offset and starts_at.

    newest_before: the largest broker_timestamp of the splits of the partition before, ms.
    """
    names = files.filter(F.col("kind") == "segment").select(
        "file_index", "base_offset", "next_base_offset", "starts_at"
    )
    before = in_order().rowsBetween(Window.unboundedPreceding, -1)
    return inner(rows_of_summary, small(names), on="file_index").withColumn(
        "newest_before", F.max("broker_timestamp").over(before)
    )


def in_order() -> WindowSpec:
    """The splits of a copy in the order of their offsets."""
    return Window.partitionBy("partition_index").orderBy("base_offset", "split_start")


def _seams(splits: DataFrame) -> DataFrame:
    """Each split beside the last batch of the nearest earlier split that holds one.

    `unread`: the base offset of a file between the two that has bytes and no batch that can be
    read; of several the first, null for none.
    """
    order = in_order()
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    tail = F.struct(
        "file_index",
        "final_last_offset",
        "final_leader_epoch",
        "final_position",
        # After the last batch of the split, open or up to its end.
        F.coalesce(
            F.col("final_position") + F.col("final_length") < F.col("end"), F.col("end").isNull()
        ).alias("in_damage"),
        F.lead(F.struct("file_index", "base_offset", "batches", "length"))
        .over(order)
        .alias("next"),
    )
    with_batches = splits.withColumn("tail", F.when(F.col("batches") > 0, tail))
    between = (
        (F.col("before.next.batches") == 0)
        & (F.col("before.next.length") > 0)
        & (F.col("before.next.file_index") != F.col("before.file_index"))
    )
    return (
        with_batches.withColumn("before", F.last("tail", ignorenulls=True).over(before))
        .filter((F.col("batches") > 0) & F.col("before").isNotNull())
        .withColumn("unread", F.when(between, F.col("before.next.base_offset")))
    )


def all_discontinuities(splits: DataFrame, inside: DataFrame) -> DataFrame:
    """Every place where offsets or leader epochs do not follow: in splits, and between them.

    `splits`: see `named_splits`; `inside`: those that the decoder met. Columns: partition_index,
    file_index, discontinuity (gap, overlap, leader_epoch, segment_missing, or GAPS_LEFT_OUT of
    LOG_ROW), previous_file_index, previous_last_offset, base_offset, previous_leader_epoch,
    leader_epoch, previous_position, position, length, at_seam (of two splits).
    """
    seams = _seams(splits)
    previous = F.col("before.final_last_offset")
    crossing = F.col("before.file_index") != F.col("file_index")
    # A file whose first batch does not stand at its start begins with damage.
    behind_damage = F.col("before.in_damage") | (
        crossing & (F.col("first_found") > F.col("starts_at"))
    )
    # What an unreadable file held is damage; a file in front of it may be missing, too.
    begins, name = F.coalesce("unread", "first_offset"), F.coalesce("unread", "base_offset")
    missing = crossing & is_gap(previous, name) & is_gap(previous, begins) & ~behind_damage
    kinds = F.array(
        F.when(missing, F.lit("segment_missing")),
        F.when(is_gap(previous, F.col("first_offset")) & ~behind_damage & ~missing
               & F.col("unread").isNull(), F.lit("gap")),
        F.when(goes_back(previous, F.col("first_offset")), F.lit("overlap")),
        F.when(leader_epoch_fell(F.col("before.final_leader_epoch"), F.col("first_leader_epoch")),
               F.lit("leader_epoch")),
    )  # fmt: skip
    told = seams.withColumn("kind", F.explode(F.filter(kinds, lambda name: name.isNotNull())))
    at_seams = told.select(
        "partition_index",
        "file_index",
        F.col("kind").alias("discontinuity"),
        F.col("before.file_index").alias("previous_file_index"),
        previous.alias("previous_last_offset"),
        F.when(F.col("kind") == "segment_missing", begins)
        .otherwise(F.col("first_offset"))
        .alias("base_offset"),
        F.col("before.final_leader_epoch").alias("previous_leader_epoch"),
        F.col("first_leader_epoch").alias("leader_epoch"),
        F.col("before.final_position").alias("previous_position"),
        F.col("first_found").alias("position"),
        F.col("first_length").alias("length"),
        F.lit(True).alias("at_seam"),
    )
    met = inside.select(
        "partition_index",
        "file_index",
        "discontinuity",
        F.col("file_index").alias("previous_file_index"),
        "previous_last_offset",
        "base_offset",
        "previous_leader_epoch",
        "leader_epoch",
        "previous_position",
        "position",
        "length",
        F.lit(False).alias("at_seam"),
    )
    return met.unionByName(at_seams)


def earlier_ends(rows_of_summary: DataFrame, files: DataFrame) -> DataFrame:
    """One row a partition of `__transaction_state` that was copied before all data, too.

    Columns: topic, partition, earlier_end (log end offset of that copy).
    """
    earlier = files.filter(F.col("kind") == "earlier_coordinator_log").select(
        "file_index", "topic", "partition"
    )
    found = inner(rows_of_summary, small(earlier), on="file_index")
    return found.groupBy("topic", "partition").agg((F.max("last_offset") + 1).alias("earlier_end"))


def known_states(rows_of_summary: DataFrame, files: DataFrame) -> DataFrame:
    """One row a partition with producer snapshots.

    Columns: partition_index, from_snapshot (its log begins with one); of the newest one, if it can
    be read, newest_snapshot and open_in_snapshot (array of log_row.OPEN_IN_SNAPSHOT).
    """
    offsets = files.select("file_index", F.col("base_offset").alias("newest_snapshot"))
    snapshots = inner(
        rows_of_summary.filter(F.col("starts_log").isNotNull()), small(offsets), on="file_index"
    )
    newest = F.col("open_in_snapshot").isNotNull()
    return snapshots.groupBy("partition_index").agg(
        F.max("starts_log").alias("from_snapshot"),
        F.max(F.when(newest, F.col("newest_snapshot"))).alias("newest_snapshot"),
        F.flatten(F.collect_list("open_in_snapshot")).alias("open_in_snapshot"),
    )


def summaries(rows: DataFrame) -> DataFrame:
    """The summary rows of a decode pass with their fields as columns."""
    return rows.filter(F.col("kind") == log_row.SUMMARY).select(
        "partition_index", "file_index", "split_start", "summary.*"
    )
