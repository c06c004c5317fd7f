"""The catalogue, the files on disk, the cases and the documentation name the same checks."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from jobs.cli.commands.checks import HEADING, described, family, manual
from jobs.cli.docs import stale_pages
from jobs.verify.catalogue import CHECKS, FAMILIES
from jobs.verify.check import Check
from schemas.verdicts import VIOLATION

ROOT = Path(__file__).resolve().parents[2]
HEADINGS = ("What it finds:", "Why it ", "When it is legal:", "Evidence:")
SEVERITIES = {"error", "warning", "info"}
NAMED = """
from jobs.verify import catalogue
print(catalogue.__loader__.archive, *(check.code for check in catalogue.CHECKS))
"""


def test_reports_show_each_paragraph_of_a_manual_below_its_heading() -> None:
    for check in CHECKS:
        sections = described(check).sections
        headings = [heading for heading, _ in sections]
        assert all(HEADING.match(f"{heading}: ") for heading in headings), check.code
        assert len(set(headings)) == len(headings), check.code
        assert all(text.strip(".") for _, text in sections), check.code
        shown = "".join(f"{heading}:{text}" for heading, text in sections)
        _, _, told = manual(check).partition("\n\n")
        assert "".join(shown.split()) == "".join(told.split()), check.code


def test_every_file_is_in_the_catalogue_once() -> None:
    folder = ROOT / "jobs/verify/checks"
    on_disk = {f"{p.parent.name}/{p.stem}" for p in folder.glob("*/*.py") if p.stem != "__init__"}
    listed = [f"{family(check)}/{check.code}" for check in CHECKS]
    assert sorted(listed) == sorted(on_disk)
    assert set(FAMILIES) == {name.partition("/")[0] for name in on_disk}


def test_the_catalogue_is_the_same_in_a_zip(tmp_path: Path) -> None:
    code = tmp_path / "code.zip"
    with zipfile.ZipFile(code, "w") as packed:
        for folder in ("jobs", "schemas", "udfs", "conf"):
            for path in (ROOT / folder).rglob("*"):
                if path.is_file() and path.suffix != ".pyc":
                    packed.write(path, path.relative_to(ROOT))
    printed = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(code)!r})\n{NAMED}"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    assert printed == [str(code), *(check.code for check in CHECKS)]


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
