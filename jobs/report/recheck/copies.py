"""A copy of a partition: the headers of all batches in its folder, and what is missing there."""

import mmap
import struct
from array import array
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jobs.report.recheck.batches import (
    ABORT,
    COMMIT,
    HEADER,
    MAGIC,
    MARKER_SIZE,
    MAX_SEQUENCE,
    SMALLEST,
    Batch,
    framed,
)
from jobs.report.recheck.internal_topics import TXN_LOG
from jobs.report.recheck.results import MissingError, RefutedError, UndecidedError

# Copies of partitions whose headers are kept at a time.
KEPT_COPIES = 8
# After every offset that a log has.
END_OF_OFFSETS = 1 << 63


class Head(NamedTuple):
    """A batch of a file; of a marker also control type and coordinator epoch, else -1.

    `data`: its header, and all of a marker.
    """

    path: Path
    position: int
    length: int
    data: bytes
    kind: int
    coordinator: int

    @property
    def batch(self) -> Batch:
        """What the header says."""
        return Batch(self.data)

    @property
    def ends(self) -> bool:
        """Whether it ends a transaction."""
        return self.kind in (ABORT, COMMIT)

    @property
    def whole(self) -> bool:
        """Whether its checksum is right: a header alone proves no batch."""
        with self.path.open("rb") as opened:
            opened.seek(self.position)
            return Batch(opened.read(self.length)).whole


class Copy:
    """All batches of a partition's folder, as headers and in the order of the files.

    `holes`: places behind which a file cannot be read, each with the number of headers before it,
    and the producer of a marker that cannot be read, None for anybody's.
    `gaps`: offsets between two batches that no batch has. `newest_ms`: the newest moment of a
    broker's clock.
    """

    def __init__(self, folder: Path, whole: bool = False, keep: bool = False) -> None:
        """`whole`: checksums of all batches are asked. `keep`: all their bytes are kept."""
        self.folder, self.whole, self.keep = folder, whole, keep
        self.heads: list[Head] = []
        self.first, self.last = array("q"), array("q")
        self.by_producer: dict[int, list[int]] = {}
        self.holes: list[tuple[int, str, int | None]] = []
        self.gaps: list[tuple[int, int]] = []
        self.newest_ms = -1
        logs = sorted((p for p in folder.glob("*.log") if p.stem.isdigit()), key=segment_base)
        self.bases = [segment_base(one) for one in logs]
        if any(folder.glob("*.swap")):
            self._hole("a file that the cleaner was replacing")
        for path in logs:
            self._read(path, path == logs[-1])

    def _read(self, path: Path, newest: bool) -> None:
        size, at = path.stat().st_size, 0
        with path.open("rb") as opened:
            while at < size:
                opened.seek(at)
                data = opened.read(HEADER.size)
                length = framed(data)
                if not length or at + length > size:
                    last = self.last[-1] if self.last else segment_base(path) - 1
                    behind = behind_unread(opened, at, size, last)
                    # A broker cuts off what an append left behind, and what it had set aside.
                    torn = length or not any(data) or len(data) < SMALLEST[0] + 12
                    if not (newest and torn and behind == size):
                        self._hole(f"{path.name} at byte {at}")
                    at = behind
                    continue
                self._take(path, at, length, data, opened)
                at += length

    def _take(self, path: Path, at: int, length: int, data: bytes, opened: Any) -> None:
        # A message of magic 0 or 1 may be shorter than a header of magic 2.
        data = data[:length]
        batch = Batch(data)
        kind = coordinator = -1
        if self.whole or batch.control or length == MARKER_SIZE:
            batch = Batch(data + opened.read(length - len(data)))
            if not batch.whole:
                self._hole(f"{path.name} at byte {at}")
                return
        if batch.control:
            try:
                kind, coordinator = batch.marker()
            except (ValueError, struct.error, UndecidedError):
                # The checksum is right, so at least it is known whose it is.
                self._hole(f"{path.name} at byte {at}", batch.producer)
        if self.last and batch.base > self.last[-1] + 1:
            self.gaps.append((self.last[-1] + 1, batch.base - 1))
        # All of the coordinator's own batches have its clock.
        ours = self.folder.name.startswith(TXN_LOG)
        moment = batch.newest if ours else batch.of_broker_ms
        self.newest_ms = max(self.newest_ms, -1 if moment is None else moment)
        self.by_producer.setdefault(batch.producer, []).append(len(self.heads))
        self.first.append(batch.base)
        self.last.append(batch.last)
        kept = batch.data if self.keep or batch.control else data
        self.heads.append(Head(path, at, length, kept, kind, coordinator))

    def _hole(self, where: str, producer: int | None = None) -> None:
        self.holes.append((len(self.heads), where, producer))

    def require_readable(
        self, first: int = -1, last: int | None = None, of: int | None = None
    ) -> None:
        """Raises HoldsError where bytes between offsets `first` and `last` cannot be read.

        `of`: a producer; what another one surely wrote does not count.
        """
        for number, where, producer in self.holes:
            if None not in (of, producer) and of != producer:
                continue
            before = self.last[number - 1] if number else -1
            after = self.first[number] if number < len(self.first) else None
            if (after is None or after > first) and (last is None or before < last):
                raise MissingError(f"{self.folder.name} cannot be read behind {where}")

    def require_complete(self, first: int, last: int | None = None, of: int | None = None) -> None:
        """Raises HoldsError where batches behind offset `first`, up to `last`, may be missing.

        `of`: those of a producer.
        """
        self.require_readable(first, last, of)
        for begin, end in self.gaps:
            if end > first and (last is None or end < last):
                raise MissingError(f"offsets {begin} to {end} are not in this copy")

    def of(self, producer: int) -> list[Head]:
        """Those of a producer."""
        return [self.heads[one] for one in self.by_producer.get(producer, ())]

    def at(self, path: Path, position: int) -> Head:
        """The batch at a place.

        Raises RefutedError where none begins there, HoldsError where that may be behind damage.
        """
        for one in self.heads:
            if one.position == position and one.path.name == path.name:
                return one
        self.require_readable()
        raise RefutedError(f"no batch begins at byte {position} of {path.name}")

    def covering(self, offset: int) -> Head | None:
        """The batch that has an offset."""
        both = enumerate(zip(self.first, self.last, strict=True))
        found = (number for number, (first, last) in both if first <= offset <= last)
        number = next(found, None)
        return None if number is None else self.heads[number]

    @property
    def begin(self) -> int:
        """The first offset that is there."""
        return self.first[0] if self.first else 0

    @property
    def end(self) -> int:
        """The offset behind the last batch, or the name of the newest file where none is."""
        return max(max(self.last, default=-1) + 1, self.bases[-1] if self.bases else 0)


def behind_unread(opened: Any, at: int, size: int, last: int) -> int:
    """Where the next batch begins behind one that cannot be read; the end of the file for nowhere.

    Of an unknown magic the length says where, if a header is there. Else the first bytes that are a
    whole batch with a right checksum, of offsets above `last`, and no further above than those of
    one segment: so a checksum is computed of next to nothing that only looks like a header.
    """
    with mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_READ) as data:
        behind = at + 12 + int.from_bytes(data[at + 8 : at + 12], signed=True)
        unknown = size - at > MAGIC and data[at + MAGIC] not in SMALLEST
        if unknown and at + 12 < behind and framed(data[behind : behind + HEADER.size]):
            return behind
        found = data.find(b"\x02", at + 1 + MAGIC)
        while found >= 0:
            start = found - MAGIC
            head = Batch(data[start : start + HEADER.size])
            near = last < head.base <= last + MAX_SEQUENCE
            length = framed(head.data) if near else 0
            if length and start + length <= size and Batch(data[start : start + length]).whole:
                return start
            found = data.find(b"\x02", found + 1)
    return size


def segment_base(path: Path) -> int:
    """The offset in the name of a file."""
    return int(path.name.split(".")[0])


@lru_cache(KEPT_COPIES)
def copy_of(folder: Path) -> Copy:
    """All batch headers of a folder."""
    return Copy(folder)


def next_segment(copy: Copy, begin: int) -> int:
    """Where the segment behind one begins."""
    return min((one for one in copy.bases if one > begin), default=END_OF_OFFSETS)
