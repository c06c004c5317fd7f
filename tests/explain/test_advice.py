"""What users are advised to do about open data: `explain`, plans and remedies say the same.

One audit of logs in the notation of `tests/log_builder.py` (advice.yaml).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from log_builder import AS_OF, DumpWriter
from log_builder import Case as LogCase
from pyspark.sql import SparkSession

from jobs.audit.audit import Request
from jobs.audit.incidents import with_incidents
from jobs.audit.write import result_tables, write
from jobs.cli.commands.explain import ExplainRequest, explain
from jobs.cli.progress import Progress
from jobs.main import audit
from jobs.model.found import ALL_ABORTED
from jobs.model.settings import load
from schemas.topics import OFFSETS_TOPIC

FILE = Path(__file__).parent / "advice.yaml"
OWN = ("blocked", "start", "says")
CHECKS = (
    "hanging_transaction", "late_write_after_marker", "open_data_of_completed_transaction",
)  # fmt: skip


# Its remedy has no command, as the data may have an end by then.
MARKER = "missing_marker_in_listed_partition"

# What is told of data that may be committed: of topics of clients, and of `__consumer_offsets`.
SAVES = ("isolation.level=read_uncommitted", "set the group to its pending offset")


def _is_at(row: Any, case: LogCase) -> bool:
    return (row.topic, row.partition) == (case.topic, case.partition)


class Advised(NamedTuple):
    """What a case is to be told, and what it is told."""

    case: LogCase
    wanted: dict[str, Any]


def _cases() -> list[Advised]:
    found = []
    for number, given in enumerate(yaml.safe_load(FILE.read_text("utf-8"))):
        wanted = {name: given.pop(name, None) for name in OWN}
        found.append(Advised(LogCase(FILE.stem, number, given), wanted))
    return found


CASES = _cases()


class Told(NamedTuple):
    """The tables of the audit, as rows, and where they lie."""

    spark: SparkSession
    out: str
    findings: list[Any]
    consequences: list[Any]
    commands: list[str]


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    folder = tmp_path_factory.mktemp("advice")
    DumpWriter(folder / "dump").write([one.case for one in CASES])
    out = str(folder / "out")
    wanted = Request([folder / "dump"], out, AS_OF, "records", load(None))
    done = audit(spark, wanted, Progress(None, quiet=True))
    done, tables = with_incidents(done, result_tables(spark, done))
    write(spark, done, tables)
    plans = [row.steps for row in tables["incident"].collect()]
    yield Told(
        spark,
        out,
        done.verified.findings.collect(),
        tables["consequence"].filter("kind = 'records_blocked'").collect(),
        [step.command for steps in plans for step in steps if step.command],
    )
    done.release()


def _aborts(text: str, case: LogCase) -> list[str]:
    place = rf"--topic {re.escape(case.topic)} --partition {case.partition}"
    return re.findall(rf" abort {place} [^\n;]*", text)


@pytest.mark.spark
@pytest.mark.parametrize("one", CASES, ids=[one.case.name for one in CASES])
def test_open_data_are_ended_in_one_way_whoever_advises(one: Advised, told: Told) -> None:
    case, wanted = one
    blocked = [row for row in told.consequences if _is_at(row, case)]
    assert {row.ended_by for row in blocked} == ({wanted["blocked"]} - {None})
    starts = wanted["start"] if isinstance(wanted["start"], list) else [wanted["start"]]
    to_abort = wanted["blocked"] in ("abort", "save_and_abort")
    assert not to_abort or {row.start_offset for row in blocked} == set(starts)
    by_plan = _aborts("\n".join(told.commands), case)
    # One line for brokers of 3.0 and newer, and one for older ones.
    assert bool(by_plan) == to_abort, by_plan
    said = explain(told.spark, ExplainRequest(told.out, None, case.topic, case.partition, None))
    by_explain = _aborts(said, case)
    assert set(by_plan) == set(by_explain), said
    if to_abort:
        by_start = [line.partition(" --start-offset ")[2] for line in by_plan]
        assert {int(one) for one in by_start if one} == set(starts), by_plan
    plain = " ".join(said.split())
    for part in wanted["says"] or ():
        assert part in plain, said
    saves = SAVES[case.topic == OFFSETS_TOPIC] in said.replace("\n  ", " ") and to_abort
    assert saves == (wanted["blocked"] == "save_and_abort"), said
    for row in told.findings:
        if _is_at(row, case) and row.code in CHECKS and row.verdict == "violation":
            assert bool(_aborts(row.remedy, case)) == to_abort, row.remedy
        if _is_at(row, case) and row.code in (*CHECKS, MARKER) and row.verdict == "violation":
            told_to_save = SAVES[case.topic == OFFSETS_TOPIC] in row.remedy
            assert not to_abort or saves == told_to_save, row.remedy
            decided_abort = ALL_ABORTED in row.found
            assert not to_abort or saves != decided_abort, row.found


def test_each_way_has_its_twin() -> None:
    ways = {one.wanted["blocked"] for one in CASES}
    assert ways == {None, "decided", "running", "abort", "save_and_abort"}
