"""Which copy of a partition its consumers read."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import small


def read_copies(info: DataFrame, splits: DataFrame) -> DataFrame:
    """partition_index of the copies that reach furthest: that of the leader, and those like it.

    By leader epoch, then by log end. Nobody waits for what a follower lacks, or for what an old
    leader has beside its successor. `info`: partition_info; `splits`: summaries.
    """
    newest = splits.groupBy("partition_index").agg(
        F.max("final_leader_epoch").alias("leader_epoch")
    )
    reach = F.struct(F.coalesce("leader_epoch", F.lit(-1)), F.col("log_end_offset"))
    place = ("cluster_id", "topic", "partition")
    copies = info.select("partition_index", *place, "log_end_offset").join(
        small(newest), on="partition_index", how="left"
    )
    furthest = F.max(reach).over(Window.partitionBy(*place))
    compared = copies.select("partition_index", (reach == furthest).alias("is_furthest"))
    return compared.filter("is_furthest").select("partition_index")
