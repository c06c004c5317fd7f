"""A broker alone: a clock set back by less than a second, and what no other broker can change."""

from pathlib import Path

import pytest
from cases import AuditedCases, audit_alone, cases_of, difference
from log_builder import Case
from pyspark.sql import SparkSession

CASES = cases_of(Path(__file__).with_name("adjusted_clock.yaml"))


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> AuditedCases:
    return audit_alone(spark, tmp_path_factory.mktemp("adjusted"), CASES, "live")


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_clock_orders_what_is_further_apart_than_an_adjustment(
    audited: AuditedCases, case: Case
) -> None:
    told = difference(case, audited)
    assert told == "", told
