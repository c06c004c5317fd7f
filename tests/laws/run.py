"""Degrades dumps after every law, audits the results, and tells what was found.

`make laws` prints a table (law, degraded copies of partitions, findings by verdict) and each
violation with the seed that makes it again; it fails on any. A finding belongs to the law of the
copy in whose partitions it lies.
"""

import argparse
import json
import re
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

from jobs import main as stages
from jobs.audit.audit import Request
from jobs.cli.progress import Progress
from jobs.model.settings import load
from jobs.spark.session import spark_session
from laws import catalogue, of_cases
from laws.catalogue import RENAME, Source, apply
from laws.dump_files import Dump, read_dump
from laws.rename import (
    BROKER_STEP,
    PRODUCER_STEP,
    NotPlacedError,
    internal_partitions,
    packed,
)
from schemas.violation import FINDING_PLACE

HERE = Path(__file__).resolve().parent.parent
OWN = HERE / "dumps"
BESIDE = HERE.parent.parent / "shared" / "corpus"
# Too large to be copied many times.
LEFT_OUT = {"tv2-defaults", "tv2-rollover"}
AN_HOUR_MS = 3_600_000
# One audit has dozens of copies of a dump; the usual 2 GB are too tight for that.
MEMORY = "6g"
# A run beside other work may be held up for many minutes.
CONF = {
    "spark.driver.memory": MEMORY,
    "spark.sql.broadcastTimeout": "36000",
    "spark.network.timeout": "36000s",
}

Finding = dict[str, Any]


@dataclass
class Told:
    """What became of one law: copies of partitions that were degraded, findings at places."""

    samples: int = 0
    findings: list[Finding] = field(default_factory=list)

    def by_verdict(self) -> Counter[str]:
        return Counter(one["verdict"] for one in self.findings if one["severity"] != "info")


@dataclass(frozen=True)
class Scenario:
    """A dump of real brokers, unpacked and read."""

    name: str
    legal: bool
    source: Source
    dump: Dump


def scenarios(wanted: Sequence[str] = ()) -> Iterator[Path]:
    """The dumps of this checkout, and those of the larger corpus beside it."""
    met: set[str] = set()
    for folder in (OWN, BESIDE, BESIDE / "aged"):
        for path in sorted(folder.glob("*.tar.gz")):
            name = path.name.removesuffix(".tar.gz")
            if name not in met | LEFT_OUT and (not wanted or name in wanted):
                met.add(name)
                yield path


def is_legal(path: Path) -> bool:
    """Whether the history of a dump is legal."""
    name = path.name.removesuffix(".tar.gz")
    with tarfile.open(path) as archive:
        about = archive.extractfile(f"{name}/about.json")
        return about is not None and bool(json.load(about)["legal"])


def read_scenario(path: Path) -> Scenario:
    """Unpacks a dump and reads it."""
    name = path.name.removesuffix(".tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
        root = Path(folder) / name
        about = json.loads((root / "about.json").read_text())
        release = tuple(int(part) for part in about["kafka_version"].split("."))
        moments = [at for at in about["dumped_at_ms"].values() if isinstance(at, int)]
        source = Source(release, max(moments))
        return Scenario(name, about["legal"], source, read_dump(root / "dump"))


def degraded(scenario: Scenario, law: str, seed: int) -> tuple[Dump, int]:
    """A copy of a dump after a law, and how many copies of partitions it touched."""
    copy = scenario.dump.copy()
    rng = Random(f"{scenario.name} {law} {seed}")
    return copy, apply(law, copy, scenario.source, rng)


def audit_findings(spark: SparkSession, folder: Path, moment: int) -> list[Finding]:
    """All findings of a dump, one a place; raises where a check crashed."""
    request = Request([folder], "unused", moment + AN_HOUR_MS, "records", load(None))
    done = stages.audit(spark, request, Progress(None, quiet=True))
    crashed = [one.check.code for one in done.verified.outcomes if one.status == "crashed"]
    rows = [row.asDict(recursive=True) for row in done.verified.findings.collect()]
    done.release()
    if crashed:
        raise RuntimeError(f"crashed: {crashed}")
    return [
        row | {name: place[name] for name in FINDING_PLACE.names}
        for row in rows
        for place in row["places"] or [row]
    ]


def copy_of(finding: Finding, partitions: dict[str, int]) -> int | None:
    """The number of the copy in which a finding lies."""
    topic = finding["topic"]
    if topic in partitions:
        return int(finding["partition"]) // partitions[topic]
    if topic is not None:
        return int(topic.rpartition(".")[2])
    broker = finding["broker"]
    return None if broker is None else int(broker) // BROKER_STEP


def audit_laws(
    spark: SparkSession, scenario: Scenario, laws: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], Told]:
    """Audits one copy a law and seed, all in one dump."""
    partitions = internal_partitions(scenario.dump)
    made = [degraded(scenario, law, seed) for law, seed in laws]
    told = {key: Told(samples) for key, (_, samples) in zip(laws, made, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        packed([dump for dump, _ in made], partitions).write(Path(folder))
        found = audit_findings(spark, Path(folder), scenario.source.moment)
    for one in found:
        index = copy_of(one, partitions)
        if index is not None:
            told[laws[index]].findings.append(one)
    return told


def place_of(one: Finding) -> tuple[Any, ...]:
    """What a finding accuses, under the names of the dump before they were changed."""
    topic = None if one["topic"] is None else re.sub(r"\.\d\d$", "", one["topic"])
    producer = one["producer_id"]
    ours = topic is not None and topic.startswith("__")
    return topic, None if ours else one["partition"], producer and producer % PRODUCER_STEP


def places(told: Told) -> set[tuple[Any, ...]]:
    """What the violations of a copy accuse."""
    return {place_of(one) for one in told.findings if one["verdict"] == "violation"}


def line(scenario: str, key: tuple[str, int], one: Finding) -> str:
    law, seed = key
    place = f"broker {one['broker']} {one['topic']}-{one['partition']} at {one['offset_first']}"
    return (
        f"  {scenario} {law} seed {seed}: {one['verdict']} {one['code']} {place}: {one['message']}"
    )


def table(totals: dict[str, Told]) -> str:
    """The result as a table of the documentation."""
    rows = ["| law | samples | violation | suspect | inconclusive |", "|---|---|---|---|---|"]
    for law, told in totals.items():
        by = told.by_verdict()
        counts = " | ".join(str(by[name]) for name in ("violation", "suspect", "inconclusive"))
        rows.append(f"| `{law}` | {told.samples} | {counts} |")
    return "\n".join(rows)


def main(arguments: Sequence[str]) -> int:
    """Runs the laws over legal dumps; 1 where any makes a violation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dumps", nargs="*", help="names of dumps; all legal ones by default")
    parser.add_argument("--seeds", type=int, default=2, help="copies a law, dump and round")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=1, help="rounds go on until a law has them")
    parser.add_argument("--laws", nargs="*", default=[*catalogue.LAWS, *catalogue.ALONE])
    parser.add_argument("--cases", type=int, default=0, help="how often over all cases, too")
    parser.add_argument("--broken", action="store_true", help="broken dumps in place of legal ones")
    parser.add_argument("--keep", type=Path, help="a folder for the findings as JSON")
    asked = parser.parse_args(arguments)
    totals = {law: Told() for law in asked.laws}
    bad, seed = 0, asked.first_seed
    with spark_session(CONF) as spark:
        for number in range(seed, seed + asked.cases):
            bad += _run_cases(spark, number)
        wanted = [path for path in scenarios(asked.dumps) if is_legal(path) != asked.broken]
        while lacking := [law for law in asked.laws if totals[law].samples < asked.samples]:
            seeds = range(seed, seed + asked.seeds)
            before = sum(told.samples for told in totals.values())
            for path in wanted:
                bad += _run(spark, read_scenario(path), groups(lacking, seeds), totals, asked.keep)
            seed += asked.seeds
            if before == sum(told.samples for told in totals.values()):
                break
    sys.stdout.write(table(totals) + "\n")
    return 1 if bad else 0


def groups(laws: Sequence[str], seeds: Sequence[int]) -> list[list[tuple[str, int]]]:
    """What is audited together: laws and seeds; what leaves gaps for all, apart from the rest."""
    whole = [(law, seed) for seed in seeds for law in laws if law not in catalogue.ALONE]
    gapped = [(law, seed) for seed in seeds for law in laws if law in catalogue.ALONE]
    return [group for group in (whole, gapped) if group]


def _run_cases(spark: SparkSession, seed: int) -> int:
    """Every case after one law; how many violations there are that no case has."""
    with tempfile.TemporaryDirectory() as folder:
        looked, wrong = of_cases.run_cases(spark, seed, Path(folder))
    for law, case, one in wrong:
        told = f"{one['code']} at {one['offset_first']}: {one['message']}"
        sys.stdout.write(f"  case {case.code}: {case.name!r} {law} seed {seed}: {told}\n")
    for law, told in looked.items():
        legal = sum(1 for case, _ in told if of_cases.is_legal(case))
        sys.stdout.write(f"cases, {law}: {legal} legal, {len(told) - legal} broken\n")
    sys.stdout.flush()
    return len(wrong)


def _run(
    spark: SparkSession,
    scenario: Scenario,
    asked: Sequence[Sequence[tuple[str, int]]],
    totals: dict[str, Told],
    keep: Path | None,
) -> int:
    """Audits all groups of one dump, prints what is wrong and adds it all up.

    Wrong is a violation; of a broken dump one that its own copy, only renamed, does not have.
    """
    started, kept, bad = time.monotonic(), [], 0
    owed: set[tuple[Any, ...]] = set()
    for group in asked:
        try:
            told = audit_laws(spark, scenario, group)
        except NotPlacedError as error:
            sys.stdout.write(f"{scenario.name}: left out: {error}\n")
            return 0
        if not scenario.legal:
            owed |= {
                place for key, one in told.items() if key[0] == RENAME for place in places(one)
            }
        for key, one in told.items():
            totals[key[0]].samples += one.samples
            totals[key[0]].findings += one.findings
            wrong = [
                finding
                for finding in one.findings
                if finding["verdict"] == "violation" and place_of(finding) not in owed
            ]
            bad += len(wrong)
            kept += [finding | {"law": key[0], "seed": key[1]} for finding in one.findings]
            for finding in wrong:
                sys.stdout.write(line(scenario.name, key, finding) + "\n")
    seconds = time.monotonic() - started
    sys.stdout.write(f"{scenario.name}: {bad} violations, {seconds:.0f} s\n")
    sys.stdout.flush()
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        first = asked[0][0][1]
        (keep / f"{scenario.name}-{first}.json").write_text(json.dumps(kept, default=str))
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
