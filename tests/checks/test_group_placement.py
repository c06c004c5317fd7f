"""How many partitions `__consumer_offsets` has: what the divisors of all splits allow."""

import pytest
from pyspark.sql import SparkSession

from jobs.verify.contexts.group_record import placement

# Greatest common divisors of two splits, records placed and misplaced, and what follows.
CASES = [
    ("all groups fit 50 partitions", (100, 150), 8, 0, (True, True)),
    ("a number above the highest partition fits, though not the assumed one", (60, 90), 1, 7,
     (True, False)),
    ("one group fits nothing", (100, 7), 8, 1, (False, True)),
    ("no group was seen", (0, 0), 0, 0, (True, False)),
    ("most contradict the assumed number", (4, 2), 2, 9, (False, False)),
]  # fmt: skip


@pytest.mark.spark
def test_what_fits(spark: SparkSession) -> None:
    facts = spark.createDataFrame(
        [("__consumer_offsets", 29), ("orders", 99)], "topic string, partition int"
    )
    names = "group_divisor long, placed_records long, misplaced_records long"
    for what, divisors, placed, misplaced, expected in CASES:
        rows = [(divisor, placed, misplaced) for divisor in divisors] + [(None, None, None)]
        told = placement(spark.createDataFrame(rows, names), facts).collect()
        assert [tuple(row) for row in told] == [expected], what
