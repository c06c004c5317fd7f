"""The small side of a join."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.spark.session import shuffle_partitions


def small(frame: DataFrame) -> DataFrame:
    """The side of an equality join that every task gets as a whole.

    Where all rows of a query are in one task, both sides of the join are there already, and a
    broadcast would be one more job. A join without equality has no other way: it keeps the hint.
    """
    return frame if shuffle_partitions(frame.sparkSession) == 1 else F.broadcast(frame)
