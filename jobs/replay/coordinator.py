"""The transaction coordinator's log: the last record of every transactional id."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs._state_names import state_name


def last_states(entries: DataFrame, facts: DataFrame) -> DataFrame:
    """One row a transactional id and broker: its last record (see schemas/coordinator_txn.py).

    Additionally complete_up_to_ms and clean_shutdown of the partition the record lies in.
    """
    newest = (
        entries.filter(F.col("transactional_id").isNotNull())
        .groupBy("partition_index", "transactional_id")
        .agg(F.max(F.struct("offset", F.struct("*").alias("entry"))).alias("newest"))
    )
    place = F.broadcast(
        facts.select(
            "partition_index", "broker", "partition", "complete_up_to_ms", "clean_shutdown"
        )
    )
    return newest.join(place, on="partition_index", how="inner").select(
        "broker",
        "partition",
        "transactional_id",
        "newest.entry.producer_id",
        "newest.entry.producer_epoch",
        state_name(F.col("newest.entry.status")).alias("state"),
        "newest.entry.partitions",
        "newest.entry.timeout_ms",
        "newest.entry.start_ms",
        "newest.entry.last_update_ms",
        F.col("newest.entry.timestamp").alias("record_timestamp"),
        F.col("newest.entry.offset").alias("record_offset"),
        "newest.entry.client_transaction_version",
        "newest.entry.tombstone",
        "complete_up_to_ms",
        "clean_shutdown",
    )


def owners(states: DataFrame) -> DataFrame:
    """One row a producer id: the newest last record that names it, over all brokers' copies."""
    named = states.filter(F.col("producer_id").isNotNull())
    newest = named.groupBy("producer_id").agg(
        F.max(F.struct("record_timestamp", "record_offset", F.struct("*").alias("state"))).alias(
            "newest"
        )
    )
    return newest.select("newest.state.*")
