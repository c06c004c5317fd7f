"""What may be concluded is asked of `udfs.rules`; nobody else reasons about it."""

import re
from pathlib import Path

import pytest

from jobs.verify.catalogue import CHECKS

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "jobs").rglob("*.py"), *(ROOT / "udfs").rglob("*.py")])
# How far a cleaner came, and what is missing, compared in place.
COMPARED = {
    "reach of the cleaner": re.compile(
        r"""[<>]=?\s*\(?(?:[\w.]*\(")?[\w.\[\]"']*(?:cleaned_below|cleaner_checkpoint)"""
    ),
    "missing offsets": re.compile(r"""(?:hole|missing|gap)\[["'](?:first|end)["']\]\s*[<>]"""),
}
RULES = ROOT / "udfs" / "rules"
# Which files a listing takes for part of the log: a rule about names, not about records.
LISTING = {"superseded.py"}


@pytest.mark.parametrize("what", COMPARED)
def test_absence_is_asked_of_its_rules(what: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        if RULES not in path.parents and path.name not in LISTING
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if COMPARED[what].search(line)
    ]
    assert found == []


def test_what_took_effect_is_asked_of_attribution() -> None:
    """A Complete record is that of a Prepare record by its number, in one place only."""
    by_number = re.compile(r"""status["')\]]*\s*[+-]\s*(?:2\b|COMPLETE)""")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        if RULES not in path.parents
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if by_number.search(line)
    ]
    assert found == []


PAGE = (ROOT / "docs" / "kafka-rules.md").read_text(encoding="utf-8")
# Its words are those of arrays and columns, not Kafka's.
NO_RULES = {"__init__", "logic"}


def test_each_module_of_rules_has_its_section() -> None:
    told = set(re.findall(r"^`udfs/rules/(\w+)\.py`:", PAGE, re.MULTILINE))
    assert told == {path.stem for path in RULES.glob("*.py")} - NO_RULES


def test_checks_that_use_a_rule_are_there() -> None:
    known = {check.code for check in CHECKS} | {check.context for check in CHECKS}
    for told in re.findall(r"^Checks that use it: ([^.]+)\.", PAGE, re.MULTILINE):
        named = set(re.findall(r"`(\w+)`", told))
        assert named and named <= known, named - known
