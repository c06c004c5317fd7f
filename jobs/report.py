"""What a person and a pipeline read after an audit: the summary on the terminal, verdict.json."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from jobs.policy.results import Outcome

CLEAN, VIOLATIONS, INCOMPLETE = "clean", "violations", "incomplete"
NOT_ACCEPTED = "not_accepted"
EXIT_CODES = {CLEAN: 0, VIOLATIONS: 1, NOT_ACCEPTED: 1, INCOMPLETE: 3}
VERDICT_ORDER = ("violation", "suspect", "inconclusive")
WIDTH = 100


@dataclass(frozen=True)
class Verdict:
    """The result of an audit. `not_looked_at`: sentences, one a thing left out and why.

    `incomplete` sentences are those because of which the audit counts as incomplete. `policy`:
    what became of the acceptance policy; None where none was asked for.
    """

    audit_id: str
    version: str
    as_of_ms: int | None
    counts: dict[tuple[str, str, str], int]
    totals: dict[str, int]
    not_looked_at: list[str]
    incomplete: list[str]
    policy: Outcome | None = None

    def number(self, verdict: str) -> int:
        """Findings of one verdict."""
        return sum(n for (_, _, kind), n in self.counts.items() if kind == verdict)

    @property
    def broken(self) -> int:
        """Findings that make the exit code 1: violations of severity error."""
        return sum(
            n
            for (_, severity, kind), n in self.counts.items()
            if kind == "violation" and severity == "error"
        )

    @property
    def verdict(self) -> str:
        """Clean, violations, incomplete or not accepted.

        A proven violation outweighs what is missing. What is missing outweighs a policy that is
        not met, since it may be the reason.
        """
        if self.broken:
            return VIOLATIONS
        if self.missing:
            return INCOMPLETE
        return NOT_ACCEPTED if self.policy and self.policy.rejecting else CLEAN

    @property
    def missing(self) -> list[str]:
        """Why the audit is incomplete: what was not looked at, and what no policy could judge."""
        return self.incomplete + (self.policy.not_evaluated if self.policy else [])

    @property
    def exit_code(self) -> int:
        """0 clean, 1 violations or not accepted, 3 incomplete."""
        return EXIT_CODES[self.verdict]

    def as_json(self) -> str:
        """Content of verdict.json: the same for the same audit, byte for byte."""
        findings = [
            {"code": code, "severity": severity, "verdict": kind, "count": number}
            for (code, severity, kind), number in sorted(self.counts.items())
        ]
        content: dict[str, Any] = {
            "audit_id": self.audit_id,
            "version": self.version,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "as_of_ms": self.as_of_ms,
            "findings": findings,
            "totals": self.totals,
            "not_looked_at": self.not_looked_at,
            "incomplete": self.incomplete,
            "policy": self.policy and self.policy.as_dict(),
        }
        return json.dumps(content, indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, content: str) -> "Verdict":
        """The verdict that `as_json` wrote."""
        stored = json.loads(content)
        counts = {(f["code"], f["severity"], f["verdict"]): f["count"] for f in stored["findings"]}
        names = ("audit_id", "version", "as_of_ms", "totals", "not_looked_at", "incomplete")
        judged = stored.get("policy")
        policy = Outcome(**judged) if judged else None
        return cls(counts=counts, policy=policy, **{name: stored[name] for name in names})


def examples(findings: DataFrame, per_code: int) -> list[Any]:
    """The first findings of each code and verdict by place, at most `per_code` each."""
    order = Window.partitionBy("code", "verdict").orderBy(
        "topic", "partition", "broker", "offset_first", "producer_id"
    )
    ranked = findings.withColumn("rank", F.row_number().over(order))
    chosen = ranked.filter(F.col("rank") <= per_code).orderBy("code", "verdict", "rank")
    return list(chosen.collect())


def where(row: Any) -> str:
    """Place of a finding: topic-partition, broker, offsets."""
    place = f"{row['topic']}-{row['partition']}"
    if row["broker"] is not None:
        place += f" on broker {row['broker']}"
    first, last = row["offset_first"], row["offset_last"]
    if first is not None and last is not None and last != first:
        return f"{place}, offsets {first} to {last}"
    return place if first is None and last is None else f"{place}, offset {first or last or 0}"


def _finding_lines(row: Any) -> Iterator[str]:
    yield f"    {where(row)}"
    yield f"      {row['message']}"
    yield f"      expected: {row['expected']}; found: {row['found']}"
    for proof in row["evidence"] or []:
        yield (
            f"      evidence: {proof['file']} byte {proof['byte_position']}, "
            f"{proof['byte_length']} bytes ({proof['role']})"
        )
    if row["remedy"]:
        yield f"      remedy: {row['remedy']}"


def _group_lines(verdict: Verdict, rows: list[Any], kind: str, per_code: int) -> Iterator[str]:
    for (code, severity, found), number in sorted(verdict.counts.items()):
        if found != kind:
            continue
        plural = "finding" if number == 1 else "findings"
        yield f"  {code} ({severity}): {number:,} {plural}"
        shown = [row for row in rows if row["code"] == code and row["verdict"] == kind]
        if severity == "info":
            continue
        for row in shown:
            yield from _finding_lines(row)
            if row["reason"]:
                yield f"      why {kind}: {row['reason']}"
        if number > len(shown):
            yield f"    … and {number - len(shown):,} more in the table violation"


def headline(verdict: Verdict) -> str:
    """The verdict in one line."""
    words = {
        CLEAN: "CLEAN: no violation found in what was looked at",
        VIOLATIONS: f"VIOLATIONS: {verdict.broken:,} proven",
        INCOMPLETE: "INCOMPLETE: no violation found, but not everything could be looked at",
        NOT_ACCEPTED: "NOT ACCEPTED: no violation found, but the acceptance policy is not met",
    }
    return words[verdict.verdict]


def summary(verdict: Verdict, rows: list[Any], out: str, per_code: int) -> str:
    """The text for the terminal: verdict, findings by code, what was not looked at, tables."""
    totals = verdict.totals
    lines = [
        headline(verdict),
        "",
        f"Looked at {totals['partitions']:,} partitions, {totals['files']:,} files, "
        f"{totals['bytes']:,} bytes, {totals['batches']:,} batches, "
        f"{totals['transactions']:,} transactions.",
    ]
    titles = {
        "violation": "Violations (no legal explanation remains)",
        "suspect": "Suspect (a legal explanation cannot be excluded)",
        "inconclusive": "Inconclusive (the dump cannot decide)",
    }
    for kind in VERDICT_ORDER:
        group = list(_group_lines(verdict, rows, kind, per_code))
        if group:
            lines += ["", titles[kind], *group]
    if verdict.policy:
        lines += verdict.policy.lines()
    lines += ["", "Not looked at", *_bullets(verdict.not_looked_at or ["nothing was left out"])]
    if verdict.missing:
        lines += ["", "Incomplete because", *_bullets(verdict.missing)]
    lines += ["", f"Tables and verdict.json are in {out} (audit {verdict.audit_id})."]
    return "\n".join(lines)


def _bullets(sentences: Iterable[str]) -> list[str]:
    return [f"  - {sentence}" for sentence in sentences]
