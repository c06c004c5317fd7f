"""Context `producer`: one row is a producer id over all partitions and the coordinator's log."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.contexts.context import Context, with_paths
from udfs.rules.logic import surely

OF_CLUSTER = ["unallocated_from", "metadata_up_to_ms"]
PLACE = [
    "first_offset", "topic", "partition", "broker", "file_index", "position", "length",
    "producer_epoch",
]  # fmt: skip


def _uses(states: DataFrame, txn_log_records: DataFrame, partition_info: DataFrame) -> DataFrame:
    """One row is a run of a client topic with its `place`, or a state record with its `owner`.

    used_at_ms: when the use is proven by a broker's clock. unallocated: the place again, where
    `__cluster_metadata` does not know the producer id.
    """
    about = partition_info.select(
        "partition_index", "topic", "partition", "broker", "coordinator_topic",
        *OF_CLUSTER,
    )  # fmt: skip
    client = small(about.filter(~F.col("coordinator_topic")))
    written = inner(states.filter(~F.col("initial")), client, on="partition_index").select(
        "producer_id",
        "has_data",
        "transactional",
        F.col("start_offset").alias("first_offset"),
        "topic", "partition", "broker", "file_index",
        F.coalesce("first_position", "marker_position").alias("position"),
        F.coalesce("first_length", "marker_length").alias("length"),
        F.coalesce("producer_epoch", "marker_epoch").alias("producer_epoch"),
        # That of the last batch: the topic may have had timestamps of clients before.
        F.least(
            "marker_timestamp", F.when(F.col("log_append_time"), F.col("last_timestamp"))
        ).alias("used_at_ms"),
        *OF_CLUSTER,
    )  # fmt: skip
    data = written.withColumn("place", F.when(F.col("has_data"), F.struct(PLACE)))
    owner = F.struct("timestamp", "file_index", "position", "length", "transactional_id")
    told = txn_log_records.filter(F.col("error").isNull() & (F.col("producer_id") >= 0))
    named = inner(told, small(about), on="partition_index").select(
        "producer_id", owner.alias("owner"), F.col("offset").alias("first_offset"),
        "topic", "partition", "broker", "file_index", "position", "length", "producer_epoch",
        F.col("timestamp").alias("used_at_ms"), *OF_CLUSTER,
    )  # fmt: skip
    both = data.unionByName(named, allowMissingColumns=True)
    unknown = F.col("producer_id") >= F.col("unallocated_from")
    return both.withColumn("unallocated", F.when(unknown, F.struct(*PLACE, *OF_CLUSTER)))


def _enriched(selected: DataFrame, files: DataFrame, clock_tolerance_ms: int) -> DataFrame:
    """The place of a finding: the first batch outside of transactions, else the first use."""
    placed = selected.withColumn(
        "shown", F.coalesce("plain_place", F.struct(*[f"unallocated.{name}" for name in PLACE]))
    )
    named = with_paths(
        placed,
        files,
        file="shown.file_index",
        transactional_file="transactional_place.file_index",
        owner_file="owner.file_index",
    )
    later = F.col("used_at_ms") + clock_tolerance_ms < F.col("unallocated.metadata_up_to_ms")
    return named.select(
        "*",
        F.col("shown.topic").alias("topic"),
        F.col("shown.partition").alias("partition"),
        F.col("shown.broker").alias("broker"),
        F.col("shown.first_offset").alias("offset_first"),
        F.col("shown.first_offset").alias("offset_last"),
        F.col("shown.producer_epoch").alias("producer_epoch"),
        F.col("shown.position").alias("byte_position"),
        F.col("shown.length").alias("byte_length"),
        F.col("transactional_place.position").alias("transactional_position"),
        F.col("transactional_place.length").alias("transactional_length"),
        F.col("owner.position").alias("owner_position"),
        F.col("owner.length").alias("owner_length"),
        F.col("owner.transactional_id").alias("transactional_id"),
        F.col("unallocated.unallocated_from").alias("unallocated_from"),
        surely(later).alias("metadata_later"),
    )


def producer_context(
    states: DataFrame,
    txn_log_records: DataFrame,
    partition_info: DataFrame,
    files: DataFrame,
    clock_tolerance_ms: int,
) -> Context:
    """One row is a producer id over all client partitions and the coordinator's log.

    transactional_place and plain_place are structs (first_offset, topic, partition, broker,
    file_index, position, length, producer_epoch) of the first batch of each kind, owner one
    (timestamp, file_index, position, length, transactional_id) of the first record of the
    coordinator that names the producer id; null where there is none.

    unallocated: the place where an id is first used that is none of those given out by
    `__cluster_metadata`, unallocated_from or above; null for any other id. metadata_later: that
    log goes on after a moment at which the id was in use.
    """
    rows = (
        _uses(states, txn_log_records, partition_info)
        .groupBy("producer_id")
        .agg(
            F.min(F.when(F.col("transactional"), F.col("place"))).alias("transactional_place"),
            F.min(F.when(~F.col("transactional"), F.col("place"))).alias("plain_place"),
            F.min("owner").alias("owner"),
            F.min("unallocated").alias("unallocated"),
            F.min("used_at_ms").alias("used_at_ms"),
        )
    )

    def regular() -> Column:
        alone = F.col("transactional_place").isNull() & F.col("owner").isNull()
        return F.col("unallocated").isNull() & (F.col("plain_place").isNull() | alone)

    return Context(
        "producer",
        rows,
        regular,
        lambda selected: _enriched(selected, files, clock_tolerance_ms),
        within_cluster=True,
    )
