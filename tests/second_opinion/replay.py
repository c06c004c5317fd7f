"""A second opinion on one partition directory: what its broker tells consumers.

Written from Kafka's source and not from this project, of which nothing is imported; slow and
obvious. It answers four questions about a folder like `h-0`:

- the last stable offset (`UnifiedLog.lastStableOffset`),
- the aborted transactions with data (`AbortedTxn`: what `LogSegment.updateTxnIndex` appends),
- the transactions that are open,
- the offsets that a read_committed consumer receives (`CompletedFetch`).

`RefusedError`: a log that no broker would load. Damage within the log ends the reading, as it ends
a broker's recovery (`LogSegment.recover`), and is told in `Opinion.damage`. Call:
`python tests/second_opinion/replay.py FOLDER/h-0`.

This is 3.9; up to 2.7 an ABORT marker that ended no data had an entry, too, which is left out.
"""

import functools
import itertools
import json
import re
import struct
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import google_crc32c
import pyarrow as pa

SEGMENT = re.compile(r"\d{20}\.log")
LOG_OVERHEAD = 12
UP_TO_MAGIC = 17
SMALLEST = 14
HEADER = struct.Struct(">qiibIhiqqqhii")
# producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, first
# offset of the open transaction (`ProducerStateManager.PRODUCER_SNAPSHOT_ENTRY_SCHEMA`).
SNAPSHOT_ENTRY = struct.Struct(">qhiqiqiq")
XERIAL = b"\x82SNAPPY\x00"
LARGEST = 1 << 30


class RefusedError(Exception):
    """A broker that loads this log throws."""


class Batch(NamedTuple):
    """A batch, or a message of magic 0 or 1 with what it wraps. `marker`: True commits."""

    base: int
    last: int
    producer: int
    transactional: bool
    control: bool
    marker: bool | None
    offsets: tuple[int, ...]


class Aborted(NamedTuple):
    """`AbortedTxn`: producer id, first offset, offset of the marker, last stable offset by then."""

    producer: int
    first: int
    last: int
    last_stable: int


def unsigned(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint and where it ends."""
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A zig-zag varint and where it ends."""
    value, at = unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


def snappy_block(block: bytes) -> bytes:
    return bytes(pa.Codec("snappy").decompress(block, unsigned(block, 0)[0], asbytes=True))


def unsnappy(data: bytes) -> bytes:
    """`SnappyInputStream`: framed by xerial, or one raw block."""
    if not data.startswith(XERIAL):
        return snappy_block(data)
    parts, at = [], 16
    while at + 4 <= len(data):
        (size,) = struct.unpack_from(">i", data, at)
        if data[at : at + 4] == XERIAL[:4]:
            at += 16
            continue
        parts.append(snappy_block(data[at + 4 : at + 4 + size]))
        at += 4 + size
    return b"".join(parts)


def unlz4(data: bytes) -> bytes:
    """`Lz4BlockInputStream`: one frame, block by block; checksums are passed over."""
    flags, at = data[4], 7 + (8 if data[4] & 0x08 else 0)
    parts = []
    while size := struct.unpack_from("<I", data, at)[0]:
        block = data[at + 4 : at + 4 + (size & 0x7FFFFFFF)]
        parts.append(block if size & 0x80000000 else lz4_block(block))
        at += 4 + len(block) + (4 if flags & 0x10 else 0)
    return b"".join(parts)


def lz4_block(block: bytes) -> bytes:
    out, at = bytearray(), 0
    while True:
        token = block[at]
        length, at = lz4_length(block, at + 1, token >> 4)
        out += block[at : at + length]
        at += length
        if at >= len(block):
            return bytes(out)
        (distance,) = struct.unpack_from("<H", block, at)
        length, at = lz4_length(block, at + 2, token & 15)
        for _ in range(length + 4):
            out.append(out[-distance])


def lz4_length(block: bytes, at: int, length: int) -> tuple[int, int]:
    more = length == 15
    while more:
        length, more, at = length + block[at], block[at] == 255, at + 1
    return length, at


def plain(codec: int, data: bytes) -> bytes:
    """What was compressed."""
    if codec in (1, 4):
        with pa.CompressedInputStream(pa.BufferReader(data), {1: "gzip", 4: "zstd"}[codec]) as it:
            return bytes(it.read(LARGEST))
    if codec > 4:
        raise RefusedError(f"codec {codec}")
    return {0: bytes, 2: unsnappy, 3: unlz4}[codec](data)


def records(section: bytes, count: int) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Offset delta, key and value of each record (`DefaultRecord.readFrom`)."""
    at = 0
    for _ in range(count):
        size, at = varint(section, at)
        end = at + size
        _, at = varint(section, at + 1)
        delta, at = varint(section, at)
        contents: list[bytes | None] = []
        for _ in ("key", "value"):
            size, at = varint(section, at)
            contents.append(section[at : at + size] if size >= 0 else None)
            at += max(size, 0)
        yield delta, contents[0], contents[1]
        at = end


def batch_of(data: bytes) -> Batch:
    """A batch of magic 2 (`DefaultRecordBatch`)."""
    base, _, _, _, crc, attributes, delta, _, _, *rest = HEADER.unpack_from(data)
    producer, _, _, count = rest
    if google_crc32c.value(data[21:]) != crc:
        raise ValueError("checksum")
    section = plain(attributes & 7, data[HEADER.size :]) if count else b""
    found = list(records(section, count))
    control = bool(attributes & 0x20)
    marker = marker_of(*found[0][1:]) if control and found and producer >= 0 else None
    offsets = tuple(base + one for one, _, _ in found)
    return Batch(base, base + delta, producer, bool(attributes & 0x10), control, marker, offsets)


def marker_of(key: bytes | None, value: bytes | None) -> bool:
    """Whether a marker commits (`EndTransactionMarker.deserialize`)."""
    if len(key or b"") < 4 or len(value or b"") < 6:
        raise RefusedError("a marker that is too short")
    version, kind, of_value = struct.unpack(">hhh", (key or b"")[:4] + (value or b"")[:2])
    if version < 0 or of_value < 0 or kind not in (0, 1):
        raise RefusedError(f"control record {version}, {kind}")
    return bool(kind)


def message_of(data: bytes) -> Batch:
    """A message of magic 0 or 1, or those that it wraps (`AbstractLegacyRecordBatch`)."""
    (offset, _, crc, magic, attributes) = struct.unpack_from(">qiIbb", data)
    if zlib.crc32(data[16:]) != crc:
        raise ValueError("checksum")
    offsets: tuple[int, ...] = (offset,)
    if attributes & 7:
        at = 18 + (8 if magic else 0) + 4
        (size,) = struct.unpack_from(">i", data, at)
        if size < 0:
            raise RefusedError("a wrapper of nothing")
        wrapped = plain(attributes & 7, data[at + 4 :])
        inner = [struct.unpack_from(">q", one)[0] for one in entries(wrapped)]
        # Those of magic 1 count from 0; the wrapper has the offset of the last one.
        shift = offset - inner[-1] if magic else 0
        offsets = tuple(one + shift for one in inner)
    return Batch(offsets[0], offset, -1, False, False, None, offsets)


def entries(data: bytes) -> Iterator[bytes]:
    """Batches one after another (`FileLogInputStream.nextBatch`); ends where one is cut off."""
    at = 0
    while at < len(data) - UP_TO_MAGIC:
        (size,) = struct.unpack_from(">i", data, at + 8)
        if size < SMALLEST:
            raise ValueError(f"size {size}")
        if at > len(data) - LOG_OVERHEAD - size:
            return
        yield data[at : at + LOG_OVERHEAD + size]
        at += LOG_OVERHEAD + size


@dataclass
class State:
    """`ProducerStateManager` of one partition, as far as transactions go.

    `open_since`: producer id -> first offset of its open transaction
    (`ProducerStateEntry.currentTxnFirstOffset`); `ongoing`: the same the other way round, sorted
    when read (`ongoingTxns`); `completed`: first offset and marker (`unreplicatedTxns`).
    """

    open_since: dict[int, int] = field(default_factory=dict)
    ongoing: dict[int, int] = field(default_factory=dict)
    completed: list[tuple[int, int]] = field(default_factory=list)
    aborted: list[Aborted] = field(default_factory=list)

    def load(self, snapshot: list[tuple[int, int]]) -> None:
        """`loadProducerEntry`; pairs of producer id and first offset."""
        for producer, first in snapshot:
            self.open_since[producer] = first
            self.ongoing[first] = producer

    def append(self, batch: Batch) -> None:
        """`LogSegment.updateProducerState`, as recovery and followers do: epochs only warn."""
        if batch.producer >= 0 and not batch.control:
            self._data(batch)
        # A control batch without a record is what the cleaner left, and does nothing.
        elif batch.producer >= 0 and batch.marker is not None:
            self._marker(batch)

    def _data(self, batch: Batch) -> None:
        """`ProducerAppendInfo.appendDataBatch`."""
        is_open = batch.producer in self.open_since
        if is_open and not batch.transactional:
            raise RefusedError(f"no transactional write at {batch.base} in an open transaction")
        if not is_open and batch.transactional:
            self.open_since[batch.producer] = batch.base
            if batch.base in self.ongoing:
                raise RefusedError(f"two transactions begin at {batch.base}")
            self.ongoing[batch.base] = batch.producer

    def _marker(self, batch: Batch) -> None:
        """`ProducerAppendInfo.appendEndTxnMarker`, then `completeTxn`."""
        first = self.open_since.pop(batch.producer, None)
        if first is None:
            return
        if not batch.marker:
            others = [at for at, producer in self.ongoing.items() if producer != batch.producer]
            stable = min(others) if others else batch.base + 1
            self.aborted.append(Aborted(batch.producer, first, batch.base, stable))
        del self.ongoing[first]
        self.completed.append((first, batch.base))

    def first_unstable(self, high_watermark: int) -> int | None:
        """`ProducerStateManager.firstUnstableOffset`."""
        unreplicated = [first for first, marker in self.completed if marker >= high_watermark]
        return min([*unreplicated, *self.ongoing], default=None)


def snapshot_of(path: Path) -> list[tuple[int, int]] | None:
    """Open transactions of a producer snapshot (`readSnapshot`); None where it is corrupt."""
    data = path.read_bytes()
    if len(data) < 10:
        return None
    version, crc, count = struct.unpack_from(">hIi", data)
    rows = data[10 : 10 + count * SNAPSHOT_ENTRY.size] if count >= 0 else b""
    if version != 1 or google_crc32c.value(data[6:]) != crc or len(rows) % SNAPSHOT_ENTRY.size:
        return None
    return [(one[0], one[7]) for one in SNAPSHOT_ENTRY.iter_unpack(rows) if one[7] >= 0]


@dataclass
class Opinion:
    """What the folder says. Offsets are those of Kafka; ends are exclusive.

    `open`: producer id and first offset of what the broker has in memory after a start, `in_log`
    of what the batches themselves leave open. `received`: by a read_committed consumer.
    """

    log_start: int
    log_end: int
    high_watermark: int
    last_stable: int = 0
    aborted: list[Aborted] = field(default_factory=list)
    open: list[tuple[int, int]] = field(default_factory=list)
    in_log: list[tuple[int, int]] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    damage: str | None = None


@functools.cache
def checkpoint(path: Path) -> dict[str, int]:
    """Offsets of a checkpoint of a log directory, by the names of the partitions."""
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    words = [line.rsplit(maxsplit=2) for line in lines]
    return {f"{topic}-{partition}": int(offset) for topic, partition, offset in words}


def batches_of(folder: Path) -> tuple[list[Batch], str | None]:
    """All batches in the order of the log, and what ended the reading, if anything did."""
    found: list[Batch] = []
    paths = sorted(path for path in folder.iterdir() if SEGMENT.fullmatch(path.name))
    for path in paths:
        data, read = path.read_bytes(), 0
        try:
            for one in entries(data):
                found.append(batch_of(one) if one[16] >= 2 else message_of(one))
                read += len(one)
        except (ValueError, IndexError, OSError, EOFError, struct.error, zlib.error) as error:
            # Zeros after the newest batch are a file that was allocated ahead.
            if path != paths[-1] or any(data[read:]):
                return found, f"{path.name} at {read}: {error}"
        if read < len(data) and path != paths[-1]:
            return found, f"{path.name} is cut off at {read}"
    if any(later.base <= batch.last for batch, later in itertools.pairwise(found)):
        return found, "offsets go back"
    return found, None


def in_memory(folder: Path, batches: list[Batch], log_start: int, log_end: int) -> State:
    """What a broker knows that starts with this folder (`truncateAndReload`, then the rest)."""
    state, known_to = State(), log_start
    for path in sorted(folder.glob("*.snapshot"), reverse=True):
        loaded = snapshot_of(path)
        if log_start < int(path.stem) <= log_end and loaded is not None:
            known_to = int(path.stem)
            state.load(loaded)
            break
    for batch in batches:
        if batch.last >= known_to:
            state.append(batch)
    return state


def received(batches: list[Batch], aborted: list[Aborted], start: int, end: int) -> list[int]:
    """`CompletedFetch.nextFetchedRecord` of a read_committed consumer."""
    waiting = sorted(aborted, key=lambda one: one.first, reverse=True)
    hidden: set[int] = set()
    offsets = []
    for batch in batches:
        if batch.base >= end:
            break
        while waiting and waiting[-1].first <= batch.last:
            hidden.add(waiting.pop().producer)
        if batch.control:
            if batch.marker is False:
                hidden.discard(batch.producer)
        elif not (batch.transactional and batch.producer in hidden):
            offsets += [one for one in batch.offsets if start <= one < end]
    return offsets


def opinion(folder: Path) -> Opinion:
    """The second opinion. Raises RefusedError for a log that no broker loads."""
    batches, damage = batches_of(folder)
    bases = sorted(int(path.stem) for path in folder.iterdir() if SEGMENT.fullmatch(path.name))
    starts = checkpoint(folder.parent / "log-start-offset-checkpoint")
    start = max(bases[0], starts.get(folder.name, 0))
    end = max(start, bases[-1], batches[-1].last + 1 if batches else 0)
    marks = checkpoint(folder.parent / "replication-offset-checkpoint")
    high_watermark = max(start, min(marks.get(folder.name, end), end))
    # What a producer had open where the log begins, its snapshot of that moment tells.
    history = State()
    begins = folder / f"{bases[0]:020}.snapshot"
    history.load((snapshot_of(begins) or []) if begins.exists() else [])
    for batch in batches:
        history.append(batch)
    memory = in_memory(folder, batches, start, end)
    memory.completed = history.completed
    unstable = memory.first_unstable(high_watermark)
    stable = min(max(end if unstable is None else unstable, start), high_watermark)
    is_open, in_log = (sorted(one.open_since.items()) for one in (memory, history))
    seen = received(batches, history.aborted, start, stable)
    return Opinion(
        start, end, high_watermark, stable, history.aborted, is_open, in_log, seen, damage
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(vars(opinion(Path(sys.argv[1])))) + "\n")
