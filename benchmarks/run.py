"""Times an audit of healthy dumps of several sizes, stage by stage, each in a process of its own.

    python benchmarks/run.py [--transactions 2000 200000 2000000] [--kafka-libs DIR] \\
        [--coordinator] [--replicas 3] [--runs 3]
    python benchmarks/run.py --shapes plain one-partition million-producers

Prints, for each size, transactions/s, batches/s, MB/s, processor seconds and peak memory of driver
and workers, and the seconds of each stage. What the smallest dump takes is the fixed cost of an
audit on a cold JVM. Runs differ by a fifth: with `--runs` the sizes take turns, and each is made
anew; compare medians.
`--kafka-libs` names a folder with Kafka's jars: then the time that its own
DumpLogSegments needs to print the same files is measured beside it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.make_dump import PLAIN, SHAPES, make_dump
from jobs.audit.audit import Request
from jobs.audit.write import result_tables, write
from jobs.cli.progress import Progress
from jobs.main import audit
from jobs.model.settings import load
from jobs.spark.session import spark_session

TICKS = os.sysconf("SC_CLK_TCK")


def _proportional_bytes(pid: int) -> int:
    """Memory of a process; pages that it shares with n others count as an n-th. 0 if it is gone."""
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    except OSError:
        return 0
    sizes = [line.split()[1] for line in told.splitlines() if line.startswith("Pss:")]
    return sum(map(int, sizes)) * 1024


def processes() -> dict[int, float]:
    """This process and all below it, the driver's JVM and the Python workers: processor seconds.

    With those of workers that have ended: Spark ends them when they were idle for a minute.
    """
    told = {}
    for one in Path("/proc").glob("[0-9]*/stat"):
        try:
            # Behind the name, which may hold anything: state, parent, and from the twelfth on
            # ticks of its own and of the children that it has waited for.
            fields = one.read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        told[int(one.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / TICKS
    family = {os.getpid()}
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in told.items() if parent in family} - family
        family |= more
        grown = bool(more)
    return {pid: told[pid][1] for pid in family}


class PeakMemory:
    """Samples the memory twice a second while it is entered."""

    def __enter__(self) -> "PeakMemory":
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def _sample(self) -> None:
        while not self._done.wait(0.5):
            self.peak = max(self.peak, sum(map(_proportional_bytes, processes())))

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def dump_log_seconds(libs: Path, dump: Path) -> float:
    """Seconds that kafka-dump-log needs to print the segments of a dump."""
    files = ",".join(str(path) for path in sorted(dump.rglob("*.log")))
    start = time.monotonic()
    command = ["java", "-cp", f"{libs}/*", "kafka.tools.DumpLogSegments", "--files", files]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def measure(given: argparse.Namespace, folder: Path) -> None:
    """One size or shape: makes the dump, audits it into Delta, prints the figures."""
    dump, out = folder / "dump", folder / "out"
    transactions, shape = given.transactions[0], PLAIN
    if given.shapes:
        transactions, shape = SHAPES[given.shapes[0]]
    nodes = range(1, given.replicas + 1)
    sizes = [
        make_dump(dump / f"broker-{node}", transactions, shape, given.coordinator, node)
        for node in nodes
    ]
    size, batches = sum(sizes), transactions * (shape.batches + 1) * len(sizes)
    with spark_session() as spark, PeakMemory() as memory:
        spark.range(1).count()
        before = sum(processes().values())
        start = time.monotonic()
        progress = Progress(spark, quiet=True)
        done = audit(spark, Request([dump], str(out), None, "records", load()), progress)
        with progress.stage("write"):
            write(spark, done, result_tables(spark, done))
        seconds = time.monotonic() - start
        used = sum(processes().values()) - before
        done.release()
    stages = ", ".join(f"{name} {took:.1f}" for name, took in progress.seconds.items())
    print(
        f"{given.shapes[0] if given.shapes else 'plain'}: "
        f"{transactions:,} transactions, {batches:,} batches, {size / 1e6:,.0f} MB: "
        f"{seconds:.1f} s after start-up ({stages}); {transactions / seconds:,.0f} transactions/s, "
        f"{batches / seconds:,.0f} batches/s, {size / 1e6 / seconds:,.0f} MB/s, "
        f"{used:.0f} processor seconds, peak {memory.peak / 1e9:.1f} GB, "
        f"verdict {done.verdict.verdict}"
    )
    if done.verdict.verdict != "clean":
        raise SystemExit("The made dump is healthy: this audit is wrong, and so are its figures.")
    if given.kafka_libs is not None:
        seconds = dump_log_seconds(given.kafka_libs, dump)
        print(f"    kafka-dump-log, printing only: {seconds:.1f} s")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transactions", type=int, nargs="+", default=[2_000, 200_000, 2_000_000])
    parser.add_argument("--kafka-libs", type=Path)
    parser.add_argument(
        "--coordinator", action="store_true", help="with a whole __transaction_state"
    )
    parser.add_argument(
        "--shapes", nargs="+", choices=SHAPES, default=[], help="instead of sizes: how they lie"
    )
    parser.add_argument("--replicas", type=int, default=1, help="brokers that have all of it")
    parser.add_argument("--runs", type=int, default=1, help="how often each size is measured")
    given = parser.parse_args()
    if len(given.shapes or given.transactions) * given.runs > 1:
        _each_alone(given)
        return
    folder = Path(tempfile.mkdtemp(prefix="eosaudit-bench-"))
    try:
        measure(given, folder)
    finally:
        shutil.rmtree(folder)


def _each_alone(given: argparse.Namespace) -> None:
    """Each run in a new process, so that none meets a JVM that another has warmed."""
    what = "--shapes" if given.shapes else "--transactions"
    for one in (given.shapes or given.transactions) * given.runs:
        command = [sys.executable, __file__, what, str(one), "--replicas", str(given.replicas)]
        command += ["--kafka-libs", str(given.kafka_libs)] if given.kafka_libs else []
        subprocess.run(command + ["--coordinator"] * given.coordinator, check=True)


if __name__ == "__main__":
    main()
