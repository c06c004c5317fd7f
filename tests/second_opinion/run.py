"""`make second-opinion`: random logs and dumps, audited, and answered by the second opinion.

    python -m second_opinion.run --logs 100000      random logs, many in one audit
    python -m second_opinion.run --dumps            every dump of tests/dumps and of the corpus
    python -m second_opinion.run --exports 100000   the export's kernel on random logs; no Spark
    python -m second_opinion.run --answers          what brokers answered about these; no Spark

Exit code 1 where any answer differs.
"""

import argparse
import os
import re
import shutil
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from jobs import main as entry
from jobs.audit.audit import Request, _folded_aborts
from jobs.cli.progress import Progress
from jobs.model.settings import load
from jobs.replay.aborted_lists import aborted_lists
from jobs.spark.session import spark_session
from second_opinion import exports
from second_opinion.answers import answers as answers_of
from second_opinion.answers import unpacked
from second_opinion.compare import Compared, by_kind, compare, folders, told_by_audit
from second_opinion.random_logs import T0, write_logs

HERE = Path(__file__).resolve().parent.parent
CORPUS = HERE.parent.parent / "shared" / "corpus"
SHOWN = 5


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answers(spark: SparkSession, folder: Path) -> Compared:
    """Reads and replays a dump as an audit does, checks aside, and compares."""
    request = Request([folder], "unused", T0 + 600_000, "records", load(None))
    progress = Progress(None, quiet=True)
    dump, read = entry._read(spark, request, progress, request.configuration())
    with read.planned(spark):
        replayed, _ = entry._replay(spark, request, progress, dump, read)
        lists = aborted_lists(
            _folded_aborts(read.decoded),
            replayed.transactions,
            read.files,
            read.kept,
        )
        told = told_by_audit(spark, dump, read, replayed, lists.aborted(), request.settings)
    result = compare(told, folders(dump, folder))
    read.release()
    return result


def tell(name: str, result: Compared) -> None:
    say(
        f"{name}: {result.agree:,} partitions agree, {len({one.folder for one in result.differ})} "
        f"differ; {len(result.refused)} that no broker loads, {len(result.damaged)} damaged, "
        f"{result.untold} with an untold start; {result.aborted:,} aborted, {result.open:,} open, "
        f"{result.received:,} offsets received"
    )
    for what, found in by_kind(result.differ).items():
        say(f"  {what}: {len(found)}")
        for one in found[:SHOWN]:
            say(f"    {one.folder.name}: audit {one.audit} opinion {one.opinion}")


def random_logs(spark: SparkSession, logs: int, each: int, first: int) -> int:
    """Compares so many random logs, `each` in one audit; returns how many differ."""
    differing, done, began = 0, 0, time.monotonic()
    for start in range(first, first + logs, each):
        seeds = range(start, min(start + each, first + logs))
        with tempfile.TemporaryDirectory() as scratch:
            write_logs(Path(scratch) / "broker-1", seeds)
            result = answers(spark, Path(scratch))
        done += len(seeds)
        differing += len({one.folder for one in result.differ})
        tell(f"seeds {seeds.start} to {seeds.stop - 1}", result)
        say(f"  {done:,} logs, {done / (time.monotonic() - began):,.0f} a second")
    return differing


def archives(only: str) -> Iterator[Path]:
    """All dumps, each name once; with EOSAUDIT_DUMPS those of that folder."""
    seen: set[str] = set()
    given = os.environ.get("EOSAUDIT_DUMPS")
    for folder in (Path(given),) if given else (HERE / "dumps", CORPUS, CORPUS / "aged"):
        for path in sorted(folder.glob("*.tar.gz")):
            if path.name not in seen and only in path.name:
                seen.add(path.name)
                yield path


def dumps(spark: SparkSession, only: str) -> int:
    differing = 0
    for path in archives(only):
        scratch = Path(tempfile.mkdtemp())
        try:
            with tarfile.open(path) as archive:
                archive.extractall(scratch, filter="data")
            name = path.name.removesuffix(".tar.gz")
            result = answers(spark, scratch / name / "dump")
            tell(name, result)
            differing += len({one.folder for one in result.differ})
        finally:
            shutil.rmtree(scratch)
    return differing


def broker_answers(only: str) -> int:
    """Holds the opinion against the brokers' own answers; returns how many differ."""
    counts: Counter[str] = Counter()
    differing = 0
    for path in archives(only):
        scratch = Path(tempfile.mkdtemp())
        try:
            told = list(answers_of(unpacked(path, scratch)))
        finally:
            shutil.rmtree(scratch)
        counts.update(re.sub(r"the abort at \d+", "an abort", one.what) for one in told)
        for one in [one for one in told if one.differs]:
            differing += 1
            say(f"  {one.place}, {one.what}: broker {one.broker} opinion {one.opinion}")
        say(f"{path.name}: {len(told):,} answers")
    say("; ".join(f"{number:,} {what}" for what, number in counts.items()))
    return differing


def kernel(logs: int, first: int) -> int:
    """Holds the kernel of the export against the opinion; returns how many logs differ."""
    wrong: list[int] = []
    total, began = 0, time.monotonic()
    for start in range(first, first + logs, exports.EACH):
        seeds = range(start, min(start + exports.EACH, first + logs))
        found, offsets = exports.differing(seeds)
        wrong += found
        total += offsets
        if (start - first) // exports.EACH % 10 == 9 or seeds.stop == first + logs:
            rate = (seeds.stop - first) / (time.monotonic() - began)
            say(f"{seeds.stop - first:,} logs, {total:,} offsets, {rate:,.0f} a second; {wrong}")
    return len(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=0)
    parser.add_argument("--each", type=int, default=10_000)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--dumps", action="store_true")
    parser.add_argument("--exports", type=int, default=0)
    parser.add_argument("--answers", action="store_true")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    differing = broker_answers(asked.only) if asked.answers else 0
    differing += kernel(asked.exports, asked.first_seed)
    if asked.logs or asked.dumps:
        with spark_session() as spark:
            differing += random_logs(spark, asked.logs, asked.each, asked.first_seed)
            differing += dumps(spark, asked.only) if asked.dumps else 0
    say(f"{differing} partitions differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
