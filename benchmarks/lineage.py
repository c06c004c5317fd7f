"""Times the audit of applications with a break at their head, with and without its lineage.

    python -m benchmarks.lineage [--transactions 200000 1000000] [--runs 2] [--memory 2g]

Each audit is a process of its own, the whole command `audit` with its report, and the two sides
take turns. Without: nothing is derived of affected records, everything else is done. What is
suspect with lineage must be what the generator knows. Prints medians, their quotient, and each run.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.make_applications import Place, make_applications
from benchmarks.run import PeakMemory, processes
from jobs.incidents import incidents
from jobs.incidents.lineage import SUSPECT, Followed
from jobs.main import main as eosaudit
from jobs.spark.session import spark_session

SIDES = ("with", "without")
VIOLATIONS = 1


def audit(made: Path, side: str, memory: str) -> dict[str, float]:
    """One audit in this process: seconds, processor seconds, those of lineage, peak memory."""
    follow, lineage = incidents.affected, {"lineage_seconds": 0.0, "lineage_processor": 0.0}

    def timed(*given: Any) -> Followed:
        start, before = time.monotonic(), sum(processes().values())
        followed = Followed([], []) if side == "without" else follow(*given)
        lineage["lineage_seconds"] = time.monotonic() - start
        lineage["lineage_processor"] = sum(processes().values()) - before
        return followed

    incidents.affected = timed
    out = made / "out"
    start = time.monotonic()
    with PeakMemory() as peak, spark_session({"spark.driver.memory": memory}) as spark:
        code = eosaudit(["audit", "--dump", str(made / "broker-1"), "--out", str(out), "--quiet"])
        seconds = time.monotonic() - start
        used = sum(processes().values())
        if code != VIOLATIONS:
            raise SystemExit(f"The made dump has a violation, and the audit ended with {code}.")
        if side == "with":
            rows = spark.read.format("delta").load(str(out / "affected"))
            compare(rows.filter(rows.state == SUSPECT).collect(), made)
    shutil.rmtree(out)
    return {"seconds": seconds, "processor": used, "peak_gb": peak.peak / 1e9} | lineage


def compare(rows: list[Any], made: Path) -> None:
    """Ends where what is suspect is not what the generator knows. `rows`: of AFFECTED."""
    known = json.loads((made / "expected.json").read_text())
    expected = {name: Place(*numbers) for name, numbers in known.items()}
    found = {
        f"{row.topic}-{row.partition}": Place(row.first_offset, row.last_offset, row.transactions)
        for row in rows
    }
    if found != expected or len(rows) != len(found):
        raise SystemExit(f"Suspect is {found}, but made was {expected}.")


def measure(transactions: int, given: argparse.Namespace) -> None:
    """One size: makes the dump, audits it in turns, prints the figures."""
    made = Path(tempfile.mkdtemp(prefix="eosaudit-bench-", dir=given.under))
    figures: dict[str, list[dict[str, float]]] = {side: [] for side in SIDES}
    try:
        number, size = make_applications(made, transactions)
        known = json.loads((made / "expected.json").read_text())
        suspect = sum(place[2] for place in known.values())
        print(
            f"{number:,} transactions, {size / 1e6:,.0f} MB, {suspect:,} of them suspect in "
            f"{len(known)} partitions",
            flush=True,
        )
        for _ in range(given.runs):
            for side in SIDES:
                figures[side].append(_alone(made, side, given.memory))
                print(f"    {side}: {figures[side][-1]}", flush=True)
    finally:
        shutil.rmtree(made)
    medians = {
        (side, name): statistics.median(run[name] for run in figures[side])
        for side in SIDES
        for name in ("seconds", "processor")
    }
    for name in ("seconds", "processor"):
        one, other = (medians[side, name] for side in SIDES)
        print(
            f"    {name}: {one:.1f} with, {other:.1f} without, {one / other:.2f} times", flush=True
        )


def _alone(made: Path, side: str, memory: str) -> dict[str, float]:
    """An audit in a process of its own, which meets no JVM that another has warmed."""
    command = [sys.executable, "-m", "benchmarks.lineage", "--of", str(made), "--side", side]
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [*command, "--memory", memory], stdout=subprocess.PIPE, check=True, env=environment
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transactions", type=int, nargs="+", default=[200_000, 1_000_000])
    parser.add_argument("--runs", type=int, default=1, help="how often each side is measured")
    parser.add_argument("--memory", default="2g", help="heap of the driver")
    parser.add_argument("--under", type=Path, help="folder for dumps and tables")
    parser.add_argument("--of", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.of:
        print(json.dumps(audit(given.of, given.side, given.memory)))
        return
    for transactions in given.transactions:
        measure(transactions, given)


if __name__ == "__main__":
    main()
