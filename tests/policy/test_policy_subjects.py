"""What a suite is about, made from tables of a few rows."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.policy import subjects
from jobs.policy.judge import judge
from jobs.policy.subjects import KEYS, Results, UnreadableError, rows_of
from jobs.policy.suites import SUBJECTS, Policy, Suite
from schemas.policy_views import POLICY_VIEWS
from schemas.tables import TABLES

AS_OF = 10_000


def table(spark: SparkSession, name: str, *rows: dict[str, Any]) -> DataFrame:
    """Rows of a table; columns that are not given are null, audit_id is `one`."""
    schema = TABLES[name]
    filled = [{"audit_id": "one"} | row for row in rows]
    return spark.createDataFrame([tuple(r.get(f.name) for f in schema) for r in filled], schema)


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> Results:
    def partition(topic: str, number: int, **values: int) -> dict[str, Any]:
        return {"topic": topic, "partition": number, "open_transactions": 0} | values

    def file(path: str, kind: str, status: str, size: int) -> dict[str, Any]:
        return {"path": path, "kind": kind, "status": status, "size_bytes": size}

    def damage(path: str, first: int, end: int) -> dict[str, Any]:
        return {"file": path, "first_byte": first, "end_byte": end}

    def found(code: str, verdict: str) -> dict[str, Any]:
        return {"code": code, "severity": "error", "verdict": verdict}

    tables = {
        "partition_state": table(
            spark,
            "partition_state",
            partition("b", 1, high_watermark=90, last_stable_offset=80, lso_since_ms=9_000),
            partition("b", 0, high_watermark=90, last_stable_offset=85, lso_since_ms=-1),
            partition("a", 0, log_end_offset=9, last_stable_offset=9),
        ),
        "dump_file": table(
            spark,
            "dump_file",
            file("b-0/0.log", "segment", "audited", 100),
            file("b-1/0.log", "segment", "audited", 50),
            file("b-1/0.index", "offset_index", "digest_only", 10),
        ),
        "decode_failure": table(
            spark,
            "decode_failure",
            damage("b-0/0.log", 10, 20),
            damage("b-0/0.log", 90, 100),
            damage("b-1/0.log", 0, 1),
        ),
        "violation": table(
            spark,
            "violation",
            found("y", "suspect"),
            found("x", "violation"),
            found("y", "suspect"),
        ),
    }
    return Results(tables, AS_OF)


def rows(subject: str, results: Results) -> list[tuple[Any, ...]]:
    """The rows of a view in the columns that its schema promises, missing values as None."""
    names = POLICY_VIEWS[subject].names
    frame = rows_of(subject, results)[names].astype(object)
    return [tuple(row) for row in frame.where(frame.notna(), None).to_numpy().tolist()]


@pytest.mark.spark
def test_views_are_aggregates_in_a_stable_order(results: Results) -> None:
    assert rows("topic_state", results) == [("a", 1, 1, 0, 0, None), ("b", 2, 0, 0, 10, 1000)]
    assert rows("coverage", results) == [
        ("offset_index", "digest_only", 1, 10, 0),
        ("segment", "audited", 2, 150, 21),
    ]
    assert rows("finding_count", results) == [
        ("x", "error", "violation", 1),
        ("y", "error", "suspect", 2),
    ]
    assert ("violation", "code", "violation.code string") in rows("table_column", results)


@pytest.mark.spark
def test_where_nothing_is_proven_the_tables_of_incidents_are_empty(results: Results) -> None:
    assert rows_of("consequence", results).empty
    assert "kind" in rows_of("incident", results)


@pytest.mark.spark
def test_no_more_rows_are_read_than_a_policy_may(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    partitions = rows_of("partition_state", results)
    assert partitions["oldest_open_ms"].to_list()[2] == 1000
    assert "evidence" not in rows_of("violation", results)
    monkeypatch.setattr(subjects, "TABLE_ROWS", 2)
    with pytest.raises(UnreadableError, match="partition_state has more than 2 rows"):
        rows_of("partition_state", results)
    with pytest.raises(UnreadableError, match="no table check_run"):
        rows_of("check_run", results)


@pytest.mark.spark
def test_a_subject_that_cannot_be_read_is_not_evaluated(results: Results) -> None:
    count = [{"type": "expect_table_row_count_to_equal", "kwargs": {"value": 2}}]
    suites = [
        Suite("check_run", "check_run", count),
        Suite("finding_count", "finding_count", count),
    ]
    told = judge(Policy("digest", suites, ["x.json: no valid JSON."]), results)
    assert [result.status for result in told.results] == ["not_evaluated", "met"]
    assert told.outcome.not_evaluated == [
        "x.json: no valid JSON.",
        "check_run.json, expectation 1 (expect_table_row_count_to_equal): "
        "the audit has no table check_run.",
    ]


def test_every_subject_has_a_key_among_its_columns() -> None:
    schemas = TABLES | POLICY_VIEWS
    assert set(KEYS) == set(SUBJECTS)
    assert all(set(KEYS[name]) <= set(schemas[name].names) for name in SUBJECTS)
