"""Makes mutants, audits them, and tells which were named and who else was accused.

`make mutants` prints a table by operator and one by check, and what `recheck.py` says of all
findings. Each history of an audit has one fault;
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
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from laws.dump_files import (
    META,
    METADATA,
    OFFSETS,
    TXN_LOG,
    Directory,
    Dump,
    Partition,
    TopicPartition,
)
from laws.rename import NotPlacedError, internal_partitions, packed, renamed
from laws.run import (
    AN_HOUR_MS,
    CONF,
    Finding,
    Scenario,
    audit_findings,
    copy_of,
    is_legal,
    read_scenario,
    scenarios,
)
from model.fetched import fetched
from model.world import Plan, World, metadata_of
from pyspark.sql import SparkSession
from rechecked import Rechecked, with_recheck

from jobs.spark.session import spark_session
from jobs.verify.catalogue import CHECKS
from mutants import (  # noqa: F401 - each enters its operators into the table
    of_answers,
    of_batches,
    of_cleaner,
    of_clusters,
    of_coordinator,
    of_ends,
    of_files,
    of_groups,
    of_markers,
    of_moment,
    of_old_formats,
    of_producers,
    of_stretches,
)
from mutants.evidence import goes_on
from mutants.judge import Result, by_check, by_operator, totals
from mutants.mutant import OPERATORS, Mutant
from mutants.scene import Scene, View

# Slow enough that clocks tell decisions apart.
SMALL = Plan(ids=4, transactions=7, batches=12, leader_changes=0.02, pace=20)
PLANS = (
    SMALL,
    replace(SMALL, copies=2),
    # Index entries come every 4 KiB: many segments, or few with entries.
    replace(SMALL, segment_bytes=6_000),
    # Decisions of one epoch are further from each other than clocks may differ.
    replace(SMALL, pace=60),
    # Nothing is open, and every timeout has passed since.
    replace(SMALL, left_open=0, rest_ms=3_600_000),
    replace(SMALL, copies=2, internal_copies=True),
    replace(SMALL, old=1),
)
# No timeout has passed in the audit of any.
YOUNG = replace(SMALL, pace=5)
TRIES = 12
# Of so many histories one more is fetched over the protocol, and one more audited young; each of
# the two in an audit of its own.
ONE_OF = 12
# Of dumps of real brokers in one audit.
MOST_BYTES = 400 << 20
# Histories beside the one in which an operator breaks the whole dump.
OTHERS = 2


class Chooser:
    """Gives each history an operator; those that were rarest so far first.

    The first `spared` histories stay as they are.
    """

    def __init__(self, names: Sequence[str], spared: int = 0) -> None:
        self.names, self.spared = names, spared
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


def plan_of(index: int, older_ms: int = 0) -> Plan:
    """The plan of a history; `older_ms`: how long nothing happens before and behind, at least."""
    plan = PLANS[index % len(PLANS)]
    return replace(plan, older_ms=older_ms, rest_ms=max(plan.rest_ms, older_ms))


def of_model(
    seed: str,
    count: int,
    chooser: Chooser,
    of_protocol: bool = False,
    young: bool = False,
    older_ms: int = 0,
) -> tuple[Dump, list[Mutant], int]:
    """Worlds of the model with a fault each; the last moment, ms.

    `of_protocol`: as they are fetched, with what their brokers answered. `older_ms`: see `plan_of`.
    """
    directories, mutants, moment = [], [], 0
    plans = [YOUNG if young else plan_of(index, older_ms) for index in range(count)]
    for index, plan in enumerate(plans):
        world = World(f"{seed} {index}", plan, index, count)
        mine = fetched(world) if of_protocol else list(world.directories())
        moment = max(moment, world.now)
        if index == 0 and not of_protocol:
            mine[0].partitions.append(metadata_of([one.copies for one in plans]))
        rng = Random(f"{seed} {index} mutant")
        scene = Scene(mine, {TXN_LOG: count, OFFSETS: count}, rng, with_metadata=not of_protocol)
        mutant = chooser.mutate(scene, index)
        if mutant is not None:
            mutants.append(mutant)
        directories += mine
    return owned(Dump(directories), mutants), mutants, moment


def owned(dump: Dump, mutants: Sequence[Mutant]) -> Dump:
    """The dump; a mutant whose owner another history's coordinator may name is not decidable."""
    views: dict[TopicPartition, list[tuple[Directory, Partition]]] = defaultdict(list)
    for directory, one in dump.copies():
        if one.topic == TXN_LOG and one.bases():
            views[one.place].append((directory, one))
    logs = [View(of) for of in views.values()] if any(m.owned_by >= 0 for m in mutants) else []
    for mutant in mutants:
        late = mutant.owned_by >= 0 and not all(goes_on(log, mutant.owned_by) for log in logs)
        if late and mutant.decidable:
            mutant.why = "another coordinator's log may end before the owner is named"
    return dump


@dataclass
class Pack:
    """Dumps of real brokers that are audited together; `each`: partitions of internal topics."""

    each: dict[str, int]
    scenarios: list[Scenario] = field(default_factory=list)
    size: int = 0

    def dump(self, seed: str, count: int, chooser: Chooser) -> tuple[Dump, list[Mutant]]:
        """So many renamed copies of each with a fault each; `source` of a mutant is its dump."""
        copies = [one for one in self.scenarios for _ in range(count)]
        dump = packed([one.dump for one in copies], self.each)
        total = {topic: number * len(copies) for topic, number in self.each.items()}
        mine: dict[int, list[Directory]] = defaultdict(list)
        for directory in dump.directories:
            mine[int(directory.name.split("-")[0])].append(directory)
            if META in directory.files:
                directory.files[META] = of_one_cluster(directory.files[META])
        mutants = []
        for index, scenario in enumerate(copies):
            rng = Random(f"{scenario.name} {seed} {index} mutant")
            mutant = chooser.mutate(Scene(mine[index], total, rng), index)
            if mutant is not None:
                mutant.source = f"{scenario.name} {seed}"
                mutants.append(mutant)
        return owned(dump, mutants), mutants


def of_one_cluster(properties: bytes) -> bytes:
    """A `meta.properties` of the cluster of which all dumps of a pack become brokers."""
    lines = properties.decode().splitlines()
    return "\n".join(
        "cluster.id=packed" if line.startswith("cluster.id=") else line for line in lines
    ).encode()


def packs(paths: Sequence[Path], count: int) -> Iterator[Pack]:
    """Legal dumps in packs of one number of partitions, with at most MOST_BYTES a pack."""
    filled: dict[tuple[tuple[str, int], ...], Pack] = {}
    for path in paths:
        if not is_legal(path):
            continue
        scenario = read_scenario(path)
        each = internal_partitions(scenario.dump)
        try:
            renamed(scenario.dump, 0, 1, each)
        except NotPlacedError as error:
            sys.stdout.write(f"{path.name}: left out: {error}\n")
            continue
        key = tuple(sorted(each.items()))
        pack = filled.setdefault(key, Pack(each))
        pack.scenarios.append(scenario)
        pack.size += count * sum(
            len(content) for _, one in scenario.dump.copies() for content in one.files.values()
        )
        if pack.size > MOST_BYTES:
            yield filled.pop(key)
    yield from filled.values()


def audited(
    spark: SparkSession, dump: Dump, moment: int, each: dict[str, int]
) -> dict[int | None, list[Finding]]:
    """Findings by the number of the history in which they lie."""
    with tempfile.TemporaryDirectory() as folder:
        dump.write(Path(folder))
        found = audit_findings(spark, Path(folder), moment)
        found = with_recheck(found, Path(folder), moment + AN_HOUR_MS)
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
        told = f"{mutant.source or source} {mutant.index}"
        result.take(told, mutant, found.get(mutant.index, []))
    touched = {mutant.index for mutant in mutants}
    for index, of_history in found.items():
        if index not in touched:
            result.accused += [
                f"{source} {index}, no mutant: {one['code']} {one['topic']}-{one['partition']}: "
                f"{one['message']}"
                for one in of_history
                if one["verdict"] == "violation"
            ]


class Groups(NamedTuple):
    """Operators of logs and files, of what brokers answered, of young faults, of whole dumps."""

    logs: list[str]
    answers: list[str]
    young: list[str]
    clusters: list[str]


def groups(names: Sequence[str]) -> Groups:
    """The operators of these names, by the audits that they need."""
    apart = [of_answers.__name__, of_moment.__name__, of_clusters.__name__]
    at = {name: OPERATORS[name].__module__ for name in names}
    answers, young, clusters = ([name for name in names if at[name] == one] for one in apart)
    return Groups([name for name in names if at[name] not in apart], answers, young, clusters)


Round = tuple[str, list[Mutant], dict[int | None, list[Finding]]]
EACH = {TXN_LOG: 1, OFFSETS: 1}


def of_models(spark: SparkSession, asked: argparse.Namespace, chooser: Chooser) -> Iterator[Round]:
    """Audits of the model until there are enough mutants."""
    _, answers, young, clusters = groups(asked.only)
    of_answers_, of_young, number, made = Chooser(answers), Chooser(young), 0, 0
    while made < asked.count:
        number += 1
        seed, count = f"{asked.seed}.{number}", min(asked.histories, asked.count - made)
        less = -(-count // ONE_OF)
        if chooser.names:
            dump, mutants, moment = of_model(seed, count, chooser, older_ms=asked.older)
            yield f"model {seed}", mutants, audited(spark, dump, moment, EACH)
        if answers:
            told = f"{seed} fetched"
            dump, mutants, moment = of_model(
                told, less, of_answers_, of_protocol=True, older_ms=asked.older
            )
            yield f"model {told}", mutants, audited(spark, dump, moment, EACH)
        if young:
            told = f"{seed} young"
            dump, mutants, moment = of_model(told, less, of_young, young=True)
            yield f"model {told}", mutants, audited(spark, dump, moment - AN_HOUR_MS, EACH)
        made += count
    for name in clusters if asked.count else ():
        seed = f"{asked.seed} {name}"
        dump, _, moment = of_model(seed, 1 + OTHERS, Chooser([]))
        (mutant,) = mutated_first(dump, seed, name)
        found = audited(spark, dump, moment, EACH)
        yield f"model {seed}", [mutant], {0: [one for of in found.values() for one in of]}


def mutated_first(dump: Dump, seed: str, name: str) -> list[Mutant]:
    """The first history of a dump gets a fault of this operator."""
    mine = [one for one in dump.directories if one.name.startswith("000-")]
    scene = Scene(mine, {TXN_LOG: 1 + OTHERS, OFFSETS: 1 + OTHERS}, Random(seed))
    chosen = Chooser([name])
    mutant = chosen.mutate(scene, 0)
    return [] if mutant is None else [mutant]


def of_brokers(spark: SparkSession, asked: argparse.Namespace, chooser: Chooser) -> Iterator[Round]:
    """Audits of copies of the dumps of real brokers."""
    own = scenarios(asked.dumps) if asked.copies and not asked.archives else ()
    for number, pack in enumerate(packs([*own, *asked.archives], asked.copies)):
        dump, mutants = pack.dump(f"{asked.seed}", asked.copies, chooser)
        moment = max(one.source.moment for one in pack.scenarios)
        if mutants:
            yield f"brokers {number}", mutants, audited(spark, dump, moment, pack.each)


def main(arguments: Sequence[str]) -> int:
    """1 where a mutant that can be decided is not named, a bystander accused, or one refuted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=500, help="histories of the model")
    parser.add_argument("--histories", type=int, default=500, help="so many in one audit")
    parser.add_argument(
        "--older", type=int, default=0, metavar="MS",
        help="logs that much older than their transactions, and copied that much later",
    )  # fmt: skip
    parser.add_argument("--copies", type=int, default=0, help="of each dump of real brokers")
    parser.add_argument("--dumps", nargs="*", default=(), help="names; all legal ones by default")
    parser.add_argument(
        "--archives",
        nargs="*",
        type=Path,
        default=(),
        help="these in place of them, as of the soak",
    )
    parser.add_argument("--only", nargs="*", default=sorted(OPERATORS), help="operators")
    parser.add_argument("--keep", type=Path, help="a file for mutants and findings, JSON lines")
    parser.add_argument("--spared", type=int, default=0, help="histories without a fault")
    parser.add_argument("--sum", nargs="+", type=Path, help="only the tables of such files")
    asked = parser.parse_args(arguments)
    if asked.sum:
        return report(*kept(asked.sum))
    result, chooser = Result(), Chooser(groups(asked.only).logs, asked.spared)
    rechecked = Rechecked()
    with spark_session(CONF) as spark:
        started = time.monotonic()
        of_all = [of_models(spark, asked, chooser), of_brokers(spark, asked, chooser)]
        for source, mutants, found in chain.from_iterable(of_all):
            judge(result, source, mutants, found)
            rechecked.take(source, chain.from_iterable(found.values()))
            if asked.keep:
                _keep(asked.keep, source, mutants, found)
            sys.stdout.write(
                f"{source}: {len(mutants)} mutants, {time.monotonic() - started:.0f} s, "
                f"{result.share:.1%} named so far, {len(result.accused)} bystanders\n"
            )
            sys.stdout.flush()
    return report(result, rechecked)


def report(result: Result, rechecked: Rechecked) -> int:
    """Prints survivors, bystanders, refuted findings and the tables; 1 where there are any."""
    told = [*result.survivors, "", *result.accused, "", *rechecked.refuted, *rechecked.open, ""]
    sys.stdout.writelines(f"{one}\n" for one in told)
    codes = [check.code for check in CHECKS]
    sys.stdout.write(f"{by_operator(result)}\n\n{by_check(result, codes)}\n\n")
    sys.stdout.write(
        f"{totals(result)}\n\n{rechecked.table()}\n\n"
        f"{result.number:,} mutants of {len(result.tallies)} operators, "
        f"{result.share:.2%} of the decidable named, {len(result.accused)} bystanders accused\n"
    )
    return 1 if result.survivors or result.accused or rechecked.refuted else 0


def _keep(
    path: Path, source: str, mutants: Sequence[Mutant], found: dict[int | None, list[Finding]]
) -> None:
    with path.open("a") as file:
        for one in mutants:
            told = vars(one) | {"audit": source, "found": found.get(one.index, [])}
            file.write(json.dumps(told, default=_plain) + "\n")


def _plain(value: Any) -> Any:
    return sorted(value, key=str) if isinstance(value, frozenset) else str(value)


def kept(paths: Sequence[Path]) -> tuple[Result, Rechecked]:
    """What became of the mutants, and of their findings, in files of --keep."""
    result, rechecked = Result(), Rechecked()
    for path in paths:
        for line in path.read_text().splitlines():
            told = json.loads(line)
            audit, found = told.pop("audit"), told.pop("found")
            for name in ("codes", "pids", "ids", "brokers"):
                told[name] = frozenset(told[name])
            told["places"] = tuple((topic, number) for topic, number in told["places"])
            mutant = Mutant(**told)
            source = f"{mutant.source or audit} {mutant.index}"
            result.take(source, mutant, found)
            rechecked.take(source, found)
    return result, rechecked


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
