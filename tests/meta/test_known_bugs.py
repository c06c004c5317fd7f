"""Each bug in docs/known-bugs.md has a case that shows its trace, and a twin that is healthy."""

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "known-bugs.md"
CASES = ROOT / "tests" / "checks"
NUMBER = re.compile(r"KAFKA-\d+")
CHECK = re.compile(r"\[(?P<code>\w+)\]\(checks\.md#(?P=code)\)")
CASE = re.compile(r"\[(?P<file>[\w/]+)\]\(\.\./tests/checks/(?P=file)\.yaml\): (?P<name>.+)")

Finds = list[dict[str, Any]]


class Bug(NamedTuple):
    """One row of the page; `verdict` is `none` where nothing is told."""

    number: str
    code: str
    verdict: str
    file: str
    name: str


def bug_of(row: str) -> Bug:
    bug, _, check, verdict, case = (cell.strip() for cell in row.strip("|\n").split(" | "))
    number, code, place = NUMBER.match(bug), CHECK.fullmatch(check), CASE.fullmatch(case)
    assert number and code and place, row
    return Bug(number[0], code["code"], verdict, place["file"], f"{number[0]}, {place['name']}")


TEXT = PAGE.read_text("utf-8")
BUGS = [bug_of(row) for row in TEXT.splitlines() if row.startswith("| KAFKA-")]


@cache
def cases_of(file: str) -> dict[str, Finds]:
    """Name of a case to the findings it expects."""
    given = yaml.safe_load((CASES / f"{file}.yaml").read_text("utf-8"))
    return {case["name"]: case["finds"] for case in given}


@pytest.mark.parametrize("bug", BUGS, ids=[f"{bug.number}-{bug.code}" for bug in BUGS])
def test_a_bug_has_a_case_with_the_verdict_of_the_page_and_a_healthy_twin(bug: Bug) -> None:
    cases = cases_of(bug.file)
    told = {(one["code"], one.get("verdict", "violation")) for one in cases[bug.name]}
    assert (told == set()) if bug.verdict == "none" else ((bug.code, bug.verdict) in told)
    twins = [finds for name, finds in cases.items() if name.startswith(f"{bug.number} fixed, ")]
    assert twins and not any(twins)


def test_every_number_of_the_page_has_a_row() -> None:
    assert set(NUMBER.findall(TEXT)) == {bug.number for bug in BUGS}


def test_every_case_that_is_named_after_a_bug_is_on_the_page() -> None:
    named = {
        (file, name)
        for path in CASES.glob("*/*.yaml")
        for file in [f"{path.parent.name}/{path.stem}"]
        for name in cases_of(file)
        if NUMBER.match(name) and " fixed, " not in name
    }
    assert named == {(bug.file, bug.name) for bug in BUGS}
