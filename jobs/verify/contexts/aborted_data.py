"""Open data about all of which ABORT was decided, for contexts whose rows are no transactions."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.spark.joins import inner, small
from jobs.verify.contexts.open_coordinator import appended_by
from jobs.verify.contexts.open_lookups import OF_TRANSACTION, epochs, moments
from jobs.verify.contexts.open_transaction import all_aborted


def aborted_data(
    transactions: DataFrame,
    states: DataFrame,
    log: CoordinatorLog,
    partition_info: DataFrame,
    tolerance: int,
) -> DataFrame:
    """One row a copy and producer whose open data have `all_aborted`, as in context `transaction`.

    Columns: partition_index, producer_id, producer_epoch (of these data), open_aborted (true).
    `transactions`: of `jobs.replay.transactions`, of the producers that are asked for; `states`:
    their producer runs; `tolerance`: how far brokers' clocks may be apart, ms.
    """
    known = partition_info.drop("batches", "records")  # those of the whole partition
    still_open = transactions.filter(F.col("outcome") == "open")
    opened = inner(still_open, small(known), on="partition_index").withColumn(
        "listed", F.concat_ws("-", "topic", "partition")
    )
    return (
        opened.join(small(moments(opened, states, tolerance)), on=OF_TRANSACTION, how="left")
        .join(small(epochs(opened, log)), on=["producer_id", "highest_epoch"], how="left")
        .withColumn("appended_by_ms", appended_by(tolerance))
        .filter(all_aborted(tolerance))
        .select(
            "partition_index",
            "producer_id",
            F.col("highest_epoch").alias("producer_epoch"),
            F.lit(True).alias("open_aborted"),
        )
        .distinct()
    )
