"""A clock that an adjustment set back by less than a second, of a broker that is alone."""

import shutil
from pathlib import Path

import pytest
from cases import AuditedCases, audit_dump, cases_of, difference
from log_builder import Case, DumpWriter
from pyspark.sql import SparkSession

CASES = cases_of(Path(__file__).with_name("adjusted_clock.yaml"))


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> AuditedCases:
    folder = tmp_path_factory.mktemp("adjusted")
    DumpWriter(folder).write(CASES)
    (folder / "clean" / ".kafka_cleanshutdown").unlink()
    shutil.rmtree(folder / "live")
    return AuditedCases.of(audit_dump(spark, folder))


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_clock_orders_what_is_further_apart_than_an_adjustment(
    audited: AuditedCases, case: Case
) -> None:
    told = difference(case, audited)
    assert told == "", told
