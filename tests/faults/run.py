"""`make faults`: processes of an audit are killed at seeded moments, and it is run again.

    python -m faults.run --moments 100 --first-seed 1

The audit is that of the sample dump, in processes of its own. In each round one folder `--out` gets
a few audits that are killed (driver JVM, its Python, or a Python worker, without warning) and then
one that is left alone. An audit that was killed may have ended before; else it must not look whole:
no verdict, or the right one. The last audit must give the right verdict, and all tables the rows of
an undisturbed audit: nothing is lost, and nothing is there twice.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from faults.processes import VICTIMS, kill_all, kill_one

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests/dumps/hanging-sample"
AS_OF = 1795240070221
IN_A_ROUND = 4
LONGEST = 400.0  # s; an audit of the sample that takes longer hangs
FOUND, BROKEN_DOWN = 1, 3


class Outcome(NamedTuple):
    """What an audit left: its exit code, its verdict, and the rows of each table."""

    code: int
    verdict: str | None
    rows: dict[str, int]


def start(out: Path, log: Path) -> "subprocess.Popen[bytes]":
    """An audit of the sample."""
    with log.open("ab") as told:
        return subprocess.Popen(
            [ROOT / "spark-submit.sh", "audit", "--quiet", "--dump", SAMPLE, "--out", out,
             "--as-of", str(AS_OF)],
            stdout=told, stderr=told, start_new_session=True,
        )  # fmt: skip


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


def undisturbed(folder: Path) -> tuple[Outcome, float]:
    """The audit that nothing happens to, and its seconds."""
    began = time.monotonic()
    code = start(folder / "reference", folder / "reference.log").wait(LONGEST)
    return outcome(folder / "reference", code), time.monotonic() - began


def killed(chance: Random, out: Path, log: Path, seconds: float) -> tuple[str, float, int]:
    """An audit, one process of which is killed: which, when (s), and the exit code."""
    kind, moment = chance.choice(VICTIMS), chance.uniform(1.0, seconds)
    audit = start(out, log)
    began = time.monotonic()
    try:
        audit.wait(moment)
    except subprocess.TimeoutExpired:
        # A Python worker is there now and then: its next moment is as good.
        while audit.poll() is None and not kill_one(audit.pid, kind):
            time.sleep(0.02)
    took = time.monotonic() - began
    try:
        code = audit.wait(LONGEST)
    except subprocess.TimeoutExpired:
        code = -1
    kill_all(audit.pid)
    return kind, took, code


def wrong_after_kill(got: Outcome, right: Outcome) -> str | None:
    """What is wrong with what a killed audit left, or None."""
    if got.code == -1:
        return "it hangs"
    if got.verdict is not None and got.verdict != right.verdict:
        return "another verdict"
    if got.code in (0, FOUND) and got != right:
        return f"exit code {got.code}, and not the tables of a whole audit"
    return None


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    bad, done, codes = 0, 0, Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        right, seconds = undisturbed(folder)
        say(
            f"undisturbed: {seconds:.0f} s, exit code {right.code}, {sum(right.rows.values())} rows"
        )
        if right.code != FOUND:
            return 1
        seed = asked.first_seed
        while done < asked.moments:
            chance, out = Random(f"faults {seed}"), folder / f"out-{seed}"
            for _ in range(min(IN_A_ROUND, asked.moments - done)):
                log = folder / f"{seed}.log"
                kind, took, code = killed(chance, out, log, seconds)
                done += 1
                codes[f"{kind}: exit code {code}"] += 1
                wrong = wrong_after_kill(outcome(out, code), right)
                bad += wrong is not None
                say(
                    f"seed {seed}: {kind} killed at {took:.1f} s, exit code {code}: {wrong or 'ok'}"
                )
            code = start(out, folder / f"{seed}.log").wait(LONGEST)
            again = outcome(out, code)
            if again != right:
                bad += 1
                say(f"seed {seed}: the last audit: {again} instead of {right}")
            seed += 1
    for what, number in sorted(codes.items()):
        say(f"  {what}: {number}")
    say(f"{done} moments, {bad} wrong")
    return 1 if bad else 0


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
