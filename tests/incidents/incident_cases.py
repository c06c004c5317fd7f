"""Cases of signatures: logs in the notation of `tests/log_builder.py`, and the incidents they make.

A case is told as one of a check (`tests/cases.py`), with `incidents` in place of `finds`: a list of
`kind`, a signature or `unexplained`, and `takes`, the findings that it has, by their codes
(`…/lost` and `…/cleaned`: see `jobs.incidents.signature`). `grade` may be told, too.
`incidents: []` is a log that nobody has to explain: it has no proven violation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from cases import AuditedCases, describe, findings_of
from log_builder import Case as LogCase
from log_builder import NotationError
from pyspark.sql import functions as F

from jobs.audit.audit import Audit
from jobs.incidents.assign import PLACE, VIOLATION, assign, with_moments
from jobs.incidents.causes import KINDS
from jobs.incidents.incidents import BY_NAME
from jobs.incidents.moments import moments
from jobs.incidents.signature import IN_NONE, UNEXPLAINED
from jobs.incidents.versions import of_version_2

# What a finding at one of its places has in `assign` and in the table `violation` alike.
IDENTITY = (
    "code", "verdict", "producer_id", "producer_epoch", *PLACE, "offset_first", "offset_last",
)  # fmt: skip
TOLD = {"kind", "takes", "grade"}
Incident = dict[str, Any]


@dataclass(frozen=True)
class IncidentCase:
    """A log, and the incidents that it makes, as the file has them."""

    log: LogCase
    incidents: list[Incident]

    @property
    def kinds(self) -> set[str]:
        """Who takes something of it."""
        return {one["kind"] for one in self.incidents}


@dataclass(frozen=True)
class Assignable:
    """One audit of many cases: its findings, and what `assign` takes of all of them.

    `rows`: a row a finding and place; `moments`: rows of the same columns. A moment is found by a
    file and position, a producer or a place, which are of one case each. `numbers`: of what
    identifies a row, the numbers of the findings.
    """

    audited: AuditedCases
    rows: pa.Table
    moments: pa.Table
    numbers: dict[tuple[Any, ...], list[int]]

    @classmethod
    def of(cls, done: Audit) -> "Assignable":
        """The only Spark jobs: one for the findings, one for their rows."""
        dated, raising = _moments(done)
        both = with_moments(done.verified.findings, dated, raising).toArrow()
        is_moment = pc.is_null(both["finding"])
        rows = both.filter(pc.invert(is_moment))
        numbers: dict[tuple[Any, ...], list[int]] = {}
        for row in rows.to_pylist():
            identity = _identity(row | {"code": row["key"]["code"]})
            numbers.setdefault(identity, []).append(row["finding"])
        return cls(AuditedCases.of(done), rows, both.filter(is_moment), numbers)

    def of_case(self, case: LogCase) -> set[int]:
        """Numbers of the findings that a case owns."""
        found = findings_of(case, self.audited)
        return {number for one in found for number in self.numbers[_identity(one)]}

    def assigned(self, findings: set[int]) -> list[dict[str, Any]]:
        """What the project makes of some findings, as if there were no others: rows of `assign`."""
        wanted = pc.is_in(self.rows["finding"], pa.array(sorted(findings), pa.int64()))
        given = pa.concat_tables([self.rows.filter(wanted), self.moments])
        return [row for batch in assign(iter(given.to_batches())) for row in batch.to_pylist()]


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in IDENTITY)


def cases_of_signature(path: Path) -> list[IncidentCase]:
    """The cases of a file, whose name is that of the signature. Raises NotationError."""
    given = yaml.safe_load(path.read_text("utf-8"))
    cases = []
    for number, one in enumerate(given):
        incidents = one.pop("incidents", None)
        if not isinstance(incidents, list) or not all(
            {"kind", "takes"} <= set(told) <= TOLD and told["kind"] in KINDS for told in incidents
        ):
            raise NotationError(f"{path}: {one.get('name')}: `incidents` is a list of kind, takes")
        cases.append(IncidentCase(LogCase(path.stem, number, one), incidents))
    return cases


def difference(case: IncidentCase, assignable: Assignable) -> str:
    """What was expected of a case and what it makes, where they differ; else nothing."""
    found = list(_told(assignable.assigned(assignable.of_case(case.log))))
    wanted = [one | {"takes": sorted(one["takes"])} for one in case.incidents]
    same = all(_like(one, found) == _like(one, wanted) for one in wanted)
    if same and len(found) == len(wanted):
        return ""
    log = "".join(f"    {line}\n" for line in case.log.given["log"])
    return (
        f"{case.log.name} (topic {case.log.topic})\n{log}"
        + "".join(f"wanted:  {one}\n" for one in wanted)
        + "".join(f"found:   {one}\n" for one in found)
        + "".join(
            f"finding: {describe(one)}\n" for one in findings_of(case.log, assignable.audited)
        )
    )


def _like(wanted: Incident, incidents: list[Incident]) -> int:
    """How many have all that is wanted; the order of incidents is not that of a case."""
    return sum(wanted.items() <= one.items() for one in incidents)


def _moments(done: Audit) -> tuple[Any, Any]:
    replayed = done.replayed
    concerned = done.verified.findings.filter(F.col("producer_id").isNotNull())
    decisions = replayed.coordinator_log.decisions_of(concerned.select("producer_id").distinct())
    dated = moments(decisions, replayed.transactions, replayed.partition_info, done.read.files)
    records = replayed.coordinator_log.txn_log_records
    return dated, of_version_2(decisions, records, replayed.transactions)


def _told(rows: list[dict[str, Any]]) -> Iterator[Incident]:
    """The incidents of some rows of `assign`: kind, grade and takes."""
    for number in sorted({row["incident"] for row in rows} - {None}):
        mine = [row for row in rows if row["incident"] == number]
        kind = mine[0]["kind"]
        violating = [row for row in mine if row["verdict"] == VIOLATION]
        violated = {row["key"]["code"] for row in violating}
        violated |= {row["label"] for row in violating if row["label"] == IN_NONE}
        explained = kind != UNEXPLAINED
        yield {
            "kind": kind,
            "takes": sorted({row["label"] for row in mine}),
            "grade": BY_NAME[kind].grade(frozenset(violated)) if explained else UNEXPLAINED,
        }
