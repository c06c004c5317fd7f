"""A dump from bootstrap servers: which partitions, in which order, by how many jobs at once.

One folder `cluster` below --to looks like a log directory: a folder a partition, a manifest,
meta.properties without a broker. A partition is there once, as its leader serves it.
"""

import fcntl
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _dump_source import CopyError
from _protocol_answers import Answers
from _protocol_client import Cluster
from _protocol_fetch import GoneError, Known, Pace, PartitionFetch, RefusedError
from _protocol_log import PartitionLog
from _protocol_manifest import FetchedManifest, ManifestFile
from _protocol_pace import Progress
from _protocol_properties import connection_options, read_properties
from _protocol_values import LATEST, Partition, PassingError, id_text

from schemas.topics import TXN_LOG_TOPIC

FOLDER = "cluster"
# A follower that is in sync has what was appended before so long (replica.lag.time.max.ms, ms):
# the high watermark is past it. Without followers it is at the end.
REPLICATION_MS = 30_000
NOT_FINISHED = "not finished; give the same command again to go on."


@dataclass(frozen=True)
class ClusterOptions:
    """What the command line asks for. `rate`: bytes a second, None for no limit."""

    bootstrap: list[str]
    config: Path | None
    to: Path
    topics: list[str]
    rate: int | None
    jobs: int


Choose = Callable[[set[str]], set[str]]
Tell = Callable[[str], None]


def start(options: ClusterOptions, choose: Choose, tell: Tell) -> int:
    """A run; the exit code. Raises CopyError where the cluster refuses to be asked.

    `choose`: which of the topics that there are.
    """
    properties = read_properties(options.config) if options.config else {}
    cluster = Cluster(options.bootstrap, connection_options(properties))
    try:
        return ClusterDump(cluster, options, tell).run(choose)
    except PassingError as error:
        tell(f"{error}.")
        tell(NOT_FINISHED)
        return 3
    finally:
        cluster.close()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Two runs at once would append to the same files. Raises CopyError."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CopyError(f"another run writes to {folder}") from error
        try:
            yield
        finally:
            (folder / ".lock").unlink(missing_ok=True)


class ClusterDump:
    """One run, which brings a folder up to date."""

    def __init__(self, cluster: Cluster, options: ClusterOptions, tell: Tell) -> None:
        """Asks for the partitions that there are. Raises CopyError, PassingError."""
        self._cluster, self._options, self._tell = cluster, options, tell
        self._folder = options.to / FOLDER
        self._stop = threading.Event()
        self.cluster_id = str(cluster.metadata([]).cluster_id or "") or None
        self.partitions = [one for one in cluster.partitions() if one.number >= 0]
        source = f"protocol:{','.join(options.bootstrap)}"
        self._content = FetchedManifest(self.cluster_id, source, options.topics, _now())
        self._complaints: list[str] = []

    def run(self, choose: Choose) -> int:
        """Fetches what `choose` picks of the topics; the exit code."""
        chosen = choose({one.topic for one in self.partitions})
        wanted = [one for one in self.partitions if one.topic in chosen]
        with alone(self._folder):
            self.manifest = ManifestFile(self._folder, self._content)
            self._tell_of_deleted()
            properties = f"version=1\ncluster.id={self.cluster_id}\n" if self.cluster_id else ""
            (self._folder / "meta.properties").write_text(properties, "utf-8")
            answers = Answers(self._cluster, self.cluster_id)
            try:
                self._step("before", wanted)
                answers.ask("before", wanted)
                self._step("data", wanted)
                self._step("after", wanted)
                # Behind all that was fetched: what both answers agree on was so meanwhile.
                answers.ask("after", wanted)
                answers.write(self._folder)
            finally:
                self.manifest.save()
            return self._end()

    def _tell_of_deleted(self) -> None:
        """Partitions of earlier runs that the cluster has no more are kept."""
        there = {one.name for one in self.partitions}
        gone = [
            one["path"]
            for one in self.manifest.content.directories
            if one["role"] != "before" and one["path"] not in there
        ]
        if gone:
            self._tell(f"not in the cluster any more, and kept: {', '.join(sorted(gone))}")

    def _end(self) -> int:
        content = self.manifest.content
        if self._complaints:
            for complaint in self._complaints:
                self._tell(f"{complaint}.")
            self._tell(NOT_FINISHED)
            return 3
        content.finished = True
        self.manifest.save()
        size = sum(one["bytes"] for one in content.directories)
        self._tell(f"done, {size:,} bytes in {self._folder}.")
        return 0

    # --- the steps ------------------------------------------------------------------------------

    def _step(self, step: str, wanted: Sequence[Partition]) -> None:
        mine = [one for one in wanted if (one.topic == TXN_LOG_TOPIC) == (step != "data")]
        progress = Progress(
            lambda line: self._tell(f"{step}: {line}"),
            self._options.rate,
            len(mine),
            self._offsets_to_fetch(mine),
        )
        pace = Pace(
            now=_now,
            spent=progress.spent,
            moved=progress.moved,
            stopped=self._stop.is_set,
        )

        def one(partition: Partition) -> None:
            self._fetch(partition, step, pace)
            progress.done()

        with ThreadPoolExecutor(self._options.jobs) as pool:
            try:
                list(pool.map(one, mine))
            except BaseException:
                self._stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        if not self._complaints:
            self.manifest.content.steps.append(step)
        self.manifest.save()
        self._tell(f"{step}: {progress.line()}")

    def _offsets_to_fetch(self, partitions: Sequence[Partition]) -> int:
        """How many offsets lie between what is here and the high watermarks; a guess."""
        by_leader: dict[int, list[Partition]] = defaultdict(list)
        for one in partitions:
            by_leader[one.leader].append(one)
        total = 0
        for leader, led in by_leader.items():
            try:
                ends = self._cluster.list_offsets(led, LATEST) if leader >= 0 else {}
            except PassingError:
                continue
            for one in led:
                _, end = ends.get((one.topic, one.number), (0, 0))
                entry = self.manifest.entry(one.name)
                total += max(end - (entry["end_offset"] if entry else 0), 0)
        return total

    def _fetch(self, partition: Partition, step: str, pace: Pace) -> None:
        """Brings one partition up to date, and says of it in the manifest what there is to say."""
        fetch = PartitionFetch(self._cluster, partition, self._folder / partition.name, pace)
        try:
            log, known = fetch.run()
        except RefusedError as refused:
            self._refuse(partition, str(refused))
        except GoneError:
            self._refuse(partition, "the cluster has it no more")
        except (CopyError, OSError) as error:
            self._complaints.append(str(error))
        else:
            self.manifest.enter(self._entry(fetch, log, known, step), fetch.events)
            if step == "before":
                self._keep_as_before(fetch, log, known)
        for event in fetch.events:
            self._tell(f"{event['path']}: {in_words(event)}")

    def _refuse(self, partition: Partition, why: str) -> None:
        known = {(one["topic"], one["partition"]) for one in self.manifest.content.not_fetched}
        if (partition.topic, partition.number) not in known:
            self.manifest.refuse(partition.topic, partition.number, why)
            self._tell(f"{partition.name}: not fetched: {why}")
        folder = self._folder / partition.name
        if folder.exists() and not any(one.stat().st_size for one in folder.glob("*.log")):
            shutil.rmtree(folder)

    def _keep_as_before(self, fetch: PartitionFetch, log: PartitionLog, known: Known) -> None:
        """The newest segment as it ends before the data: where it ends is all an audit asks."""
        name = fetch.partition.name
        folder = self._folder / "before" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        there = [path for path in log.segments() if path.stat().st_size] or log.segments()
        shutil.copyfile(there[-1], folder / there[-1].name)
        entry = self._entry(fetch, log, known, "before")
        self.manifest.enter(entry | {"path": f"before/{name}"}, [])

    def _entry(
        self, fetch: PartitionFetch, log: PartitionLog, known: Known, step: str
    ) -> dict[str, Any]:
        partition = fetch.partition
        sizes = [path.stat().st_size for path in log.segments()]
        behind = REPLICATION_MS if partition.in_sync > 1 else 0
        return {
            "path": partition.name,
            "topic": partition.topic,
            "topic_id": id_text(partition.topic_id) if partition.topic_id else None,
            "partition": partition.number,
            "role": step,
            "copy_start_ms": known.asked_ms - behind,
            "copy_end_ms": known.answered_ms,
            "settled": True,
            # Producers go on: the leader's may have passed the end of the copy.
            "high_watermark": min(known.high_watermark, log.end or 0),
            "log_start": known.log_start if known.log_start >= 0 else None,
            "last_stable_offset": known.last_stable_offset,
            "first_offset": log.first,
            "fetched_from": fetch.fetched_from,
            "end_offset": log.end,
            "leader": partition.leader,
            "leader_epoch": partition.leader_epoch,
            "files": len(sizes),
            "bytes": sum(sizes),
        }


def _now() -> int:
    """Ms since 1970 by the clock of this machine: the protocol has no clock of the broker's."""
    return time.time_ns() // 1_000_000


def in_words(event: dict[str, Any]) -> str:
    """An event of the manifest as a sentence."""
    return {
        "made_again": "the topic was made again; what was fetched of the older one is kept in "
        "{kept_as}",
        "trimmed_past": "offsets {from_offset} to {to_offset} were gone before they were fetched; "
        "what was fetched earlier is kept in {kept_as}",
        "truncated": "the leader lost offsets {from_offset} to {to_offset}; they are kept beside "
        "the log, as .cut files ({kept_bytes} bytes)",
        "compacted": "offsets from {from_offset} to {to_offset} were compacted before they were "
        "fetched",
    }[event["kind"]].format(**event)
