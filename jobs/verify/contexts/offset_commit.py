"""Context `offset_commit`: one row is an offset commit that replaced a higher one."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.conditions.missing import missing_between
from jobs.verify.contexts.context import Context, with_paths


def offset_commit_context(late: DataFrame, partition_info: DataFrame, files: DataFrame) -> Context:
    """Rows of `log_row.LATE_COMMIT_TYPE` with partition_index.

    same_producer: one producer wrote all three. Added: missing_between (offsets between the first
    and the last of them are missing).
    """
    needed = partition_info.select(
        "partition_index", "topic", "partition", "broker", "replicated_below", "missing"
    )
    rows = inner(late, small(needed), on="partition_index")

    def enrich(selected: DataFrame) -> DataFrame:
        named = with_paths(
            selected,
            files,
            file="late.file_index",
            replaced_file="replaced.file_index",
            following_file="following.file_index",
        )
        return named.select(
            "*",
            (F.col("late.producer_id") == F.col("replaced.producer_id")).alias("same_producer"),
            missing_between(
                F.col("replaced.record_offset"), F.col("following.effective_offset")
            ).alias("missing_between"),
            F.col("late.record_offset").alias("offset_first"),
            F.col("late.record_offset").alias("offset_last"),
            F.col("late.producer_id").alias("producer_id"),
            F.col("late.producer_epoch").alias("producer_epoch"),
            F.col("late.position").alias("byte_position"),
            F.col("late.length").alias("byte_length"),
            *[
                F.col(f"{one}.{name}").alias(f"{one}_{name}")
                for one in ("replaced", "late", "following")
                for name in ("position", "length", "committed_offset", "effective_offset")
            ],
            F.lit(None).cast("string").alias("transactional_id"),
        )

    return Context("offset_commit", rows, lambda: F.lit(False), enrich)
