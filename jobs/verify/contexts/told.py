"""Context `told`: one row is a difference between a leader's reply and its log."""

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.model.dump import DumpPartition
from jobs.spark.joins import inner, small
from jobs.spark.local import local_frame
from jobs.verify.contexts.context import Context, with_paths
from udfs.arrow.told_differences import STATES_OF_SPLIT, TOLD, TOLD_DIFFERENCE, compare_told
from udfs.rules.logic import surely


def told_partitions(spark: SparkSession, partitions: Iterable[DumpPartition]) -> DataFrame:
    """Rows of TOLD."""
    rows = []
    for one in partitions:
        if one.told is None:
            continue
        before, after = one.told.before, one.told.after
        rows.append(
            (
                one.partition_index, one.fetched_end, before.broker, before.high_watermark,
                before.stable, after.stable, before.producers, after.producers, one.fetched_from,
                one.log_start,
            )
        )  # fmt: skip
    return local_frame(spark, rows, TOLD)


def told_context(
    told: DataFrame, states: DataFrame, partition_info: DataFrame, files: DataFrame
) -> Context:
    """Rows of TOLD_DIFFERENCE. `states`: of LOG_ROW, what the splits of fetched copies change."""
    of_batches = states.filter(~surely(F.col("of_snapshot"))).select(
        "partition_index", "end_offset", *STATES_OF_SPLIT.names
    )
    rows = (
        told.join(of_batches, on=["partition_index", "end_offset"], how="left")
        .select(*TOLD.names, *STATES_OF_SPLIT.names)
        .groupBy("partition_index")
        .applyInArrow(compare_told, TOLD_DIFFERENCE)
    )

    def enrich(selected: DataFrame) -> DataFrame:
        known = partition_info.drop("batches", "records")
        joined = inner(selected, small(known), on="partition_index")
        return with_paths(joined, files, file="file_index").select(
            "*",
            F.col("begins").alias("offset_first"),
            F.lit(None).cast("long").alias("offset_last"),
            F.col("position").alias("byte_position"),
            F.col("length").alias("byte_length"),
            F.lit(None).cast("string").alias("transactional_id"),
        )

    return Context("told", rows, lambda: F.lit(False), enrich)
