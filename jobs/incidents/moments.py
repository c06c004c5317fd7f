"""When what a finding is about happened, as far as the logs date it: it tells causes apart.

A decision has the coordinator's clock. Open data that nobody decided about have only the timestamp
of their first batch, which may be a client's.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


@dataclass(frozen=True)
class Moments:
    """Three frames with the column at, ms. Each has one row a key.

    `by_record`: prepare_file, prepare_position (of a batch of `__transaction_state`); `by_epoch`:
    producer_id, producer_epoch, where one transaction has the epoch; `by_start`: broker, topic,
    partition, producer_id, offset_first (where its data begin).
    """

    by_record: DataFrame
    by_epoch: DataFrame
    by_start: DataFrame


def moments(
    decisions: DataFrame, transactions: DataFrame, info: DataFrame, files: DataFrame
) -> Moments:
    """Moments of some producers.

    `decisions`: rows of `jobs.replay.decisions` about them; `transactions`: of
    `jobs.replay.transactions`; `info`: partition_info; `files`: the listing.
    """
    named = decisions.join(
        F.broadcast(files.select(F.col("file_index").alias("record_file_index"), "path")),
        on="record_file_index",
    )
    by_record = named.groupBy(
        F.col("path").alias("prepare_file"), F.col("record_position").alias("prepare_position")
    ).agg(F.min("prepare_timestamp").alias("at"))
    by_epoch = (
        decisions.filter(~F.col("shares_epoch"))
        .groupBy("producer_id", F.col("data_epoch").alias("producer_epoch"))
        .agg(F.min("prepare_timestamp").alias("at"))
    )
    place = info.select("partition_index", "broker", "topic", "partition")
    by_start = (
        transactions.filter(F.col("first_offset").isNotNull())
        .join(F.broadcast(place), on="partition_index")
        .groupBy(
            "broker", "topic", "partition", "producer_id",
            F.col("first_offset").alias("offset_first"),
        )
        .agg(F.min(F.coalesce("last_append_ms", "first_timestamp")).alias("at"))
    )  # fmt: skip
    return Moments(by_record, by_epoch, by_start)
