"""Whether each finding of an audit follows from the bytes that it names (`recheck.py`).

A finding is rechecked while its dump is still there, and carries the result: `rechecked`, and `why`
where it is not confirmed. Of a finding with several places only the first row carries it.

Python has zstd from 3.14 on. `EOSAUDIT_RECHECK_PYTHON` names such an interpreter, which then
rechecks what this one leaves undecided.
"""

import json
import os
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from laws.run import Finding

from jobs.report.formats import RECHECK
from jobs.report.recheck.findings import recheck
from jobs.report.recheck.report_files import FORMAT
from jobs.report.recheck.results import CONFIRMED, HOLDS, REFUTED, UNDECIDED
from jobs.report.recheck_file import recheck_file

RESULTS = CONFIRMED, HOLDS, REFUTED, UNDECIDED
WITH_ZSTD = os.environ.get("EOSAUDIT_RECHECK_PYTHON")


def with_recheck(found: Sequence[Finding], dump: Path, as_of: int) -> list[Finding]:
    """The findings with what became of them; `as_of`: the moment of the audit, ms."""
    told = []
    for one in found:
        first = (one["places"] or [one])[0]
        if all(one[name] == value for name, value in first.items()):
            result, why = recheck(one, [dump], as_of=as_of)
            if result == UNDECIDED and WITH_ZSTD:
                result, why = _rechecked_by(WITH_ZSTD, one, dump, as_of)
            told.append(one | {"rechecked": result, "why": why})
        else:
            told.append(one)
    return told


def _rechecked_by(python: str, finding: Finding, dump: Path, as_of: int) -> tuple[str, str]:
    """What `recheck.py` tells of a finding under another interpreter, as users run it."""
    with tempfile.TemporaryDirectory() as folder:
        script, report = Path(folder) / RECHECK, Path(folder) / "report.json"
        script.write_text(recheck_file(), encoding="utf-8")
        verdict = {"as_of_ms": as_of}
        told = {"format": FORMAT, "findings": [finding], "verdict": verdict}
        report.write_text(json.dumps(told), encoding="utf-8")
        done = subprocess.run(
            [python, str(script), str(report), str(dump)],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
    if not done.stdout:
        raise RuntimeError(f"{python} recheck.py: {done.stderr.strip()[-500:]}")
    result, _, why = done.stdout.splitlines()[0].partition(" ")
    return result, why.strip()


@dataclass
class Rechecked:
    """Results by check, and which findings were refuted, or neither confirmed nor refuted."""

    by_code: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    refuted: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def take(self, source: str, found: Iterable[Finding]) -> None:
        """Counts the findings that carry a result."""
        for one in found:
            result = one.get("rechecked")
            if result is None:
                continue
            self.by_code[one["code"]][result] += 1
            if result != CONFIRMED:
                place = f"{one['topic']}-{one['partition']} at {one['offset_first']}"
                told = self.refuted if result == REFUTED else self.open
                told.append(f"{result}: {source}: {one['code']} {place}: {one['why']}")

    def table(self) -> str:
        """The checks whose findings are not all confirmed, and all findings together."""
        rows = [
            "| check | confirmed | holds | refuted | undecided |",
            "|---|---|---|---|---|",
        ]
        total = sum(self.by_code.values(), Counter[str]())
        odd = {code: one for code, one in sorted(self.by_code.items()) if set(one) - {RESULTS[0]}}
        for name, one in [*((f"`{code}`", one) for code, one in odd.items()), ("all", total)]:
            rows.append(f"| {name} | " + " | ".join(f"{one[key]:,}" for key in RESULTS) + " |")
        return "\n".join(rows)
