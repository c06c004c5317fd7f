"""Times an audit of healthy dumps of several sizes, stage by stage.

    python benchmarks/run.py [--transactions 200000 2000000] [--kafka-libs DIR] \\
        [--coordinator]

Prints, for each size, transactions/s, batches/s, MB/s, peak memory of driver and workers, and the
seconds of each stage. `--kafka-libs` names a folder with Kafka's jars: then the time that its own
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

from benchmarks.make_dump import make_dump
from jobs._audit import Request
from jobs._progress import Progress
from jobs._session import spark_session
from jobs._settings import load
from jobs._write import result_tables, write
from jobs.main import audit

PARTITIONS = 8


def resident_bytes() -> int:
    """Memory of this process and all below it: the driver's JVM and the Python workers."""
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=True
    )
    rows = [tuple(map(int, line.split())) for line in listing.stdout.splitlines()]
    family = {os.getpid()}
    grown = True
    while grown:
        more = {pid for pid, parent, _ in rows if parent in family} - family
        family |= more
        grown = bool(more)
    return sum(size for pid, _, size in rows if pid in family) * 1024


class PeakMemory:
    """Samples the resident memory twice a second while it is entered."""

    def __enter__(self) -> "PeakMemory":
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def _sample(self) -> None:
        while not self._done.wait(0.5):
            self.peak = max(self.peak, resident_bytes())

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


def dump_log_seconds(libs: Path, dump: Path) -> float:
    """Seconds that kafka-dump-log needs to print the segments of a dump."""
    files = ",".join(str(path) for path in sorted(dump.glob("*/*.log")))
    start = time.monotonic()
    command = ["java", "-cp", f"{libs}/*", "kafka.tools.DumpLogSegments", "--files", files]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def measure(transactions: int, folder: Path, libs: Path | None, coordinator: bool) -> None:
    """One size: makes the dump, audits it into Delta, prints the figures."""
    dump, out = folder / "dump", folder / "out"
    size = make_dump(dump, transactions, PARTITIONS, coordinator)
    with spark_session() as spark, PeakMemory() as memory:
        spark.range(1).count()
        start = time.monotonic()
        progress = Progress(spark, quiet=True)
        done = audit(spark, Request([dump], str(out), None, "records", load()), progress)
        with progress.stage("write"):
            write(spark, done, result_tables(spark, done))
        seconds = time.monotonic() - start
        done.release()
    stages = ", ".join(f"{name} {took:.1f}" for name, took in progress.seconds.items())
    print(
        f"{transactions:,} transactions, {size / 1e6:,.0f} MB: {seconds:.1f} s after start-up "
        f"({stages}); {transactions / seconds:,.0f} transactions/s, "
        f"{2 * transactions / seconds:,.0f} batches/s, {size / 1e6 / seconds:,.0f} MB/s, "
        f"peak {memory.peak / 1e9:.1f} GB, verdict {done.verdict.verdict}"
    )
    if libs is not None:
        print(f"    kafka-dump-log, printing only: {dump_log_seconds(libs, dump):.1f} s")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transactions", type=int, nargs="+", default=[200_000, 2_000_000])
    parser.add_argument("--kafka-libs", type=Path)
    parser.add_argument(
        "--coordinator", action="store_true", help="with a whole __transaction_state"
    )
    given = parser.parse_args()
    for transactions in given.transactions:
        folder = Path(tempfile.mkdtemp(prefix="eosaudit-bench-"))
        try:
            measure(transactions, folder, given.kafka_libs, given.coordinator)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
