"""Files of a dump that change after they were listed, before they are read.

The folder of a running broker does not wait for an audit: segments grow, retention and the cleaner
take them, a follower truncates; a store fails. Each change here is made to renamed copies of a dump
of real brokers (`laws.rename`), all of which are audited as one cluster. The history is legal
before and after it, so whatever is read of them, no violation may come of it.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from laws import catalogue, tail
from laws.catalogue import Source
from laws.dump_files import Directory, Dump
from laws.log_batches import batches
from laws.rename import NotPlacedError, internal_partitions, packed
from laws.run import AN_HOUR_MS, Scenario, copy_of, is_legal, read_scenario, scenarios
from pyspark.sql import SparkSession

from faults.tally import Tally
from jobs import main as stages
from jobs.audit.audit import Request
from jobs.cli.progress import Progress
from jobs.collect.collect import collect
from jobs.model.settings import load
from jobs.model.unread import UNREAD
from jobs.spark.session import spark_session
from schemas.violation import FINDING_PLACE

# The beginning of a batch that a broker had not written to its end.
TORN = b"\0\0\0\0\0\0\0\7\0\0\1"
SHARES = (0.02, 0.1, 0.4)

States = tuple[Dump, Dump]
Finding = dict[str, Any]


def grown(dump: Dump, _: Source, rng: Random) -> States:
    """Logs were shorter when they were listed."""
    before = dump.copy()
    for directory, one in list(before.copies()):
        tail.earlier(before, directory, one, rng)
    return before, dump


def truncated(dump: Dump, source: Source, rng: Random) -> States:
    """Logs are shorter when they are read, as after a follower's truncation."""
    before, after = grown(dump, source, rng)
    return after, before


def by_law(law: str) -> Callable[[Dump, Source, Random], States]:
    """Listed as it was before a law, read after it."""

    def change(dump: Dump, source: Source, rng: Random) -> States:
        after = dump.copy()
        catalogue.apply(law, after, source, rng)
        return dump, after

    return change


# What brokers do: the state when it is listed, and the one when it is read.
OF_BROKERS: dict[str, Callable[[Dump, Source, Random], States]] = {
    "grown": grown,
    "truncated": truncated,
    "retention": by_law("retention"),
    "clean": by_law("clean"),
    "side_files": by_law("side_files"),
}


def _some(directories: Sequence[Directory], rng: Random) -> list[tuple[dict[str, bytes], str]]:
    folders = [one.files for directory in directories for one in directory.partitions]
    files = [(files, name) for files in folders for name in sorted(files)]
    return rng.sample(files, max(1, round(len(files) * rng.choice(SHARES))))


def removed(directories: Sequence[Directory], rng: Random) -> None:
    """Any files are gone."""
    for files, name in _some(directories, rng):
        del files[name]


def cut(directories: Sequence[Directory], rng: Random) -> None:
    """Any files end earlier, at any byte."""
    for files, name in _some(directories, rng):
        files[name] = files[name][: rng.randrange(len(files[name]) + 1)]


def _logs(files: dict[str, bytes]) -> list[str]:
    return sorted(name for name in files if name.endswith(".log"))


def appended(directories: Sequence[Directory], rng: Random) -> None:
    """Any newest segments have more bytes at their end."""
    for files, _ in _some(directories, rng):
        for newest in _logs(files)[-1:]:
            files[newest] += TORN[: rng.randrange(1, len(TORN))]


def merged(directories: Sequence[Directory], rng: Random) -> None:
    """Closed segments are what the cleaner made of them and the next ones, which had been read."""
    for directory in directories:
        for one in directory.partitions:
            first, second, newest = [*_logs(one.files), "", "", ""][:3]
            if newest:
                kept = list(batches(one.files[first]))
                kept = kept[round(len(kept) * rng.choice(SHARES)) :]
                one.files[first] = b"".join(batch.content for batch in kept) + one.files[second]


# What nobody means: the files of a copy when they are read.
OF_FILES: dict[str, Callable[[Sequence[Directory], Random], None]] = {
    "removed": removed,
    "cut": cut,
    "appended": appended,
    "merged": merged,
}
CHANGES = (*OF_BROKERS, *OF_FILES)
# After these nothing is missing of what was listed.
HARMLESS = ("grown", "appended")
COPIES = 2
INCOMPLETE = 3
Key = tuple[str, int]


def states(scenario: Scenario, keys: Sequence[Key]) -> States:
    """One renamed copy for each change and seed, when it is listed and when it is read."""
    partitions = internal_partitions(scenario.dump)
    before, after = [], []
    for change, seed in keys:
        listed = read = scenario.dump
        if change in OF_BROKERS:
            rng = Random(f"{scenario.name} {change} {seed}")
            listed, read = OF_BROKERS[change](scenario.dump.copy(), scenario.source, rng)
        before.append(listed)
        after.append(read)
    told = packed(before, partitions), packed(after, partitions)
    for number, (change, seed) in enumerate(keys):
        if change in OF_FILES:
            mine = [one for one in told[1].directories if one.name.startswith(f"{number:02}-")]
            OF_FILES[change](mine, Random(f"{scenario.name} {change} {seed}"))
    return told


def write_over(dump: Dump, folder: Path) -> None:
    """Makes a folder with another state of the dump have this one."""
    wanted: dict[Path, bytes] = {}
    for directory in dump.directories:
        root = folder / directory.name
        wanted |= {root / name: content for name, content in directory.files.items()}
        for one in directory.partitions:
            inside = root / f"{one.topic}-{one.number}"
            wanted |= {inside / name: content for name, content in one.files.items()}
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path not in wanted:
            path.unlink()
    for path, content in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@dataclass(frozen=True)
class Told:
    """What an audit of changed copies says, by change and seed.

    `left_out`: partitions that were not judged. `incomplete`: sentences of the verdict.
    """

    violations: list[tuple[Key | None, Finding]]
    left_out: Counter[Key]
    incomplete: int
    exit_code: int


def audit_changed(spark: SparkSession, scenario: Scenario, keys: Sequence[Key]) -> Told:
    """Lists the copies in one state and audits them in the other."""
    before, after = states(scenario, keys)
    partitions = internal_partitions(scenario.dump)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before.write(folder)
        listed = collect([folder])
        write_over(after, folder)
        moment = scenario.source.moment + AN_HOUR_MS
        request = Request([folder], "unused", moment, "records", load(None))
        done = stages.audit(spark, request, Progress(None, quiet=True), listed)
        crashed = [one.check.code for one in done.verified.outcomes if one.status == "crashed"]
        rows = [row.asDict(recursive=True) for row in done.verified.findings.collect()]
        done.release()
    if crashed:
        raise RuntimeError(f"crashed: {crashed}")
    places = {
        (one.topic, one.partition, one.path[:2]) for one in listed.files if one.note == UNREAD
    }
    return Told(
        violations=[
            (None if number is None else keys[number], one)
            for one in _places(rows)
            for number in [copy_of(one, partitions)]
        ],
        left_out=Counter(keys[int(number)] for _, _, number in places),
        incomplete=len(done.verdict.incomplete),
        exit_code=done.verdict.exit_code,
    )


def _places(rows: Sequence[Finding]) -> Iterator[Finding]:
    """Each violation at each of its places."""
    for row in rows:
        for place in row["places"] or [row]:
            if row["verdict"] == "violation":
                yield row | {name: place[name] for name in FINDING_PLACE.names}


def wrong_in(told: Told) -> str | None:
    """What is wrong with an audit of changed copies of a legal history."""
    if told.violations:
        named = [f"{key}: {one['code']}: {one['message']}" for key, one in told.violations[:5]]
        return f"{len(told.violations)} violations: {'; '.join(named)}"
    if told.left_out and told.exit_code != INCOMPLETE:
        return f"partitions are left out, and the exit code is {told.exit_code}"
    harmed = [key for key in told.left_out if key[0] in HARMLESS]
    return f"partitions are left out after {harmed}" if harmed else None


def change_dumps(moments: int, first_seed: int, tally: Tally) -> None:
    """So many seeds of every change, in one legal dump of this checkout after the other."""
    legal = [path for path in scenarios() if is_legal(path)]
    with spark_session({"spark.driver.memory": "4g"}) as spark:
        for seed in range(first_seed, first_seed + moments):
            scenario = read_scenario(legal[seed % len(legal)])
            keys = [(change, seed * 10 + one) for change in CHANGES for one in range(COPIES)]
            try:
                told = audit_changed(spark, scenario, keys)
            except NotPlacedError as error:
                tally.say(f"{scenario.name}: left out: {error}")
                continue
            where = f"seed {seed}, {scenario.name}, {len(keys)} copies"
            left_out = f"{sum(told.left_out.values())} partitions not judged"
            tally.judge("changed copies", wrong_in(told), f"{where}, {left_out}")
