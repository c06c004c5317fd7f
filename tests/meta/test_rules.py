"""What may be concluded is asked of `udfs.rules`; nobody else reasons about it."""

import re
from pathlib import Path

import pytest

from jobs.verify.catalogue import CHECKS

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "jobs").rglob("*.py"), *(ROOT / "udfs").rglob("*.py")])
# What stands right of an operator: the column of a name, or an item, or an attribute.
AFTER = r"""\s*\(?(?:F\.(?:coalesce|least)\(.*)?(?:F\.col\()?[\w.\[\]"']*"""
# What is a question of a rule, compared in place.
COMPARED = {
    "reach of the cleaner": re.compile(
        r"""[<>]=?\s*\(?(?:[\w.]*\(")?[\w.\[\]"']*(?:cleaned_below|cleaner_checkpoint)"""
    ),
    "missing offsets": re.compile(r"""(?:hole|missing|gap)\[["'](?:first|end)["']\]\s*[<>]"""),
    "missing records": re.compile(
        r"""ordinal["')\]]*\s*-|-\s*(?:F\.col\(")?[\w.\[\]"']*ordinal\b"""
    ),
    "what is replicated": re.compile(rf"[<>]=?{AFTER}(?:replicated_below|\bhigh_watermark)"),
    "history of a producer id": re.compile(rf"[<>]=?{AFTER}known_above"),
    "transaction version": re.compile(
        r"""transaction_version["')\]]*\s*(?:[<>]=?|[=!]=)\s*\(?[0-9]"""
    ),
    "circle of sequences": re.compile(r"%\s*\(?[\w.]*SEQUENCE|pmod\(.*sequence"),
}
# What stood in place of a rule once, and what is none of its questions.
KNOWN = {
    "missing records": (
        'missing = (F.col("next.offset") - F.col("offset")) != (F.col("next.ordinal") - 1)',
        'F.col("ordinal") + F.col("records_before")',
    ),
    "what is replicated": (
        'F.col("committed_offset") >= F.col("coordinator_replicated_below")',
        'F.col("data_end_offset") < F.col("told_high_watermark")',
    ),
    "history of a producer id": (
        'F.coalesce(F.col("marker_epoch") > F.col("known_above"), F.lit(False))',
        'F.col("known_above").alias("known_above")',
    ),
    "transaction version": (
        'F.col("coordinator.client_transaction_version") >= 2',
        "client_transaction_version=0,",
    ),
    "circle of sequences": (
        "0 < (one[1] - other[1]) % (MAX_SEQUENCE + 1) <= MAX_SEQUENCE // 2",
        "MAX_SEQUENCE + 1",
    ),
}
RULES = ROOT / "udfs" / "rules"
# Which files a listing takes for part of the log: a rule about names, not about records.
LISTING = {"superseded.py"}
# Shares no line with the code that it checks.
STANDS_ALONE = ROOT / "jobs" / "report" / "recheck"


@pytest.mark.parametrize("what", COMPARED)
def test_a_rule_is_asked_of_its_module(what: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        if not {RULES, STANDS_ALONE} & {*path.parents} and path.name not in LISTING
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if COMPARED[what].search(line)
    ]
    assert found == []


@pytest.mark.parametrize("what", KNOWN)
def test_what_stood_in_place_of_a_rule_is_found(what: str) -> None:
    double, other = KNOWN[what]
    assert COMPARED[what].search(double) and not COMPARED[what].search(other)


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
NO_RULES = {"__init__", "limits", "logic"}


def test_each_module_of_rules_has_its_section() -> None:
    told = set(re.findall(r"^`udfs/rules/(\w+)\.py`:", PAGE, re.MULTILINE))
    assert told == {path.stem for path in RULES.glob("*.py")} - NO_RULES


def test_checks_that_use_a_rule_are_there() -> None:
    known = {check.code for check in CHECKS} | {check.context for check in CHECKS}
    for told in re.findall(r"^Checks that use it: ([^.]+)\.", PAGE, re.MULTILINE):
        named = set(re.findall(r"`(\w+)`", told))
        assert named and named <= known, named - known
