"""Incidents of dumps of real brokers, held against what consumers of the brokers received.

A test run has one of the dumps; `make test-corpus` has all, and those of the larger corpus.
"""

import json
import os
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import oracle
import pytest
from pyspark.sql import SparkSession

from jobs import main
from jobs.audit.audit import Request
from jobs.audit.incidents import with_incidents
from jobs.audit.write import result_tables
from jobs.cli.progress import Progress
from jobs.model.settings import load as load_settings
from udfs.rules.extent import MAX_OFFSET

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[2]
ALL = os.environ.get("EOSAUDIT_CORPUS")
BESIDE = Path(ALL) if ALL and Path(ALL).is_dir() else ROOT.parent / "shared/corpus"
FOLDERS = (ROOT / "tests/dumps", BESIDE)
# The one cause of each, None for a legal history. A test run has the first.
CAUSES = {
    "tv2-skipped-markers": "skipped_markers",
    "tv2-recovered": "skipped_markers",
    "tv2-operator-torn": "operator_abort",
    "unclean-before": "unclean_election",
    "unclean-after": "unclean_election",
    "v39-hanging": "late_write",
    "v39-hanging-aborted": None,
    "tv2-basic": None,
    "rf3-failover": None,
}
# Dumps whose coordinator has gone on since, and whose log has been cleaned.
WITHOUT_DECISION = {"tv2-recovered"}
AN_HOUR_MS = 3_600_000
MOST_UNEXPLAINED = 0.05
VISIBLE, INVISIBLE = "aborted_records_visible", "committed_records_invisible"


class Told(NamedTuple):
    """The tables of the incidents of a dump, as rows; empty where it has none."""

    name: str
    scenario: Path
    findings: list[Any]
    rows: dict[str, list[Any]]


def archive_of(name: str) -> Path | None:
    found = [folder / f"{name}.tar.gz" for folder in FOLDERS]
    return next((path for path in found if path.exists()), None)


AUDITED = [name for name in CAUSES if archive_of(name)][: None if ALL else 1]


@pytest.fixture(scope="module", params=AUDITED)
def told(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Told]:
    name = request.param
    folder = tmp_path_factory.mktemp(name)
    with tarfile.open(archive_of(name)) as archive:
        archive.extractall(folder, filter="data")
    scenario = folder / name
    moments = oracle.about(scenario)["dumped_at_ms"].values()
    as_of = max(one for one in moments if isinstance(one, int)) + AN_HOUR_MS
    wanted = Request([scenario / "dump"], "", as_of, "records", load_settings())
    audit = main.audit(spark, wanted, Progress(None, quiet=True))
    _, tables = with_incidents(audit, result_tables(spark, audit))
    names = (
        "incident", "incident_finding", "consequence", "affected_group", "affected",
        "incident_event",
    )  # fmt: skip
    rows = {name: tables[name].collect() for name in names if name in tables}
    yield Told(name, scenario, audit.verified.findings.collect(), rows)
    audit.release()


def test_one_cause_explains_what_is_proven_and_a_legal_history_has_none(told: Told) -> None:
    cause = CAUSES[told.name]
    if cause is None:
        assert told.rows == {}
        return
    violations = [row for row in told.findings if row.verdict == "violation"]
    (first, *others) = told.rows["incident"]
    assert first.kind == cause
    assert sum(one.violations for one in others) <= MOST_UNEXPLAINED * len(violations)
    assert first.violations + sum(one.violations for one in others) == len(violations)


def test_every_finding_belongs_to_one_incident_or_none(told: Told) -> None:
    if not told.rows:
        pytest.skip("a legal history")
    mapped = told.rows["incident_finding"]
    assert len(mapped) == len(told.findings)
    assert not [row for row in mapped if row.verdict == "violation" and row.incident is None]
    numbers = Counter(row.incident for row in mapped if row.incident is not None)
    assert numbers == {row.incident: row.findings for row in told.rows["incident"]}


def owed(told: Told) -> dict[tuple[str, str, int], int]:
    """(kind, topic, partition) -> records that consumers got, or did not get, against a decision.

    Of topics of applications, from what the scenario expects, the batches in the log, and the
    offsets that consumers received.
    """
    numbers: dict[tuple[str, str, int], int] = defaultdict(int)
    leaders = {
        (one["topic"], one["partition"]): one["leader"] for one in oracle.partitions(told.scenario)
    }
    for entry in json.loads((told.scenario / "expected.json").read_text()):
        place = (entry["topic"], entry["partition"])
        answer = told.scenario / f"oracle/read_committed/{place[0]}-{place[1]}.txt"
        if place[0].startswith("__") or not answer.exists() or entry["producer_id"] == -1:
            continue
        read = set(oracle.read_offsets(answer))
        last = MAX_OFFSET if entry["offset_last"] is None else entry["offset_last"]
        folder = oracle.folder_of(told.scenario, leaders[place], f"{place[0]}-{place[1]}")
        mine = [
            offset
            for batch in oracle.stored_batches(folder)
            if batch.producer_id == entry["producer_id"] and not batch.control
            for offset in batch.offsets
            if entry["offset_first"] <= offset <= last
        ]
        if entry["code"] == "torn_transaction":
            numbers[(INVISIBLE, *place)] += len(set(mine) - read)
        elif "PrepareAbort" in entry["why"]:
            numbers[(VISIBLE, *place)] += len(set(mine) & read)
    return {key: number for key, number in numbers.items() if number}


def test_consequences_are_what_consumers_received(told: Told) -> None:
    if CAUSES[told.name] not in ("skipped_markers", "operator_abort"):
        pytest.skip("another consequence")
    of_copies: dict[tuple[str, str, int], Counter[int]] = defaultdict(Counter)
    for row in told.rows["consequence"]:
        if row.kind in (VISIBLE, INVISIBLE) and not row.topic.startswith("__"):
            of_copies[row.kind, row.topic, row.partition][row.broker] += row.records
    assert {key: max(numbers.values()) for key, numbers in of_copies.items()} == owed(told)


def test_what_is_blocked_is_behind_the_brokers_last_stable_offset(told: Told) -> None:
    stable = {
        (one["leader"], one["topic"], one["partition"]): one["last_stable_offset"]
        for one in oracle.partitions(told.scenario)
    }
    # A copy has a row for each transaction that hangs; the first one holds the offset.
    blocked = {
        (row.broker, row.topic, row.partition): foremost(told, row)
        for row in told.rows.get("consequence", [])
        if row.kind == "records_blocked"
    }
    # A follower has no last stable offset that anybody was told.
    of_leaders = {key: first for key, first in blocked.items() if key in stable}
    assert of_leaders == {key: stable[key] for key in of_leaders}
    assert {key[1:] for key in of_leaders} == {key[1:] for key in blocked}


def test_records_that_are_blocked_are_those_of_read_uncommitted_alone(told: Told) -> None:
    if oracle.about(told.scenario)["dump"] != "clean_stop":
        pytest.skip("the broker was asked at another moment")
    leaders = {
        (one["topic"], one["partition"]): one["leader"] for one in oracle.partitions(told.scenario)
    }
    for row in told.rows.get("consequence", []):
        answer = told.scenario / f"oracle/read_uncommitted/{row.topic}-{row.partition}.txt"
        leader = leaders.get((row.topic, row.partition))
        if row.kind == "records_blocked" and row.broker == leader and answer.exists():
            got = [one for one in oracle.read_offsets(answer) if one >= row.first_offset]
            # Behind several open transactions of a copy the first row counts the records.
            counted = len(got) if row.first_offset == foremost(told, row) else None
            assert (row.records, row.last_offset >= got[-1]) == (counted, True), row


def foremost(told: Told, of: Any) -> int:
    """The first offset that is blocked in the copy of a consequence."""
    place = (of.kind, of.broker, of.topic, of.partition)
    return min(
        row.first_offset
        for row in told.rows["consequence"]
        if (row.kind, row.broker, row.topic, row.partition) == place
    )


def test_groups_stand_where_the_brokers_say(told: Told) -> None:
    answers = told.scenario / "oracle/groups.json"
    if not told.rows or not answers.exists():
        pytest.skip("no group was asked")
    known = {
        (one["group"], one["topic"], one["partition"]): one["offset"]
        for one in json.loads(answers.read_text())
    }
    mine = {
        (row.group, row.topic, row.partition): row.committed_offset
        for row in told.rows["affected_group"]
        if row.position != "own"
    }
    assert {key: known.get(key) for key in mine} == mine


def test_the_metadata_log_shows_what_the_scenario_did(told: Told) -> None:
    expected = {"unclean_election": "leader_elected_uncleanly", "skipped_markers": "broker_fenced"}
    cause = CAUSES[told.name]
    if cause not in expected:
        pytest.skip("nothing happened to brokers or leaders")
    first, *_ = told.rows["incident"]
    mine = [row for row in told.rows["incident_event"] if row.incident == first.incident]
    decisive = [row for row in mine if row.event == expected[cause]]
    new_leader = oracle.about(told.scenario).get("new_leader")
    assert decisive and (new_leader is None or {row.broker for row in decisive} == {new_leader})
    # Where the cleaner took the decision, nothing says that it was completed while nobody led.
    proven = told.name not in WITHOUT_DECISION
    assert (first.grade == "proven") == proven
    assert ("The metadata log has it" in first.why) == proven
    moments = [row.at_ms for row in mine]
    assert moments == sorted(moments) and len(moments) <= 200
    assert {"first_affected", "last_affected"} <= {row.event for row in mine}


def test_committed_records_that_only_the_old_leader_has_are_counted(told: Told) -> None:
    old_leader = oracle.about(told.scenario).get("old_leader")
    cuts = {
        (row.topic, row.partition): row.offset_first
        for row in told.findings
        if row.code == "replica_divergence" and row.verdict == "violation"
    }
    if old_leader is None or not cuts:
        pytest.skip("no copy of an old leader")
    lost = {}
    for place, cut in cuts.items():
        folder = oracle.folder_of(told.scenario, old_leader, f"{place[0]}-{place[1]}")
        numbers: Counter[int] = Counter()
        lost[place] = 0
        for batch in oracle.stored_batches(folder):
            if batch.control:
                written = numbers.pop(batch.producer_id, 0)
                lost[place] += written if batch.commit else 0
            elif batch.transactional and batch.first_offset >= cut:
                numbers[batch.producer_id] += len(batch.offsets)
    counted: Counter[tuple[str, int]] = Counter()
    for row in told.rows["consequence"]:
        if row.kind == "records_lost":
            counted[row.topic, row.partition] += row.records
    assert counted == lost
