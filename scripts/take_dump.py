#!/usr/bin/env python3
"""Copies brokers' log directories while they run, so that an audit can decide most.

usage: take_dump.py --to DIR [option…] SOURCE…      (--help tells more)
       take_dump.py --to DIR [option…] --bootstrap HOST:PORT

The second form fetches the logs over the Kafka protocol instead, where nobody reaches the disks
(docs/live-clusters.md). It alone needs a package, kafka-python 3; its code is in _protocol_*.py.

Each source is a log directory here or on a host. The log of the transaction coordinators is
copied twice, before and after the other partitions of all sources, and dump-manifest.json in each
copied log directory tells when each partition was copied. docs/operations.md says why.

The far side needs sh, date, find, stat, grep and tar, nothing of ours, and is only read. This side
needs the checkout and Python 3.11, no package.
"""

import argparse
import difflib
import fnmatch
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

# The code beside this folder, where it knows the names on a broker's disk.
sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

from _dump_copy import Directory, LogDirectoryCopy, Manifest
from _dump_source import CopyError, Source

from jobs.model.file_names import name_folder
from schemas.topics import METADATA_TOPIC, OFFSETS_TOPIC, TXN_LOG_TOPIC
from udfs.wire.side_files.checkpoints import parse_properties

# Committed offsets may be part of a transaction: asked for or not, both are in every dump. Not so
# KRaft's METADATA_TOPIC, which holds no transaction, but credentials: only with --metadata, and
# last of all, so that it is later than what is judged by it.
ALWAYS_COPIED = (TXN_LOG_TOPIC, OFFSETS_TOPIC)
STEPS = ("before", "data", "after")
BY_SSH = "ssh -o BatchMode=yes {host} sh -s"
MOST_JOBS = 64

EPILOG = """steps:
  before  the log of the transaction coordinators, of all sources
  data    the other partitions; several sources at once
  after   the log of the transaction coordinators again
All three run in this order; each begins when the one before has ended on all sources. Where one
command cannot reach all brokers, give --step: run before on all, then data on all, then after.

examples:
  take_dump.py --to /copies/today kafka-1:/var/lib/kafka kafka-2:/var/lib/kafka
      two brokers, by ssh
  take_dump.py --to /copies/today --topic 'orders*' kafka-1:/data/a kafka-1:/data/b
      some topics of a broker with two log directories; the internal topics come with them
  take_dump.py --to /copies/today --metadata kafka-1:/var/lib/kafka
      the metadata of KRaft, too: topic ids, policies and brokers of the cluster, with which more
      can be proven. They hold hashed passwords
  take_dump.py --to /copies/today --taken-at 1795236470221 /mnt/snapshot/kafka
      a mounted snapshot of that moment
  take_dump.py --to /copies/today --through 'kubectl exec -i {host} -- sh -s' kafka-0:/var/lib/kafka
      a pod; also the place for 'ssh -C {host} nice ionice -c3 sh -s'

  take_dump.py --to /copies/live --bootstrap kafka-1:9092 --config client.properties
      a cluster whose disks nobody reaches, over the Kafka protocol: what the leaders serve, from
      the log start to the high watermark. Given again, it fetches only what is new. Nothing is
      committed, created or changed. client.properties is that of Kafka's own tools

An interrupted copy goes on when the same command is given again. A finished one stays as it is:
a new copy needs a new folder.

exit codes:
  0  every step asked for is done
  2  wrong arguments or a source that is no log directory; nothing was copied
  3  not finished; give the same command again
"""


class UsageError(Exception):
    """Wrong arguments, or a source that is no log directory: one sentence for the user."""


@dataclass(frozen=True)
class Options:
    """What the command line asks for. `taken_at`: ms since 1970 of a snapshot.

    `bootstrap`, `config`, `jobs`, `rate` (bytes a second): of a dump over the protocol.
    """

    to: Path
    topics: list[str]
    steps: tuple[str, ...]
    taken_at: int | None
    sources: list[Source]
    bootstrap: list[str]
    config: Path | None
    jobs: int
    rate: int | None


def parse(argv: list[str]) -> Options:
    """Reads the command line; ends like argparse, or raises UsageError."""
    parser = argparse.ArgumentParser(
        prog="take_dump.py",
        description="Copies brokers' log directories while they run, for an audit.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    over_protocol = any(word.partition("=")[0] == "--bootstrap" for word in argv)
    parser.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="DIR, or HOST:DIR; not with --bootstrap"
    )
    parser.add_argument("--to", required=True, type=Path, metavar="DIR", help="where the dump goes")
    parser.add_argument(
        "--topic", action="append", metavar="PATTERN", help="only these topics; * and ? are known"
    )
    parser.add_argument("--topics", nargs="+", metavar="PATTERN", help="the same, several at once")
    _add_options_of_disks(parser)
    _add_options_of_protocol(parser)
    given = parser.parse_args(argv)
    if not over_protocol and not given.sources:
        parser.error("the following arguments are required: SOURCE, or --bootstrap")
    if over_protocol:
        _refuse_options_of_disks(given)
    if given.taken_at is not None and given.step:
        raise UsageError("a snapshot is one moment and has no steps: leave out --step")
    steps = (given.step,) if given.step else STEPS
    return Options(
        to=given.to,
        topics=([*(given.topic or []), *(given.topics or [])] or ["*"])
        + [METADATA_TOPIC] * given.metadata,
        steps=("data",) if given.taken_at is not None else steps,
        taken_at=given.taken_at,
        sources=[_source(text, given.through, given.to) for text in given.sources],
        bootstrap=[one.strip() for one in (given.bootstrap or "").split(",") if one.strip()],
        config=given.config,
        jobs=given.jobs,
        rate=given.max_rate,
    )


def _add_options_of_disks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--step", choices=STEPS, help="only this step (default: all three)")
    parser.add_argument(
        "--taken-at", type=int, metavar="MS", help="the sources are snapshots of this moment"
    )
    parser.add_argument(
        "--metadata",
        action="store_true",
        help=f"copy {METADATA_TOPIC}, too, last of all (it holds hashed passwords)",
    )
    parser.add_argument(
        "--through",
        default=BY_SSH,
        metavar="COMMAND",
        help="runs a shell on {host} that reads its commands from stdin (default: %(default)s)",
    )


def _add_options_of_protocol(parser: argparse.ArgumentParser) -> None:
    only = parser.add_argument_group("a dump over the Kafka protocol")
    only.add_argument(
        "--bootstrap", metavar="HOST:PORT[,…]", help="brokers to ask first, instead of SOURCE"
    )
    only.add_argument(
        "--config", type=Path, metavar="FILE", help="client.properties: TLS and SASL, Java's names"
    )
    only.add_argument(
        "--jobs", type=_jobs, default=2, metavar="N", help="partitions at once (default: 2)"
    )
    only.add_argument(
        "--max-rate", type=_rate, metavar="RATE", help="bytes a second of all jobs, such as 20M"
    )


def _jobs(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MOST_JOBS:
        raise ValueError(text)
    return number


def _rate(text: str) -> int:
    """Bytes a second: a number, or one with k, M or G (thousands)."""
    factors = {"k": 10**3, "M": 10**6, "G": 10**9}
    number, factor = (text[:-1], factors[text[-1]]) if text[-1:] in factors else (text, 1)
    rate = int(float(number) * factor)
    if rate <= 0:
        raise ValueError(text)
    return rate


# What argparse calls a value that they refuse.
_jobs.__name__, _rate.__name__ = f"number (1 to {MOST_JOBS})", "rate"


def _refuse_options_of_disks(given: argparse.Namespace) -> None:
    refused = {
        "SOURCE": given.sources,
        "--step": given.step,
        "--taken-at": given.taken_at is not None,
        "--metadata": given.metadata,
        "--through": given.through != BY_SSH,
    }
    for name, there in refused.items():
        if there:
            raise UsageError(f"{name} does not go with --bootstrap")


def _source(text: str, through: str, to: Path) -> Source:
    host, colon, directory = text.partition(":")
    if colon and "/" not in host:
        if not host or host.startswith("-") or not directory:
            raise UsageError(f"{text} is not a source: give DIR or HOST:DIR")
        return Source(host, directory, through)
    local, target = Path(text).resolve(), to.resolve()
    if not local.is_dir():
        raise UsageError(f"{text} is not a folder; a log directory has folders like orders-0")
    if target.is_relative_to(local) or local.is_relative_to(target):
        raise UsageError(f"--to {to} and {text} lie in each other: the source must stay untouched")
    return Source(None, str(local), through)


def prepare(options: Options) -> list[LogDirectoryCopy]:
    """One copy a source, named by its broker. Raises UsageError where a source does not fit."""
    if len(set(map(str, options.sources))) < len(options.sources):
        raise UsageError("a source is given twice")
    found: dict[str, tuple[Source, Manifest]] = {}
    topics = set()
    for source in options.sources:
        properties = parse_properties(source.read("meta.properties"))
        number = properties.get("node.id", properties.get("broker.id", ""))
        if not number.isdigit():
            raise UsageError(f"{source}/meta.properties names no node.id and no broker.id")
        label, count = f"broker-{number}", 1
        while label in found:
            count += 1
            label = f"broker-{number}-{count}"
        cluster = properties.get("cluster.id")
        found[label] = (
            source,
            Manifest(int(number), cluster, str(source), options.topics, options.taken_at),
        )
        topics |= {named[0] for name in source.look().folders if (named := name_folder(name))}
    clusters = sorted({str(manifest.cluster_id) for _, manifest in found.values()})
    if len(clusters) > 1:
        raise UsageError(f"the sources belong to several clusters: {', '.join(clusters)}")
    _match(options.topics, topics)
    return [
        LogDirectoryCopy(source, options.to / label, manifest)
        for label, (source, manifest) in found.items()
    ]


def _match(patterns: list[str], topics: set[str]) -> None:
    for pattern in patterns:
        if not fnmatch.filter(topics, pattern):
            if pattern == METADATA_TOPIC:
                raise UsageError(
                    f"--metadata: no source has {METADATA_TOPIC}-0; give the folder of the option "
                    "metadata.log.dir as a source, too (a cluster with ZooKeeper has none)"
                )
            near = difflib.get_close_matches(pattern, topics, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"--topic {pattern}: no topic of the sources matches{hint}")


def directories(copy: LogDirectoryCopy, step: str, options: Options) -> list[Directory]:
    """What a step copies of a source; notes what it leaves out."""
    wanted = []
    for name in copy.source.look().folders:
        named = name_folder(name)
        if named is None:
            continue
        topic, partition, retired = named
        asked = any(fnmatch.fnmatchcase(topic, pattern) for pattern in options.topics)
        if retired is not None:
            copy.leave_out(name, f"marked -{retired} by the broker")
        elif topic == METADATA_TOPIC and topic not in options.topics:
            copy.leave_out(name, "metadata of KRaft, which hold hashed passwords: see --metadata")
        elif (asked or topic in ALWAYS_COPIED) and (
            options.taken_at is not None or step in _steps_of(topic)
        ):
            wanted.append(Directory(name, topic, partition, step))
    return sorted(wanted, key=lambda one: one.topic == METADATA_TOPIC)


def _steps_of(topic: str) -> tuple[str, ...]:
    if topic == METADATA_TOPIC:
        return ("after",)
    return ("before", "after") if topic == TXN_LOG_TOPIC else ("data",)


def run_step(copy: LogDirectoryCopy, step: str, options: Options) -> None:
    """One step on one source, unless it is done. Raises CopyError where the one before is not."""
    order = ("data",) if options.taken_at is not None else STEPS
    done = copy.manifest.steps
    if step in done:
        return
    missing = [earlier for earlier in order[: order.index(step)] if earlier not in done]
    if missing:
        raise CopyError(f"{copy.source}: step {missing[0]} has to come before step {step}")
    if step == "data":
        copy.copy_side_files()
    wanted = directories(copy, step, options)
    for number, directory in enumerate(wanted, start=1):
        if not copy.has(directory):
            tell(f"{copy.target.name}: {step}, {number} of {len(wanted)}: {directory.name}")
            copy.copy(directory)
    copy.drop_stale_shutdown_marker()
    copy.note_step(step, last=step == order[-1])


def on_all(copies: list[LogDirectoryCopy], work: Callable[[LogDirectoryCopy], None]) -> list[str]:
    """Works on all sources at once; returns the complaints of those that failed."""

    def attempt(copy: LogDirectoryCopy) -> str | None:
        try:
            work(copy)
        except (CopyError, OSError) as error:
            copy.save()
            return str(error)
        return None

    with ThreadPoolExecutor(len(copies)) as pool:
        return [complaint for complaint in pool.map(attempt, copies) if complaint]


def tell(text: str) -> None:
    """Progress and complaints go to stderr."""
    sys.stderr.write(f"take_dump: {text}\n")


def fetch(options: Options) -> int:
    """A dump over the protocol; the exit code. Raises UsageError, CopyError before anything."""
    # Loaded only here: this alone needs kafka-python.
    from _protocol_dump import ClusterOptions, start  # noqa: PLC0415

    def choose(topics: set[str]) -> set[str]:
        _match(options.topics, topics)
        return {
            topic
            for topic in topics - {METADATA_TOPIC}
            if topic in ALWAYS_COPIED
            or any(fnmatch.fnmatchcase(topic, pattern) for pattern in options.topics)
        }

    wanted = ClusterOptions(
        options.bootstrap, options.config, options.to, options.topics, options.rate, options.jobs
    )
    return start(wanted, choose, tell)


def main(argv: list[str]) -> int:
    """Returns the exit code."""
    try:
        options = parse(argv)
        if options.bootstrap:
            return fetch(options)
        copies = prepare(options)
    except (UsageError, CopyError) as error:
        tell(f"{error}.")
        return 2
    named = ", ".join(options.steps)
    if all(step in copy.manifest.steps for copy in copies for step in options.steps):
        tell(
            f"{named}: finished before in {options.to}, nothing was copied; for a newer dump give "
            "another --to."
        )
        return 0
    for step in options.steps:
        complaints = on_all(copies, partial(run_step, step=step, options=options))
        for complaint in complaints:
            tell(f"{complaint}.")
        if complaints:
            tell(f"step {step} is not finished; give the same command again to go on.")
            return 3
    size = sum(entry["bytes"] for copy in copies for entry in copy.manifest.directories)
    unsettled = [e["path"] for c in copies for e in c.manifest.directories if not e["settled"]]
    if unsettled:
        tell(f"the broker kept replacing files under the copy of: {', '.join(unsettled)}.")
    tell(f"{named}: done, {size:,} bytes in {options.to}.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        tell("interrupted; give the same command again to go on.")
        sys.exit(3)
