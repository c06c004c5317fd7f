"""The pages of docs/ name files that exist, so that a path in them leads somewhere."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(
    r"`((?:jobs|udfs|schemas|tests|conf|scripts|benchmarks)/[\w./-]+\.(?:py|sh|toml))`"
)
PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_files_named_on_a_page_exist(page: Path) -> None:
    named = set(NAMED.findall(page.read_text("utf-8")))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("top", ["jobs", "udfs"])
def test_the_architecture_names_each_package(top: str) -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    packages = [path.parent.name for path in sorted(ROOT.glob(f"{top}/*/__init__.py"))]
    assert [name for name in packages if not re.search(rf"`({top}/)?{name}`", text)] == []


# A file of the code, and the name in it where the answer is.
PATH_AND_NAME = re.compile(r"`((?:jobs|udfs|schemas)/[\w/]+\.py)`(?: \(`(\w+)`\))?")
FEWEST_QUESTIONS, TWO_SCREENS = 10, 100


def answers() -> dict[str, list[tuple[str, str]]]:
    """Question -> path and name of each station on the way to its answer."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.count("?") and line[:1] == "|"]
    return {question.strip(): PATH_AND_NAME.findall(path) for _, question, path, _ in rows}


@pytest.mark.parametrize("question", answers())
def test_the_path_to_an_answer_exists_with_the_names_in_it(question: str) -> None:
    stations = answers()[question]
    assert stations
    for path, name in stations:
        assert re.search(rf"\b{name}\b", (ROOT / path).read_text("utf-8")), f"{path}: {name}"


def test_ten_questions_are_answered_on_two_screens() -> None:
    assert len(answers()) >= FEWEST_QUESTIONS
    lines = (ROOT / "docs/architecture.md").read_text("utf-8").splitlines()
    assert len(lines) <= TWO_SCREENS


def test_packages_named_in_the_rooms_exist() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    named = re.findall(r"`((?:jobs|udfs)/\w+)`", text)
    assert named and [name for name in named if not (ROOT / name / "__init__.py").is_file()] == []


def test_the_readme_shows_the_incident_and_the_first_step_of_the_sample_report() -> None:
    after = (ROOT / "README.md").read_text("utf-8").split("A part of the output:\n\n```text\n")[1]
    shown = [line.strip().removesuffix("…").strip() for line in after.split("```")[0].splitlines()]
    plans = json.loads((ROOT / "docs/sample-report/repair.json").read_text("utf-8"))
    (incident,) = plans["incidents"]
    assert f"1. {incident['title']} ({incident['grade']}): 1 finding" in shown
    first = incident["steps"][0]["what"]
    assert [line for line in shown if line and first.startswith(line.removeprefix("first: "))]
