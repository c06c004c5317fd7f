"""Makes mutants, audits them, and tells which were named and who else was accused.

`make mutants` prints a table by operator and one by check. Each history of an audit has one fault;
histories have nothing in common (`model.world`, `laws.rename`). A mutant is made again by the seed,
the number of its history and its operator: --seed, --only.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from laws.dump_files import METADATA, OFFSETS, TXN_LOG, Dump
from laws.rename import NotPlacedError, internal_partitions, packed
from laws.run import MEMORY, Finding, audit_findings, copy_of, is_legal, read_scenario, scenarios
from model.world import Plan, World, metadata_of
from pyspark.sql import SparkSession

from jobs.spark.session import spark_session
from jobs.verify.catalogue import CHECKS
from mutants import (  # noqa: F401 - each enters its operators into the table
    of_batches,
    of_coordinator,
    of_files,
    of_markers,
    of_producers,
)
from mutants.judge import Result, by_check, by_operator
from mutants.mutant import OPERATORS, Mutant
from mutants.scene import Scene

# Slow enough that clocks tell decisions apart.
SMALL = Plan(ids=4, transactions=7, batches=12, leader_changes=0.02, pace=20)
# What it breaks is the whole dump, so it is never one of many.
ALONE = ("other_cluster",)
# Index entries come every 4 KiB: many segments, or few with entries.
PLANS = (SMALL, replace(SMALL, copies=2), replace(SMALL, segment_bytes=6_000))
TRIES = 12


class Chooser:
    """Gives each history an operator; those that were rarest so far first.

    An operator that concerns the whole dump is used only if no other is asked for. The first
    `spared` histories stay as they are.
    """

    def __init__(self, names: Sequence[str], spared: int = 0) -> None:
        self.spared = spared
        alone = set(names) <= set(ALONE)
        self.names = [name for name in names if alone or name not in ALONE]
        self.made = Counter[str]()

    def mutate(self, scene: Scene, index: int) -> Mutant | None:
        """Applies the first operator that has a place in the history."""
        if index < self.spared:
            return None
        order = sorted(self.names, key=lambda name: (self.made[name], scene.rng.random()))
        for name in order[:TRIES]:
            mutant = OPERATORS[name](scene)
            if mutant is not None:
                mutant.operator, mutant.index = name, index
                self.made[name] += 1
                return mutant
            self.made[name] += 0.02  # type: ignore[assignment] # Let others have their turn.
        return None


def plan_of(index: int) -> Plan:
    """The plan of a history."""
    return PLANS[index % len(PLANS)]


def of_model(seed: str, count: int, chooser: Chooser) -> tuple[Dump, list[Mutant], int]:
    """Worlds of the model with a fault each; the last moment, ms."""
    directories, mutants, moment = [], [], 0
    for index in range(count):
        world = World(f"{seed} {index}", plan_of(index), index, count)
        mine = list(world.directories())
        moment = max(moment, world.now)
        if index == 0:
            mine[0].partitions.append(metadata_of([plan_of(n).copies for n in range(count)]))
        scene = Scene(mine, {TXN_LOG: count, OFFSETS: count}, Random(f"{seed} {index} mutant"))
        mutant = chooser.mutate(scene, index)
        if mutant is not None:
            mutants.append(mutant)
        directories += mine
    return Dump(directories), mutants, moment


def of_scenario(
    path: Path, seed: str, count: int, chooser: Chooser
) -> tuple[Dump, list[Mutant], int, dict[str, int]]:
    """Renamed copies of a dump of real brokers with a fault each."""
    scenario = read_scenario(path)
    each = internal_partitions(scenario.dump)
    dump = packed([scenario.dump.copy() for _ in range(count)], each)
    total = {topic: number * count for topic, number in each.items()}
    mutants = []
    for index in range(count):
        mine = [one for one in dump.directories if one.name.split("-")[0] == f"{index:02}"]
        rng = Random(f"{scenario.name} {seed} {index} mutant")
        mutant = chooser.mutate(Scene(mine, total, rng), index)
        if mutant is not None:
            mutants.append(mutant)
    return dump, mutants, scenario.source.moment, each


def audited(
    spark: SparkSession, dump: Dump, moment: int, each: dict[str, int]
) -> dict[int | None, list[Finding]]:
    """Findings by the number of the history in which they lie."""
    with tempfile.TemporaryDirectory() as folder:
        dump.write(Path(folder))
        found = audit_findings(spark, Path(folder), moment)
    by_history: dict[int | None, list[Finding]] = defaultdict(list)
    for one in found:
        of_cluster = one["topic"] == METADATA
        by_history[None if of_cluster else copy_of(one, each)].append(one)
    return by_history


def judge(
    result: Result, source: str, mutants: Sequence[Mutant], found: dict[int | None, list[Finding]]
) -> None:
    """Counts all mutants of one audit; a history without one must stay without a violation."""
    for mutant in mutants:
        result.take(f"{source} {mutant.index}", mutant, found.get(mutant.index, []))
    touched = {mutant.index for mutant in mutants}
    for index, of_history in found.items():
        if index not in touched:
            result.accused += [
                f"{source} {index}, no mutant: {one['code']} {one['topic']}-{one['partition']}: "
                f"{one['message']}"
                for one in of_history
                if one["verdict"] == "violation"
            ]


def rounds(
    spark: SparkSession, asked: argparse.Namespace, chooser: Chooser
) -> Iterator[tuple[str, list[Mutant], dict[int | None, list[Finding]]]]:
    """Audits of the model until there are enough mutants, then of dumps of real brokers."""
    number, made = 0, 0
    while made < asked.count:
        number += 1
        seed, count = f"{asked.seed}.{number}", min(asked.histories, asked.count - made)
        dump, mutants, moment = of_model(seed, count, chooser)
        made += count
        yield f"model {seed}", mutants, audited(spark, dump, moment, {TXN_LOG: 1, OFFSETS: 1})
    for path in scenarios(asked.dumps) if asked.copies else ():
        if not is_legal(path):
            continue
        try:
            dump, mutants, moment, each = of_scenario(path, asked.seed, asked.copies, chooser)
        except NotPlacedError as error:
            sys.stdout.write(f"{path.name}: left out: {error}\n")
            continue
        name = path.name.removesuffix(".tar.gz")
        yield f"{name} {asked.seed}", mutants, audited(spark, dump, moment, each)


def main(arguments: Sequence[str]) -> int:
    """1 where a mutant that can be decided is not named, or a bystander is accused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=500, help="histories of the model")
    parser.add_argument("--histories", type=int, default=500, help="so many in one audit")
    parser.add_argument("--copies", type=int, default=0, help="of each dump of real brokers")
    parser.add_argument("--dumps", nargs="*", default=(), help="names; all legal ones by default")
    parser.add_argument("--only", nargs="*", default=sorted(OPERATORS), help="operators")
    parser.add_argument("--keep", type=Path, help="a file for mutants and findings, JSON lines")
    parser.add_argument("--spared", type=int, default=0, help="histories without a fault")
    asked = parser.parse_args(arguments)
    result, chooser = Result(), Chooser(asked.only, asked.spared)
    with spark_session({"spark.driver.memory": MEMORY}) as spark:
        started = time.monotonic()
        for source, mutants, found in rounds(spark, asked, chooser):
            judge(result, source, mutants, found)
            if asked.keep:
                _keep(asked.keep, source, mutants, found)
            sys.stdout.write(
                f"{source}: {len(mutants)} mutants, {time.monotonic() - started:.0f} s, "
                f"{result.share:.1%} named so far, {len(result.accused)} bystanders\n"
            )
            sys.stdout.flush()
    sys.stdout.writelines(f"{one}\n" for one in [*result.survivors, "", *result.accused, ""])
    codes = [check.code for check in CHECKS]
    sys.stdout.write(f"{by_operator(result)}\n\n{by_check(result, codes)}\n\n")
    sys.stdout.write(
        f"{result.number:,} mutants of {len(result.tallies)} operators, {result.share:.2%} of the "
        f"decidable named, {len(result.accused)} bystanders accused\n"
    )
    return 1 if result.survivors or result.accused else 0


def _keep(
    path: Path, source: str, mutants: Sequence[Mutant], found: dict[int | None, list[Finding]]
) -> None:
    with path.open("a") as file:
        for one in mutants:
            told = vars(one) | {"source": source, "found": found.get(one.index, [])}
            file.write(
                json.dumps(
                    told,
                    default=lambda x: sorted(x, key=str) if isinstance(x, frozenset) else str(x),
                )
                + "\n"
            )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
