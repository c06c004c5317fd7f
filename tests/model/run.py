"""Writes seeded legal histories until there are so many transactions, and audits them.

`make model TRANSACTIONS=10000000` prints for each audit what was found, and fails on any violation.
A world that is accused is made again by its seed and number: `World(seed, VOLUME, index, count)`.
With `--keep` the worlds are written once, and audited again by each run.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from laws.dump_files import Dump
from laws.run import CONF, Finding, audit_findings
from pyspark.sql import SparkSession

from jobs.spark.session import spark_session
from model.world import Plan, World, metadata_of
from schemas.coordinator_states import COMPLETE_ABORT, COMPLETE_COMMIT

VOLUME = Plan(
    ids=100, transactions=100, idempotent=5, plain=2, batches=500, segment_bytes=1 << 21,
    left_open=0.02, leader_changes=0.0005,
)  # fmt: skip


class Written(NamedTuple):
    """What a world that was written holds; `moment`: its last, ms."""

    moment: int
    transactions: int
    batches: int


def write_world(seed: str, plan: Plan, folder: Path, count: int, index: int) -> Written:
    """Makes one world and writes it below `folder`."""
    world = World(seed_of(seed, index), plan, index, count)
    directories = list(world.directories())
    if index == 0:
        directories[0].partitions.append(metadata_of([plan.copies] * count))
    Dump(directories).write(folder)
    ended = sum(world.decided[status] for status in (COMPLETE_COMMIT, COMPLETE_ABORT))
    return Written(world.now, ended, sum(log.batches for log in world.logs))


def seed_of(seed: str, index: int) -> str:
    return f"{seed} {index}"


def write_worlds(seed: str, plan: Plan, folder: Path, count: int, jobs: int = 1) -> list[Written]:
    """Makes and writes all worlds of one dump, in so many processes."""
    make = partial(write_world, seed, plan, folder, count)
    if jobs == 1:
        return [make(index) for index in range(count)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(make, range(count), chunksize=4))


@contextmanager
def worlds_of(
    seed: str, count: int, jobs: int, scratch: Path | None, keep: Path | None
) -> Iterator[tuple[Path, list[Written]]]:
    """A dump of so many worlds and what it holds; below `keep` it stays, else it is removed."""
    plan = replace(VOLUME, copies=1)
    if keep is None:
        with tempfile.TemporaryDirectory(dir=scratch) as name:
            yield Path(name), write_worlds(seed, plan, Path(name), count, jobs)
        return
    folder = keep / seed.replace(" ", "-")
    # Written last: a dump without it is one that was not finished.
    index = folder.with_name(f"{folder.name}-{count}.json")
    if not index.exists():
        shutil.rmtree(folder, ignore_errors=True)
        index.parent.mkdir(parents=True, exist_ok=True)
        index.write_text(json.dumps(write_worlds(seed, plan, folder, count, jobs)))
    yield folder, [Written(*one) for one in json.loads(index.read_text())]


def audit_worlds(spark: SparkSession, folder: Path, written: Sequence[Written]) -> list[Finding]:
    """All findings of a dump of worlds."""
    return audit_findings(spark, folder, max(one.moment for one in written))


def line(one: Finding) -> str:
    place = f"broker {one['broker']} {one['topic']}-{one['partition']} at {one['offset_first']}"
    return f"  {one['verdict']} {one['code']} {place}: {one['message']}\n"


def main(arguments: Sequence[str]) -> int:
    """Rounds of worlds until the number is reached; 1 where any is accused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transactions", type=int, default=100_000)
    parser.add_argument("--worlds", type=int, default=100, help="so many in one audit, at most")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=2, help="processes that write worlds")
    parser.add_argument("--scratch", type=Path, help="a folder with room for the dump of an audit")
    parser.add_argument("--keep", type=Path, help="a folder in which worlds stay, for the next run")
    asked = parser.parse_args(arguments)
    done, number, bad, started = 0, 0, 0, time.monotonic()
    each = VOLUME.ids * VOLUME.transactions
    with spark_session(CONF) as spark:
        while done < asked.transactions:
            number += 1
            count = min(asked.worlds, -(-(asked.transactions - done) // each))
            seed = f"{asked.seed} {number}"
            with worlds_of(seed, count, asked.jobs, asked.scratch, asked.keep) as (folder, written):
                between = time.monotonic()
                found = audit_worlds(spark, folder, written)
            done += sum(one.transactions for one in written)
            told = Counter(one["verdict"] for one in found if one["severity"] != "info")
            accused = [one for one in found if one["verdict"] == "violation"]
            bad += len(accused)
            sys.stdout.write(
                f"seed '{seed}': {count} worlds, {sum(one.batches for one in written):,} batches, "
                f"{done:,} transactions so far; audit {time.monotonic() - between:.0f} s of "
                f"{time.monotonic() - started:.0f} s; {dict(told)}\n"
            )
            sys.stdout.writelines(line(one) for one in accused[:50])
            sys.stdout.flush()
    sys.stdout.write(f"{done:,} transactions, {bad} violations\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
