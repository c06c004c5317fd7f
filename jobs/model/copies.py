"""Which rows of partition_info are copies of one partition."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def topic_of_copies() -> list[Column]:
    """Equal for the copies of one partition of one topic, in one cluster."""
    return [
        F.coalesce("replica_set", -1 - F.col("partition_index")).alias("replicas"),
        F.col("incarnation"),
    ]
