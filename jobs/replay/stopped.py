"""Which brokers had really stopped: what their logs say of the mark of a clean stop."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import small
from udfs.rules.logic import surely


def stopped(listed: DataFrame, splits: DataFrame) -> DataFrame:
    """`listed`, rows of DUMP_PARTITION, with the mark where no log goes on behind the stop.

    A broker that stops flushes each log to its end and lists that as its recovery point; one that
    starts removes the mark (`LogManager.shutdown`, `loadLogs`). A copy that has the mark, and a log
    that goes on behind its recovery point, is of both times: none of its files is of the moment of
    the stop. Added: started_again, the same for all copies of a broker.
    """
    ends = splits.groupBy("partition_index").agg((F.max("last_offset") + 1).alias("end"))
    goes_on = F.col("clean_shutdown") & (F.col("end") > F.col("checkpoint_recovery_point"))
    of_broker = Window.partitionBy("cluster_id", "broker")
    return (
        listed.join(small(ends), on="partition_index", how="left")
        .withColumn("started_again", surely(F.max(surely(goes_on)).over(of_broker)))
        .withColumn("clean_shutdown", F.col("clean_shutdown") & ~F.col("started_again"))
        .drop("end")
    )
