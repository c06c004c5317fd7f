"""The files of an acceptance policy: expectation suites as Great Expectations stores them, JSON.

One file is about one table or view: `TABLE.json` or `TABLE.ANYTHING.json`.
"""

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jobs.model.errors import UsageError
from schemas.policy_views import POLICY_VIEWS
from schemas.tables import TABLES

# Too many rows, and the result itself: neither can be judged.
NO_SUBJECTS = ("txn", "expectation_result")
DEFAULT = "default"
FEW = 25
SUBJECTS = (*POLICY_VIEWS, *(name for name in TABLES if name not in NO_SUBJECTS))


@dataclass(frozen=True)
class Suite:
    """One file. `name`: its name without .json; `subject`: the table or view it is about."""

    name: str
    subject: str
    expectations: list[dict[str, Any]]


@dataclass(frozen=True)
class Policy:
    """All suites of a folder, in the order of their names.

    `digest`: SHA-256 over names and contents, 32 digits. `problems`: sentences, one a file that
    is no suite; a policy with problems cannot be evaluated and is never met.
    """

    digest: str
    suites: list[Suite]
    problems: list[str]


def chosen(name: str | None) -> Policy | None:
    """The policy that `--policy NAME` means: `default`, or a folder; none without the option."""
    if name is None:
        return None
    return load() if name == DEFAULT else load(Path(name))


def load(folder: Path | None = None) -> Policy:
    """The policy of a folder; without one that of `conf/policy`, which travels with the code.

    Raises UsageError for a folder that is none or holds no suite.
    """
    files = _shipped() if folder is None else _files(folder)
    digest = hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()[:32]
    suites, problems = [], []
    for name, content in sorted(files.items()):
        try:
            suites.append(_suite(name, content))
        except ValueError as error:
            problems.append(f"{name}: {str(error).removesuffix('.')}.")
    return Policy(digest, suites, problems)


def _shipped() -> dict[str, str]:
    folder = resources.files("conf").joinpath("policy")
    return {file.name: file.read_text("utf-8") for file in folder.iterdir() if is_suite(file.name)}


def _files(folder: Path) -> dict[str, str]:
    try:
        files = {
            path.name: path.read_text("utf-8", errors="replace")
            for path in folder.iterdir()
            if is_suite(path.name)
        }
    except OSError as error:
        raise UsageError(f"--policy {folder}: cannot be read: {error.strerror}.") from error
    if not files:
        raise UsageError(
            f"--policy {folder}: it has no file TABLE.json; see conf/policy for an example."
        )
    return files


def is_suite(name: str) -> bool:
    """Whether a file of a policy folder is read: .json and not hidden."""
    return name.endswith(".json") and not name.startswith(".")


def _suite(name: str, content: str) -> Suite:
    """Raises ValueError with the rest of a sentence that begins with the name of the file."""
    try:
        read = json.loads(content)
    except ValueError as error:
        raise ValueError(f"not valid JSON: {error}") from error
    expectations = read.get("expectations") if isinstance(read, Mapping) else None
    if not isinstance(expectations, list) or not all(_is_expectation(e) for e in expectations):
        raise ValueError(
            'no expectation suite: "expectations" must be a list of {"type": …, "kwargs": {…}}'
        )
    if not expectations:
        raise ValueError("the suite has no expectations; remove the file if that is intended")
    subject = name.split(".", maxsplit=1)[0]
    if subject not in SUBJECTS:
        raise ValueError(unknown("table", subject, SUBJECTS))
    return Suite(name.removesuffix(".json"), subject, expectations)


def _is_expectation(item: Any) -> bool:
    return (
        isinstance(item, Mapping)
        and isinstance(item.get("type"), str)
        and isinstance(item.get("kwargs", {}), Mapping)
    )


def unknown(what: str, name: str, known: tuple[str, ...]) -> str:
    """No such table, column or expectation; the nearest spelling, else all where they are few."""
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"there is no {what} {name}; did you mean {near[0]}?"
    few = f"; there are {', '.join(known)}" if len(known) <= FEW else ""
    return f"there is no {what} {name}{few}"
