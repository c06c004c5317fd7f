"""The pages of docs/ name files that exist, so that a path in them leads somewhere."""

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


def test_the_architecture_names_each_package_of_jobs() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    packages = [path.parent.name for path in sorted(ROOT.glob("jobs/*/__init__.py"))]
    assert [name for name in packages if name not in text] == []
