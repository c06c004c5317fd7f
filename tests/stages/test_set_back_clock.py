"""A broker's clock that was set back: its log is complete up to the last moment, not the latest."""

from pathlib import Path

import pytest
from cases import AuditedCases, audit_alone, cases_of, difference
from log_builder import Case
from pyspark.sql import SparkSession

from jobs.model.set_back_clocks import MOST_SET_BACKS, set_backs

CASES = cases_of(Path(__file__).with_name("set_back_clock.yaml"))


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> AuditedCases:
    return audit_alone(spark, tmp_path_factory.mktemp("set-back"), CASES)


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_the_copy_came_too_early_for_is_no_violation(
    audited: AuditedCases, case: Case
) -> None:
    assert difference(case, audited) == ""


@pytest.mark.spark
@pytest.mark.parametrize("beyond", [0, 2], ids=["so many", "more"])
def test_of_too_many_set_backs_the_nearest_count_as_one(spark: SparkSession, beyond: int) -> None:
    hours = [hour * 3_600_000 for hour in range(1, MOST_SET_BACKS + 1)]
    near = [hours[-1] + number * 300_000 for number in range(1, beyond + 1)]
    rows = [(5, {"lowest": at, "set_backs": [(at, at + 2_000)]}) for at in [*near, *hours]]
    schema = (
        "newest_before bigint, clock struct<lowest:bigint,"
        "set_backs:array<struct<to_ms:bigint, from_ms:bigint>>>"
    )
    found = set_backs(spark.createDataFrame(rows, schema), 60_000).collect()[0].set_backs
    last = hours[-1]
    assert [tuple(one) for one in found] == [
        *[(at, at + 2_000, 2_000) for at in hours[:-1]],
        (last, last + beyond * 300_000 + 2_000, (beyond + 1) * 2_000),
    ]


@pytest.mark.spark
def test_set_backs_near_each_other_add_up_without_the_time_between(spark: SparkSession) -> None:
    # Two of 2 s that are 100 s apart, and one of a minute that two logs show, and one continues.
    shown = [(0, 2_000), (100_000, 102_000), (900_000, 960_000), (910_000, 960_000)]
    rows = [(None, {"lowest": 0, "set_backs": [*shown, (960_000, 990_000)]})]
    schema = (
        "newest_before bigint, clock struct<lowest:bigint,"
        "set_backs:array<struct<to_ms:bigint, from_ms:bigint>>>"
    )
    found = set_backs(spark.createDataFrame(rows, schema), 60_000).collect()[0].set_backs
    assert [tuple(one) for one in found] == [(0, 102_000, 4_000), (900_000, 990_000, 90_000)]
