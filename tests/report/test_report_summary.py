"""The summary on the terminal: a screen, with as much of each finding as fits."""

from dataclasses import replace
from itertools import pairwise

import made_facts
import pytest

from jobs.model.expectation_results import Outcome
from jobs.report.facts import Finding
from jobs.report.summary import DETAILS, MOST_LINES, summary
from jobs.report.verdict import Since, Verdict
from schemas.verdicts import VERDICTS

REMEDY = "remedy: kafka-transactions.sh"
ONE = ("hanging_transaction", "error", "violation")


def found(number: int, examples: int) -> tuple[Verdict, list[Finding]]:
    shown = [made_facts.finding(n) for n in range(examples)]
    return made_facts.verdict(counts={ONE: number}), shown


def test_one_finding_is_shown_with_its_evidence_and_remedy() -> None:
    text = summary(*found(1, 1), "out")
    assert "byte 4976, 91 bytes (first batch of the transaction)" in text
    assert REMEDY in text
    assert " more in " not in text


def test_of_many_findings_the_first_is_shown_and_the_others_are_counted() -> None:
    text = summary(*found(142, 5), "out")
    assert text.count(REMEDY) == 1
    assert "\n    … and 141 more in report.html and the table violation\n" in text


@pytest.mark.parametrize("checks", [1, 2, 3, 4, 6, 20])
def test_a_check_is_named_with_its_number_as_long_as_there_is_room(checks: int) -> None:
    codes = [f"check_{n:02}" for n in range(checks)]
    counts = {(code, "error", "violation"): 1000 for code in codes}
    shown = [made_facts.finding(code=code) for code in codes for _ in range(5)]
    lines = summary(made_facts.verdict(counts=counts), shown, "out").splitlines()
    assert len(lines) <= MOST_LINES
    named = [code for code in codes if any(f"{code} (error): 1,000" in line for line in lines)]
    left_out = "".join(lines).partition("… and ")[2]
    assert named == codes or left_out.startswith(f"{checks - len(named)} more")


def test_the_largest_summary_fits_and_loses_no_section() -> None:
    facts = made_facts.large()
    failed = [{"suite": f"s{n}", "severity": "error", "message": "No."} for n in range(40)]
    everything = replace(
        facts.verdict,
        policy=Outcome("d", 40, failed, ["a.json: no valid JSON."] * 9),
        not_looked_at=[f"file {n} is not read." for n in range(30)],
        incomplete=[f"file {n} vanished." for n in range(30)],
        since=Since("before", dict.fromkeys(VERDICTS, 1), {}),
    )
    lines = summary(everything, facts.findings, "out").splitlines()
    assert len(lines) <= MOST_LINES
    for beginning in ("VIOLATIONS", "Violations (", "Acceptance", "Not looked", "Incomplete"):
        assert any(line.startswith(beginning) for line in lines), beginning
    assert "  … and 29 more in report.html" in lines


def test_what_there_is_no_room_for_is_said_and_the_remedy_goes_last() -> None:
    seen = []
    for checks in range(1, 8):
        codes = [f"check_{n:02}" for n in range(checks)]
        counts = {(code, "error", "violation"): 1 for code in codes}
        shown = [made_facts.finding(code=code) for code in codes]
        text = summary(made_facts.verdict(counts=counts), shown, "out")
        evidence, remedy = "evidence: broker-0" in text, REMEDY in text
        assert remedy or not evidence
        seen.append((evidence, remedy))
        for left_out, gone in (("evidence", (False, True)), ("evidence and remedy", (False,) * 2)):
            said = f"There was no room for the {left_out} of each finding: see report.html."
            assert (said in text) == ((evidence, remedy) == gone), text
    assert seen == sorted(seen, reverse=True)
    assert len(set(seen)) == 3


def test_each_detail_shows_no_more_than_the_one_before() -> None:
    for richer, poorer in pairwise(DETAILS):
        assert all(more >= less for more, less in zip(richer, poorer, strict=True))
