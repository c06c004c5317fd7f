"""Audits of the sample in processes of their own, and what each has left in its folder."""

import json
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests/dumps/hanging-sample"
AS_OF = 1795240070221
LONGEST = 3600.0  # s; an audit of the sample that takes longer hangs
FOUND, BROKEN_DOWN, HANGS = 1, 3, -1
LOCAL = ("--master", "local[2]")


class Outcome(NamedTuple):
    """What an audit left: its exit code, its verdict, and the rows of each table."""

    code: int
    verdict: str | None
    rows: dict[str, int]


def start(
    out: Path, log: Path, dump: Path = SAMPLE, options: Sequence[str] = LOCAL
) -> "subprocess.Popen[bytes]":
    """An audit. `options`: of spark-submit."""
    with log.open("ab") as told:
        return subprocess.Popen(
            [ROOT / "spark-submit.sh", *options, "--", "audit", "--quiet", "--dump", dump,
             "--out", out, "--as-of", str(AS_OF)],
            stdout=told, stderr=told, start_new_session=True,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
        )  # fmt: skip


def ended(audit: "subprocess.Popen[bytes]") -> int:
    """Its exit code; HANGS where it does not end."""
    try:
        return audit.wait(LONGEST)
    except subprocess.TimeoutExpired:
        return HANGS


def rows_of(out: Path) -> dict[str, int]:
    """Rows of each Delta table, by the statistics of the files that its log names last."""
    found: dict[str, int] = {}
    for log in sorted(out.glob("*/_delta_log")):
        files: dict[str, int] = {}
        for commit in sorted(log.glob("*.json")):
            for line in commit.read_text().splitlines():
                action = json.loads(line)
                if "add" in action:
                    statistics = json.loads(action["add"]["stats"])
                    files[action["add"]["path"]] = statistics["numRecords"]
                elif "remove" in action:
                    files.pop(action["remove"]["path"], None)
        found[log.parent.name] = sum(files.values())
    return found


def outcome(out: Path, code: int) -> Outcome:
    verdict = out / "verdict.json"
    return Outcome(code, verdict.read_text() if verdict.exists() else None, rows_of(out))


def is_sealed(out: Path) -> bool:
    """Whether SHA256SUMS is there and right: it says that a report is whole."""
    sums = out / "SHA256SUMS"
    if not sums.exists():
        return False
    command = ["sha256sum", "--check", "--quiet", "--strict", sums.name]
    done = subprocess.run(command, cwd=out, check=False, capture_output=True)
    return done.returncode == 0


def undisturbed(folder: Path, options: Sequence[str] = LOCAL) -> tuple[Outcome, float]:
    """The audit that nothing happens to, and its seconds."""
    began = time.monotonic()
    code = ended(start(folder / "reference", folder / "reference.log", options=options))
    return outcome(folder / "reference", code), time.monotonic() - began


def wrong_after(got: Outcome, right: Outcome, out: Path) -> str | None:
    """What is wrong with what a disturbed audit left, or None.

    It must not look whole: no verdict, or the right one; no seal, or one that fits.
    """
    if got.code == HANGS:
        return "it hangs"
    if got.verdict is not None and got.verdict != right.verdict:
        return "another verdict"
    if got.code in (0, FOUND) and got != right:
        return f"exit code {got.code}, and not the tables of a whole audit"
    if (out / "SHA256SUMS").exists() and not is_sealed(out):
        return "SHA256SUMS of another report"
    return None
