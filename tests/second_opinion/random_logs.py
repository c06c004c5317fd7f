"""Small random logs that a broker loads, odd ones among them, as files of partition folders."""

import random
import struct
from dataclasses import dataclass, field
from pathlib import Path

import google_crc32c

from tests.wire_writer import batches as writer
from udfs.wire.codecs import GZIP, LZ4, NONE, SNAPPY, ZSTD

T0 = 1_700_000_000_000
PARTITIONS_A_TOPIC = 500
SNAPSHOT_ENTRY = struct.Struct(">qhiqiqiq")
PRODUCERS = (0, 1, 2, 3, 1000, 2**31, 2**62)
# Record types of control batches that no producer writes (`ControlRecordType`).
LEADER_CHANGE = 2


@dataclass
class Producer:
    """One producer id with what it writes next."""

    identity: int
    epoch: int = 0
    sequence: int = 0
    coordinator_epoch: int = 0


@dataclass
class RandomLog:
    """The files of one partition, by base offset; `open_since` is kept for producer snapshots."""

    chance: random.Random
    first_base: int = 0
    segments: dict[int, bytearray] = field(default_factory=dict)
    snapshots: dict[int, bytes] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    open_since: dict[int, int] = field(default_factory=dict)
    log_start: int | None = None
    high_watermark: int | None = None
    tail: bytes = b""

    def __post_init__(self) -> None:
        """Makes the log."""
        chance = self.chance
        self.keeps_snapshots = chance.random() < 0.5
        self.producers = [Producer(one) for one in chance.sample(PRODUCERS, chance.randint(1, 4))]
        if chance.random() < 0.15:
            self.first_base = chance.randint(1, 60)
            if self.keeps_snapshots:
                self._begin_within()
        self.offset = self.clock = self.first_base
        self.current = self.segments[self.first_base] = bytearray()
        if chance.random() < 0.06:
            self._legacy_head()
        for _ in range(chance.randint(3, 40)):
            self._step()
        # A gap is one between batches; the end of the log is where a broker writes on.
        self.offset = max([self.first_base, *self.segments, *self.ends])
        if self.keeps_snapshots:
            self._snapshot(self.offset)
        self._bounds()
        if chance.random() < 0.04:
            self.tail = bytes(chance.randint(1, 90)) if chance.random() < 0.5 else self._torn()

    def _begin_within(self) -> None:
        """The head of the log is gone, with the data of what was open."""
        for one in self.producers:
            if self.chance.random() < 0.4:
                free = set(range(self.first_base)) - set(self.open_since.values())
                if free:
                    self.open_since[one.identity] = self.chance.choice(sorted(free))
        self._snapshot(self.first_base)

    def _bounds(self) -> None:
        """A high watermark at the end of a batch, and a log start below it."""
        chance = self.chance
        if self.ends and chance.random() < 0.3:
            self.high_watermark = chance.choice(self.ends)
        elif chance.random() < 0.9:
            self.high_watermark = self.offset
        if self.keeps_snapshots and chance.random() < 0.3:
            # One that has a snapshot above it: what a broker forgets without is not told.
            below = self.offset if self.high_watermark is None else self.high_watermark
            highest = min(below, self.offset - 1)
            if highest > self.first_base:
                self.log_start = chance.randint(self.first_base + 1, highest)

    def _torn(self) -> bytes:
        whole = self._data_batch(self.producers[0], transactional=True, count=2)
        return whole[: self.chance.randint(18, len(whole) - 1)]

    def _append(self, data: bytes, count: int) -> None:
        self.current += data
        self.offset += count
        self.ends.append(self.offset)

    def _snapshot(self, offset: int) -> None:
        rows = b"".join(
            SNAPSHOT_ENTRY.pack(
                one.identity, one.epoch, -1, -1, 0, T0, one.coordinator_epoch,
                self.open_since.get(one.identity, -1),
            )
            for one in self.producers
        )  # fmt: skip
        body = struct.pack(">i", len(self.producers)) + rows
        self.snapshots[offset] = struct.pack(">hI", 1, google_crc32c.value(body)) + body

    def _legacy_head(self) -> None:
        chance = self.chance
        magic = chance.choice((0, 1))
        for _ in range(chance.randint(1, 4)):
            codec = chance.choice((NONE, NONE, GZIP, SNAPPY, LZ4))
            count = 1 if codec == NONE else chance.randint(1, 4)
            first = 0 if magic else self.offset
            value: bytes = b"v"
            if codec != NONE:
                inner = [
                    writer.legacy_message(first + i, b"k", b"v", magic=magic, timestamp=T0)
                    for i in range(count)
                ]
                plain = b"".join(inner)
                old = magic == 0 and codec == LZ4
                value = writer.lz4_of_magic_0(plain) if old else writer.compress(codec, plain)
            data = writer.legacy_message(
                self.offset + count - 1, None, value, magic=magic, timestamp=T0, attributes=codec
            )
            self._append(data, count)

    def _step(self) -> None:
        chance, one = self.chance, self.chance.choice(self.producers)
        self.clock += 1
        kind = chance.random()
        if chance.random() < 0.05:
            one.epoch = max(one.epoch + chance.choice((-1, 1, 1, 1)), 0)
            one.sequence = 0
        if kind < 0.42:
            self._data(one, transactional=True)
        elif kind < 0.74:
            self._marker(one)
        elif kind < 0.80:
            self._data(Producer(-1, -1, -1), transactional=False)
        elif kind < 0.86 and one.identity not in self.open_since:
            self._data(one, transactional=False)
        elif kind < 0.90:
            self.offset += chance.randint(1, 5)
        elif kind < 0.95:
            self._roll()
        elif kind < 0.97:
            self._emptied(one)
        elif kind < 0.98:
            self._control()

    def _roll(self) -> None:
        if self.offset not in self.segments:
            self.current = self.segments[self.offset] = bytearray()
            if self.keeps_snapshots and self.chance.random() < 0.8:
                self._snapshot(self.offset)

    def _data_batch(self, one: Producer, transactional: bool, count: int) -> bytes:
        chance = self.chance
        kept = list(range(count))
        if chance.random() < 0.1:
            kept = sorted(chance.sample(kept, chance.randint(1, count)))
        codec = chance.choice((GZIP, SNAPPY, LZ4, ZSTD)) if chance.random() < 0.2 else NONE
        return writer.batch(
            self.offset,
            [writer.record(i, 0, None, b"value") for i in kept],
            base_timestamp=T0 + self.clock * 1000,
            producer_id=one.identity,
            producer_epoch=one.epoch,
            base_sequence=one.sequence,
            transactional=transactional,
            codec=codec,
            last_offset_delta=count - 1,
            timestamp_type=int(chance.random() < 0.1),
        )

    def _data(self, one: Producer, transactional: bool) -> None:
        count = self.chance.choice((1, 1, 1, 2, 3))
        if transactional:
            self.open_since.setdefault(one.identity, self.offset)
        self._append(self._data_batch(one, transactional, count), count)
        if one.identity >= 0:
            one.sequence += count

    def _marker(self, one: Producer) -> None:
        chance = self.chance
        if chance.random() < 0.1:
            one.coordinator_epoch = max(one.coordinator_epoch + chance.choice((-1, 1, 1)), 0)
        if chance.random() < 0.3:
            one.epoch, one.sequence = one.epoch + 1, 0
        data = writer.marker(
            self.offset,
            one.identity,
            one.epoch,
            chance.random() < 0.5,
            one.coordinator_epoch,
            T0 + self.clock * 1000,
            delete_horizon=T0 + 90_000 if chance.random() < 0.05 else None,
        )
        self.open_since.pop(one.identity, None)
        self._append(data, 1)

    def _emptied(self, one: Producer) -> None:
        """What the cleaner leaves of the newest batch of a producer."""
        control = self.chance.random() < 0.5
        transactional = control or self.chance.random() < 0.7
        if one.identity in self.open_since and not transactional:
            return
        count = 1 if control else self.chance.randint(1, 3)
        if transactional and not control:
            self.open_since.setdefault(one.identity, self.offset)
        data = writer.empty_batch(
            self.offset,
            self.offset + count - 1,
            max_timestamp=T0 + self.clock * 1000,
            producer_id=one.identity,
            producer_epoch=one.epoch,
            base_sequence=-1 if control else one.sequence,
            transactional=transactional,
            control=control,
        )
        self._append(data, count)
        one.sequence += 0 if control else count

    def _control(self) -> None:
        data = writer.batch(
            self.offset,
            [writer.record(0, 0, writer.CONTROL_KEY.pack(0, LEADER_CHANGE), b"\x00")],
            base_timestamp=T0 + self.clock * 1000,
            control=True,
        )
        self._append(data, 1)


def partition_name(number: int) -> tuple[str, int]:
    """Topic and partition of a log."""
    return f"random.{number // PARTITIONS_A_TOPIC}", number % PARTITIONS_A_TOPIC


def write_logs(folder: Path, seeds: range) -> list[Path]:
    """A log directory of one broker with a partition for each seed; their folders."""
    places = []
    folder.mkdir(parents=True)
    checkpoints: dict[str, list[str]] = {
        "replication-offset-checkpoint": [], "log-start-offset-checkpoint": [],
        "cleaner-offset-checkpoint": [], "recovery-point-offset-checkpoint": [],
    }  # fmt: skip
    for number, seed in enumerate(seeds):
        topic, partition = partition_name(number)
        place = folder / f"{topic}-{partition}"
        place.mkdir()
        places.append(place)
        log = RandomLog(random.Random(seed))
        log.current += log.tail
        for base, content in log.segments.items():
            (place / f"{base:020}.log").write_bytes(content)
        for offset, content in log.snapshots.items():
            (place / f"{offset:020}.snapshot").write_bytes(content)
        for name, value in (
            ("replication-offset-checkpoint", log.high_watermark),
            ("log-start-offset-checkpoint", log.log_start),
        ):
            if value is not None:
                checkpoints[name].append(f"{topic} {partition} {value}")
    (folder / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=random\n")
    for name, lines in checkpoints.items():
        (folder / name).write_text("\n".join(["0", str(len(lines)), *lines]) + "\n")
    return places
