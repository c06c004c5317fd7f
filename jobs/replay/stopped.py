"""Which brokers had really stopped: what their logs say of the mark of a clean stop."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import small


def stopped(listed: DataFrame, splits: DataFrame) -> DataFrame:
    """`listed`, rows of DUMP_PARTITION, with the mark where no log goes on behind the stop.

    A broker that stops flushes each log to its end and lists that as its recovery point; one that
    starts removes the mark (`LogManager.shutdown`, `loadLogs`). A copy that has the mark, and logs
    that go on behind their recovery points, is of both times: none of its files is of the moment of
    the stop. A single log of several proves it for itself alone: it may be a bit of the base offset
    of its last batch, which no checksum covers. Added: started_again.
    """
    place = F.struct("base_offset", "split_start")
    lasts = (
        splits.filter(F.col("batches") > 0)
        .groupBy("partition_index")
        .agg(F.max_by("final_last_offset", place).alias("last"))
    )
    goes_on = F.col("clean_shutdown") & (F.col("last") >= F.col("checkpoint_recovery_point"))
    of_broker = Window.partitionBy("cluster_id", "broker")
    # Of directories that name no broker each log is judged alone.
    number = F.count(F.when(goes_on & F.col("broker").isNotNull(), 1)).over(of_broker)
    started_again = F.coalesce(goes_on, F.lit(False)) | (number >= 2)
    return (
        listed.join(small(lasts), on="partition_index", how="left")
        .withColumn("started_again", started_again)
        .withColumn("clean_shutdown", F.col("clean_shutdown") & ~F.col("started_again"))
        .drop("last")
    )
