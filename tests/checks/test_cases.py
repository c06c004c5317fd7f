"""Every check against its cases: logs in the notation of `tests/log_builder.py`.

All cases of all files lie in one dump, which is audited once; a case owns the findings of its
partition.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from histories import HISTORIES, histories
from log_builder import AS_OF, BROKERS, CLOCK_TOPIC, COORDINATOR_TOPIC, DumpWriter
from log_builder import Case as LogCase
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs import _decoded, _write
from jobs._audit import Audit, Request, aborts_of, context_inputs
from jobs._progress import Progress
from jobs._settings import load
from jobs.main import audit
from jobs.verify.catalogue import CHECKS
from jobs.verify.contexts.build import build_contexts
from jobs.verify.verify import verify
from schemas.violation import FINDING_PLACE

HERE = Path(__file__).parent
TINY_SPLIT_BYTES = 97
# Small, so that a case can exceed it.
MAX_DECOMPRESSED_BYTES = 1 << 16
# Those that look at what was aborted before it is rows, where it is much.
PACKED_CONTEXTS = ("side_entry", "split_epoch")
FILES = sorted(HERE.glob("*/*.yaml"))


def cases_of(path: Path) -> list[LogCase]:
    given = yaml.safe_load(path.read_text("utf-8"))
    return [LogCase(path.stem, number, one) for number, one in enumerate(given)]


CASES = [case for path in FILES for case in cases_of(path)]
SEVERITY = {check.code: check.severity for check in CHECKS}

Finding = dict[str, Any]


@dataclass
class AuditedCases:
    """The one audit of all cases, and its findings by (topic, partition)."""

    done: Audit
    findings: dict[tuple[str, int], list[Finding]]


def as_dicts(frame: DataFrame) -> list[Finding]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def told(findings: DataFrame) -> Counter[str]:
    """Findings as a multiset that can be compared."""
    return Counter(repr(sorted(finding.items())) for finding in as_dicts(findings))


def tables(done: Audit) -> dict[str, DataFrame]:
    """What an audit found out, apart from how the log was cut into files and splits."""
    return {
        "findings": done.verified.findings,
        "transactions": _write._transactions(done),
        "aborted": done.aborts.lists.aborted(),
        "abort markers": done.aborts.lists.markers,
        "states": done.replayed.partition_states(),
    }


def audit_dump(spark: SparkSession, folder: Path, split_bytes: int | None = None) -> Audit:
    settings = replace(load(None), max_decompressed_bytes=MAX_DECOMPRESSED_BYTES)
    if split_bytes is not None:
        settings = replace(settings, split_bytes=split_bytes)
    request = Request([folder], "unused", AS_OF, "records", settings)
    return audit(spark, request, Progress(None, quiet=True))


@pytest.fixture(scope="session")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    DumpWriter(folder).write(CASES + histories())
    return folder


@pytest.fixture(scope="session")
def audited(spark: SparkSession, dump: Path) -> Iterator[AuditedCases]:
    done = audit_dump(spark, dump)
    by_partition: dict[tuple[str, int], list[Finding]] = {}
    for finding in as_dicts(done.verified.findings):
        for place in finding["places"] or [finding]:
            there = finding | {name: place[name] for name in FINDING_PLACE.names}
            by_partition.setdefault((there["topic"], there["partition"]), []).append(there)
    yield AuditedCases(done, by_partition)
    done.release()


def fits(expected: Finding, found: Finding, case: LogCase) -> bool:
    wanted = {"verdict": "violation"} | expected
    if wanted["verdict"] == "violation":
        wanted["reason"] = None
    if "pid" in wanted:
        wanted["pid"] = case.builder.pid(wanted["pid"])
    if wanted.pop("places", None) not in (None, len(found["places"] or [found])):
        return False
    names = {"offset": "offset_first", "last": "offset_last", "pid": "producer_id"}
    return all(found[names.get(key, key)] == value for key, value in wanted.items())


def unmatched(case: LogCase, found: list[Finding]) -> tuple[list[Finding], list[Finding]]:
    """(expected findings that are missing, findings that nothing expects)."""
    surplus = list(found)
    missing = []
    for expected in case.given["finds"]:
        match = next((one for one in surplus if fits(expected, one, case)), None)
        if match is None:
            missing.append(expected)
        else:
            surplus.remove(match)
    return missing, surplus


def describe(finding: Finding) -> str:
    names = ("code", "verdict", "reason", "offset_first", "offset_last", "message")
    return ", ".join(f"{name}={finding[name]}" for name in names)


def findings_of(case: LogCase, audited: AuditedCases) -> list[Finding]:
    """Findings in the partitions of a case, and in the coordinator log about its ids."""
    mine = f"{case.code}.{case.number}."
    in_coordinator_log = [
        finding
        for (topic, _), findings in audited.findings.items()
        if topic == COORDINATOR_TOPIC
        for finding in findings
        if (finding["transactional_id"] or "").startswith(mine)
    ]
    places = ((case.topic, case.partition), (case.output_topic, 0))
    of_case = [finding for place in places for finding in audited.findings.get(place, [])]
    identity = BROKERS[case.given.get("broker", "clean")]
    of_case += [one for one in audited.findings.get((None, None), []) if one["broker"] == identity]
    return of_case + in_coordinator_log


@pytest.mark.spark
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_findings_of_a_case_are_exactly_those_it_names(
    case: LogCase, audited: AuditedCases
) -> None:
    found = findings_of(case, audited)
    if not case.given.get("info"):
        found = [finding for finding in found if finding["severity"] != "info"]
    missing, surplus = unmatched(case, found)
    log = "\n".join(f"    {line}" for line in case.given["log"])
    assert not missing and not surplus, (
        f"{case.name} (topic {case.topic})\n{log}\n"
        + "".join(f"missing:  {one}\n" for one in missing)
        + "".join(f"surplus:  {describe(one)}\n" for one in surplus)
        + "".join(f"found:    {describe(one)}\n" for one in found)
    )


@pytest.mark.spark
def test_no_check_crashed_and_the_frame_of_the_dump_is_clean(audited: AuditedCases) -> None:
    crashed = [one for one in audited.done.verified.outcomes if one.status != "ran"]
    assert crashed == []
    for place, findings in audited.findings.items():
        if place[0] in (CLOCK_TOPIC, COORDINATOR_TOPIC):
            nobodys = [one for one in findings if one["transactional_id"] is None]
            assert [one for one in nobodys if one["severity"] != "info"] == [], place


@pytest.mark.spark
def test_findings_are_the_same_without_the_shortcut_over_regular_rows(
    spark: SparkSession, audited: AuditedCases
) -> None:
    done = audited.done
    inputs = context_inputs(done.request, done.dump, done.read, done.replayed, done.aborts, AS_OF)
    everything = verify(spark, build_contexts(inputs), "records", done.read.kept, keep_regular=True)
    assert told(everything.findings) == told(done.verified.findings)


@pytest.mark.spark
def test_findings_are_the_same_where_aborts_are_matched_packed(
    spark: SparkSession, audited: AuditedCases, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = audited.done
    assert not done.read.decoded.aborts_are_many()
    monkeypatch.setattr(_decoded, "MANY_ABORTS", 1)
    read = done.read
    found = aborts_of(done.dump, read, done.replayed)
    assert found.lists.number > read.decoded.aborts / 2
    assert told(found.lists.aborted()) == told(done.aborts.lists.aborted())
    inputs = context_inputs(done.request, done.dump, read, done.replayed, found, AS_OF)
    contexts = [one for one in build_contexts(inputs) if one.name in PACKED_CONTEXTS]
    checks = tuple(check for check in CHECKS if check.context in PACKED_CONTEXTS)
    again = verify(spark, contexts, "records", read.kept, checks)
    wanted = done.verified.findings.filter(F.col("code").isin([check.code for check in checks]))
    assert told(wanted).total() > len(checks)
    assert told(again.findings) == told(wanted)


@pytest.mark.spark
def test_nothing_depends_on_how_files_are_split(
    spark: SparkSession, dump: Path, audited: AuditedCases
) -> None:
    done, again = audited.done, audit_dump(spark, dump, split_bytes=TINY_SPLIT_BYTES)
    assert done.replayed.regular > HISTORIES * 10
    assert again.replayed.regular < done.replayed.regular / 2
    assert told(done.verified.findings.filter("topic like 'random%'")).total() > HISTORIES
    for name, rows in tables(done).items():
        assert told(tables(again)[name]) == told(rows), name
    again.release()


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_file_has_a_case_that_fires_and_as_many_legal_ones(path: Path) -> None:
    strongest = "violation" if SEVERITY[path.stem] == "error" else "suspect"
    given = [case.given["finds"] for case in cases_of(path)]
    fires = [
        finds
        for finds in given
        if any(
            one["code"] == path.stem and one.get("verdict", "violation") == strongest
            for one in finds
        )
    ]
    legal = [finds for finds in given if path.stem not in {one["code"] for one in finds}]
    assert 1 <= len(fires) <= len(legal)
