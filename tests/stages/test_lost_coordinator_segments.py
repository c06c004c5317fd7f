"""A segment that the coordinators' log lacks between two others: lost, or taken by a cleaner."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from cases import AuditedCases, audit_dump
from log_builder import BROKERS, Case, DumpWriter
from pyspark.sql import SparkSession
from test_registered_brokers import END, Metadata, write_metadata

HOLE: dict[str, Any] = {
    "name": "a file between two others",
    "alone": True,
    "log": ["txn pid=1", "commit pid=1"],
    "coordinator": [
        "id=x pid=1 state=Ongoing",
        "id=x pid=1 state=PrepareCommit",
        "id=x pid=1 state=CompleteCommit",
        "id=x pid=1 state=Ongoing at=10 skip=4 roll raw",
    ],
    "finds": [],
}
SUSPECT = [("suspect", "cleaned_range", 4, 7)]
INCONCLUSIVE = [("inconclusive", "cleaned_range", 4, 7)]


def write_dump(root: Path) -> Path:
    """The dump of one broker that stopped cleanly; its folder."""
    DumpWriter(root).write([Case("hole", 0, HOLE)])
    shutil.rmtree(root / "live")
    broker = root / "clean"
    write_metadata(broker, Metadata((BROKERS["clean"],), END))
    return broker


def found(spark: SparkSession, dump: Path) -> list[tuple[Any, ...]]:
    audited = AuditedCases.of(audit_dump(spark, dump))
    rows = [
        (one["verdict"], one["reason"], one["offset_first"], one["offset_last"])
        for findings in audited.findings.values()
        for one in findings
        if one["code"] == "segment_missing"
    ]
    audited.done.release()
    return rows


@pytest.mark.spark
def test_all_brokers_are_there_and_none_lists_it(spark: SparkSession, tmp_path: Path) -> None:
    write_dump(tmp_path)
    assert found(spark, tmp_path) == SUSPECT


@pytest.mark.spark
def test_another_broker_may_have_cleaned_it(spark: SparkSession, tmp_path: Path) -> None:
    write_metadata(write_dump(tmp_path), Metadata((BROKERS["clean"], 77), END))
    assert found(spark, tmp_path) == INCONCLUSIVE


@pytest.mark.spark
def test_a_broker_that_did_not_stop_cleanly_may_have_been_in_its_first_pass(
    spark: SparkSession, tmp_path: Path
) -> None:
    (write_dump(tmp_path) / ".kafka_cleanshutdown").unlink()
    assert found(spark, tmp_path) == INCONCLUSIVE
