"""The transaction coordinator's log: the last record of every transactional id."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.state_names import state_name


def last_states(entries: DataFrame, facts: DataFrame) -> DataFrame:
    """One row a transactional id and broker: its last record (see schemas/coordinator_txn.py).

    Additionally complete_up_to_ms and clean_shutdown of the partition the record lies in, and
    whole_since_ms: from that moment on no record of that partition is missing (0: none ever was).
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
    placed = newest.join(place, on="partition_index", how="inner").join(
        F.broadcast(_whole_since(entries, facts)), on="partition_index", how="left"
    )
    return placed.select(
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
        "whole_since_ms",
    )


def _whole_since(entries: DataFrame, facts: DataFrame) -> DataFrame:
    """One row a partition of the log: the timestamp of its first record behind the last gap, ms.

    Compaction leaves gaps. 0 where the log begins at offset 0 and has none.
    """
    gaps = facts.select("partition_index", F.array_max("missing.end").alias("behind_gaps"))
    beside = entries.join(F.broadcast(gaps), on="partition_index", how="inner")
    kept = F.coalesce(F.col("offset") >= F.col("behind_gaps"), F.lit(True))
    starts = beside.groupBy("partition_index").agg(
        F.min(F.when(kept, F.col("timestamp"))).alias("since"),
        (F.max("behind_gaps").isNull() & (F.min("offset") == 0)).alias("whole"),
    )
    since = F.when(F.col("whole"), F.lit(0)).otherwise(F.col("since"))
    return starts.select("partition_index", since.alias("whole_since_ms"))


def owners(states: DataFrame) -> DataFrame:
    """One row a producer id: the newest last record that names it, over all brokers' copies."""
    named = states.filter(F.col("producer_id").isNotNull())
    newest = named.groupBy("producer_id").agg(
        F.max(F.struct("record_timestamp", "record_offset", F.struct("*").alias("state"))).alias(
            "newest"
        )
    )
    return newest.select("newest.state.*")
