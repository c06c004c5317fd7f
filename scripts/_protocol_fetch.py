"""One partition, fetched from its leader up to the high watermark of the moment.

A run goes on where the folder ends, so that an interrupted run and a second one are the same thing.
Where the log is another one than before (made again, truncated, trimmed past the end of the copy),
what was fetched earlier is kept under a name that audits leave out, and that is noted.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from _dump_source import CopyError
from _protocol_log import SEGMENT_BYTES, PartitionLog, RewrittenError
from _protocol_values import EARLIEST, LATEST, Fetched, Partition, PassingError, id_text

from udfs.wire.side_files.checkpoints import parse_properties

# Codes of Kafka's errors (org.apache.kafka.common.protocol.Errors).
OFFSET_OUT_OF_RANGE = 1
UNKNOWN_TOPIC = (3, 100)  # by name, by id
REFUSED = {29: "the cluster's ACLs refuse to read the topic", 31: "the cluster's ACLs refuse it"}
# Over soon: no leader, another leader, a replica that starts, storage, throttling, timeouts.
PASSING = (2, 5, 6, 7, 8, 9, 13, 56, 74, 75, 76, 78, 89, 103)
ANSWER_BYTES = 8 << 20
# Without any progress a partition is given up after so long, s, until the next run.
PATIENCE = 120.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
# Answers without a batch below the high watermark, after which there is none: it was compacted.
EMPTY_ANSWERS = 4
WAIT_MS = 500
METADATA = "partition.metadata"
# A name of 255 bytes, without what marks it as deleted.
LONGEST_STEM = 255 - len(".") - 32 - len("-delete")


class GoneError(Exception):
    """The cluster has the partition no more."""


class RefusedError(Exception):
    """The cluster does not let this client read the partition; the message says why."""


class Far(Protocol):
    """What is asked of the cluster (_protocol_client.Cluster)."""

    def refresh(self) -> None: ...
    def partitions(self, topics: list[str]) -> list[Partition]: ...
    def list_offset(self, partition: Partition, moment: int) -> tuple[int, int]: ...
    def end_of_epoch(self, partition: Partition, epoch: int) -> tuple[int, int, int]: ...
    def fetch(self, partition: Partition, offset: int, size: int, wait_ms: int) -> Fetched: ...


@dataclass
class Pace:
    """What the run asks of every partition: `spent` slows down, `stopped` ends, `now` is ms."""

    now: Callable[[], int]
    spent: Callable[[int], None] = lambda size: None
    moved: Callable[[int], None] = lambda offsets: None
    stopped: Callable[[], bool] = lambda: False
    patience: float = PATIENCE
    answer_bytes: int = ANSWER_BYTES
    segment_bytes: int = SEGMENT_BYTES


class Known(NamedTuple):
    """What a leader said of a partition; moments in ms by the clock of this machine.

    What was below the high watermark at `asked_ms` was fetched. The offsets are of `answered_ms`.
    """

    asked_ms: int
    answered_ms: int
    high_watermark: int
    last_stable_offset: int
    log_start: int


@dataclass
class PartitionFetch:
    """Brings a partition folder up to date.

    `fetched_from`: the first offset that this run asked for; what lies below is of earlier runs.
    """

    far: Far
    partition: Partition
    folder: Path
    pace: Pace
    events: list[dict[str, Any]] = field(default_factory=list)
    fetched_from: int | None = None

    def run(self) -> tuple[PartitionLog, Known]:
        """Returns the closed log, and what the leader said with its last answer.

        Raises GoneError, RefusedError, and CopyError where there was no progress for too long.
        """
        pause, since = FIRST_PAUSE, time.monotonic()
        while True:
            before = self._size()
            log = None
            try:
                self._set_aside_another()
                log = PartitionLog(self.folder, self.pace.segment_bytes)
                return log, self._go_on(log)
            except (PassingError, RewrittenError) as error:
                if self._size() != before:
                    pause, since = FIRST_PAUSE, time.monotonic()
                if time.monotonic() - since > self.pace.patience:
                    raise CopyError(f"{self.partition.name}: {error}") from error
            finally:
                if log is not None:
                    log.close()
            if self.pace.stopped():
                raise CopyError("interrupted")
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
            self._find_leader()

    def _size(self) -> int:
        if not self.folder.exists():
            return -1
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def _find_leader(self) -> None:
        """Asks for the leader again; what does not answer is asked later."""
        try:
            self.far.refresh()
            same = [
                one
                for one in self.far.partitions([self.partition.topic])
                if one.number in (self.partition.number, -1)
            ]
        except PassingError:
            return
        if not same or same[0].error in UNKNOWN_TOPIC:
            raise GoneError
        if same[0].error in REFUSED:
            raise RefusedError(REFUSED[same[0].error])
        if same[0].number == self.partition.number:
            self.partition = same[0]

    # --- what was there before -----------------------------------------------------------------

    def _set_aside_another(self) -> None:
        """Of a topic that was made again, the older one's folder is kept as a broker would."""
        if self.partition.topic_id is None:
            return
        file, wanted = self.folder / METADATA, id_text(self.partition.topic_id)
        if file.exists():
            had = parse_properties(file.read_text("utf-8")).get("topic_id", "")
            if had != wanted:
                self._set_aside("made_again", topic_id=had)
        self.folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_text(f"version: 0\ntopic_id: {wanted}\n", "utf-8")

    def _set_aside(self, kind: str, **facts: object) -> None:
        """Renames the folder like one that a broker is about to delete: audits leave it out."""
        moment = self.pace.now()
        to = self.folder.with_name(f"{self.folder.name[:LONGEST_STEM]}.{moment:032x}-delete")
        self.folder.rename(to)
        self.fetched_from = None
        self._note(kind, kept_as=to.name, **facts)

    def _note(self, kind: str, **facts: object) -> None:
        head = {"path": self.folder.name, "kind": kind, "at_ms": self.pace.now()}
        self.events.append(head | facts)

    def _cut_what_the_leader_lost(self, log: PartitionLog) -> None:
        """An unclean election truncates: what is stored beyond the fork is kept beside the log."""
        if not log.holds_batches or log.leader_epoch < 0:
            return
        assert log.end is not None
        error, epoch, end = self.far.end_of_epoch(self.partition, log.leader_epoch)
        if error in (*PASSING, *UNKNOWN_TOPIC):
            self._complain(error)
        # Where the leader does not tell, only a log that ends earlier shows what was truncated.
        if error or end < 0 or (epoch == log.leader_epoch and end >= log.end):
            return
        if end < log.end:
            self._cut(log, end)

    def _cut(self, log: PartitionLog, offset: int) -> None:
        had, size = log.end, log.cut(offset)
        self._note("truncated", from_offset=log.end or 0, to_offset=had, kept_bytes=size)

    # --- what is there now ---------------------------------------------------------------------

    def _go_on(self, log: PartitionLog) -> Known:
        if self.partition.leader < 0:
            raise PassingError("it has no leader")
        self._cut_what_the_leader_lost(log)
        error, log_start = self.far.list_offset(self.partition, EARLIEST)
        self._complain(error)
        if log.end is None:
            log.begin(log_start)
        elif log_start > log.end:
            log.close()
            self._set_aside("trimmed_past", from_offset=log.end, to_offset=log_start)
            raise PassingError("retention went past the copy")
        # What another try of this run fetched is of this run, unless the leader lost it meanwhile.
        asked = [one for one in (self.fetched_from, log.end) if one is not None]
        self.fetched_from = min(asked)
        return self._fetch_all(log)

    def _fetch_all(self, log: PartitionLog) -> Known:
        """Fetches up to the high watermark of now."""
        asked, target, empty, gap = self.pace.now(), self._high_watermark(), 0, None
        while True:
            if self.pace.stopped():
                raise CopyError("interrupted")
            assert log.end is not None
            answer = self.far.fetch(
                self.partition, log.end, self.pace.answer_bytes, WAIT_MS if empty else 0
            )
            if answer.error == OFFSET_OUT_OF_RANGE:
                self._look_at_the_end(log)
            self._complain(answer.error)
            begun = log.end
            added = log.append(answer.records)
            self.pace.spent(len(answer.records))
            self.pace.moved(log.end - begun)
            gap = gap or added.gap
            empty = 0 if added.size else empty + 1
            if log.end >= target:
                break
            if empty > EMPTY_ANSWERS:
                if answer.high_watermark < target:
                    raise PassingError("the leader does not know yet what is replicated")
                break
        if gap:
            self._note("compacted", from_offset=gap[0], to_offset=gap[1])
        if answer.log_start >= log.end and log.holds_batches:
            log.begin(log.end)
        return Known(
            asked,
            self.pace.now(),
            answer.high_watermark,
            answer.last_stable_offset,
            answer.log_start,
        )

    def _high_watermark(self) -> int:
        """What is replicated now.

        A leader that was just elected answers a Fetch with an older mark, until its followers have
        asked it. This question it refuses meanwhile (KIP-207, brokers of 2.2 and later).
        """
        error, offset = self.far.list_offset(self.partition, LATEST)
        self._complain(error)
        return offset

    def _look_at_the_end(self, log: PartitionLog) -> None:
        """A log that ends before its copy was truncated, where no leader epoch could tell."""
        error, end = self.far.list_offset(self.partition, LATEST)
        self._complain(error)
        if log.end is not None and end < log.end:
            self._cut(log, end)

    def _complain(self, error: int) -> None:
        """Raises what an error code means."""
        if error == 0:
            return
        if error in REFUSED:
            raise RefusedError(REFUSED[error])
        if error == OFFSET_OUT_OF_RANGE or error in (*PASSING, *UNKNOWN_TOPIC):
            # Metadata, or a second look at the ends of the log, tell more.
            raise PassingError(f"the leader answered with error {error}")
        raise CopyError(f"{self.partition.name}: the leader answered with error {error}")
