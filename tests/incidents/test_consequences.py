"""What incidents tell of logs (`consequences.yaml`): ranges, groups, and the plan.

All cases lie in one dump, which is audited once.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cases import audit_dump
from log_builder import Case, DumpWriter
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from jobs.audit.incidents import with_incidents
from jobs.audit.write import result_tables
from jobs.incidents.groups import affected_groups
from jobs.spark.local import local_frame
from schemas.incident import AFFECTED, CONSEQUENCE

FILE = Path(__file__).parent / "consequences.yaml"
GIVEN = yaml.safe_load(FILE.read_text("utf-8"))
EXPECTED = [
    {name: one.pop(name, None) for name in ("consequences", "own", "sets")} for one in GIVEN
]
CASES = [Case(FILE.stem, number, one) for number, one in enumerate(GIVEN)]
OF_RANGES = [case for case in CASES if EXPECTED[case.number]["consequences"] is not None]
OF_GROUPS = [case for case in CASES if EXPECTED[case.number]["sets"] is not None]
NAMES = ("consequence", "affected_group", "incident", "incident_finding")
Tables = dict[str, list[Any]]


@pytest.fixture(scope="module")
def told(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    folder = tmp_path_factory.mktemp("consequences")
    DumpWriter(folder).write(CASES)
    done = audit_dump(spark, folder)
    _, tables = with_incidents(done, result_tables(spark, done))
    found = done.verified.findings.select("code", "topic", "remedy").collect()
    yield {name: tables[name].collect() for name in NAMES} | {"findings": found}
    done.release()


def without_audit(table: StructType) -> StructType:
    return StructType([field for field in table if field.name != "audit_id"])


def ids(case: Case) -> str:
    return str(case.name)


@pytest.mark.spark
@pytest.mark.parametrize("case", OF_RANGES, ids=ids)
def test_a_range_has_nothing_but_what_is_concerned(case: Case, told: Tables) -> None:
    found = [
        [row.kind, row.first_offset, row.last_offset, row.records, row.transactions]
        for row in told["consequence"]
        if (row.topic, row.partition) == (case.topic, case.partition)
    ]
    assert sorted(found, key=repr) == sorted(EXPECTED[case.number]["consequences"], key=repr)


@pytest.mark.spark
@pytest.mark.parametrize("case", OF_GROUPS, ids=ids)
def test_a_group_whose_commit_is_affected_is_named_and_set_where_it_lacks_it(
    case: Case, told: Tables
) -> None:
    mine = f"{case.code}.{case.number}."
    own = [
        [row.group, f"{row.topic}-{row.partition}", row.committed_offset, row.kind]
        for row in told["affected_group"]
        if row.position == "own" and row.group.startswith(mine)
    ]
    commands = [
        line for row in told["incident"] for step in row.steps
        for line in (step.command or "").splitlines() if "--to-offset" in line and mine in line
    ]  # fmt: skip
    wanted = EXPECTED[case.number]
    named = [[row[0].removeprefix(mine).partition(".")[0], *row[1:]] for row in own]
    assert wanted["own"] is None or sorted(named) == wanted["own"]
    assert len(commands) == len(wanted["sets"])
    for line, (group, place, offset) in zip(commands, wanted["sets"], strict=True):
        assert f"--group {mine}{group}." in line
        assert f" --topic {place} --reset-offsets --to-offset {offset} --execute" in line


@pytest.mark.spark
def test_a_group_is_set_behind_the_damaged_range_at_which_it_stands(told: Tables) -> None:
    """What lies between two ranges can be read."""
    (case,) = [case for case in CASES if "whose codec alone is unknown" in case.name]
    lines = [
        line for row in told["incident"] for step in row.steps
        for line in (step.command or "").splitlines() if f"{case.topic}:" in line
    ]  # fmt: skip
    assert [line.partition("--to-offset ")[2] for line in lines] == ["4 --execute", "7 --execute"]


@pytest.mark.spark
def test_torn_offsets_are_set_and_torn_output_is_written_again(told: Tables) -> None:
    remedies = {
        row.topic.startswith("__"): row.remedy
        for row in told["findings"]
        if row.code == "torn_transaction"
    }
    assert "--to-offset" in remedies[True] and "Write the records" not in remedies[True]
    assert "--to-offset" not in remedies[False] and "Write the records" in remedies[False]


@pytest.mark.spark
def test_of_several_ranges_a_group_has_the_last_that_it_read_and_the_next(
    spark: SparkSession,
) -> None:
    place = {"incident": 1, "topic": "t", "partition": 0, "kind": "records_stored_twice"}
    rows = [place | {"first_offset": at, "last_offset": at + 1} for at in (2, 4, 105, 200)]
    effects = local_frame(spark, rows, without_audit(CONSEQUENCE))
    committed = {"none": 2, "some": 50, "inside": 106, "all": 300}
    offsets = local_frame(
        spark,
        [(group, "t", 0, at) for group, at in committed.items()],
        "group string, committed_topic string, committed_partition int, committed_offset long",
    )
    groups = affected_groups(
        effects, local_frame(spark, [], without_audit(AFFECTED)), offsets
    ).collect()
    assert {(row.group, row.position, row.first_offset) for row in groups} == {
        ("none", "before", 2), ("some", "read", 4), ("some", "before", 105),
        ("inside", "inside", 105), ("inside", "before", 200), ("all", "read", 200),
    }  # fmt: skip


@pytest.mark.spark
def test_behind_a_cut_whose_end_nothing_tells_a_group_is_inside(spark: SparkSession) -> None:
    lost = {"incident": 1, "topic": "t", "partition": 0, "kind": "records_lost", "first_offset": 2}
    offsets = local_frame(
        spark,
        [(group, "t", 0, at) for group, at in {"at": 2, "behind": 3, "far": 9}.items()],
        "group string, committed_topic string, committed_partition int, committed_offset long",
    )
    groups = affected_groups(
        local_frame(spark, [lost], without_audit(CONSEQUENCE)),
        local_frame(spark, [], without_audit(AFFECTED)),
        offsets,
    ).collect()
    assert {(row.group, row.position) for row in groups} == {
        ("at", "before"), ("behind", "inside"), ("far", "inside"),
    }  # fmt: skip
