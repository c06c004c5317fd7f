"""Which copy of a partition is explained where none was asked for."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from jobs.cli.commands.explain import ExplainRequest, _states
from jobs.spark.local import local_frame
from schemas.partition_state import PARTITION_STATE

NAMES = ("topic", "partition", "broker", "log_end_offset", "furthest")
SCHEMA = StructType([PARTITION_STATE[name] for name in NAMES])
ANY = ExplainRequest("out", None, "m", 0, None)
OLD_LEADER, NEW_LEADER, FOLLOWER = (
    {"topic": "m", "partition": 0, "broker": broker, "log_end_offset": end, "furthest": furthest}
    for broker, end, furthest in ((1, 90, False), (2, 60, True), (3, 50, False))
)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("rows", "brokers"),
    [
        ([OLD_LEADER, FOLLOWER, NEW_LEADER], [2, 1, 3]),
        ([FOLLOWER, OLD_LEADER | {"furthest": True}], [1, 3]),
        ([one | {"furthest": None} for one in (FOLLOWER, NEW_LEADER, OLD_LEADER)], [1, 2, 3]),
    ],
    ids=["an old leader's is longer", "a follower's is shorter", "an audit of before"],
)
def test_the_copy_of_the_newest_leader_comes_first(
    spark: SparkSession, rows: list[dict[str, Any]], brokers: list[int]
) -> None:
    assert [one["broker"] for one in _states(local_frame(spark, rows, SCHEMA), ANY)] == brokers


@pytest.mark.spark
def test_the_longest_copy_comes_first_where_the_table_is_older(spark: SparkSession) -> None:
    older = local_frame(spark, [FOLLOWER, OLD_LEADER], SCHEMA).drop("furthest")
    assert [one["broker"] for one in _states(older, ANY)] == [1, 3]


@pytest.mark.spark
def test_the_copy_that_was_asked_for_comes_before_all_others(spark: SparkSession) -> None:
    rows = local_frame(spark, [OLD_LEADER, FOLLOWER, NEW_LEADER], SCHEMA)
    asked = ExplainRequest("out", None, "m", 0, 3)
    assert [one["broker"] for one in _states(rows, asked)] == [3, 2, 1]
