"""Joins of frames of which some are small, or all are in one task."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.session import shuffle_partitions


def small(frame: DataFrame) -> DataFrame:
    """The side of an equality join that every task gets as a whole.

    Where all rows of a query are in one task, both sides of the join are there already, and a
    broadcast would be one more job. A join without equality has no other way: it keeps the hint.
    """
    return frame if shuffle_partitions(frame.sparkSession) == 1 else F.broadcast(frame)


def inner(left: DataFrame, right: DataFrame, on: str | list[str] | Column) -> DataFrame:
    """The inner join of two frames, known to be in one task where both are.

    Spark knows the rows behind it by either side, which for its next join is not the same as one
    partition (`EnsureRequirements`): it would shuffle both sides of that.
    """
    joined = left.join(right, on=on, how="inner")
    return joined.coalesce(1) if shuffle_partitions(left.sparkSession) == 1 else joined
