"""Causes beside what the controller wrote (`controlled.yaml`), and the same with many changes.

All cases lie in one dump, two hours apart, so that each is an incident of its own.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import audit_dump
from log_builder import T0, Case, DumpWriter
from pyspark.sql import SparkSession

from jobs.audit.incidents import with_incidents
from jobs.audit.write import result_tables
from jobs.incidents.events import MOST_AT_AN_END

FILE = Path(__file__).parent / "controlled.yaml"
APART_S = 7_200
MANY = 2 * MOST_AT_AN_END + 2
NAMES = ("incident", "consequence", "incident_event")
LINES = ("log", "output", "coordinator", "controller")
Tables = dict[str, list[Any]]


def in_many_partitions() -> dict[str, Any]:
    """As in the first case, in more partitions than events of a kind are shown of.

    All have a leader again before the next decision.
    """
    given: dict[str, Any] = yaml.safe_load(FILE.read_text("utf-8"))[0]
    numbers = range(MANY)
    return given | {
        "name": "in many partitions the marker was lost with the power",
        "partitions": MANY,
        "controller": [
            *[f"elect at=-180 partition={n} broker=1" for n in range(MOST_AT_AN_END)],
            "register at=15 broker=1",
            *[f"no_leader at=15 partition={n}" for n in numbers],
            *[f"elect at=20 partition={n} broker=1" for n in numbers],
        ],
        "told": {"kind": "skipped_markers", "grade": "consistent", "not": "lost its leader"},
    }


def among_many_decisions() -> dict[str, Any]:
    """KAFKA-20734 in the midst of more decisions of one epoch than are shown."""
    coordinator, log, output = [], [], []
    for n in range(30):
        at, skipped = 10 * n, n == 15
        here = n in (0, 15, 29)
        lines, where = (log, "this") if here else (output, "output")
        outcome = "Abort" if skipped else "Commit"
        coordinator += [
            f"id=x state=Ongoing at={at} start={at} partitions={where}",
            f"id=x state=Prepare{outcome} at={at + 1} start={at} partitions={where}",
            f"id=x state=Complete{outcome} at={at + 2} start={at}",
        ]
        lines.append(f"txn pid=1 epoch=0 at={at}")
        lines += [] if skipped else [f"commit pid=1 epoch=0 at={at + 2}"]
    return {
        "name": "the marker of one of many decisions was skipped",
        "log": log,
        "output": output,
        "coordinator": coordinator,
        "controller": [
            "register at=151 broker=1", "no_leader at=151", "unfence at=153 broker=1",
            "elect at=153 broker=1",
        ],
        "told": {"kind": "skipped_markers", "grade": "proven", "why": "lost its leader"},
    }  # fmt: skip


def later(line: str, seconds: int) -> str:
    """A line with all its moments moved."""
    return re.sub(r"\b(at|start)=(-?\d+)", lambda one: f"{one[1]}={int(one[2]) + seconds}", line)


GIVEN = [*yaml.safe_load(FILE.read_text("utf-8")), in_many_partitions(), among_many_decisions()]
TOLD = [one.pop("told") for one in GIVEN]
CASES = [
    Case(
        FILE.stem,
        n,
        {"created": "once", "policy": "delete", "controller": []}
        | one
        | {name: [later(line, n * APART_S) for line in one[name]] for name in LINES if name in one},
    )
    for n, one in enumerate(GIVEN)
]


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    folder = tmp_path_factory.mktemp("controlled")
    DumpWriter(folder).write(CASES)
    done = audit_dump(spark, folder)
    _, tables = with_incidents(done, result_tables(spark, done))
    yield {name: tables[name].collect() for name in NAMES}
    done.release()


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=[str(case.name) for case in CASES])
def test_the_metadata_log_proves_what_it_shows_and_nothing_else(case: Case, made: Tables) -> None:
    told = TOLD[case.number]
    mine = [row for row in made["incident"] if case.topic in row.topics]
    assert [row.kind for row in mine] == [told["kind"]], mine
    (row,) = mine
    assert told.get("grade", row.grade) == row.grade
    assert told.get("why", "") in row.why
    assert "not" not in told or told["not"] not in row.why
    steps = [step.what for step in row.steps]
    assert "step" not in told or any(one.startswith(told["step"]) for one in steps), steps
    assert "no_step" not in told or not any(one.startswith(told["no_step"]) for one in steps)
    effects = [one.kind for one in made["consequence"] if one.topic == case.topic]
    assert effects == told.get("consequences", effects)
    decided = [
        one
        for one in made["incident_event"]
        if (one.detail or "").startswith(f"{case.topic}.")
        and one.event.startswith(("prepare_", "complete_"))
    ]
    assert [one.event for one in decided] == told.get("decisions", [one.event for one in decided])
    at = [(one.at_ms - T0) // 1000 - case.number * APART_S for one in decided]
    assert at == told.get("decided_at", at)
