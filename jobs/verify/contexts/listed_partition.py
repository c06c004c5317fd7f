"""Context `listed_partition`: one row is a partition that a completed transaction lists."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.verify.conditions import missing_between, one_instant
from jobs.verify.contexts.context import Context, with_paths
from jobs.verify.contexts.transaction import Ages
from schemas.coordinator_txn import PREPARE_ABORT, PREPARE_COMMIT

MAX_OFFSET = 1 << 62


def _completed(entries: DataFrame) -> DataFrame:
    """One row a Prepare record whose Complete record follows, and a partition that it lists."""
    by_id = Window.partitionBy("partition_index", "transactional_id").orderBy("offset")
    followed = entries.filter(
        F.col("transactional_id").isNotNull() & F.col("error").isNull()
    ).select(
        "*",
        F.lead("status").over(by_id).alias("next_status"),
        F.lead("offset").over(by_id).alias("complete_offset"),
        F.lead("timestamp").over(by_id).alias("complete_timestamp"),
    )
    completed = followed.filter(
        F.col("status").isin(PREPARE_COMMIT, PREPARE_ABORT)
        & (F.col("next_status") == F.col("status") + 2)
    )
    with_protocol_2 = F.col("client_transaction_version") >= 2
    return completed.select(
        F.col("partition_index").alias("coordinator_index"),
        F.col("file_index").alias("record_file_index"),
        F.col("position").alias("record_position"),
        F.col("length").alias("record_length"),
        "complete_offset",
        "complete_timestamp",
        "transactional_id",
        "producer_id",
        F.col("producer_epoch").alias("marker_epoch"),
        # Under transaction.version 2 the marker raises the epoch of its data by one.
        (F.col("producer_epoch") - F.when(with_protocol_2, 1).otherwise(0)).alias("producer_epoch"),
        F.when(F.col("status") == PREPARE_COMMIT, "COMMIT").otherwise("ABORT").alias("decision"),
        F.explode("partitions").alias("listed"),
    )


def _enriched(selected: DataFrame, states: DataFrame, files: DataFrame, ages: Ages) -> DataFrame:
    """The data of the transaction in the partition, and whether its copy is late enough."""
    data = states.filter(F.col("has_data") & F.col("transactional"))
    of_epoch = data.groupBy("partition_index", "producer_id", "producer_epoch").agg(
        F.min(F.struct("first_offset", "file_index", "first_position", "first_length")).alias(
            "data"
        ),
        F.max("last_offset").alias("data_last"),
    )
    newest = states.groupBy("partition_index", "producer_id").agg(
        F.max(F.greatest("producer_epoch", "marker_epoch")).alias("later_epoch")
    )
    joined = selected.join(
        of_epoch, on=["partition_index", "producer_id", "producer_epoch"], how="left"
    ).join(newest, on=["partition_index", "producer_id"], how="left")
    named = with_paths(joined, files, data_file="data.file_index", record_file="record_file_index")
    same_moment = one_instant("coordinator_clean_shutdown")
    in_time = F.col("complete_up_to_ms") >= F.col("complete_timestamp") + F.lit(
        ages.clock_tolerance
    )
    return named.select(
        "*",
        F.coalesce(
            same_moment | in_time | (F.col("later_epoch") > F.col("marker_epoch")),
            F.lit(False),
        ).alias("copied_later"),
        # Where batches are missing behind the data, the marker may have been among them.
        missing_between(F.col("data_last") + 1, F.lit(MAX_OFFSET)).alias("marker_missing"),
        F.col("data.first_offset").alias("offset_first"),
        F.col("data_last").alias("offset_last"),
        F.coalesce("data_file", "record_file").alias("file"),
        F.coalesce("data.first_position", "record_position").alias("byte_position"),
        F.coalesce("data.first_length", "record_length").alias("byte_length"),
    )


def listed_partition_context(
    entries: DataFrame,
    states: DataFrame,
    markers: DataFrame,
    facts: DataFrame,
    files: DataFrame,
    ages: Ages,
) -> Context:
    """Partitions of completed transactions, on every broker of the dump that holds a copy.

    `entries`: records of `__transaction_state`; `markers`: (partition_index, producer_id,
    marker_epoch) of all markers of the dump. `decision`: COMMIT or ABORT; marker_epoch: that of
    the Prepare record; marker_found: the partition has a marker of that producer id and epoch.
    data, data_last: first batch and last offset of the data of `producer_epoch` there, null for
    none. later_epoch: the highest producer epoch of the producer in the partition. copied_later:
    the copy of the partition is later than the Complete record.
    """
    known = facts.select(
        "partition_index", "broker", "topic", "partition", "complete_up_to_ms", "clean_shutdown",
        "single_broker", "holes",
        F.concat_ws("-", "topic", "partition").alias("listed"),
    )  # fmt: skip
    coordinators = facts.select(
        F.col("partition_index").alias("coordinator_index"),
        F.col("clean_shutdown").alias("coordinator_clean_shutdown"),
        F.col("stable_below").alias("coordinator_stable_below"),
        F.col("partition").alias("coordinator_partition"),
    )
    found = markers.distinct().withColumn("marker_found", F.lit(True))
    rows = (
        _completed(entries)
        .join(F.broadcast(known), on="listed", how="inner")
        .join(F.broadcast(coordinators), on="coordinator_index", how="inner")
        .join(found, on=["partition_index", "producer_id", "marker_epoch"], how="left")
    )

    def regular() -> Column:
        return F.coalesce(F.col("marker_found"), F.lit(False))

    return Context(
        "listed_partition", rows, regular, lambda selected: _enriched(selected, states, files, ages)
    )
