"""How much faster an audit is with two single-core workers than with one.

    PYTHONPATH=.:tests python -m benchmarks.spread [--transactions 22000000] [--runs 1]

One dump, audited on a standalone cluster of one worker and of two, in turns; each audit is a
command from its start to its end, and its driver a process beside the workers. Each worker has a
core of this machine for all that it starts. The driver may use all cores: on a machine of two
cores it has one for itself beside one worker, and none beside two, so that the quotient is a lower
bound. Prints the seconds of each stage on either cluster, and their quotient.
"""

import argparse
import re
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from faults.cluster import standalone

from benchmarks.make_dump import make_dump

HERE = Path(__file__).resolve().parent.parent
STAGE = re.compile(r"eosaudit: (\w+): ([\d.]+) s(?:,|$)", re.MULTILINE)
WHOLE = "command"
Seconds = dict[str, float]


def audited(dump: Path, scratch: Path, workers: int, memory: str) -> Seconds:
    """Seconds of each stage, and of the whole command, with so many workers."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        with standalone(Path(folder) / "cluster", workers, memory, pinned=True) as (master, _):
            options = ["--master", master, "--conf", f"spark.executor.memory={memory}"]
            words = ["audit", "--dump", str(dump), "--out", f"{folder}/out"]
            start = time.monotonic()
            # spark-submit gives both streams of the driver to its own output.
            done = subprocess.run(
                ["./spark-submit.sh", *options, "--", *words],
                cwd=HERE, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            seconds = time.monotonic() - start
        if done.returncode != 0:
            raise RuntimeError(f"exit code {done.returncode} of a healthy dump: {done.stdout}")
    return {name: float(took) for name, took in STAGE.findall(done.stdout)} | {WHOLE: seconds}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transactions", type=int, default=22_000_000)
    parser.add_argument("--memory", default="4g", help="of each executor")
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    taken: dict[int, list[Seconds]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="eosaudit-spread-") as folder:
        scratch = Path(folder)
        make_dump(scratch / "dump/broker-1", given.transactions)
        for _ in range(given.runs):
            for workers in (1, 2):
                taken[workers].append(audited(scratch / "dump", scratch, workers, given.memory))
    for name in taken[1][0]:
        one, two = (statistics.median(run[name] for run in taken[workers]) for workers in (1, 2))
        print(f"{name:10} {one:7.1f} s with one, {two:7.1f} with two: {one / max(two, 0.1):.2f}")


if __name__ == "__main__":
    main()
