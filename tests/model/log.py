"""One partition as its leader writes it: batches, segments, and the files beside them.

Offsets, producer states and aborted transactions are kept as `ProducerStateManager` does, so that
the `.txnindex` and `.snapshot` files are what a broker would have written.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from laws.dump_files import Partition

from tests.wire_writer import batches as writer
from tests.wire_writer import producer_snapshot as snapshot_writer
from tests.wire_writer import txn_index as index_writer
from udfs.wire.side_files import txn_index
from udfs.wire.side_files.producer_snapshot import ProducerSnapshotEntry

INDEX_ENTRY, TIME_ENTRY = struct.Struct(">ii"), struct.Struct(">qi")
INDEX_EVERY = 4096
NEW = ProducerSnapshotEntry(-1, -1, -1, -1, 0, -1, -1, -1)


@dataclass
class Segment:
    """Bytes of one segment and its indexes."""

    base: int
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    unindexed: int = 0
    index: list[bytes] = field(default_factory=list)
    times: list[bytes] = field(default_factory=list)
    aborted: list[txn_index.AbortedTxnEntry] = field(default_factory=list)
    # (timestamp, offset of its batch) of the newest record by timestamp, and of the last entry.
    newest: tuple[int, int] = (-1, -1)
    timed: int = -1


@dataclass
class Sent:
    """A batch of data, as a consumer would get it: its offsets and whose transaction it is."""

    first: int
    last: int
    producer_id: int
    transactional: bool
    committed: bool | None = None


class Log:
    """The log of one partition."""

    def __init__(self, topic: str, number: int, segment_bytes: int, chance: Random) -> None:
        self.topic, self.number = topic, number
        self.segment_bytes, self.chance = segment_bytes, chance
        self.end, self.leader_epoch, self.batches = 0, 0, 0
        self.segments = [Segment(0)]
        self.states: dict[int, ProducerSnapshotEntry] = {}
        self.epochs: list[tuple[int, int]] = []
        self.snapshots: dict[int, bytes] = {}
        self.sent: list[Sent] = []
        self._undecided: dict[int, list[Sent]] = {}

    @property
    def place(self) -> tuple[str, int]:
        return self.topic, self.number

    @property
    def stable(self) -> int:
        """The last stable offset, where all is replicated."""
        return min(self._open().values(), default=self.end)

    def _open(self) -> dict[int, int]:
        """First offset of the open transaction of each producer id."""
        return {
            producer_id: state.current_txn_first_offset
            for producer_id, state in self.states.items()
            if state.current_txn_first_offset >= 0
        }

    def committed(self) -> list[int]:
        """Offsets of the records that a read_committed consumer gets."""
        stable = self.stable
        return [
            offset
            for one in self.sent
            if one.committed is True and one.first < stable
            for offset in range(one.first, one.last + 1)
        ]

    def written(self) -> list[int]:
        """Offsets of all records of clients."""
        return [offset for one in self.sent for offset in range(one.first, one.last + 1)]

    def data(
        self,
        records: Sequence[bytes],
        timestamp: int,
        producer: tuple[int, int, int] = (-1, -1, -1),
        transactional: bool = False,
        codec: int = 0,
        timestamp_type: int = 0,
    ) -> None:
        """Appends a batch of client data; `producer`: id, epoch, first sequence."""
        producer_id, epoch, sequence = producer
        content = writer.batch(
            self.end, records, base_timestamp=timestamp, producer_id=producer_id,
            producer_epoch=epoch, base_sequence=sequence, transactional=transactional,
            partition_leader_epoch=self.leader_epoch, codec=codec, timestamp_type=timestamp_type,
            max_timestamp=timestamp + len(records) - 1, last_offset_delta=len(records) - 1,
        )  # fmt: skip
        first, last = self.end, self.end + len(records) - 1
        self._append(content, timestamp + len(records) - 1, last)
        sent = Sent(first, last, producer_id, transactional, None if transactional else True)
        self.sent.append(sent)
        if producer_id < 0:
            return
        old = self.states.get(producer_id, NEW)
        opened = old.current_txn_first_offset
        if transactional:
            self._undecided.setdefault(producer_id, []).append(sent)
            opened = first if opened < 0 else opened
        self.states[producer_id] = ProducerSnapshotEntry(
            producer_id, epoch, (sequence + len(records) - 1) % (1 << 31), last, len(records) - 1,
            timestamp + len(records) - 1, old.coordinator_epoch, opened,
        )  # fmt: skip

    def marker(self, producer_id: int, epoch: int, commit: bool, cepoch: int, now: int) -> None:
        """Appends a marker, and what it does to the transaction that it ends."""
        content = writer.marker(
            self.end, producer_id, epoch, commit, cepoch, now,
            partition_leader_epoch=self.leader_epoch,
        )  # fmt: skip
        at = self.end
        self._append(content, now, at)
        old = self.states.get(producer_id, NEW)
        if old.producer_epoch != epoch:
            old = old._replace(last_sequence=-1, last_offset=-1, offset_delta=0)
        began = old.current_txn_first_offset
        self.states[producer_id] = old._replace(
            producer_id=producer_id, producer_epoch=epoch, timestamp=now,
            coordinator_epoch=cepoch, current_txn_first_offset=-1,
        )  # fmt: skip
        for sent in self._undecided.pop(producer_id, ()):
            sent.committed = commit
        if began >= 0 and not commit:
            stable = min(self._open().values(), default=at + 1)
            entry = txn_index.AbortedTxnEntry(0, producer_id, began, at, stable)
            self.segments[-1].aborted.append(entry)

    def _append(self, content: bytes, newest: int, last: int) -> None:
        segment = self.segments[-1]
        if segment.size and segment.size + len(content) > self.segment_bytes:
            self.roll()
            segment = self.segments[-1]
        if not self.epochs or self.epochs[-1][0] != self.leader_epoch:
            self.epochs.append((self.leader_epoch, self.end))
        if newest > segment.newest[0]:
            segment.newest = newest, last
        if segment.unindexed > INDEX_EVERY:
            segment.index.append(INDEX_ENTRY.pack(last - segment.base, segment.size))
            self._time_entry(segment)
            segment.unindexed = 0
        self.batches += 1
        segment.parts.append(content)
        segment.size += len(content)
        segment.unindexed += len(content)
        self.end = last + 1

    @staticmethod
    def _time_entry(segment: Segment) -> None:
        newest, at = segment.newest
        if newest > segment.timed:
            segment.times.append(TIME_ENTRY.pack(newest, at - segment.base))
            segment.timed = newest

    def roll(self) -> None:
        """A new segment, and the snapshot of the producers at its base offset."""
        self._time_entry(self.segments[-1])
        self.snapshots[self.end] = snapshot_writer.encode(self.states.values())
        self.segments.append(Segment(self.end))

    def files(self, snapshots: bool = True) -> Partition:
        """The folder as it is after a clean shutdown."""
        self._time_entry(self.segments[-1])
        files = {}
        for one in self.segments:
            name = f"{one.base:020}"
            files[f"{name}.log"] = b"".join(one.parts)
            files[f"{name}.index"] = b"".join(one.index)
            files[f"{name}.timeindex"] = b"".join(one.times)
            if one.aborted:
                files[f"{name}.txnindex"] = index_writer.encode(one.aborted)
        if snapshots:
            told = self.snapshots | {self.end: snapshot_writer.encode(self.states.values())}
            files |= {f"{offset:020}.snapshot": content for offset, content in told.items()}
        partition = Partition(self.topic, self.number, files)
        partition.set_leader_epochs(self.epochs)
        return partition
