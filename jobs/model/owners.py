"""The coordinator's last record of the transactional id that owns a producer id."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.ending import runs_here
from jobs.spark.joins import small


def with_coordinator(rows: DataFrame, owners: DataFrame) -> DataFrame:
    """Rows (producer_id, topic, partition) with `coordinator`, a struct; null for no owner.

    `owners`: one row a producer id (`jobs.replay.coordinator.owners`). Its columns are the fields
    of the struct, but for running_beside: of ids that share the producer id, the one that runs a
    transaction in the partition owns what lies open there, whichever wrote last elsewhere.
    """
    fields = [name for name in owners.columns if name != "running_beside"]
    owned = owners.select(
        F.col("producer_id").alias("owned"), F.struct(*fields).alias("newest"), "running_beside"
    )
    listed = F.concat_ws("-", "topic", "partition")
    beside = F.filter("running_beside", lambda one: F.array_contains(one["partitions"], listed))
    other = F.when(~runs_here("newest"), F.get(beside, 0))
    return (
        rows.join(small(owned), on=F.col("producer_id") == F.col("owned"), how="left")
        .withColumn("coordinator", F.coalesce(other, "newest"))
        .drop("owned", "newest", "running_beside")
    )
