"""What is known of each partition on each broker: range, stability, cleaning, holes."""

from typing import NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from schemas import log_row
from schemas.dump_partition import CLEANED, CLEANING_UNKNOWN, DUMP_PARTITION, NEVER_CLEANED

MAX_HOLES = 1_000


class Segments(NamedTuple):
    """`splits`: one row a split with batches; `steps`: neighbours that do not follow."""

    splits: DataFrame
    steps: DataFrame


def _seams(splits: DataFrame) -> DataFrame:
    """Each split beside the last batch of the nearest earlier split that holds one."""
    order = Window.partitionBy("partition_index").orderBy("base_offset", "split_start")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    tail = F.struct(
        "file_index",
        "final_last_offset",
        "final_leader_epoch",
        "final_position",
        # Behind the last batch of the split, open or up to its end.
        F.coalesce(
            F.col("final_position") + F.col("final_length") < F.col("end"), F.col("end").isNull()
        ).alias("in_damage"),
    )
    with_batches = F.when(F.col("batches") > 0, tail)
    return splits.select(
        "*",
        F.last(with_batches, ignorenulls=True).over(before).alias("before"),
    ).filter((F.col("batches") > 0) & F.col("before").isNotNull())


def segments(rows_of_summary: DataFrame, steps: DataFrame, files: DataFrame) -> Segments:
    """Splits in log order, and every place where offsets or leader epochs do not follow.

    Steps have: partition_index, file_index, what (gap, overlap, leader_epoch, segment_missing),
    previous_file_index, previous_last_offset, base_offset, previous_leader_epoch, leader_epoch,
    previous_position, position, length.
    """
    names = files.filter(F.col("kind") == "segment").select(
        "file_index", "base_offset", "next_base_offset", "starts_at"
    )
    splits = rows_of_summary.join(F.broadcast(names), on="file_index", how="inner")
    seams = _seams(splits)
    previous = F.col("before.final_last_offset")
    crossing = F.col("before.file_index") != F.col("file_index")
    # A file whose first batch does not stand at its start begins with damage.
    behind_damage = F.col("before.in_damage") | (
        crossing & (F.col("first_found") > F.col("starts_at"))
    )
    what = F.array(
        F.when((F.col("first_offset") > previous + 1) & ~behind_damage,
               F.when(crossing & (F.col("base_offset") > previous + 1), F.lit("segment_missing"))
               .otherwise(F.lit("gap"))),
        F.when(F.col("first_offset") <= previous, F.lit("overlap")),
        F.when((F.col("first_leader_epoch") >= 0)
               & (F.col("first_leader_epoch") < F.col("before.final_leader_epoch")),
               F.lit("leader_epoch")),
    )  # fmt: skip
    at_seams = seams.select(
        "partition_index",
        "file_index",
        F.explode(F.filter(what, lambda name: name.isNotNull())).alias("what"),
        F.col("before.file_index").alias("previous_file_index"),
        previous.alias("previous_last_offset"),
        F.col("first_offset").alias("base_offset"),
        F.col("before.final_leader_epoch").alias("previous_leader_epoch"),
        F.col("first_leader_epoch").alias("leader_epoch"),
        F.col("before.final_position").alias("previous_position"),
        F.col("first_found").alias("position"),
        F.col("first_length").alias("length"),
    )
    inside = steps.select(
        "partition_index",
        "file_index",
        "what",
        F.col("file_index").alias("previous_file_index"),
        "previous_last_offset",
        "base_offset",
        "previous_leader_epoch",
        "leader_epoch",
        "previous_position",
        "position",
        "length",
    )
    return Segments(splits, inside.unionByName(at_seams))


def holes(steps: DataFrame, failures: DataFrame) -> DataFrame:
    """Offset ranges that are missing, one row a partition: `holes`, sorted, at most 1,000.

    A hole is a struct (first, end): first missing offset and the first offset present behind.
    """
    missing = steps.filter(F.col("what").isin("gap", "segment_missing")).select(
        "partition_index",
        (F.col("previous_last_offset") + 1).alias("first"),
        F.col("base_offset").alias("end"),
    )
    damaged = failures.filter(F.col("next_offset").isNotNull()).select(
        "partition_index",
        (F.coalesce("previous_last_offset", F.lit(-1)) + 1).alias("first"),
        F.col("next_offset").alias("end"),
    )
    ranked = missing.unionByName(damaged).select(
        "*",
        F.row_number()
        .over(Window.partitionBy("partition_index").orderBy("first", "end"))
        .alias("rank"),
    )
    # Behind the thousandth hole everything counts as one: nothing there can be decided.
    kept = ranked.select(
        "partition_index",
        F.least("rank", F.lit(MAX_HOLES)).alias("rank"),
        "first",
        "end",
    )
    merged = kept.groupBy("partition_index", "rank").agg(
        F.min("first").alias("first"), F.max("end").alias("end")
    )
    return merged.groupBy("partition_index").agg(
        F.array_sort(F.collect_list(F.struct("first", "end"))).alias("holes")
    )


def clusters(rows_of_summary: DataFrame, files: DataFrame) -> DataFrame:
    """One row a broker whose `__cluster_metadata` is in the dump: broker, alone.

    `alone`: the log, there from its beginning, registers no other broker.
    """
    told = rows_of_summary.filter(F.col("registered_brokers").isNotNull()).join(
        F.broadcast(files.select("file_index", "broker")), on="file_index", how="inner"
    )
    registered = F.array_distinct(F.flatten(F.collect_list("registered_brokers")))
    return told.groupBy("broker").agg(
        ((F.min("first_offset") == 0) & (F.size(registered) == 1)).alias("alone")
    )


def earlier_ends(rows_of_summary: DataFrame, files: DataFrame) -> DataFrame:
    """One row a partition of `__transaction_state` that was copied before all data, too.

    Columns: topic, partition, earlier_end (log end offset of that copy).
    """
    earlier = files.filter(F.col("kind") == "earlier_coordinator_log").select(
        "file_index", "topic", "partition"
    )
    found = rows_of_summary.join(F.broadcast(earlier), on="file_index", how="inner")
    return found.groupBy("topic", "partition").agg((F.max("last_offset") + 1).alias("earlier_end"))


def known_starts(rows_of_summary: DataFrame) -> DataFrame:
    """One row a partition whose log begins with a producer snapshot.

    Columns: partition_index, from_snapshot (true).
    """
    return rows_of_summary.filter("starts_log").select(
        "partition_index", F.lit(True).alias("from_snapshot")
    )


def facts(
    static: DataFrame,
    splits: DataFrame,
    holes_by_partition: DataFrame,
    brokers: DataFrame,
    earlier: DataFrame,
    starts: DataFrame,
) -> DataFrame:
    """One row a partition and broker, everything that verdicts about it depend on.

    `static` has the columns of `schemas.dump_partition.DUMP_PARTITION`; `brokers`: see `clusters`;
    `earlier`: see `earlier_ends`; `starts`: see `known_starts`.

    Columns: DUMP_PARTITION, log_start_offset, log_end_offset (exclusive), data_end_offset (behind
    the last record, 0 for an empty log), high_watermark,
    stable_below (offsets below are replicated as far as known), from_beginning (the log begins at
    offset 0), start_known (the state of every producer in front of the log is known: there, or
    from the snapshot at its first offset), cleaning (never, cleaned, unknown), holes,
    broker_timestamp (ms), complete_up_to_ms, alone_in_cluster, single_broker, batches,
    records.

    complete_up_to_ms: a partition is complete up to its own newest timestamp of a broker's clock,
    and up to the moment when its copy began, where a manifest tells that.
    Where the broker was stopped cleanly and is alone in its cluster (`__cluster_metadata`), no
    replica can lag behind another, and the newest of all its partitions counts.
    earlier_end: log end of the copy of a `__transaction_state` partition that was taken before all
    data, null for none.
    alone_in_cluster: the cluster of the broker has no other; single_broker: nor has the dump.
    with_kraft: the dump has a `__cluster_metadata`.
    """
    seen = splits.groupBy("partition_index").agg(
        F.max("last_offset").alias("last_offset"),
        F.max("broker_timestamp").alias("broker_timestamp"),
        F.max(F.col("cleaner_traces").cast("int")).alias("cleaner_traces"),
        F.sum("batches").alias("batches"),
        F.sum("records").alias("records"),
    )
    joined = static.join(F.broadcast(seen), on="partition_index", how="left").join(
        F.broadcast(holes_by_partition), on="partition_index", how="left"
    )
    log_start = F.greatest(
        F.coalesce("first_base", F.lit(0)), F.coalesce("checkpoint_log_start", F.lit(0))
    )
    end = F.greatest(
        F.coalesce(F.col("last_offset") + 1, F.lit(0)), F.coalesce("newest_base", F.lit(0))
    )
    bounded = joined.withColumn("log_start_offset", log_start).withColumn(
        "log_end_offset", F.greatest(end, log_start)
    )
    mark = F.greatest(
        F.least("checkpoint_high_watermark", "log_end_offset"), F.col("log_start_offset")
    )
    known = F.col("checkpoint_high_watermark").isNotNull()
    # Broker 1 of another cluster is another broker.
    present = static.select(
        F.coalesce("broker", F.lit(-1)), F.coalesce("cluster_id", F.lit(""))
    ).distinct()
    one_broker = F.broadcast(present.agg((F.count("*") == 1).alias("one_broker")))
    kraft = F.broadcast(brokers.agg((F.count("*") > 0).alias("with_kraft")))
    alone = F.coalesce("alone", F.lit(False))
    traces = F.coalesce("cleaner_traces", F.lit(0)) == 1
    # The cleaner writes its checkpoint after every pass, so it never compacted a partition that it
    # does not list. A follower may have fetched what another broker's cleaner had left, though; it
    # did where there are traces of that. None compacted what was never configured for it.
    listed = F.col("cleaner_checkpoint").isNotNull()
    telling = F.col("has_cleaner_checkpoint") & ~F.col("internal_compacted")
    cleaning = (
        F.when(listed, F.lit(CLEANED))
        .when(F.col("never_compacted"), F.lit(NEVER_CLEANED))
        .when(telling & ~traces, F.lit(NEVER_CLEANED))
        .when(traces | F.col("internal_compacted"), F.lit(CLEANED))
        .otherwise(F.lit(CLEANING_UNKNOWN))
    )
    nothing_missing = F.array().cast("array<struct<first:bigint,end:bigint>>")
    by_broker = Window.partitionBy("broker")
    from_beginning = F.coalesce("first_base", F.lit(0)) == 0
    of_cluster = (
        bounded.join(F.broadcast(brokers), on="broker", how="left")
        .join(F.broadcast(earlier), on=["topic", "partition"], how="left")
        .join(F.broadcast(starts), on="partition_index", how="left")
    )
    return (
        of_cluster.crossJoin(one_broker)
        .crossJoin(kraft)
        .select(
            *[field.name for field in DUMP_PARTITION],
            "log_start_offset",
            "log_end_offset",
            F.coalesce(F.col("last_offset") + 1, F.lit(0)).alias("data_end_offset"),
            F.when(known, mark).alias("high_watermark"),
            F.when(known, mark)
            .otherwise(F.coalesce("last_offset", F.lit(0)))
            .cast(LongType())
            .alias("stable_below"),
            from_beginning.alias("from_beginning"),
            (from_beginning | F.coalesce("from_snapshot", F.lit(False))).alias("start_known"),
            cleaning.alias("cleaning"),
            F.coalesce("holes", nothing_missing).alias("holes"),
            "broker_timestamp",
            F.greatest(
                F.when(F.col("clean_shutdown") & alone, F.max("broker_timestamp").over(by_broker)),
                "broker_timestamp",
                "copied_at_ms",
            ).alias("complete_up_to_ms"),
            "earlier_end",
            (F.col("one_broker") & alone).alias("single_broker"),
            alone.alias("alone_in_cluster"),
            "with_kraft",
            F.coalesce("batches", F.lit(0)).alias("batches"),
            F.coalesce("records", F.lit(0)).alias("records"),
        )
    )


def summaries(rows: DataFrame) -> DataFrame:
    """The summary rows of a decode pass with their fields as columns."""
    return rows.filter(F.col("kind") == log_row.SUMMARY).select(
        "partition_index", "file_index", "split_start", "summary.*"
    )


def newest_broker_timestamp(facts: DataFrame) -> int | None:
    """The newest broker timestamp of the whole dump, ms: the moment ages refer to by default."""
    row = facts.agg(F.max("broker_timestamp").alias("newest")).collect()[0]
    return row.newest if row.newest is None else int(row.newest)
