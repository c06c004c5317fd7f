"""The result of an audit as text for the terminal: a screen, however many findings there are."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jobs.model.counted import count
from jobs.report.facts import Finding
from jobs.report.verdict import Since, Verdict
from jobs.report.visible import visible
from schemas.verdicts import VERDICTS

TITLES = {
    "violation": "Violations (no legal explanation remains)",
    "suspect": "Suspect (a legal explanation cannot be excluded)",
    "inconclusive": "Inconclusive (the dump cannot decide)",
}
NOT_ADDED = "It was there already: nothing was added."
# In what two audits differ (`Since`) -> words; every audit has a moment of its own.
DIFFERING = {"code": "by other code of eosaudit", "configuration": "with another configuration"}
MOST_LINES = 25
MOST_INCIDENTS = 4


class Detail(NamedTuple):
    """How much of the findings is shown, and how many lines a list of sentences may have.

    `examples`: of a check and verdict. `proofs`: what was expected and found, and evidence.
    `message`, `remedy`: of each example.
    """

    examples: int
    proofs: bool
    message: bool
    remedy: bool
    sentences: int


# The first that fits is taken. With the last one only the findings can be too many.
ALL = 1 << 30
DETAILS = (
    Detail(ALL, True, True, True, ALL),
    Detail(ALL, True, True, True, 3),
    Detail(1, True, True, True, 3),
    Detail(1, False, True, True, 3),
    Detail(1, False, True, False, 3),
    Detail(1, False, False, False, 1),
)


def summary(
    verdict: Verdict,
    examples: Iterable[Finding],
    out: str,
    added: bool = True,
    reported: bool = True,
) -> str:
    """Verdict, findings by check, what was not looked at, where the tables are.

    `added`: false where the audit had been there before, and nothing was written to the tables;
    `reported`: false where the files in `out` are those of another audit, or none are there.
    At most `MOST_LINES` lines: where the evidence of all examples does not fit, less is shown of
    each, and report.html has the rest.
    """
    shown = list(examples)
    for detail in DETAILS:
        head = [*_head(verdict), *_incidents(verdict, detail)]
        of_kinds = [_of_kind(verdict, shown, kind, detail) for kind in VERDICTS]
        findings = [line for lines in of_kinds for line in lines]
        tail = [*_tail(verdict, detail), _where(verdict, out, added, reported)]
        room = MOST_LINES - len(head) - len(tail)
        if len(findings) <= room:
            break
    else:
        findings = _first(findings, room - 1)
    return "\n".join(visible(line) for line in [*head, *findings, *tail])


def _head(verdict: Verdict) -> list[str]:
    totals = verdict.totals
    looked_at = (
        f"Looked at {count(totals['partitions'], 'partition')}, "
        f"{count(totals['files'], 'file')}, {count(totals['bytes'], 'byte')}, "
        f"{count(totals['batches'], 'batch', 'batches')}, "
        f"{count(totals['transactions'], 'transaction')}."
    )
    since = [since_line(verdict)] if verdict.since else []
    return [verdict.headline, "", looked_at, *since]


def _incidents(verdict: Verdict, detail: Detail) -> list[str]:
    """Cause, consequence, affected groups and first step of each incident; or its name alone."""
    if not verdict.incidents:
        return []
    lines = ["", "What happened (`explain --incident N` tells more)"]
    whole = 1 if detail.sentences == 1 else 2
    for one in verdict.incidents[:MOST_INCIDENTS]:
        plural = "finding" if one.findings == 1 else "findings"
        fresh = ", new" if one.new else ""
        told = f"{one.title} ({one.grade}{fresh}): {one.findings:,} {plural}"
        if 0 < one.violations < one.findings:
            told += f", {one.violations:,} of them proven"
        lines.append(f"  {one.incident}. {told}")
        if one.incident <= whole:
            derived = f"; {one.derived}" if one.derived else ""
            lines.append(f"     {one.consequence}; {one.who}{derived}")
            lines += [f"     first: {one.first_step}"] if one.first_step else []
    left_out = len(verdict.incidents) - MOST_INCIDENTS
    return lines + ([f"  … and {left_out:,} more in report.html"] if left_out > 0 else [])


def _tail(verdict: Verdict, detail: Detail) -> list[str]:
    lines = []
    if verdict.policy:
        blank, outcome, *failed = verdict.policy.lines()
        lines += [blank, outcome, *_first(failed, detail.sentences)]
    lines += _section("Not looked at", verdict.not_looked_at or ["nothing was left out"], detail)
    lines += _section("Incomplete because", verdict.missing, detail)
    lines.append("")
    if verdict.counts and not detail.proofs:
        left_out = "evidence" if detail.remedy else "evidence and remedy"
        lines.append(f"There was no room for the {left_out} of each finding: see report.html.")
    return lines


def _where(verdict: Verdict, out: str, added: bool, reported: bool) -> str:
    identity = verdict.audit_id
    where = f"Tables, report.html and verdict.json are in {out} (audit {identity})."
    if not reported:
        where = (
            f"Tables are in {out} (audit {identity}), its report is not: `report --out {out} "
            f"--audit {identity} --format html --to FOLDER` writes it."
        )
    return where if added else f"{where} {NOT_ADDED}"


def since_line(verdict: Verdict) -> str:
    """What is new since the audit before this one; empty for the first audit of a folder."""
    since = verdict.since
    if since is None:
        return ""

    def listed(numbers: dict[str, int]) -> str:
        listed = [f"{numbers[kind]:,} {kind}" for kind in VERDICTS if numbers.get(kind)]
        return ", ".join(listed) or "none"

    unseen = f"; not looked at again: {listed(since.unseen)}" if since.unseen else ""
    return (
        f"Since audit {since.previous_audit_id}{_differing(since)}: "
        f"new findings: {listed(since.new)}; "
        f"no longer there: {listed(since.gone)}{unseen}."
    )


def _differing(since: Since) -> str:
    """What else than the files may have made the difference, in brackets; empty for nothing."""
    same = "files" not in since.differs
    told = [words for name, words in DIFFERING.items() if name in since.differs]
    if same:
        moment = ["judged as of another moment"] if "moment" in since.differs else []
        told = ["the same files", *moment, *told]
    return f" ({', '.join(told)})" if told else ""


def _of_kind(verdict: Verdict, examples: list[Finding], kind: str, detail: Detail) -> Iterator[str]:
    """The findings of one verdict, by check, below a title; nothing where there are none."""
    counts = [
        (code, severity, number)
        for (code, severity, found), number in sorted(verdict.counts.items())
        if found == kind
    ]
    if counts:
        yield from ("", TITLES[kind])
    for code, severity, number in counts:
        plural = "finding" if number == 1 else "findings"
        of_check = f"  {code} ({severity}): {number:,} {plural}"
        known = [finding for finding in examples if (finding.code, finding.verdict) == (code, kind)]
        if severity == "info" or not known:
            yield of_check
        elif detail.message:
            yield of_check
            yield from _examples(known, number, detail)
        else:
            yield f"{of_check}, {'' if number == 1 else 'the first '}at {known[0].where}"


def _examples(known: list[Finding], number: int, detail: Detail) -> Iterator[str]:
    """Examples of one check and verdict, of one cause together, and how many more there are."""
    shown = known[: detail.examples]
    for finding, *others in _by_cause(shown):
        yield from _finding_lines(finding, detail)
        yield from (f"      the same cause at {other.where}" for other in others)
    if number > len(shown):
        yield f"    … and {number - len(shown):,} more in report.html and the table violation"


def _by_cause(findings: list[Finding]) -> list[list[Finding]]:
    """Findings of one cause together, in the order of the first of each."""
    causes: dict[str, list[Finding]] = {}
    for number, finding in enumerate(findings):
        causes.setdefault(finding.cause_id or f"no cause {number}", []).append(finding)
    return list(causes.values())


def _finding_lines(finding: Finding, detail: Detail) -> Iterator[str]:
    fresh = " (new)" if finding.new else ""
    yield f"    {finding.where}{fresh}"
    yield f"      {finding.message}"
    if detail.proofs:
        yield f"      expected: {finding.expected}; found: {finding.found}"
        for proof in finding.evidence:
            one, many = proof.units
            yield (
                f"      evidence: {proof.file} {one} {proof.byte_position}, "
                f"{proof.byte_length} {many} ({proof.role})"
            )
        if finding.reason:
            yield f"      why {finding.verdict}: {finding.reason}"
    if detail.remedy and finding.remedy:
        yield f"      remedy: {finding.remedy}"


def _section(title: str, sentences: list[str], detail: Detail) -> list[str]:
    """Sentences below a title; nothing where there are none."""
    bullets = _first([f"  - {sentence}" for sentence in sentences], detail.sentences)
    return ["", title, *bullets] if bullets else []


def _first(lines: list[str], most: int) -> list[str]:
    """The first lines, and how many are left out."""
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"  … and {len(lines) - most:,} more in report.html"]
