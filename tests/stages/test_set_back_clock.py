"""A broker's clock that was set back: its log is complete up to the last moment, not the latest."""

from pathlib import Path

import pytest
from cases import AuditedCases, audit_dump, cases_of, difference
from log_builder import Case, DumpWriter
from pyspark.sql import SparkSession

CASES = cases_of(Path(__file__).with_name("set_back_clock.yaml"))


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> AuditedCases:
    folder = tmp_path_factory.mktemp("set-back")
    DumpWriter(folder).write(CASES)
    (folder / "clean" / ".kafka_cleanshutdown").unlink()
    return AuditedCases.of(audit_dump(spark, folder))


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_the_copy_came_too_early_for_is_no_violation(
    audited: AuditedCases, case: Case
) -> None:
    assert difference(case, audited) == ""
