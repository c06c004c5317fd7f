"""Times what a person waits for: small audits as whole commands, beside the floor, and warm ones.

    python -m benchmarks.small [--runs 3] [--audits 10] [--against CHECKOUT] [--policy]

The floor is the same spark-submit with a program that writes and reads one Delta table. Floor and
audit of the sample take turns, each a process from its start to its end; `--against` adds the audit
of another checkout, set up like this one. Then so many audits of the sample in one session. Prints
medians and their ratio to the floor, and processor seconds, which a busy machine changes less.
"""

import argparse
import io
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from benchmarks.run import processes
from jobs.main import main as eosaudit
from jobs.spark.session import spark_session

HERE = Path(__file__).resolve().parent.parent
SAMPLE = "tests/dumps/hanging-sample"
AS_OF = "1795240070221"
FLOOR = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(10).write.format("delta").save(sys.argv[1])
assert spark.read.format("delta").load(sys.argv[1]).count() == 10
spark.stop()
"""
Times = tuple[float, float]


def submitted(checkout: Path, out: Path, policy: bool) -> list[str]:
    """The command of an audit of the sample."""
    words = ["audit", "--dump", SAMPLE, "--out", str(out), "--as-of", AS_OF]
    return ["./spark-submit.sh", *words, *(["--policy", "default"] if policy else [])]


def floor_command(scratch: Path) -> str:
    """What spark-submit.sh would become, for another program."""
    command = submitted(HERE, scratch / "none", policy=False)
    told = subprocess.run(
        [command[0], "--dry-run", *command[1:]],
        cwd=HERE,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    (scratch / "floor.py").write_text(FLOOR)
    before, _ = told.split(str(HERE / "jobs/main.py"))
    return f"{before}{scratch / 'floor.py'} {scratch / 'table'}"


def timed(command: str | list[str], checkout: Path, expected: int) -> Times:
    """Seconds, and processor seconds of the process and its children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(
        command, shell=isinstance(command, str), cwd=checkout, check=False, capture_output=True
    )
    seconds = time.monotonic() - start
    if done.returncode != expected:
        raise RuntimeError(done.stderr.decode())
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def cold(runs: int, against: Path | None, policy: bool) -> None:
    """Whole commands in turns."""
    sides: dict[str, list[Times]] = {"floor": [], "audit": []}
    checkouts = {"audit": HERE}
    if against:
        sides["audit before"], checkouts["audit before"] = [], against.resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        floor = floor_command(scratch)
        for _ in range(runs):
            for side, times in sides.items():
                for made in (scratch / "table", scratch / "out"):
                    shutil.rmtree(made, ignore_errors=True)
                if side == "floor":
                    times.append(timed(floor, HERE, 0))
                else:
                    checkout = checkouts[side]
                    times.append(timed(submitted(checkout, scratch / "out", policy), checkout, 1))
    least = statistics.median(seconds for seconds, _ in sides["floor"])
    for side, times in sides.items():
        seconds, processor = (statistics.median(one) for one in zip(*times, strict=True))
        print(f"{side}: {seconds:.1f} s, {processor:.1f} processor s, {seconds / least:.2f} floors")


def warm(audits: int, policy: bool) -> None:
    """Audits of one session, the first of it cold."""
    words = ["audit", "--dump", str(HERE / SAMPLE), "--as-of", AS_OF, "--quiet"]
    words += ["--policy", "default"] if policy else []
    with tempfile.TemporaryDirectory() as folder, spark_session():
        for number in range(1, audits + 1):
            before, start = sum(processes().values()), time.monotonic()
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                eosaudit([*words, "--out", f"{folder}/{number}"])
            seconds = time.monotonic() - start
            used = sum(processes().values()) - before
            print(f"audit {number} of a session: {seconds:.1f} s, {used:.1f} processor s")


def main() -> None:
    """Reads the options and prints both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="whole commands of each side")
    parser.add_argument("--audits", type=int, default=10, help="audits of one session")
    parser.add_argument("--against", type=Path, help="another checkout, to be compared with")
    parser.add_argument("--policy", action="store_true", help="audits with --policy default")
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = str(HERE)
    if given.runs:
        cold(given.runs, given.against, given.policy)
    if given.audits:
        warm(given.audits, given.policy)


if __name__ == "__main__":
    main()
