"""The coordinator's last record of the transactional id that owns a producer id."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import small


def with_coordinator(rows: DataFrame, owners: DataFrame) -> DataFrame:
    """Rows (column producer_id) with `coordinator`, a struct; null where no id owns the producer.

    `owners`: one row a producer id, its columns are the fields of the struct.
    """
    owned = owners.select(F.col("producer_id").alias("owned"), F.struct("*").alias("coordinator"))
    mine = F.col("producer_id") == F.col("owned")
    return rows.join(small(owned), on=mine, how="left").drop("owned")
