"""Audits cases in the notation of `tests/log_builder.py`, all in one dump, and compares.

`make cases FILES="a.yaml b.yaml"` tells each case as kept or differing, with both sides; the exit
code is 1 if any differs, 2 where a file is no list of cases.
"""

import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from log_builder import AS_OF, BROKERS, COORDINATOR_TOPIC, DumpWriter, NotationError
from log_builder import Case as LogCase
from pyspark.sql import DataFrame, SparkSession

from jobs.audit import write
from jobs.audit.audit import Audit, Request
from jobs.cli.progress import Progress
from jobs.main import audit
from jobs.model.settings import load
from jobs.spark.session import spark_session
from schemas.violation import FINDING_PLACE, VIOLATION

# The dump of most cases, and the one in which the coordinator's log lacks nothing.
SHARED, WHOLE = "shared", "whole"
# Small, so that a case can exceed it.
MAX_DECOMPRESSED_BYTES = 1 << 16

# What `finds` may say of a finding: short names, or the columns themselves.
SHORT_NAMES = {"offset": "offset_first", "last": "offset_last", "pid": "producer_id"}
EXPECTED = {*SHORT_NAMES, "places", *VIOLATION.fieldNames()}

Finding = dict[str, Any]


@dataclass
class AuditedCases:
    """The one audit of all cases, and its findings by (topic, partition)."""

    done: Audit
    findings: dict[tuple[str, int], list[Finding]]

    @classmethod
    def of(cls, done: Audit) -> "AuditedCases":
        by_partition: dict[tuple[str, int], list[Finding]] = {}
        for finding in as_dicts(done.verified.findings):
            for place in finding["places"] or [finding]:
                there = finding | {name: place[name] for name in FINDING_PLACE.names}
                by_partition.setdefault((there["topic"], there["partition"]), []).append(there)
        return cls(done, by_partition)


def as_dicts(frame: DataFrame) -> list[Finding]:
    return [row.asDict(recursive=True) for row in frame.collect()]


def told(findings: DataFrame) -> Counter[str]:
    """Findings as a multiset that can be compared."""
    return Counter(repr(sorted(finding.items())) for finding in as_dicts(findings))


def tables(done: Audit) -> dict[str, DataFrame]:
    """What an audit found out, apart from how the log was cut into files and splits."""
    return {
        "findings": done.verified.findings,
        "transactions": write._transactions(done),
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


def audit_alone(
    spark: SparkSession, folder: Path, cases: list[LogCase], *left_out: str
) -> AuditedCases:
    """Cases audited by themselves, of brokers that had not stopped; `left_out`: some folders."""
    DumpWriter(folder).write(cases)
    (folder / "clean" / ".kafka_cleanshutdown").unlink()
    for name in left_out:
        shutil.rmtree(folder / name)
    return AuditedCases.of(audit_dump(spark, folder))


def dump_of(case: LogCase) -> str:
    """The dump that a case is audited in: SHARED, or one of some cases."""
    return str(case.given.get("dump", WHOLE if case.given.get("whole") else SHARED))


def by_dump(cases: Sequence[LogCase]) -> dict[str, list[LogCase]]:
    """The cases of each dump."""
    dumps: dict[str, list[LogCase]] = {}
    for case in cases:
        dumps.setdefault(dump_of(case), []).append(case)
    return dumps


def audit_cases(
    spark: SparkSession, cases: list[LogCase], folder: Path
) -> tuple[list[LogCase], AuditedCases]:
    """Writes the dump of some cases and audits it."""
    DumpWriter(folder).write(cases)
    return cases, AuditedCases.of(audit_dump(spark, folder))


def fits(expected: Finding, found: Finding, case: LogCase) -> bool:
    wanted = {"verdict": "violation"} | expected
    if wanted["verdict"] == "violation":
        wanted["reason"] = None
    if "pid" in wanted:
        wanted["pid"] = case.builder.pid(wanted["pid"])
    if wanted.pop("places", None) not in (None, len(found["places"] or [found])):
        return False
    return all(found[SHORT_NAMES.get(key, key)] == value for key, value in wanted.items())


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


def difference(case: LogCase, audited: AuditedCases) -> str:
    """What was expected of a case and what was found, where they differ; else nothing."""
    found = findings_of(case, audited)
    if not case.given.get("info"):
        found = [finding for finding in found if finding["severity"] != "info"]
    missing, surplus = unmatched(case, found)
    if not missing and not surplus:
        return ""
    log = "".join(f"    {line}\n" for line in case.given["log"])
    return (
        f"{case.name} (topic {case.topic})\n{log}"
        + "".join(f"missing:  {one}\n" for one in missing)
        + "".join(f"surplus:  {describe(one)}\n" for one in surplus)
        + "".join(f"found:    {describe(one)}\n" for one in found)
    )


def cases_of(path: Path, code: str | None = None) -> list[LogCase]:
    """The cases of a file; `code` names their topics, and is its name unless given.

    Raises NotationError where the file is no list of cases.
    """
    try:
        given = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise NotationError(f"{path}: no readable YAML: {error}") from error
    told = isinstance(given, list) and all(
        isinstance(one, dict) and {"name", "log", "finds"} <= set(one) for one in given
    )
    if not told:
        raise NotationError(f"{path}: not a list of cases, each with `name`, `log` and `finds`")
    for one in given:
        _require_sound(path, one)
    return [LogCase(code or path.stem, number, one) for number, one in enumerate(given)]


def _require_sound(path: Path, given: dict[str, Any]) -> None:
    """Raises NotationError where a case has not the shape of one."""
    name, log, finds = given["name"], given["log"], given["finds"]
    if not isinstance(name, str):
        raise NotationError(f"{path}: {name!r}: the name of a case is a sentence")
    if not isinstance(log, list) or not all(isinstance(one, str) for one in log):
        raise NotationError(f"{path}: {name}: `log` is a list of lines")
    if not isinstance(finds, list) or not all(
        isinstance(one, dict) and "code" in one for one in finds
    ):
        raise NotationError(f"{path}: {name}: `finds` is a list of findings, each with a `code`")
    for one in finds:
        unknown = set(one) - EXPECTED
        if unknown:
            raise NotationError(f"{path}: {name}: `finds` does not know {sorted(unknown)}")


def _codes(paths: Sequence[Path]) -> list[str]:
    """A name for the topics of each file: its own, with `_` for what no topic may have."""
    codes: list[str] = []
    for path in paths:
        code = re.sub(r"[^A-Za-z0-9_]", "_", path.stem)[:60]
        codes.append(code if code not in codes else f"{code}_{len(codes)}")
    return codes


def main(files: Sequence[str]) -> int:
    """Audits the cases of the files at once and prints what became of each."""
    paths = [Path(file) for file in files]
    try:
        cases = [
            case
            for path, code in zip(paths, _codes(paths), strict=True)
            for case in cases_of(path, code)
        ]
        with tempfile.TemporaryDirectory() as folder, spark_session() as spark:
            audits = [
                audit_cases(spark, some, Path(folder) / str(number))
                for number, some in enumerate(by_dump(cases).values())
            ]
            cases = [case for some, _ in audits for case in some]
            differences = [difference(case, audited) for some, audited in audits for case in some]
    except NotationError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for case, told_of in zip(cases, differences, strict=True):
        line = f"differs: {told_of}" if told_of else f"kept:    {case.name}\n"
        sys.stdout.write(line)
    outcomes = [one for _, audited in audits for one in audited.done.verified.outcomes]
    crashed = [one for one in outcomes if one.status == "crashed"]
    for one in crashed:
        sys.stdout.write(f"crashed: {one.check.code}: {one.detail}\n")
    differing = sum(1 for told_of in differences if told_of)
    sys.stdout.write(f"{len(cases)} cases, {differing} differ\n")
    return 1 if differing or crashed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
