"""How many partitions `__consumer_offsets` has: what the divisors of all splits allow."""

import pytest
from pyspark.sql import SparkSession

from jobs.verify.contexts.group_record import placement

# Greatest common divisors of two splits, records placed and misplaced, what __cluster_metadata
# tells, and what follows.
CASES = [
    ("all groups fit 50 partitions", (100, 150), 8, 0, None, (True, True)),
    ("a number above the highest partition fits, though not the assumed one", (60, 90), 1, 7, None,
     (True, False)),
    ("one group fits nothing", (100, 7), 8, 1, None, (False, True)),
    ("no group was seen", (0, 0), 0, 0, None, (True, False)),
    ("most contradict the assumed number", (4, 2), 2, 9, None, (False, False)),
    ("a possible number is not the known one", (60, 90), 7, 1, 50, (False, True)),
    ("the known one is not that which the decoder assumed", (60, 90), 7, 1, 40, (False, False)),
    ("the known one is too small for what is there", (60, 90), 7, 1, 25, (True, True)),
]  # fmt: skip


@pytest.mark.spark
def test_what_fits(spark: SparkSession) -> None:
    names = "group_divisor long, placed_records long, misplaced_records long"
    known = "topic string, partition int, topic_partitions int"
    for what, divisors, placed, misplaced, told_count, expected in CASES:
        partition_info = spark.createDataFrame(
            [("__consumer_offsets", 29, told_count), ("orders", 99, 100)], known
        )
        rows = [(divisor, placed, misplaced) for divisor in divisors] + [(None, None, None)]
        told = placement(spark.createDataFrame(rows, names), partition_info, 50).collect()
        assert [tuple(row) for row in told] == [expected], what
