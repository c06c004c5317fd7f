"""Suites over frames made by hand: met, failed, and what cannot be evaluated."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from jobs.model.expectation_results import Result
from jobs.policy.engine import evaluate
from jobs.policy.subjects import KEYS
from jobs.policy.suites import Suite, load
from jobs.policy.wording import observed_value
from schemas.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
# The largest offset there is: a float would lose it.
LARGE = 2**63 - 1


def topics(*rows: tuple[str, int | None, int | None]) -> pd.DataFrame:
    """topic, lso_lag, oldest_open_ms."""
    names, lags, ages = zip(*rows, strict=True)
    numbers = {"lso_lag": pd.array(lags, "Int64"), "oldest_open_ms": pd.array(ages, "Int64")}
    return pd.DataFrame({"topic": names} | numbers)


def expectation(kind: str, severity: str | None = None, **kwargs: Any) -> dict[str, Any]:
    stated = {} if severity is None else {"severity": severity}
    return {"type": kind, "kwargs": kwargs, **stated}


def judged(rows: pd.DataFrame, *expectations: dict[str, Any]) -> list[Result]:
    return evaluate(Suite("topic_state", "topic_state", list(expectations)), rows, ["topic"])


BETWEEN = "expect_column_values_to_be_between"
ROWS = topics(("a", LARGE, None), ("b", 7, 5), ("c", None, None))


def test_a_failed_expectation_names_the_rows_and_keeps_large_numbers_whole() -> None:
    (failed,) = judged(ROWS, expectation(BETWEEN, column="lso_lag", max_value=7))
    assert (failed.status, failed.severity) == ("failed", "error")
    assert (failed.rows_examined, failed.rows_failed) == (3, 1)
    assert failed.examples == [f"lso_lag={LARGE}, topic=a"]
    assert failed.message.endswith(f"1 of 3 rows fail, such as lso_lag={LARGE}, topic=a.")


def test_a_description_is_what_is_told() -> None:
    described = expectation(BETWEEN, "warning", column="oldest_open_ms", max_value=4)
    (failed,) = judged(ROWS, described | {"description": "Nothing is open for long"})
    assert failed.severity == "warning"
    assert failed.message.startswith("Nothing is open for long: 1 of 3 rows fail, such as ")
    (met,) = judged(ROWS[2:], described | {"description": "Nothing is open for long"})
    assert (met.status, met.message) == ("met", "Nothing is open for long.")


def test_an_aggregate_tells_what_it_observed() -> None:
    (failed,) = judged(ROWS, expectation("expect_table_row_count_to_equal", value=2))
    assert (failed.status, failed.observed, failed.rows_failed) == ("failed", "3", None)


@pytest.mark.parametrize("rows", [ROWS, ROWS[:0]], ids=["rows", "no rows"])
@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (expectation("expect_nothing_at_all"), "there is no expectation expect_nothing_at_all."),
        (expectation(f"{BETWEEN}s", column="lso_lag"), f"did you mean {BETWEEN}?"),
        (expectation(BETWEEN, column="lso_lagg", max_value=1), "no column lso_lagg; did you mean"),
        (expectation(BETWEEN, column="lso_lag"), "min_value and max_value cannot both be None."),
        (expectation(BETWEEN, column="lso_lag", maximum=1), "maximum: extra fields not permitted."),
        (expectation(BETWEEN, "fatal", column="lso_lag", max_value=1), "no severity fatal;"),
        (
            expectation("expect_compound_columns_to_be_unique", column_list=["topic", "x"]),
            'The column "x" in BatchData does not exist (columns: topic, lso_lag, oldest_open_ms).',
        ),
        (
            expectation(
                "expect_table_row_count_to_equal",
                value=0,
                row_condition={
                    "type": "nullity",
                    "column": {"name": "nope"},
                    "is_null": False,
                },
            ),
            "name 'nope' is not defined (columns: ",
        ),
        (
            expectation(
                "unexpected_rows_expectation", unexpected_rows_query="SELECT * FROM {batch}"
            ),
            "No provider found",
        ),
    ],
)
def test_what_cannot_be_evaluated_neither_passes_nor_fails(
    rows: pd.DataFrame, broken: dict[str, Any], told: str
) -> None:
    before, result, behind = judged(
        rows,
        expectation("expect_column_to_exist", column="topic"),
        broken,
        expectation("expect_column_to_exist", column="topics"),
    )
    assert (before.status, result.status, behind.status) == ("met", "not_evaluated", "failed")
    assert result.message.startswith(f"topic_state.json, expectation 2 ({broken['type']}): ")
    assert told in result.message


def test_some_of_a_set_is_not_told_since_it_is_another_some_each_time() -> None:
    three = {"missing_count": 3, "partial_missing_list": ["c", "a", "b"]}
    assert observed_value(three) == '{"missing": ["a", "b", "c"]}'
    assert observed_value(three | {"missing_count": 4}) == '{"missing": 4}'


def test_hostile_names_neither_reach_the_terminal_nor_grow() -> None:
    rows = topics(("\x1b[2Jx\n" + "y" * 5000, 9, 9))
    (failed,) = judged(rows, expectation(BETWEEN, column="lso_lag", max_value=7))
    assert failed.message.isprintable()
    assert len(failed.message) < 1000


def healthy() -> dict[str, pd.DataFrame]:
    """What the shipped policy is about, as a healthy audit has it."""
    columns = [
        (name, field.name, f"{name}.{field.name} {field.dataType.simpleString()}")
        for name, schema in TABLES.items()
        for field in schema
    ]
    names = {
        "finding_count": ["code", "severity", "verdict", "findings"],
        "check_run": ["code", "status"],
        "coverage": ["kind", "status", "files", "bytes", "undecoded_bytes"],
        "table_column": ["table_name", "column_name", "definition"],
    }
    rows: dict[str, list[tuple[Any, ...]]] = {
        "finding_count": [("active_tail_torn", "info", "suspect", 1)],
        "check_run": [("sequence_gap", "ran")],
        "coverage": [("segment", "audited", 1, 9, 0), ("time_index", "digest_only", 1, 9, 0)],
        "table_column": columns,
    }
    frames = {name: pd.DataFrame(rows[name], columns=names[name]) for name in names}
    return frames | {"topic_state": topics(("a", 5, 1000), ("b", 0, None))}


def shipped(frames: dict[str, pd.DataFrame]) -> set[tuple[str, str, str]]:
    """(subject, severity, status) of all that the shipped policy expects of some frames."""
    return {
        (suite.subject, result.severity, result.status)
        for suite in load().suites
        if suite.subject in frames
        for result in evaluate(suite, frames[suite.subject], KEYS[suite.subject])
        if result.status != "met"
    }


def test_the_shipped_policy_accepts_a_healthy_audit_and_the_schema_as_it_is() -> None:
    assert shipped(healthy()) == set()


@pytest.mark.parametrize(
    ("subject", "row", "severity"),
    [
        ("finding_count", ("sequence_gap", "error", "violation", 1), "error"),
        ("check_run", ("sequence_gap", "crashed"), "error"),
        ("check_run", ("sequence_gap", "skipped"), "warning"),
        ("coverage", ("time_index", "failed", 1, 9, 0), "error"),
        ("coverage", ("segment", "skipped", 1, 9, 0), "warning"),
        ("coverage", ("txn_index", "audited", 1, 9, 1), "warning"),
        ("topic_state", ("c", 1_000_001, 0), "warning"),
        ("topic_state", ("c", 0, 1_200_001), "warning"),
    ],
)
def test_the_shipped_policy_sees(subject: str, row: tuple[Any, ...], severity: str) -> None:
    rows = healthy()[subject]
    rows.loc[len(rows)] = list(row)
    assert (subject, severity, "failed") in shipped({subject: rows})


def test_a_violation_is_told_with_its_check_and_the_number_of_findings() -> None:
    rows = healthy()["finding_count"]
    rows.loc[len(rows)] = ["sequence_gap", "error", "violation", 142]
    (suite,) = [one for one in load().suites if one.subject == "finding_count"]
    (failed,) = evaluate(suite, rows, KEYS["finding_count"])
    assert failed.message == (
        "No violation of severity error is proven: 1 of 1 rows fail, such as "
        "code=sequence_gap, findings=142, severity=error, verdict=violation."
    )


def test_the_shipped_policy_misses_a_column_that_queries_rely_on() -> None:
    columns = healthy()["table_column"]
    columns = columns[columns["definition"] != "violation.verdict string"]
    assert shipped({"table_column": columns}) == {("table_column", "error", "failed")}


def test_the_example_of_the_manual_can_be_evaluated() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", (ROOT / "docs/policy.md").read_text(), re.DOTALL)
    suite = Suite("topic_state.payments", "topic_state", json.loads(example)["expectations"])
    (met,) = evaluate(suite, topics(("a", 0, 60_001), ("payments", 0, 60_000)), ["topic"])
    (failed,) = evaluate(suite, topics(("payments", 0, 60_001)), ["topic"])
    assert (met.status, met.rows_examined, failed.status) == ("met", 1, "failed")


WATCHED = """
import sys
touched = []
def watch(event, arguments):
    if event in ("os.mkdir", "os.rename", "os.remove", "subprocess.Popen"):
        touched.append((event, arguments))
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        touched.append((event, arguments))
    if event == "open" and arguments[1] and set(str(arguments[1])) & set("wax+"):
        touched.append((event, arguments))
sys.addaudithook(watch)
import pandas as pd
from jobs.policy.engine import evaluate
from jobs.policy.suites import Suite
kind = {"type": "expect_column_values_to_be_between", "kwargs": {"column": "n", "max_value": 1}}
rows = pd.DataFrame({"n": [1, 2]})
(result,) = evaluate(Suite("s", "s", [kind]), rows, ["n"])
import json
print(json.dumps([result.status, [str(t) for t in touched]]))
"""


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        check=True,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_an_evaluation_writes_no_file_and_asks_no_address(tmp_path: Path) -> None:
    program = tmp_path / "watched.py"
    program.write_text(WATCHED)
    done = python(tmp_path, "-B", str(program))
    assert json.loads(done.stdout) == ["failed", []]
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == [program]


def test_a_program_that_the_import_would_end_is_no_pass(tmp_path: Path) -> None:
    program = (
        "from types import SimpleNamespace as Any\n"
        "from jobs.audit.acceptance import _judged\n"
        "told = _judged(Any(digest='d', suites=[], problems=[]), {}, Any(as_of_ms=None))\n"
        "print(len(told.outcome.not_evaluated))"
    )
    assert python(tmp_path, "-c", program).stdout == "1\n"


def test_incidents_have_sentences_that_hold_where_there_are_none() -> None:
    refused = (
        ("incident", "kind", "unclean_election"),
        ("consequence", "kind", "aborted_records_visible"),
        ("affected", "state", "suspect"),
    )
    for subject, column, value in refused:
        no = expectation("expect_column_values_to_not_be_in_set", column=column, value_set=[value])
        rows = pd.DataFrame([dict.fromkeys(KEYS[subject], 1) | {column: value}])
        other = rows.assign(**{column: "another"})
        suite = Suite(subject, subject, [no])
        outcomes = [evaluate(suite, some, KEYS[subject])[0] for some in (rows, other, rows[:0])]
        assert [one.status for one in outcomes] == ["failed", "met", "met"], subject
    none = expectation("expect_table_row_count_to_equal", value=0)
    group = pd.DataFrame([dict.fromkeys(KEYS["affected_group"], "g")])
    suite = Suite("affected_group", "affected_group", [none])
    outcomes = [evaluate(suite, some, KEYS["affected_group"])[0] for some in (group, group[:0])]
    assert [one.status for one in outcomes] == ["failed", "met"]
