"""Files of a policy: what is read, and what a broken one is told."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.model.errors import UsageError
from jobs.policy.suites import SUBJECTS, chosen, load

ROOT = Path(__file__).resolve().parents[2]
ONE = {"type": "expect_table_row_count_to_equal", "kwargs": {"value": 0}}


def folder(tmp_path: Path, **files: str) -> Path:
    made = tmp_path / "policy"
    made.mkdir(exist_ok=True)
    for name, content in files.items():
        (made / f"{name.replace('__', '.')}.json").write_text(content)
    return made


def suite(*expectations: object) -> str:
    return json.dumps({"name": "any", "expectations": expectations})


def test_a_table_may_have_several_files(tmp_path: Path) -> None:
    made = folder(tmp_path, topic_state=suite(ONE), topic_state__payments=suite(ONE, ONE))
    (made / "README.md").write_text("not read")
    policy = load(made)
    assert [(s.name, s.subject, len(s.expectations)) for s in policy.suites] == [
        ("topic_state", "topic_state", 1),
        ("topic_state.payments", "topic_state", 2),
    ]
    assert policy.problems == []


def test_the_digest_is_that_of_the_content_and_not_of_the_place(tmp_path: Path) -> None:
    one = load(folder(tmp_path, violation=suite(ONE)))
    (tmp_path / "else").mkdir()
    assert load(folder(tmp_path / "else", violation=suite(ONE))).digest == one.digest
    assert load(folder(tmp_path, violation=suite(ONE, ONE))).digest != one.digest


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("topic_stat", suite(ONE), "there is no table topic_stat; did you mean topic_state?"),
        ("txn", suite(ONE), "there is no table txn; "),
        ("violation", "{", "not valid JSON: "),
        ("violation", "[]", '"expectations" must be a list'),
        ("violation", suite("x"), '"expectations" must be a list'),
        ("violation", suite({"type": 3}), '"expectations" must be a list'),
        ("violation", suite({"type": "a", "kwargs": []}), '"expectations" must be a list'),
        ("violation", suite(), "the suite has no expectations"),
    ],
)
def test_a_broken_file_is_told_in_a_sentence(
    tmp_path: Path, name: str, content: str, told: str
) -> None:
    policy = load(folder(tmp_path, **{name: content, "check_run": suite(ONE)}))
    (problem,) = policy.problems
    assert problem.startswith(f"{name}.json: ")
    assert told in problem
    assert [s.subject for s in policy.suites] == ["check_run"]


def test_a_folder_without_suites_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        chosen(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="no file TABLE"):
        chosen(str(tmp_path))
    assert chosen(None) is None


def test_the_shipped_policy_travels_in_the_zip(tmp_path: Path) -> None:
    policy = load()
    assert policy.problems == []
    assert {s.subject for s in policy.suites} <= set(SUBJECTS)
    folders = ["jobs", "schemas", "udfs", "conf"]
    zipped = subprocess.run(
        [
            sys.executable,
            str(ROOT / "scripts/zip_code.py"),
            str(ROOT),
            str(tmp_path),
            "x",
            *folders,
        ],
        check=True,
        capture_output=True,
        text=True,
    )
    program = "from jobs.policy.suites import load; print(load().digest)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": zipped.stdout.strip()},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == policy.digest
