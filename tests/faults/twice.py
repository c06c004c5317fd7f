"""Two audits into one folder at once: of the same dump, and of two dumps."""

import json
import shutil
from pathlib import Path

from faults.audits import SAMPLE, Outcome, ended, is_sealed, outcome, start, undisturbed
from faults.tally import Tally


def at_once(folder: Path, moments: int, tally: Tally) -> None:
    """Both kinds by turns; `right`: what one audit leaves."""
    right, _ = undisturbed(folder)
    other = folder / "other"
    shutil.copytree(SAMPLE, other)
    shutil.rmtree(other / "broker-0/fine-0")
    for number in range(moments):
        out, same = folder / f"twice-{number}", number % 2 == 0
        dumps = [SAMPLE, SAMPLE if same else other]
        audits = [start(out, folder / f"twice-{number}-{one}.log", dump) for one, dump in
                  enumerate(dumps)]  # fmt: skip
        codes = [ended(audit) for audit in audits]
        what = "the same dump twice at once" if same else "two dumps at once"
        found = outcome(out, max(codes))
        tally.judge(what, _wrong(out, codes, found, right, same), f"round {number}")


def _wrong(out: Path, codes: list[int], got: Outcome, right: Outcome, same: bool) -> str | None:
    if codes != [right.code, right.code]:
        return f"exit codes {codes}"
    if not is_sealed(out):
        return "the report is not that of one audit"
    if same:
        return None if got == right else f"{got} instead of {right}"
    if got.rows["audit"] != 2:
        return f"{got.rows['audit']} audits"
    if got.rows["violation"] != 2 * right.rows["violation"]:
        return f"{got.rows['violation']} findings"
    assert got.verdict is not None
    return None if json.loads(got.verdict)["exit_code"] == right.code else "another verdict"
