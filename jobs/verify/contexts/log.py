"""Contexts `offset_discontinuity`, `segment` and `partition`: a log, its files, checkpoints."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.contexts.context import Context, with_paths
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.batch_layout import MAX_OFFSET_SPAN

NO_PRODUCER = (("producer_id", "long"), ("producer_epoch", "int"), ("transactional_id", "string"))


def _without_producer(rows: DataFrame) -> DataFrame:
    return rows.select("*", *[F.lit(None).cast(kind).alias(name) for name, kind in NO_PRODUCER])


def offset_discontinuity_context(
    discontinuities: DataFrame, partition_info: DataFrame, files: DataFrame
) -> Context:
    """One row is a pair of neighbouring batches whose offsets or leader epochs do not follow.

    `discontinuity`: gap, overlap, leader_epoch or segment_missing. The offsets of a gap are the
    missing ones; those of an overlap are the base offset of the later batch and the last offset
    before it.
    """
    rows = inner(discontinuities, small(partition_info), on="partition_index")
    is_gap = F.col("discontinuity").isin("gap", "segment_missing")
    # The batch before ends where this one begins; in another file only its header is shown.
    next_to_each_other = (F.col("file_index") == F.col("previous_file_index")) & (
        F.col("position") > F.col("previous_position")
    )

    def enrich(selected: DataFrame) -> DataFrame:
        named = with_paths(selected, files, file="file_index", previous_file="previous_file_index")
        placed = named.select(
            "*",
            F.when(is_gap, F.col("previous_last_offset") + 1)
            .otherwise(F.col("base_offset"))
            .alias("offset_first"),
            F.when(is_gap, F.col("base_offset") - 1)
            .when(F.col("discontinuity") == "overlap", F.col("previous_last_offset"))
            .otherwise(F.col("base_offset"))
            .alias("offset_last"),
            F.col("position").alias("byte_position"),
            F.col("length").alias("byte_length"),
            F.when(next_to_each_other, F.col("position") - F.col("previous_position"))
            .otherwise(F.lit(layout.HEADER_SIZE))
            .cast("int")
            .alias("previous_length"),
        )
        return _without_producer(placed)

    return Context("offset_discontinuity", rows, lambda: F.lit(False), enrich)


def segment_context(splits: DataFrame, partition_info: DataFrame, files: DataFrame) -> Context:
    """One row is a segment file: its name, its neighbours' names, the offsets it really holds.

    lowest_offset, highest_offset (inclusive), with the byte positions of the batches that hold
    them; next_base_offset is null for the newest segment.
    """
    low = F.struct("lowest_offset", "lowest_position", "first_length")
    high = F.struct("last_offset", "highest_position", "final_length")
    rows = inner(
        splits.filter(F.col("batches") > 0)
        .groupBy("partition_index", "file_index", "base_offset", "next_base_offset")
        .agg(F.min(low).alias("low"), F.max(high).alias("high")),
        small(partition_info),
        on="partition_index",
    )

    def regular():  # type: ignore[no-untyped-def]
        inside = F.col("low.lowest_offset") >= F.col("base_offset")
        inside &= F.col("high.last_offset") - F.col("base_offset") <= MAX_OFFSET_SPAN
        return inside & F.coalesce(
            F.col("high.last_offset") < F.col("next_base_offset"), F.lit(True)
        )

    def enrich(selected: DataFrame) -> DataFrame:
        below = F.col("low.lowest_offset") < F.col("base_offset")
        placed = with_paths(selected, files, file="file_index").select(
            "*",
            F.col("low.lowest_offset").alias("lowest_offset"),
            F.col("high.last_offset").alias("highest_offset"),
            F.when(below, F.col("low.lowest_offset"))
            .otherwise(F.col("high.last_offset"))
            .alias("offset_first"),
            F.when(below, F.col("low.lowest_offset"))
            .otherwise(F.col("high.last_offset"))
            .alias("offset_last"),
            F.when(below, F.col("low.lowest_position"))
            .otherwise(F.col("high.highest_position"))
            .alias("byte_position"),
            # The header of a batch has its offsets.
            F.lit(layout.HEADER_SIZE).alias("byte_length"),
        )
        return _without_producer(placed)

    return Context("segment", rows, regular, enrich)


def partition_context(partition_info: DataFrame) -> Context:
    """One row is a partition on a broker: the range of its log beside the checkpoint files.

    lacking_from: the first offset below the high watermark that no replica has (nowhere_from of
    partition_info), where that is known; else the log end offset of this copy.
    """

    def regular():  # type: ignore[no-untyped-def]
        mark, start = F.col("checkpoint_high_watermark"), F.col("checkpoint_log_start")
        end, flushed = F.col("log_end_seen"), F.col("checkpoint_recovery_point")
        fits = F.coalesce((mark <= end) & (mark >= F.col("log_start_offset")), F.lit(True))
        fits &= F.coalesce(flushed <= end, F.lit(True))
        return fits & F.coalesce(start <= end, F.lit(True))

    end = F.greatest(F.coalesce("newest_base", F.lit(0)), F.col("data_end_offset"))
    rows = partition_info.withColumn("log_end_seen", end)

    def enrich(selected: DataFrame) -> DataFrame:
        placed = selected.select(
            "*",
            F.col("log_end_seen").alias("offset_first"),
            F.lit(None).cast("long").alias("offset_last"),
            F.coalesce("nowhere_from", "log_end_seen").alias("lacking_from"),
            F.lit(None).cast("string").alias("file"),
            F.lit(None).cast("long").alias("byte_position"),
            F.lit(None).cast("long").alias("byte_length"),
        )
        return _without_producer(placed)

    return Context("partition", rows, regular, enrich)
