"""A batch, its header, its records, and a marker: the bytes of a log."""

import struct
import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from jobs.report.recheck.checksums import crc32c
from jobs.report.recheck.decompression import DECOMPRESSED, unlz4
from jobs.report.recheck.results import HoldsError
from jobs.report.recheck.wire import sized, span, varint

HEADER = struct.Struct(">qiibIhiqqqhii")
SMALLEST = {0: 14, 1: 22, 2: 49}
# Where a batch and a message have the version of their format.
MAGIC = 16
TRANSACTIONAL, CONTROL, HORIZON = 0x10, 0x20, 0x40
MAX_SEQUENCE, LAST_EPOCH = (1 << 31) - 1, (1 << 15) - 1
ABORT, COMMIT = 0, 1
# A marker is not compressed (MemoryRecords.writeEndTransactionalMarker) and always as long.
MARKER_SIZE = 78


class Record(NamedTuple):
    """A record of a batch of magic 2."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


class Batch:
    """A batch as it lies in the file; `whole`: its length and checksum are right.

    Of one that is not read to its end `data` is the header only.
    """

    def __init__(self, data: bytes) -> None:
        """Reads the header; of magic 0 and 1 only what all have."""
        self.data, self.magic = data, data[16] if len(data) > 16 else -1
        self.base, self.length = struct.unpack_from(">qi", data) if len(data) >= 12 else (-1, -1)
        self.leader = self.producer = self.epoch = self.sequence = self.codec = -1
        self.attributes = self.delta = self.count = self.timestamp = self.newest = 0
        self.last, self.crc = self.base, -1
        if self.magic == 2 and len(data) >= HEADER.size:
            (_, _, self.leader, _, self.crc, self.attributes, self.delta, self.timestamp,
             self.newest, self.producer, self.epoch, self.sequence, self.count,
            ) = HEADER.unpack_from(data)  # fmt: skip
            self.last = self.base + self.delta
            self.codec = self.attributes & 7
        elif self.magic in (0, 1) and len(data) > 17:
            (self.crc,) = struct.unpack_from(">I", data, 12)
            self.codec = data[17] & 7
        smallest = SMALLEST.get(self.magic, 1 << 31)
        self.fits = self.length >= smallest and self.length + 12 == len(data)

    @cached_property
    def whole(self) -> bool:
        """Whether length and checksum are right."""
        right = crc32c(self.data[21:]) if self.magic == 2 else zlib.crc32(self.data[16:])
        return self.fits and right == self.crc

    @property
    def control(self) -> bool:
        """Whether it is one of the broker."""
        return bool(self.attributes & CONTROL)

    @property
    def transactional(self) -> bool:
        """Whether it is part of a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def of_client(self) -> bool:
        """Whether it has data of a transaction; no producer writes one without a sequence."""
        return self.transactional and not self.control and self.sequence >= 0

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record."""
        return (self.sequence + self.delta) % (MAX_SEQUENCE + 1)

    @property
    def of_broker_ms(self) -> int | None:
        """The moment at which a broker wrote it, where it is its own clock's, ms."""
        return self.newest if self.control or self.attributes & 8 else None

    def marker(self) -> tuple[int, int]:
        """Control type and coordinator epoch; raises ValueError where it is no marker."""
        record = next(self.records(), None)
        if not self.control or record is None or record.key is None or record.value is None:
            raise ValueError("no marker")
        (version, kind), (of_value, epoch) = (
            struct.unpack_from(">hh", record.key),
            struct.unpack_from(">hi", record.value),
        )
        if version < 0 or of_value < 0:
            raise ValueError("a marker of a negative version")
        return kind, epoch

    def plain(self) -> bytes:
        """The section of the records, decompressed; of magic 0 and 1 the value.

        Raises ValueError where that fails, UndecidedError where it cannot be tried.
        """
        section = self.value if self.magic < 2 else self.data[HEADER.size :]
        if section is None or (self.codec and not section):
            raise ValueError("compressed bytes that are not there")
        try:
            if self.magic == 0 and self.codec == 3:
                return unlz4(section, of_old_clients=True)
            return DECOMPRESSED[self.codec](section)
        except KeyError:
            raise ValueError(f"no codec has the number {self.codec}") from None
        except (IndexError, struct.error) as error:
            raise ValueError("compressed bytes that are cut off") from error

    @property
    def value(self) -> bytes | None:
        """The value of a message of magic 0 or 1."""
        at = 18 + 8 * self.magic
        _, at = sized(self.data, at, ">i")
        value, at = sized(self.data, at, ">i")
        if at != len(self.data):
            raise ValueError("bytes after the value of a message")
        return value

    def records(self) -> Iterator[Record]:
        """The records; raises ValueError at what is none."""
        if self.magic != 2:
            raise HoldsError("the bytes are there and whole; messages before magic 2 are not read")
        data = self.plain()
        at = 0
        appended = self.attributes & 8
        for _ in range(self.count):
            size, at = varint(data, at)
            end = at + size
            if size < 1 or end > len(data):
                raise ValueError("a record that is cut off")
            late, at = varint(data, at + 1)
            delta, at = varint(data, at)
            key, at = span(data, at, end)
            value, at = span(data, at, end)
            headers, at = varint(data, at)
            for _ in range(headers):
                name, at = span(data, at, end)
                _, at = span(data, at, end)
                if name is None:
                    raise ValueError("a header without a name")
            if at != end or headers < 0:
                raise ValueError("a record of another size")
            moment = self.newest if appended else self.timestamp + late
            yield Record(self.base + delta, moment, key, value)
        if at != len(data):
            raise ValueError("bytes after the last record")


def framed(data: bytes) -> int:
    """Bytes of the batch whose header begins there, 0 where none can."""
    if len(data) < SMALLEST[0] + 12:
        return 0
    base, length = struct.unpack_from(">qi", data)
    return length + 12 if base >= 0 and length >= SMALLEST.get(data[16], 1 << 31) else 0
