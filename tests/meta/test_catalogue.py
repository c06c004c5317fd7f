"""The catalogue, the files on disk, the cases and the documentation name the same checks."""

from pathlib import Path

import pytest

from jobs.cli.commands.checks import family, manual
from jobs.cli.docs import stale_pages
from jobs.verify.catalogue import CHECKS
from jobs.verify.check import Check
from jobs.verify.verdict import VIOLATION

ROOT = Path(__file__).resolve().parents[2]
HEADINGS = ("What it finds:", "Why it ", "When it is legal:", "Evidence:")
SEVERITIES = {"error", "warning", "info"}


def test_every_file_is_in_the_catalogue_once() -> None:
    folder = ROOT / "jobs/verify/checks"
    on_disk = {f"{p.parent.name}/{p.stem}" for p in folder.glob("*/*.py") if p.stem != "__init__"}
    listed = [f"{family(check)}/{check.code}" for check in CHECKS]
    assert sorted(listed) == sorted(on_disk)


def test_every_check_has_cases() -> None:
    cases = {path.stem for path in (ROOT / "tests/checks").glob("*/*.yaml")}
    assert {check.code for check in CHECKS} - cases == set()


@pytest.mark.parametrize("check", CHECKS, ids=[check.code for check in CHECKS])
def test_a_manual_has_all_headings_in_order(check: Check) -> None:
    text = manual(check)
    places = [text.find(heading) for heading in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)
    assert check.severity in SEVERITIES
    assert all(excuse.verdict != VIOLATION for excuse in check.excuses)


def test_generated_pages_are_fresh() -> None:
    assert stale_pages() == []
