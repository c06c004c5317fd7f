"""What an operator sees of one history: its partitions, transactions and decisions, and edits them.

An edit changes the log and makes the files beside it fit again (`View.store`), as if the broker had
done wrong, not the disk; operators of side files change only those.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from laws.dump_files import (
    CLEAN_SHUTDOWN,
    CLEANER,
    HIGH_WATERMARK,
    INTERNAL,
    LEADER_EPOCHS,
    LOG_START,
    METADATA,
    OF_SEGMENT,
    OFFSETS,
    RECOVERY_POINT,
    TXN_LOG,
    Directory,
    Partition,
    TopicPartition,
)
from laws.log_batches import LIMIT, Batch, batch_of, batches, with_checksum

from schemas.coordinator_states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from tests.wire_writer import batches as writer
from tests.wire_writer import producer_snapshot as snapshot_writer
from tests.wire_writer import txn_index as index_writer
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.coordinator import txn_log
from udfs.wire.side_files import txn_index
from udfs.wire.side_files.producer_snapshot import ProducerSnapshotEntry

NEW = ProducerSnapshotEntry(-1, -1, -1, -1, 0, -1, -1, -1)
FIELDS = (
    "attributes", "delta", "base_timestamp", "max_timestamp", "producer_id", "producer_epoch",
    "base_sequence", "count",
)  # fmt: skip
# clock_tolerance_ms of conf/audit.toml.
CLOCK_TOLERANCE_MS = 60_000


def header(batch: Batch, **changed: int) -> bytes:
    """The batch with other fields of its header, and a right checksum."""
    values = list(writer.BATCH_CHECKED.unpack_from(batch.content, 21))
    for name, value in changed.items():
        values[FIELDS.index(name)] = value
    return with_checksum(batch, writer.BATCH_CHECKED.pack(*values) + batch.content[61:])


def moved(content: bytes, base_offset: int) -> bytes:
    """The batch at another offset, which its checksum does not cover."""
    return base_offset.to_bytes(8, "big") + content[8:]


def led_by(content: bytes, leader_epoch: int) -> bytes:
    """The batch of another leader epoch, which its checksum does not cover."""
    return content[:12] + leader_epoch.to_bytes(4, "big", signed=True) + content[16:]


class View:
    """One partition of a history, in all its copies."""

    def __init__(self, copies: Sequence[tuple[Directory, Partition]]) -> None:
        self.copies = copies
        self.directory, self.partition = copies[0]
        one = self.partition
        self.place: TopicPartition = one.place
        self.segments = [[base, list(batches(one.segment(base)))] for base in one.bases()]
        self.whole = self._whole()

    @property
    def batches(self) -> list[Batch]:
        return [batch for _, inside in self.segments for batch in inside]

    @property
    def end(self) -> int:
        last = max([batch.last_offset + 1 for batch in self.batches], default=0)
        return max(last, self.segments[-1][0])

    def _whole(self) -> bool:
        """From offset 0 to the end without a gap, replicated, never cleaned, stopped cleanly."""
        if CLEAN_SHUTDOWN not in self.directory.files or self.segments[0][0] != 0:
            return False
        for directory, _ in self.copies:
            # What lies below the log start, a broker may have forgotten.
            passed = directory.checkpoint(CLEANER).get(self.place) is not None
            if passed or directory.checkpoint(LOG_START).get(self.place):
                return False
        expected = 0
        for batch in self.batches:
            complete = batch.count == batch.last_offset - batch.base_offset + 1
            if batch.base_offset != expected or batch.magic != 2 or not complete:
                return False
            if batch.has_horizon:
                return False
            expected = batch.last_offset + 1
        size = sum(len(batch.content) for batch in self.batches)
        stored = sum(len(self.partition.segment(base)) for base, _ in self.segments)
        logs = {_log_bytes(one) for _, one in self.copies}
        told = {one.checkpoint(HIGH_WATERMARK).get(self.place) for one, _ in self.copies}
        return size == stored and len(logs) == 1 and told == {self.end}

    def at(self, index: int) -> tuple[int, int]:
        """(number of the segment, index inside) of a batch."""
        for number, (_, inside) in enumerate(self.segments):
            if index < len(inside):
                return number, index
            index -= len(inside)
        raise IndexError(index)

    def put(self, index: int, content: bytes) -> None:
        """Replaces the bytes of a batch."""
        number, inside = self.at(index)
        self.segments[number][1][inside] = batch_of(content)

    def drop(self, index: int, close: bool) -> None:
        """Removes a batch; `close`: what follows moves up, as if it had never been appended."""
        number, inside = self.at(index)
        gone = self.segments[number][1].pop(inside)
        if close:
            self._shift(number, inside, gone.base_offset - gone.last_offset - 1)

    def drop_all(self, indexes: Iterable[int]) -> None:
        """Removes batches of a log that is whole, as if they had never been appended."""
        for index in sorted(set(indexes), reverse=True):
            number, inside = self.at(index)
            self.segments[number][1].pop(inside)
        end = 0
        for segment in self.segments:
            segment[0] = end
            for at, one in enumerate(segment[1]):
                segment[1][at] = batch_of(moved(one.content, end))
                end += one.last_offset - one.base_offset + 1

    def insert(self, index: int, content: bytes) -> None:
        """Puts a batch in front of that one, at its offset; what follows moves down."""
        number, inside = self.at(index)
        new = batch_of(moved(content, self.segments[number][1][inside].base_offset))
        self.segments[number][1].insert(inside, new)
        self._shift(number, inside + 1, new.last_offset - new.base_offset + 1)

    def _shift(self, number: int, inside: int, by: int) -> None:
        for other in range(number, len(self.segments)):
            if other > number:
                self.segments[other][0] += by
            mine = self.segments[other][1]
            for at in range(inside if other == number else 0, len(mine)):
                mine[at] = batch_of(moved(mine[at].content, mine[at].base_offset + by))

    def overwrite(
        self, contents: Mapping[int, bytes], copies: Iterable[Partition] | None = None
    ) -> None:
        """Other bytes for batches where they lie, in all copies that are alike, or in those.

        They need not be a batch, and of the same length; nothing else changes.
        """
        changed = [one for _, one in self.copies] if copies is None else list(copies)
        index = 0
        for base, inside in self.segments:
            stored = b"".join(batch.content for batch in inside)
            parts = (contents.get(index + at, batch.content) for at, batch in enumerate(inside))
            written = b"".join(parts)
            index += len(inside)
            for one in changed:
                if written == stored or one.files.get(f"{base:020}.log") != stored:
                    continue
                one.files[f"{base:020}.log"] = written
                if len(written) != len(stored):
                    one.files[f"{base:020}.index"] = one.files[f"{base:020}.timeindex"] = b""

    def store(self, redo: bool = True, everywhere: bool = True) -> None:
        """Writes the log back; `redo`: with the side files that a broker would have made of it."""
        files = self.partition.files
        kept = {} if redo else {n: c for n, c in files.items() if not n.endswith(".log")}
        kept |= {n: c for n, c in files.items() if not n.endswith(OF_SEGMENT)}
        for base, inside in self.segments:
            kept[f"{base:020}.log"] = b"".join(batch.content for batch in inside)
        if redo:
            kept |= self._side_files()
        self.partition.files = kept
        if redo and LEADER_EPOCHS in files:
            self.partition.set_leader_epochs(self._leader_epochs())
        for directory, one in self.copies if everywhere else ():
            one.files = dict(self.partition.files)
            for name in (HIGH_WATERMARK, RECOVERY_POINT):
                if directory.checkpoint(name).get(self.place) is not None:
                    directory.put(name, self.place, self.end)

    def _leader_epochs(self) -> list[tuple[int, int]]:
        told: list[tuple[int, int]] = []
        for batch in self.batches:
            if not told or told[-1][0] != batch.leader_epoch:
                told.append((batch.leader_epoch, batch.base_offset))
        return told

    def _side_files(self) -> dict[str, bytes]:
        """Indexes and snapshots of the log as it is now."""
        files: dict[str, bytes] = {}
        states: dict[int, ProducerSnapshotEntry] = {}
        for number, (base, inside) in enumerate(self.segments):
            if number:
                files[f"{base:020}.snapshot"] = snapshot_writer.encode(states.values())
            files[f"{base:020}.index"] = files[f"{base:020}.timeindex"] = b""
            aborted = [entry for batch in inside for entry in follow(states, batch)]
            if aborted:
                files[f"{base:020}.txnindex"] = index_writer.encode(aborted)
        files[f"{self.end:020}.snapshot"] = snapshot_writer.encode(states.values())
        return files


def _log_bytes(one: Partition) -> bytes:
    return b"".join(one.segment(base) for base in one.bases())


def follow(
    states: dict[int, ProducerSnapshotEntry], batch: Batch
) -> list[txn_index.AbortedTxnEntry]:
    """Takes a batch into the producer states; the entry of the index that it makes, if any."""
    if batch.producer_id < 0 or batch.magic < 2:
        return []
    old = states.get(batch.producer_id, NEW)._replace(producer_id=batch.producer_id)
    if old.producer_epoch != batch.producer_epoch:
        old = old._replace(
            producer_epoch=batch.producer_epoch, last_sequence=-1, last_offset=-1, offset_delta=0
        )
    began = old.current_txn_first_offset
    if not batch.control:
        delta = batch.last_offset - batch.base_offset
        states[batch.producer_id] = old._replace(
            last_sequence=(batch.base_sequence + delta) % (1 << 31), last_offset=batch.last_offset,
            offset_delta=delta, timestamp=batch.max_timestamp,
            current_txn_first_offset=batch.base_offset if batch.transactional and began < 0
            else began,
        )  # fmt: skip
        return []
    commit = batch.commit
    if commit is None:
        return []
    states[batch.producer_id] = old._replace(
        timestamp=batch.max_timestamp, coordinator_epoch=coordinator_epoch(batch),
        current_txn_first_offset=-1,
    )  # fmt: skip
    if commit or began < 0:
        return []
    still = [
        state.current_txn_first_offset
        for state in states.values()
        if state.current_txn_first_offset >= 0
    ]
    at = batch.base_offset
    return [txn_index.AbortedTxnEntry(0, batch.producer_id, began, at, min(still, default=at + 1))]


def coordinator_epoch(marker: Batch) -> int:
    """What the value of a marker tells."""
    value = next(iter_batch(marker.content, LIMIT)).value
    return int.from_bytes((value or b"")[2:6], "big", signed=True)


def marker_with(batch: Batch, **changed: Any) -> bytes:
    """A marker with other contents: producer_id, epoch, commit, coordinator_epoch, timestamp, …"""
    given = {
        "producer_id": batch.producer_id, "producer_epoch": batch.producer_epoch,
        "commit": bool(batch.commit), "coordinator_epoch": coordinator_epoch(batch),
        "timestamp": batch.max_timestamp, "partition_leader_epoch": batch.leader_epoch,
    } | changed  # fmt: skip
    return writer.marker(batch.base_offset, **given)


class Txn(NamedTuple):
    """A transaction in one partition: indexes of its data batches and of its marker."""

    producer_id: int
    data: tuple[int, ...]
    marker: int | None


def transactions(view: View) -> list[Txn]:
    """Transactions of a partition, also those without data."""
    found, begun = [], defaultdict(list)
    for index, batch in enumerate(view.batches):
        if batch.producer_id < 0 or batch.magic < 2:
            continue
        if batch.control:
            data = tuple(begun.pop(batch.producer_id, ()))
            found.append(Txn(batch.producer_id, data, index))
        elif batch.transactional:
            begun[batch.producer_id].append(index)
    return found + [Txn(pid, tuple(data), None) for pid, data in begun.items()]


class State(NamedTuple):
    """A record of the coordinator; `index`: of its batch."""

    index: int
    name: str
    value: txn_log.TxnLogValue


@dataclass
class Decision:
    """Prepare and Complete of one transaction, and its marker in each partition it lists."""

    view: View
    name: str
    ongoing: list[State]
    prepare: State
    complete: State | None
    following: State | None
    markers: dict[TopicPartition, tuple[View, Txn]] = field(default_factory=dict)

    @property
    def commit(self) -> bool:
        return self.prepare.value.status == PREPARE_COMMIT

    @property
    def second(self) -> bool:
        """Whether its end was that of transaction.version 2."""
        return self.prepare.value.client_transaction_version == 2

    @property
    def listed(self) -> list[TopicPartition]:
        named = self.prepare.value.partitions or ()
        return [(topic, number) for topic, numbers in named for number in numbers]


class Scene:
    """One history of a dump: `directories` are those of its brokers.

    `partitions`: how many partitions each internal topic has in the whole dump; `with_metadata`:
    whether it has `__cluster_metadata`, which tells the policies of topics and the blocks of
    producer ids that were given out.
    """

    def __init__(
        self,
        directories: Sequence[Directory],
        partitions: dict[str, int],
        rng: Random,
        with_metadata: bool = False,
    ) -> None:
        self.directories, self.partitions, self.rng = directories, partitions, rng
        self.with_metadata = with_metadata
        copies: dict[TopicPartition, list[tuple[Directory, Partition]]] = defaultdict(list)
        for directory in directories:
            for one in directory.partitions:
                if one.topic != METADATA and one.bases():
                    copies[one.place].append((directory, one))
        self.views = {place: View(of) for place, of in copies.items()}
        self.client = [v for place, v in self.views.items() if place[0] not in INTERNAL]
        self.groups = [v for place, v in self.views.items() if place[0] == OFFSETS]
        self.coordinators = [v for place, v in self.views.items() if place[0] == TXN_LOG]
        self.decisions = [one for view in self.coordinators for one in self._decisions(view)]

    @property
    def newest_coordinator_epoch(self) -> int:
        return max((b.leader_epoch for view in self.coordinators for b in view.batches), default=0)

    def choose(self, among: Sequence[Any]) -> Any:
        return self.rng.choice(among) if among else None

    @staticmethod
    def states(view: View) -> dict[str, list[State]]:
        """Records of each transactional id in order; only of a log that is whole."""
        found: dict[str, list[State]] = defaultdict(list)
        for index, batch in enumerate(view.batches):
            if batch.count != 1 or batch.control:
                continue
            record = next(iter_batch(batch.content, LIMIT))
            if record.key is None or record.value is None:
                continue
            name = txn_log.decode_key(record.key).transactional_id
            found[name].append(State(index, name, txn_log.decode_value(record.value)))
        return found

    def _decisions(self, view: View) -> Iterator[Decision]:
        if not view.whole:
            return
        made: list[Decision] = []
        for name, states in self.states(view).items():
            ongoing: list[State] = []
            for at, one in enumerate(states):
                if one.value.status == ONGOING:
                    ongoing.append(one)
                elif one.value.status in (PREPARE_COMMIT, PREPARE_ABORT):
                    after = [*states[at + 1 :], None, None]
                    done = after[0]
                    if done is not None and done.value.status not in (
                        COMPLETE_COMMIT, COMPLETE_ABORT,
                    ):  # fmt: skip
                        done = None
                    made.append(Decision(view, name, ongoing, one, done, after[1]))
                    ongoing = []
        self._join_markers(made)
        yield from made

    def _join_markers(self, made: Sequence[Decision]) -> None:
        """The n-th marker of a producer in a partition is that of its n-th decision there."""
        for place, view in self.views.items():
            if not view.whole or place[0] == TXN_LOG:
                continue
            markers: dict[int, list[Txn]] = defaultdict(list)
            for txn in transactions(view):
                if txn.marker is not None:
                    markers[txn.producer_id].append(txn)
            wanted: dict[int, list[Decision]] = defaultdict(list)
            for one in made:
                if place in one.listed:
                    wanted[one.prepare.value.producer_id].append(one)
            for producer_id, decisions in wanted.items():
                mine = markers[producer_id]
                fits = len(mine) == len(decisions) and all(
                    view.batches[txn.marker or 0].producer_epoch == one.prepare.value.producer_epoch
                    and view.batches[txn.marker or 0].commit == one.commit
                    for txn, one in zip(mine, decisions, strict=True)
                )
                for txn, one in zip(mine, decisions, strict=True) if fits else ():
                    one.markers[place] = view, txn

    def data(
        self, among: Sequence[View], wanted: Callable[[View, int, Batch], bool]
    ) -> tuple[View, int, Batch] | None:
        """A batch of data for which `wanted` holds, in a partition that is whole."""
        found = [
            (view, index, batch)
            for view in among
            if view.whole
            for index, batch in enumerate(view.batches)
            if not batch.control and wanted(view, index, batch)
        ]
        return self.choose(found)

    def decided(
        self, wanted: Callable[[Decision, View, Txn], bool]
    ) -> tuple[Decision, View, Txn] | None:
        """A marker of a decision for which `wanted` holds."""
        found = [
            (one, view, txn)
            for one in self.decisions
            for view, txn in one.markers.values()
            if wanted(one, view, txn)
        ]
        return self.choose(found)
