"""Context `frame`: one row is a batch with a fault, or a byte range without a valid batch."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.contexts.context import Context, with_paths
from udfs.arrow.frames import ZERO_BYTES
from udfs.wire.text.text_batches import TEXT_CUT


def has_fault(bits: int) -> Column:
    """Whether a batch has one of the fault bits of udfs/wire/batches/faults.py."""
    return F.col("fault_mask").bitwiseAND(F.lit(bits).cast("long")) != 0


def zeros_of_a_clean_stop() -> Column:
    """Whether zeros at the end of a segment were left by a broker that stopped cleanly.

    It trims its segments then (FileRecords.close).
    """
    return F.col("clean_shutdown") & (F.col("reason_of_failure") == ZERO_BYTES)


def frame_context(
    frames: DataFrame, failures: DataFrame, partition_info: DataFrame, files: DataFrame
) -> Context:
    """Rows of `schemas.log_row.FRAME_TYPE` and of `jobs.decode.decode.failures` in one shape.

    `fault_mask` is 0 for failures; `reason_of_failure` is null for batches. `active` tells
    whether the file is the active segment of its partition. The offsets of a failure are those
    that are missing between its neighbours; offset_last is null where none is, and at the end
    of the log.
    `found_value`: control type of a control batch, largest record timestamp (ms) of another.
    """
    rows = inner(
        _faulty_batches(frames).unionByName(_damage(failures), allowMissingColumns=True),
        small(partition_info),
        on="partition_index",
    )
    named = files.select("file_index", "base_offset", "next_base_offset", "size_bytes")

    def enrich(selected: DataFrame) -> DataFrame:
        joined = with_paths(selected, files, file="file_index").join(
            small(named), on="file_index", how="left"
        )
        whole = F.col("reason_of_failure") == "crc_mismatch"
        # All of the batch is there, and the byte of its magic alone is wrong.
        whole |= (F.col("reason_of_failure") == "magic_unknown") & (F.col("claimed_bytes") > 0)
        complete = whole & (F.col("claimed_bytes") <= F.col("byte_length"))
        return joined.select(
            "*",
            (F.col("base_offset") == F.col("newest_base")).alias("active"),
            # What is missing in a text says nothing of the log.
            (F.col("at_end") & ~complete & (F.col("reason_of_failure") != TEXT_CUT)).alias("tail"),
            complete.alias("complete_frame"),
            F.lit(None).cast("string").alias("transactional_id"),
        )

    return Context("frame", rows, lambda: F.lit(False), enrich)


def _faulty_batches(frames: DataFrame) -> DataFrame:
    """Batches with a fault; what only damage has is null in the union."""
    has_producer = F.col("producer_id") >= 0
    return frames.select(
        "partition_index",
        "file_index",
        F.col("base_offset").alias("offset_first"),
        F.col("last_offset").alias("offset_last"),
        F.when(has_producer, F.col("producer_id")).alias("producer_id"),
        F.when(has_producer, F.col("producer_epoch")).alias("producer_epoch"),
        F.col("position").alias("byte_position"),
        F.col("length").cast("long").alias("byte_length"),
        "fault_mask",
        "count",
        "attributes",
        "base_sequence",
        "base_timestamp",
        "max_timestamp",
        F.col("found").alias("found_value"),
    )


def _damage(failures: DataFrame) -> DataFrame:
    """Byte ranges without a valid batch; what only a batch has is null in the union."""
    behind = F.col("previous_last_offset") + 1
    return failures.select(
        "partition_index",
        "file_index",
        behind.alias("offset_first"),
        F.when(F.col("next_offset") > behind, F.col("next_offset") - 1).alias("offset_last"),
        F.col("first_byte").alias("byte_position"),
        (F.col("end_byte") - F.col("first_byte")).alias("byte_length"),
        F.lit(0).cast("long").alias("fault_mask"),
        F.col("reason").alias("reason_of_failure"),
        "at_end",
        F.col("frame_bytes").alias("claimed_bytes"),
        "previous_last_offset",
        "next_offset",
    )
