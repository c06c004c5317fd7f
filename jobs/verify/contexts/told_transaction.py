"""Context `told_transaction`: one row is what a coordinator replied about an id of its log."""

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.model.told import TransactionTold
from jobs.spark.joins import inner, small
from jobs.spark.local import local_frame
from jobs.verify.contexts.context import Context
from schemas.columns import integer, long, string, table
from schemas.topics import TXN_LOG_TOPIC
from udfs.rules.logic import surely

TOLD_TRANSACTION = table(
    string("transactional_id", "transactional id"),
    integer("answering_broker", "the coordinator that was asked"),
    long("told_producer_id", "its producer id, as told"),
    string("told_state", "its state, as told"),
)
"""One row an id of which one coordinator said the same before the fetch and after it."""
TOMBSTONE = "tombstone"
RECORD = ("broker", "producer_id", "producer_epoch", "state", "tombstone")


def told_transactions(spark: SparkSession, told: Iterable[TransactionTold]) -> DataFrame:
    """Rows of TOLD_TRANSACTION."""
    rows = [(one.transactional_id, one.broker, one.producer_id, one.state) for one in told]
    return local_frame(spark, rows, TOLD_TRANSACTION)


def told_transaction_context(
    told: DataFrame, coordinator: DataFrame, partition_info: DataFrame
) -> Context:
    """Ids with the last record of each. `coordinator`: of all copies (jobs.replay.coordinator).

    `quiet`: that record was there before the coordinator was asked first (the log is copied before
    the data, too), and none behind it is lost, so that none came while it was asked.
    """
    earlier = (
        partition_info.filter(F.col("topic") == TXN_LOG_TOPIC)
        .groupBy("partition")
        .agg(F.max("earlier_end").alias("earlier_end"))
    )
    newest = coordinator.groupBy("partition", "transactional_id").agg(
        F.max(
            F.struct(
                "record_offset",
                "broker",
                "producer_id",
                "producer_epoch",
                "state",
                "tombstone",
                "lost_behind",
            )
        ).alias("record")
    )
    rows = (
        inner(inner(newest, small(earlier), on="partition"), told, on="transactional_id")
        .select(
            "transactional_id", "partition", *TOLD_TRANSACTION.names[1:], "earlier_end",
            "record.record_offset", "record.broker", "record.producer_id", "record.producer_epoch",
            F.when(F.col("record.tombstone"), F.lit(TOMBSTONE))
            .otherwise(F.col("record.state"))
            .alias("state"),
            surely(
                (F.col("record.record_offset") < F.col("earlier_end"))
                & ~F.col("record.lost_behind")
            ).alias("quiet"),
        )
    )  # fmt: skip

    def regular():  # type: ignore[no-untyped-def]
        agree = F.col("state").eqNullSafe(F.col("told_state"))
        agree &= F.col("producer_id").eqNullSafe(F.col("told_producer_id"))
        return agree | ~F.col("quiet")

    def enrich(selected: DataFrame) -> DataFrame:
        return selected.select(
            "*",
            F.lit(TXN_LOG_TOPIC).alias("topic"),
            F.col("record_offset").alias("offset_first"),
            F.col("record_offset").alias("offset_last"),
            F.lit(None).cast("string").alias("file"),
            F.lit(None).cast("long").alias("byte_position"),
            F.lit(None).cast("long").alias("byte_length"),
        )

    return Context("told_transaction", rows, regular, enrich, within_cluster=True)
