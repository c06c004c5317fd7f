"""The result of an audit as text for the terminal."""

from collections.abc import Iterable, Iterator

from jobs.report.facts import Finding
from jobs.report.verdict import VERDICT_ORDER, Verdict
from jobs.report.visible import visible

TITLES = {
    "violation": "Violations (no legal explanation remains)",
    "suspect": "Suspect (a legal explanation cannot be excluded)",
    "inconclusive": "Inconclusive (the dump cannot decide)",
}


def summary(verdict: Verdict, examples: Iterable[Finding], out: str) -> str:
    """Verdict, findings by code with examples, what was not looked at, where the tables are."""
    totals = verdict.totals
    lines = [
        verdict.headline,
        "",
        f"Looked at {totals['partitions']:,} partitions, {totals['files']:,} files, "
        f"{totals['bytes']:,} bytes, {totals['batches']:,} batches, "
        f"{totals['transactions']:,} transactions.",
    ]
    if verdict.since:
        lines.append(since_line(verdict))
    shown = list(examples)
    for kind in VERDICT_ORDER:
        group = list(_group_lines(verdict, shown, kind))
        if group:
            lines += ["", TITLES[kind], *group]
    if verdict.policy:
        lines += verdict.policy.lines()
    lines += ["", "Not looked at", *_bullets(verdict.not_looked_at or ["nothing was left out"])]
    if verdict.missing:
        lines += ["", "Incomplete because", *_bullets(verdict.missing)]
    lines += ["", f"Tables, report.html and verdict.json are in {out} (audit {verdict.audit_id})."]
    return "\n".join(visible(line) for line in lines)


def since_line(verdict: Verdict) -> str:
    """What is new since the audit before this one; empty for the first audit of a folder."""
    since = verdict.since
    if since is None:
        return ""

    def listed(numbers: dict[str, int]) -> str:
        listed = [f"{numbers[kind]:,} {kind}" for kind in VERDICT_ORDER if numbers.get(kind)]
        return ", ".join(listed) or "none"

    return (
        f"Since audit {since.previous_audit_id}: new findings: {listed(since.new)}; "
        f"no longer there: {listed(since.gone)}."
    )


def _finding_lines(finding: Finding) -> Iterator[str]:
    fresh = " (new)" if finding.new else ""
    yield f"    {finding.where}{fresh}"
    yield f"      {finding.message}"
    yield f"      expected: {finding.expected}; found: {finding.found}"
    for proof in finding.evidence:
        one, many = proof.units
        yield (
            f"      evidence: {proof.file} {one} {proof.byte_position}, "
            f"{proof.byte_length} {many} ({proof.role})"
        )
    if finding.remedy:
        yield f"      remedy: {finding.remedy}"


def _by_cause(findings: list[Finding]) -> list[list[Finding]]:
    """Findings of one cause together, in the order of the first of each."""
    causes: dict[str, list[Finding]] = {}
    for number, finding in enumerate(findings):
        causes.setdefault(finding.cause_id or f"no cause {number}", []).append(finding)
    return list(causes.values())


def _group_lines(verdict: Verdict, examples: list[Finding], kind: str) -> Iterator[str]:
    for (code, severity, found), number in sorted(verdict.counts.items()):
        if found != kind:
            continue
        plural = "finding" if number == 1 else "findings"
        yield f"  {code} ({severity}): {number:,} {plural}"
        if severity == "info":
            continue
        shown = [finding for finding in examples if (finding.code, finding.verdict) == (code, kind)]
        for finding, *others in _by_cause(shown):
            yield from _finding_lines(finding)
            if finding.reason:
                yield f"      why {kind}: {finding.reason}"
            yield from (f"      the same cause at {other.where}" for other in others)
        if number > len(shown):
            yield f"    … and {number - len(shown):,} more in the table violation"


def _bullets(sentences: Iterable[str]) -> list[str]:
    return [f"  - {sentence}" for sentence in sentences]
