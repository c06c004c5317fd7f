"""Context `producer`: one row is a producer id over all partitions and the coordinator's log."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.verify.contexts.context import Context, with_paths


def _uses(states: DataFrame, entries: DataFrame, facts: DataFrame) -> DataFrame:
    """One row is a run of client data with its `place`, or a state record with its `owner`."""
    client = facts.filter(~F.col("coordinator_topic")).select(
        "partition_index", "topic", "partition", "broker"
    )
    data = states.filter(F.col("has_data")).join(
        F.broadcast(client), on="partition_index", how="inner"
    )
    place = F.struct(
        "first_offset",
        "topic",
        "partition",
        "broker",
        "file_index",
        F.col("first_position").alias("position"),
        F.col("first_length").alias("length"),
        "producer_epoch",
    )
    owner = F.struct("timestamp", "file_index", "position", "length", "transactional_id")
    named = entries.filter(F.col("error").isNull() & (F.col("producer_id") >= 0))
    return data.select("producer_id", "transactional", place.alias("place")).unionByName(
        named.select("producer_id", owner.alias("owner")), allowMissingColumns=True
    )


def _enriched(selected: DataFrame, files: DataFrame) -> DataFrame:
    """The place of a finding: the first batch outside of transactions."""
    named = with_paths(
        selected,
        files,
        file="plain_place.file_index",
        transactional_file="transactional_place.file_index",
        owner_file="owner.file_index",
    )
    return named.select(
        "*",
        F.col("plain_place.topic").alias("topic"),
        F.col("plain_place.partition").alias("partition"),
        F.col("plain_place.broker").alias("broker"),
        F.col("plain_place.first_offset").alias("offset_first"),
        F.col("plain_place.first_offset").alias("offset_last"),
        F.col("plain_place.producer_epoch").alias("producer_epoch"),
        F.col("plain_place.position").alias("byte_position"),
        F.col("plain_place.length").alias("byte_length"),
        F.col("transactional_place.position").alias("transactional_position"),
        F.col("transactional_place.length").alias("transactional_length"),
        F.col("owner.position").alias("owner_position"),
        F.col("owner.length").alias("owner_length"),
        F.col("owner.transactional_id").alias("transactional_id"),
    )


def producer_context(
    states: DataFrame, entries: DataFrame, facts: DataFrame, files: DataFrame
) -> Context:
    """One row is a producer id over all client partitions and the coordinator's log.

    transactional_place and plain_place are structs (first_offset, topic, partition, broker,
    file_index, position, length) of the first batch of each kind, owner one (timestamp,
    file_index, position, length, transactional_id) of the first record of the coordinator that
    names the producer id; null where there is none.
    """
    rows = (
        _uses(states, entries, facts)
        .groupBy("producer_id")
        .agg(
            F.min(F.when(F.col("transactional"), F.col("place"))).alias("transactional_place"),
            F.min(F.when(~F.col("transactional"), F.col("place"))).alias("plain_place"),
            F.min("owner").alias("owner"),
        )
    )

    def regular() -> Column:
        return F.col("plain_place").isNull() | (
            F.col("transactional_place").isNull() & F.col("owner").isNull()
        )

    return Context("producer", rows, regular, lambda selected: _enriched(selected, files))
