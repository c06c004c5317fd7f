"""docs/files.md has a row for every kind of file that the listing knows."""

import re
from pathlib import Path

from jobs.collect.manifest import BEFORE
from jobs.model.file_names import KINDS, KINDS_BY_NAME, KINDS_BY_SUFFIX

PAGE = (Path(__file__).resolve().parents[2] / "docs/files.md").read_text("utf-8")
ROWS = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]


def kinds(names: str) -> set[str]:
    """What stands in backticks in the rows of the files whose names hold `names`."""
    return {kind for row in ROWS if names in row[0] for kind in re.findall(r"`(\w+)`", row[1])}


def test_every_kind_has_a_row_and_every_row_a_kind() -> None:
    assert kinds("") == set(KINDS)


def test_the_rows_name_the_files_by_their_names() -> None:
    for suffix, kind in KINDS_BY_SUFFIX.items():
        assert kind in kinds(f"`N{suffix}`"), suffix
    for name, kind in KINDS_BY_NAME.items():
        assert kind in kinds(f"`{name}`"), name
    assert kinds(f"`{BEFORE}/") == {"earlier_coordinator_log"}
