"""The near side of a fetched partition: segments of whole batches, as a broker would store them.

A batch is stored as it arrived, byte for byte, and only as a whole. What a killed run left behind
its last whole batch is cut off when the folder is opened again.
"""

import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from _dump_source import CopyError

# DefaultRecordBatch and the legacy message sets begin alike: base offset, length of the rest.
PREFIX = struct.Struct(">qiib")  # base offset, length, leader epoch (of magic 2), magic
PREFIX_BYTES = 12
LAST_DELTA = struct.Struct(">i")
LAST_DELTA_AT = 23
OLD_ATTRIBUTES_AT, CODEC_MASK = 17, 7
SMALLEST = {0: 14, 1: 22, 2: 49}  # magic -> bytes behind the prefix
HEADER_BYTES = 61
SEGMENT_BYTES = 1 << 30
SUFFIX = ".log"
CUT_SUFFIX = ".cut"


class Batch(NamedTuple):
    """A whole batch in a buffer: from `start` to `end`; offsets inclusive. Epoch -1 for none.

    `wrapper`: compressed messages of magic 0 or 1, of which only the last offset is told.
    """

    start: int
    end: int
    first: int
    last: int
    leader_epoch: int
    wrapper: bool


class BrokenBatchError(CopyError):
    """Bytes that are no batch."""


class RewrittenError(CopyError):
    """The log has other batches at offsets that are stored already."""


def batches(buffer: bytes | memoryview | mmap.mmap) -> Iterator[Batch]:
    """The whole batches from the beginning of a buffer. Raises BrokenBatchError.

    The base offset of a legacy message is that of the message, of a wrapper its last one.
    """
    at, size = 0, len(buffer)
    while at + PREFIX_BYTES + 5 <= size:
        first, length, epoch, magic = PREFIX.unpack_from(buffer, at)
        if magic not in SMALLEST or length < SMALLEST[magic] or first < 0:
            raise BrokenBatchError(f"at byte {at:,}: offset {first}, length {length} is no batch")
        end = at + PREFIX_BYTES + length
        if end > size:
            return
        if magic == 2:
            delta = LAST_DELTA.unpack_from(buffer, at + LAST_DELTA_AT)[0]
            yield Batch(at, end, first, first + delta, epoch, False)
        else:
            wrapper = bool(buffer[at + OLD_ATTRIBUTES_AT] & CODEC_MASK)
            yield Batch(at, end, first, first, -1, wrapper)
        at = end


class Appended(NamedTuple):
    """What one answer added: bytes, and the first offsets (end exclusive) that it skips, if any."""

    size: int
    gap: tuple[int, int] | None


class PartitionLog:
    """A partition folder. `end`: the offset to ask for next, None as long as it holds nothing.

    `leader_epoch`: of the last batch, -1 where it has none. `holds_batches`: whether it has any.
    """

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Reads what is there, and cuts what is no whole batch off its end."""
        self.folder = folder
        self.end: int | None = None
        self.leader_epoch = -1
        self.holds_batches = False
        self._segment_bytes = segment_bytes
        self._file: IO[bytes] | None = None
        self._size = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._read()

    def _read(self) -> None:
        """Finds the end: that of the last batch, or the name of an empty segment behind it."""
        for path in reversed(self.segments()):
            base = int(path.name[:20])
            if self._recover(path):
                self.holds_batches = True
                return
            self.end = base if self.end is None else self.end

    def segments(self) -> list[Path]:
        """Files of the log in the order of their offsets."""
        return sorted(path for path in self.folder.iterdir() if path.name.endswith(SUFFIX))

    @property
    def first(self) -> int | None:
        """The first offset by the name of the first segment, None without one."""
        there = self.segments()
        return int(there[0].name[:20]) if there else None

    def _recover(self, path: Path) -> bool:
        """Cuts a segment behind its last whole batch; whether it has one."""
        size = path.stat().st_size
        last = None
        if size:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
                try:
                    for last in batches(view):  # noqa: B007 - the last one counts
                        pass
                except BrokenBatchError:
                    pass  # what a machine that lost power left behind
        if last is None or last.end < size:
            os.truncate(path, last.end if last else 0)
        if last is None:
            return False
        self.end = last.last + 1 if self.end is None else max(self.end, last.last + 1)
        self.leader_epoch = last.leader_epoch
        return True

    def begin(self, offset: int) -> None:
        """Goes on at an offset in an empty segment, as a broker does whose records are all gone."""
        self.close()
        (self.folder / f"{offset:020d}{SUFFIX}").touch()
        self.end = offset

    def append(self, records: bytes | memoryview) -> Appended:
        """Stores the whole batches of an answer that go on behind `end`. Raises CopyError.

        The first batch of an answer may begin before the offset asked for: a log without batches
        takes it, another one has all of it already. The last one may be cut: it is left out.
        """
        view = memoryview(records)
        fresh = [one for one in batches(view) if self.end is None or one.last >= self.end]
        if not fresh:
            return Appended(0, None)
        gap = None
        if self.holds_batches:
            assert self.end is not None
            if fresh[0].first < self.end:
                raise RewrittenError(
                    f"offsets {fresh[0].first} to {fresh[0].last} arrived in one batch where "
                    f"{self.end} is the next offset: the log was rewritten"
                )
            ends = [self.end, *(one.last + 1 for one in fresh)]
            behind = [(e, one) for e, one in zip(ends, fresh, strict=False) if not one.wrapper]
            gaps = [(e, one.first) for e, one in behind if one.first > e]
            gap = gaps[0] if gaps else None
        self._store(view, fresh)
        self.end, self.leader_epoch = fresh[-1].last + 1, fresh[-1].leader_epoch
        self.holds_batches = True
        return Appended(fresh[-1].end - fresh[0].start, gap)

    def _store(self, view: memoryview, fresh: list[Batch]) -> None:
        """Writes batches that lie side by side, with one call a segment.

        A segment that begins with a wrapper has the name of the offset behind the batch before.
        """
        start, behind = fresh[0].start, self.end
        file = self._file or self._open_newest(fresh[0])
        for one in fresh:
            there = self._size + one.start - start
            if there and there + one.end - one.start > self._segment_bytes:
                _write(file, view[start : one.start])
                start = one.start
                file = self._open(f"{behind if one.wrapper else one.first:020d}{SUFFIX}")
            behind = one.last + 1
        _write(file, view[start : fresh[-1].end])
        self._size += fresh[-1].end - start

    def _open_newest(self, batch: Batch) -> IO[bytes]:
        """The newest segment; where no batch is stored, one that may hold this one."""
        there = self.segments()
        if not self.holds_batches:
            for path in there:
                if int(path.name[:20]) > batch.first:
                    path.unlink()
            there = self.segments()
        return self._open(there[-1].name if there else f"{batch.first:020d}{SUFFIX}")

    def _open(self, name: str) -> IO[bytes]:
        self.close()
        self._file = (self.folder / name).open("ab", buffering=0)
        self._size = self._file.tell()
        return self._file

    def cut(self, offset: int) -> int:
        """Takes all batches that reach `offset` or go beyond it off the log, into .cut files.

        Returns how many bytes these are. The log goes on at `end`.
        """
        self.close()
        taken = 0
        for path in reversed(self.segments()):
            with path.open("rb") as file:
                content = file.read()
            at = next((one.start for one in batches(content) if one.last >= offset), len(content))
            if at < len(content):
                (self.folder / f"{path.name}{CUT_SUFFIX}").write_bytes(content[at:])
                taken += len(content) - at
                os.truncate(path, at)
            if at > 0:
                break
            if path != self.segments()[0]:
                path.unlink()
        self.end, self.leader_epoch, self.holds_batches = None, -1, False
        self._read()
        return taken

    def close(self) -> None:
        """What was stored is on the disk on return."""
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None


def _write(file: IO[bytes], content: memoryview) -> None:
    """Writes all of it: an unbuffered file may take less at a time."""
    while content:
        content = content[file.write(content) :]
