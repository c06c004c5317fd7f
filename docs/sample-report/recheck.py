"""Checks the findings of an audit again from the bytes of the dump, and from nothing else.

    python3 recheck.py report.json DUMP [CODE ...] [--evidence-only]

DUMP is the folder that was audited (several: each once, in the same order). The findings are those
of report.json, or rows of the table `violation`: a JSON array, or a JSON object a line. Python
3.11 or newer is all that is needed: nothing of eosaudit is imported, so this file is a second
witness. Of each finding it tells

    confirmed    the bytes are those quoted, whole, and what the finding says follows from them
    holds        the bytes are those quoted and whole; the rest of what the finding says, no bytes
                 that were read can show (the reason is told)
    refuted      the bytes are others, or show something else
    undecided    the file is not there, is a text, or has a codec that this Python does not know
                 (zstd before 3.14)

It reads the evidence of a finding. That something is missing no evidence shows: for such a finding
it also reads all batch headers of the partition's copy (of markers all bytes), the records of
`__transaction_state`, or the one index, snapshot or checkpoint, and tells so in the line of the
finding. With --evidence-only it does not.

Exit code 1 where a finding was refuted, 3 where one is undecided or none was checked, 2 where the
command line or a file is wrong, else 0.
"""

import json
import mmap
import os
import struct
import sys
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

# --- checksums ------------------------------------------------------------------------------------
# Checksums that Python lacks: CRC-32C, and xxHash of the header of an LZ4 frame.


@cache
def crc_table() -> list[int]:
    """Of CRC-32C, one number a byte."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)  # noqa: PLW2901
        table.append(value)
    return table


def crc32c(data: bytes) -> int:
    """CRC-32C, as in batches of magic 2 and in producer snapshots."""
    table, crc = crc_table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def xxh32(data: bytes) -> int:
    """The checksum xxHash of less than 16 bytes, without a seed."""
    one, two, three, four, five = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    found, whole = five + len(data), len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        found = found + word * three & 0xFFFFFFFF
        found = (found << 17 | found >> 15) * four & 0xFFFFFFFF
    for byte in data[whole:]:
        found = found + byte * five & 0xFFFFFFFF
        found = (found << 11 | found >> 21) * one & 0xFFFFFFFF
    found = (found ^ found >> 15) * two & 0xFFFFFFFF
    found = (found ^ found >> 13) * three & 0xFFFFFFFF
    return found ^ found >> 16


# --- results --------------------------------------------------------------------------------------
# What became of a finding, and the errors that say so.


CONFIRMED, HOLDS, REFUTED, UNDECIDED = "confirmed", "holds", "refuted", "undecided"


class RefutedError(Exception):
    """The bytes are not what the finding says."""


class UndecidedError(Exception):
    """The bytes cannot be read here."""


class HoldsError(Exception):
    """The bytes are right, and the rest cannot be shown; why."""


class MissingError(HoldsError):
    """So, as the dump lacks what would show it, or it cannot be read.

    `reasons`: of a finding that says just that, and is confirmed.
    """

    reasons: tuple[str, ...] = ("missing_range",)


class LostRecordsError(MissingError):
    """The same of records of the coordinator; it has no log behind what cannot be read."""

    reasons = ("missing_range", "txnlog_not_dumped", "dump_before_event")


# --- wire -----------------------------------------------------------------------------------------
# Numbers and fields as Kafka writes them: varints, bytes with their size, tagged fields.


def sized(data: bytes, at: int, form: str, flexible: bool = False) -> tuple[bytes | None, int]:
    """Bytes with their size in front, null where that is negative, and where they end."""
    size, at = counted(data, at, flexible, form)
    if at + size > len(data):
        raise ValueError("a field that is cut off")
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A zig-zag varint and where it ends; raises ValueError."""
    value, at = unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


def unsigned(data: bytes, at: int) -> tuple[int, int]:
    """A varint without a sign and where it ends; raises ValueError."""
    value = shift = 0
    while shift < 70:
        if at >= len(data):
            raise ValueError("bytes end in a varint")
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    raise ValueError("a varint that is too long")


def span(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """Bytes with their size in front, null where that is negative."""
    size, at = varint(data, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise ValueError("a field that is cut off")
    return data[at : at + size], at + size


def counted(data: bytes, at: int, flexible: bool, form: str) -> tuple[int, int]:
    """A length or a count and where it ends, -1 for null."""
    if flexible:
        number, at = unsigned(data, at)
        return number - 1, at
    size = struct.calcsize(form)
    if at + size > len(data):
        raise ValueError("a field that is cut off")
    (number,) = struct.unpack_from(form, data, at)
    return number, at + size


def tagged(data: bytes, at: int) -> tuple[dict[int, bytes], int]:
    """Tagged fields and where they end."""
    fields, (number, at) = {}, unsigned(data, at)
    for _ in range(number):
        tag, at = unsigned(data, at)
        size, at = unsigned(data, at)
        if at + size > len(data):
            raise ValueError("a field that is cut off")
        fields[tag], at = data[at : at + size], at + size
    return fields, at


# --- decompression --------------------------------------------------------------------------------
# The codecs of records: gzip, Snappy, LZ4, and zstd where this Python has it.


SNAPPY_BLOCKS, LZ4_FRAME, ZSTD_FRAME = b"\x82SNAPPY\0", b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd"
LARGEST_PLAIN = 1 << 28


def gunzipped(section: bytes) -> bytes:
    """Members of gzip, one after another."""
    plain = b""
    if section[:2] != b"\x1f\x8b":
        raise ValueError("no stream of gzip")
    while section[:2] == b"\x1f\x8b":
        member = zlib.decompressobj(wbits=31)
        try:
            plain += member.decompress(section, LARGEST_PLAIN)
        except zlib.error as error:
            raise ValueError(str(error)) from error
        if not member.eof:
            raise ValueError("the stream is cut off")
        section = member.unused_data
    return plain


def unsnapped(section: bytes) -> bytes:
    """Snappy: blocks as Java writes them, or one bare block."""
    if not section.startswith(SNAPPY_BLOCKS):
        return snappy_block(section)
    plain, at = b"", 0
    # Java's reader ends silently where fewer bytes than a size are left.
    while at + 4 <= len(section):
        if section.startswith(SNAPPY_BLOCKS, at):
            (version,), at = struct.unpack_from(">i", section, at + 8), at + 16
            if version < 1 or at > len(section):
                raise ValueError("a header of Snappy that is not known")
            continue
        block, at = sized(section, at, ">i")
        if block is None:
            raise ValueError("a block of a negative size")
        plain = within_limit(plain + snappy_block(block))
    return plain


def snappy_block(block: bytes) -> bytes:
    """One block: its size as a varint, then literals and repetitions."""
    size, at = unsigned(block, 0)
    plain = bytearray()
    while at < len(block):
        tag, at = block[at], at + 1
        kind, number = tag & 3, tag >> 2
        if kind == 0:
            if number >= 60:
                width = number - 59
                number, at = int.from_bytes(block[at : at + width], "little"), at + width
            literal = block[at : at + number + 1]
            if len(literal) != number + 1:
                raise ValueError("a literal that is cut off")
            plain, at = plain + literal, at + number + 1
        elif kind == 1:
            repeat(plain, tag >> 5 << 8 | block[at], (number & 7) + 4)
            at += 1
        else:
            width = 2 if kind == 2 else 4
            repeat(plain, int.from_bytes(block[at : at + width], "little"), number + 1)
            at += width
    if len(plain) != size:
        raise ValueError("a block of another size")
    return bytes(plain)


def unlz4(section: bytes, of_old_clients: bool = False) -> bytes:
    """A frame of LZ4; the checksums of its blocks are not asked.

    Old clients wrote a wrong one of the header, which counts in magic 0 only.
    """
    if section[:4] != LZ4_FRAME or section[4] >> 6 != 1:
        raise ValueError("no frame of LZ4")
    flags = section[4]
    at = 7 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0)
    if not of_old_clients and xxh32(section[4 : at - 1]) >> 8 & 0xFF != section[at - 1]:
        raise ValueError("a header of LZ4 with a wrong checksum")
    plain = bytearray()
    while True:
        (size,) = struct.unpack_from("<I", section, at)
        size, stored, at = size & 0x7FFFFFFF, size >> 31, at + 4
        if not size:
            return bytes(plain)
        block = section[at : at + size]
        if len(block) != size:
            raise ValueError("a block that is cut off")
        if stored:
            plain += block
        else:
            lz4_block(block, plain)
        within_limit(plain)
        at += size + (4 if flags & 16 else 0)


def lz4_block(block: bytes, plain: bytearray) -> None:
    """Adds one block, whose repetitions may reach back before it."""
    at = 0
    while at < len(block):
        token = block[at]
        literals, at = lz4_size(block, at + 1, token >> 4)
        if at + literals > len(block):
            raise ValueError("literals that are cut off")
        plain += block[at : at + literals]
        at += literals
        if at < len(block):
            distance = int.from_bytes(block[at : at + 2], "little")
            size, at = lz4_size(block, at + 2, token & 15)
            repeat(plain, distance, size + 4)


def lz4_size(block: bytes, at: int, size: int) -> tuple[int, int]:
    """A size that goes on in further bytes where it is 15, and where it ends."""
    more = 255 if size == 15 else 0
    while more == 255:
        more, at = block[at], at + 1
        size += more
    return size, at


def repeat(plain: bytearray, distance: int, size: int) -> None:
    """Appends so many bytes from so far back, which may reach into what is appended."""
    if not 0 < distance <= len(plain):
        raise ValueError("a repetition of what is not there")
    again = plain[len(plain) - distance :][:size]
    plain += (again * (size // len(again) + 1))[:size]


def within_limit(plain: Any) -> Any:
    """What is decompressed; raises UndecidedError where it is too much."""
    if len(plain) > LARGEST_PLAIN:
        raise UndecidedError("the records are too large to be rechecked")
    return plain


def unzstd(section: bytes) -> bytes:
    """Frames of Zstandard, which Python knows from 3.14 on."""
    if section[:4] != ZSTD_FRAME:
        raise ValueError("no frame of Zstandard")
    try:
        zstd = import_module("compression.zstd")
    except ImportError:
        raise UndecidedError("cannot be rechecked without codec zstd (Python 3.14)") from None
    try:
        return bytes(zstd.decompress(section))
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error


DECOMPRESSED: dict[int, Callable[[bytes], bytes]] = {
    0: lambda section: section, 1: gunzipped, 2: unsnapped, 3: unlz4, 4: unzstd,
}  # fmt: skip


# --- batches --------------------------------------------------------------------------------------
# A batch, its header, its records, and a marker: the bytes of a log.


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


# --- coordinator_records --------------------------------------------------------------------------
# A record of `__transaction_state`: its key, its value, and the states of a transaction.


COORDINATOR_HEAD, COORDINATOR_TIMES = struct.Struct(">hqhib"), struct.Struct(">qq")
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
PREPARED, COMPLETE = (PREPARE_COMMIT, PREPARE_ABORT), (COMPLETE_COMMIT, COMPLETE_ABORT)
COMMITTED = (PREPARE_COMMIT, COMPLETE_COMMIT)
AT_REST = (EMPTY, *COMPLETE)
# Tags of a value: previous and next producer id, version of the client, next producer epoch.
KNOWN_TAGS, TAG_NEXT_PRODUCER, TAG_CLIENT_VERSION = (0, 1, 2, 3), 1, 2


class State(NamedTuple):
    """A value of `__transaction_state`; `places`: topic and partition of each that it lists.

    `announced`: the producer id that follows, -1 for none.
    """

    producer: int
    epoch: int
    timeout_ms: int
    state: int
    update_ms: int
    start_ms: int
    places: tuple[tuple[str, int], ...]
    client_version: int
    unknown_tags: tuple[int, ...]
    announced: int


def identity(key: bytes | None) -> str:
    """The transactional id of a key; raises ValueError where it is none."""
    if key is None or len(key) < 4:
        raise ValueError("no key of a transactional id")
    version, size = struct.unpack_from(">hh", key)
    if version != 0:
        raise UndecidedError(f"a key of version {version} is not known")
    if size < 0 or len(key) != 4 + size:
        raise ValueError("a key of another length")
    return key[4:].decode("utf-8", "replace")


def state_of(value: bytes | None) -> State | None:
    """A value of version 0 or 1, None for a tombstone; raises ValueError where it is none."""
    if value is None:
        return None
    if len(value) < COORDINATOR_HEAD.size:
        raise ValueError("too short")
    version, producer, epoch, timeout, state = COORDINATOR_HEAD.unpack_from(value)
    if version not in (0, 1):
        raise UndecidedError(f"a value of version {version} is not known")
    places, at = listed_places(value, COORDINATOR_HEAD.size, version == 1)
    if at + COORDINATOR_TIMES.size > len(value):
        raise ValueError("a value that is cut off")
    update, start = COORDINATOR_TIMES.unpack_from(value, at)
    at += COORDINATOR_TIMES.size
    tags: dict[int, bytes] = {}
    if version == 1:
        tags, at = tagged(value, at)
    if at != len(value):
        raise ValueError("bytes after the last field")
    client = int.from_bytes(tags.get(TAG_CLIENT_VERSION, b"\0"), "big")
    unknown = tuple(sorted(set(tags) - set(KNOWN_TAGS)))
    announced = int.from_bytes(tags.get(TAG_NEXT_PRODUCER, b"\xff"), "big", signed=True)
    return State(producer, epoch, timeout, state, update, start, places, client, unknown, announced)


def listed_places(data: bytes, at: int, flexible: bool) -> tuple[tuple[tuple[str, int], ...], int]:
    """The partitions of a value and where they end."""
    topics, at = counted(data, at, flexible, ">i")
    places: list[tuple[str, int]] = []
    for _ in range(topics):
        size, at = counted(data, at, flexible, ">h")
        topic, at = data[at : at + size].decode("utf-8", "replace"), at + size
        number, at = counted(data, at, flexible, ">i")
        if size < 0 or number < 0 or at + 4 * number > len(data):
            raise ValueError("a list that is cut off")
        places += [(topic, one) for one in struct.unpack_from(f">{number}i", data, at)]
        at += 4 * number
        if flexible:
            _, at = tagged(data, at)
    return tuple(places), at


# --- internal_topics ------------------------------------------------------------------------------
# Topics of the brokers' own, and to which of their partitions an id or a group belongs.


TXN_LOG, OFFSETS = "__transaction_state", "__consumer_offsets"


def placed(name: str, partitions: int) -> int:
    """The partition of a transactional id or group: Java's hash of it."""
    hashed = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for (unit,) in struct.iter_unpack(">H", units):
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    signed = hashed - (1 << 32) if hashed >> 31 else hashed
    return (0 if signed == -(1 << 31) else abs(signed)) % partitions


# --- copies ---------------------------------------------------------------------------------------
# A copy of a partition: the headers of all batches in its folder, and what is missing there.


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


# --- coordinator_logs -----------------------------------------------------------------------------
# The records in a copy of a partition of `__transaction_state`, and how far it reaches.


class Entry(NamedTuple):
    """A record of `__transaction_state`, with the leader epoch and moment (ms) of its batch.

    `readable`: whether its key and value can be read; else `state` is None, as of a tombstone.
    """

    folder: Path
    transactional_id: str
    offset: int
    state: State | None
    leader: int
    moment_ms: int
    readable: bool


class Told(NamedTuple):
    """Of a copy: the producer ids of its records, and why not all can be read, None if they can."""

    producers: frozenset[int]
    unreadable: str | None


@lru_cache(KEPT_COPIES)
def entries_of(folder: Path) -> tuple[list[Entry], Copy]:
    """All records of a copy of `__transaction_state-N`, and the copy."""
    copy, entries = Copy(folder, whole=True, keep=True), []
    for one in copy.heads:
        batch = one.batch
        if batch.control:
            continue
        try:
            records = list(batch.records())
        except (ValueError, struct.error, HoldsError):
            copy.holes.append((0, f"{one.path.name} at byte {one.position}", None))
            break
        entries += [entry_of(folder, batch, record) for record in records]
    copy.heads.clear()
    return entries, copy


@cache
def told_by(folder: Path) -> Told:
    """What all records of a copy tell; kept of all copies, a number for each id."""
    entries, copy = entries_of(folder)
    producers = frozenset(one.state.producer for one in entries if one.state)
    try:
        copy.require_readable()
    except MissingError as error:
        return Told(producers, str(error))
    readable = all(one.readable for one in entries)
    return Told(producers, None if readable else f"{folder.name} has a record that cannot be read")


@cache
def reach_of(folder: Path) -> tuple[int, int]:
    """The newest leader epoch of a copy of `__transaction_state-N`, and the offset of its end."""
    entries, copy = entries_of(folder)
    return max((one.leader for one in entries), default=-1), copy.end


@cache
def first_of_later(folder: Path, leader: int) -> int:
    """The first offset that a copy has of a leader later than one, else none that a log has."""
    later = (e.offset for e in entries_of(folder)[0] if e.leader > leader and e.readable)
    return min(later, default=END_OF_OFFSETS)


def entry_of(folder: Path, batch: Batch, record: Record) -> Entry:
    """A record of the coordinator, also one that cannot be read."""
    name, state, readable = "", None, False
    try:
        name = identity(record.key)
        state, readable = state_of(record.value), True
    except (ValueError, struct.error, UndecidedError):
        pass
    return Entry(folder, name, record.offset, state, batch.leader, batch.newest, readable)


# --- dump -----------------------------------------------------------------------------------------
# The folders that were audited: their log directories, copies, and logs of the coordinator.


# In the root of a file system; only root may list it.
LOST_AND_FOUND = "lost+found"


@cache
def folders_of(root: Path) -> dict[str, list[Path]]:
    """The folders below one, itself among them, by name; links are followed, each folder once.

    Raises OSError where one cannot be listed.
    """

    def refuse(error: OSError) -> None:
        if Path(error.filename).name != LOST_AND_FOUND:
            raise error

    found: dict[str, list[Path]] = {}
    seen: set[str] = set()
    for folder, below, _ in os.walk(root, onerror=refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        below.sort()
        found.setdefault(Path(folder).name, []).append(Path(folder))
    return found


@cache
def properties_of(log_directory: Path) -> dict[str, str]:
    """What the `meta.properties` of a log directory says, empty without one."""
    path = log_directory / "meta.properties"
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    told = (line.partition("=")[::2] for line in lines)
    return {name.strip(): value.strip() for name, value in told}


def broker_of(log_directory: Path) -> int | None:
    """The broker id of a log directory."""
    told = properties_of(log_directory)
    number = told.get("node.id", told.get("broker.id", ""))
    return int(number) if number.isdigit() else None


def may_be_of_one_cluster(one: Path, other: Path) -> bool:
    """Whether two log directories may be; a folder without a `meta.properties` may be of any."""
    told = [properties_of(each).get("cluster.id") for each in (one, other)]
    return None in told or told[0] == told[1]


class Dump:
    """The folders that were audited.

    `evidence_only`: nothing but evidence is read. `as_of`: the moment of the audit, ms, if known.
    """

    def __init__(
        self, roots: list[Path], evidence_only: bool = False, as_of: int | None = None
    ) -> None:
        """`roots` in the order of the audit."""
        # A folder that is given as `.` has a name, too; that of a link is the link's.
        self.roots = [root.absolute() for root in roots]
        self.evidence_only, self.as_of = evidence_only, as_of
        self.read: list[str] = []

    def places(self, file: str) -> Iterator[Path]:
        """Where a file may lie: below the folder, or, of several, below the one of that name.

        Files of an audited partition folder are told with the folder's name.
        """
        for root, inner in self._inside(file):
            yield root / inner
            if inner.startswith(f"{root.name}/"):
                yield root / inner.removeprefix(f"{root.name}/")

    def _inside(self, file: str) -> Iterator[tuple[Path, str]]:
        """The folders in which a file may lie, and its path there."""
        if len(self.roots) == 1:
            yield self.roots[0], file
            return
        seen: Counter[str] = Counter()
        for root in self.roots:
            name = root.resolve().name
            seen[name] += 1
            label = name if seen[name] == 1 else f"{name}#{seen[name]}"
            if file.startswith(f"{label}/"):
                yield root, file.removeprefix(f"{label}/")

    def _has(self, folder: Path) -> bool:
        """Whether a folder is one that was audited, or lies in one."""
        return any(folder.is_relative_to(root) for root in self.roots)

    def beside(self, what: str) -> None:
        """Notes that something beside the evidence is read; raises HoldsError where it must not."""
        if self.evidence_only:
            raise HoldsError(f"the bytes are there and whole; {what} were not read")
        if what not in self.read:
            self.read.append(what)

    def copy(self, folder: Path) -> Copy:
        """All batch headers of a partition's folder."""
        self.beside(f"all batch headers of {folder.name}")
        return copy_of(folder)

    def folders(self, name: str) -> list[Path]:
        """Folders of that name."""
        return [one for root in self.roots for one in folders_of(root).get(name, [])]

    def copies_of(self, topic: str) -> list[Path]:
        """The copies of all partitions of a topic."""
        names = {name for root in self.roots for name in folders_of(root)}
        mine_ = [
            n for n in names if n.rpartition("-")[0] == topic and n.rpartition("-")[2].isdigit()
        ]
        return sorted(folder for name in mine_ for folder in self.folders(name))

    def folder(self, place: tuple[str, int], broker: int | None) -> Path:
        """That of a partition; raises HoldsError where it is not the only one of the broker."""
        name = f"{place[0]}-{place[1]}"
        found = self.folders(name)
        if broker is not None and len(found) > 1:
            found = [one for one in found if broker_of(one.parent) == broker]
        if len(found) != 1:
            raise HoldsError(f"{len(found)} folders of {name} may be meant")
        return found[0]

    @cached_property
    def txn_logs(self) -> list[Path]:
        """The copies of partitions of `__transaction_state`."""
        return self.copies_of(TXN_LOG)

    def entries(
        self, folders: list[Path], transactional_id: str | None, producer: int | None = None
    ) -> list[Entry]:
        """Records of an id in such copies, of all without one; `producer`: of copies that name it.

        Raises HoldsError where one of them cannot be read.
        """
        if not folders:
            raise HoldsError(f"no copy of {TXN_LOG} is in the dump")
        several = f"{len(folders)} copies of partitions of {TXN_LOG}"
        self.beside(f"all records of {folders[0].name if len(folders) == 1 else several}")
        entries: list[Entry] = []
        for folder in folders:
            if transactional_id is None and producer is not None:
                told = told_by(folder)
                if told.unreadable:
                    raise LostRecordsError(told.unreadable)
                if producer not in told.producers:
                    continue
            found, copy = entries_of(folder)
            try:
                copy.require_readable()
            except MissingError as error:
                raise LostRecordsError(str(error)) from None
            # Without a name the key cannot be read.
            ours = (transactional_id, "")
            mine_ = [o for o in found if transactional_id is None or o.transactional_id in ours]
            if not all(one.readable for one in mine_):
                raise LostRecordsError(f"{folder.name} has a record that cannot be read")
            entries += mine_
        return entries

    def logs_of(self, transactional_id: str | None) -> list[Path]:
        """Copies of the partition that an id belongs to, if its records are there, else of all."""
        numbers = {int(one.name.rpartition("-")[2]) for one in self.txn_logs}
        if transactional_id is None or numbers != set(range(len(numbers))) or not numbers:
            return self.txn_logs
        name = f"{TXN_LOG}-{placed(transactional_id, len(numbers))}"
        own = [one for one in self.txn_logs if one.name == name]
        there = (e.transactional_id for one in own for e in entries_of(one)[0])
        return own if transactional_id in there else self.txn_logs

    def logs_of_producer(self, producer: int) -> list[Path]:
        """Copies of the partitions whose records name a producer, if any does, else of all."""
        names = {one.name for one in self.txn_logs if producer in told_by(one).producers}
        return [one for one in self.txn_logs if one.name in names or not names]

    def newest(self, transactional_id: str) -> Entry | None:
        """The last record of an id; of copies the one that is furthest."""
        mine_ = self.entries(self.logs_of(transactional_id), transactional_id)
        return max(mine_, key=self._order, default=None)

    def _order(self, one: Entry) -> tuple[bool, int, int]:
        """Of copies' records of an id, the newest is the greatest."""
        return not self.told_by_another(one), one.leader, one.offset

    def told_by_another(self, one: Entry) -> bool:
        """Whether a record lies above the high watermark of a copy that another one outlasts.

        The other copy has it, too, or a later leader has another one there, and it is truncated.
        Without a mark, what lies where a later leader begins in another copy is not replicated.
        """
        reach = reach_of(one.folder)
        others = [o for o in self.folders(one.folder.name) if reach_of(o) > reach]
        mark = self.mark_of(one.folder) if others else None
        if mark is None:
            mark = min((first_of_later(o, reach[0]) for o in others), default=END_OF_OFFSETS)
        return one.offset >= mark and any(
            first_of_later(other, one.leader) <= one.offset
            or any(
                (e.transactional_id == one.transactional_id and e.offset >= one.offset)
                or e.offset == one.offset
                for e in entries_of(other)[0]
                if e.readable
            )
            for other in others
        )

    def mark_of(self, folder: Path) -> int | None:
        """The high watermark of a copy of the coordinator's log, None where it is not known."""
        place = (TXN_LOG, int(folder.name.rpartition("-")[2]))
        try:
            return self.checkpoint(folder.parent, "replication-offset-checkpoint", place)
        except UndecidedError:
            return None

    def checkpoint(self, log_directory: Path, name: str, place: tuple[str, int]) -> int | None:
        """The entry of a partition in an offset checkpoint, None where it has none."""
        path = log_directory / name
        self.beside(f"the {name}")
        # What lies around a partition folder that was audited alone is of no audit.
        if not path.is_file() or not self._has(log_directory):
            raise UndecidedError(f"{name} is not in the dump")
        for line in path.read_text("utf-8", "replace").splitlines()[2:]:
            words = line.split()
            if len(words) == 3 and (words[0], words[1]) == (place[0], str(place[1])):
                return int(words[2])
        return None


# --- snapshot_files -------------------------------------------------------------------------------
# The bytes of a producer snapshot: its head, and an entry for each producer.


SNAPSHOT_HEAD, SNAPSHOT_ENTRY = struct.Struct(">hIi"), struct.Struct(">qhiqiqiq")


def last_batch(entry: bytes, control: bool) -> Batch:
    """The last batch of a producer as the entry of a snapshot knows it; `control`: a marker."""
    batch = Batch(b"")
    batch.producer, batch.epoch, sequence, batch.last, batch.delta, batch.newest, _, begun = (
        SNAPSHOT_ENTRY.unpack(entry)
    )
    batch.magic, batch.base, batch.sequence = 2, batch.last - batch.delta, sequence - batch.delta
    batch.attributes = CONTROL if control else TRANSACTIONAL if begun >= 0 else 0
    return batch


def is_sound_snapshot(data: bytes) -> bool:
    """Whether version, checksum and length are right, and no producer is there twice."""
    if len(data) < SNAPSHOT_HEAD.size:
        return False
    version, crc, count = SNAPSHOT_HEAD.unpack_from(data)
    if version != 1 or crc != crc32c(data[6:]):
        return False
    if len(data) != SNAPSHOT_HEAD.size + SNAPSHOT_ENTRY.size * count:
        return False
    return bool(len(snapshot_of(data)) == count)


def snapshot_of(data: bytes) -> dict[int, tuple[int, ...]]:
    """The entries of a snapshot by producer."""
    entries = SNAPSHOT_ENTRY.iter_unpack(data[SNAPSHOT_HEAD.size :])
    return {one[0]: one for one in entries}


def told_in_snapshot(path: Path) -> set[int]:
    """Producers of a snapshot, without those of which a broker read but an emptied marker."""
    nothing = (-1, -1, -1, 0, -1, -1, -1)
    return {one for one, entry in snapshot_of(path.read_bytes()).items() if entry[1:] != nothing}


def snapshots_before(path: Path) -> list[Path]:
    """Older snapshots of a folder, the newest first."""
    older = [p for p in path.parent.glob("*.snapshot") if segment_base(p) < segment_base(path)]
    return sorted(older, key=segment_base, reverse=True)


# --- evidence -------------------------------------------------------------------------------------
# The bytes that a finding names, and whether they are those quoted and of such a role.


# What a batch with such a role is, whatever the finding.
ABORT_MARKER = "the ABORT marker"
PREPARE_RECORD = "the Prepare record"
MARKERS = {
    "the marker", ABORT_MARKER, "the marker before", "the repeated marker",
    "the first marker", "the second marker", "the marker of the same epoch",
    "the marker of the lower epoch", "the marker of the lower coordinator epoch",
}  # fmt: skip
LAST_OF_TRANSACTION = "last batch of the transaction"
OF_TRANSACTION = {"first batch of the transaction", LAST_OF_TRANSACTION}


class Proof(NamedTuple):
    """Evidence with the bytes that lie there now; `size`: of the file."""

    role: str
    file: str
    position: int
    data: bytes
    size: int
    path: Path

    @property
    def batch(self) -> Batch:
        """The bytes as a batch; of a snapshot's entry the last one of its producer."""
        if self.file.endswith(".snapshot") and len(self.data) == SNAPSHOT_ENTRY.size:
            return last_batch(self.data, self.role in MARKERS)
        return Batch(self.data)


def is_log(file: str) -> bool:
    """Whether a file has batches."""
    return file.removesuffix(".swap").endswith((".log", ".checkpoint"))


def proof_of(evidence: dict[str, Any], dump: Dump, damaged: bool) -> Proof:
    """The bytes that lie there now. Raises RefutedError where they are not those quoted."""
    file, position, length = (evidence[name] for name in ("file", "byte_position", "byte_length"))
    if "!/" in file:
        raise UndecidedError(f"{file} is a text of kafka-dump-log")
    path = next((one for one in dump.places(file) if one.is_file()), None)
    if path is None:
        raise UndecidedError(f"{file} is not in the dump")
    size = path.stat().st_size
    with path.open("rb") as opened:
        opened.seek(position or 0)
        data = opened.read(size if length is None else length)
        if is_log(file) and not damaged and length == HEADER.size < framed(data):
            # Of some batches the audit knows the header only.
            length = framed(data)
            data += opened.read(length - len(data))
    if length is not None and len(data) != length:
        raise RefutedError(f"{file} has {len(data)} of {length} bytes at {position}")
    for field in evidence.get("fields") or ():
        quoted = bytes.fromhex(field["hex"])
        at = field["byte_position"] - (position or 0)
        if data[at : at + len(quoted)] != quoted:
            raise RefutedError(
                f"{file}: {field['name']} at byte {field['byte_position']} is another"
            )
    if is_log(file) and length and not damaged and not Batch(data).whole:
        raise RefutedError(f"{file}: no whole batch of {length} bytes at {position}")
    return Proof(evidence.get("role") or "", file, position or 0, data, size, path)


def named(finding: dict[str, Any], proofs: list[Proof]) -> None:
    """Each batch is what it is named for, and that at the place is of the producer."""
    for one in proofs:
        batch = one.batch if is_log(one.file) else None
        if batch is None or not batch.whole or batch.magic < 2:
            continue
        if one.role in MARKERS and not batch.control:
            raise RefutedError(f"the batch at {one.position} is no marker")
        if one.role == ABORT_MARKER and batch.marker()[0] != ABORT:
            raise RefutedError(f"the marker at {one.position} is no ABORT")
        if one.role in OF_TRANSACTION and not batch.of_client:
            raise RefutedError(f"the batch at {one.position} is not of a transaction")
        own = (one.file, one.position) == (finding.get("file"), finding.get("byte_position"))
        # Batches of the coordinator have no producer, those of a plain producer neither.
        others = {finding.get("producer_id"), -1}
        if own and finding.get("producer_id") is not None and batch.producer not in others:
            raise RefutedError(f"the batch at {one.position} is of producer {batch.producer}")


def at_its_place(finding: dict[str, Any], proofs: list[Proof]) -> None:
    """What lies at the place of a finding is of its partition.

    A finding about a partition may have its place in a log of the coordinator or of a group.
    """
    for one in proofs:
        if (one.file, one.position) != (finding.get("file"), finding.get("byte_position")):
            continue
        topic, _, number = one.path.parent.name.rpartition("-")
        if not number.isdigit() or topic in (TXN_LOG, OFFSETS):
            continue
        named_place = f"{finding.get('topic')}-{finding.get('partition')}"
        if finding.get("topic") is not None and named_place != one.path.parent.name:
            raise RefutedError(f"{one.file} is not of {named_place}")


# --- cases ----------------------------------------------------------------------------------------
# A finding with its evidence and its dump, and claims about it, made of conditions on batches.
#
# A claim tells whether a finding is right; None where no bytes show that.


class Case(NamedTuple):
    """A finding, its evidence, and the dump in which it lies."""

    finding: dict[str, Any]
    proofs: list[Proof]
    dump: Dump

    @property
    def place(self) -> tuple[str, int]:
        """Topic and partition."""
        return str(self.finding.get("topic")), int(self.finding.get("partition") or 0)

    @property
    def text(self) -> str:
        """What was found, as the finding tells it."""
        return str(self.finding.get("found") or "")

    def copy(self, proof: Proof) -> Copy:
        """The copy of the partition in which evidence lies."""
        return self.dump.copy(proof.path.parent)

    def head(self, proof: Proof) -> Head:
        """The batch of evidence within its copy."""
        return self.copy(proof).at(proof.path, proof.position)

    def of_id(self) -> list[Entry]:
        """All records of the finding's transactional id; else of all in the logs of its producer.

        A producer id belongs to one transactional id, whose records are in one partition.
        """
        name, producer = self.finding.get("transactional_id"), self.finding.get("producer_id")
        if name is None and producer is not None:
            return self.dump.entries(self.dump.logs_of_producer(producer), None, producer)
        return self.dump.entries(self.dump.logs_of(name), name)

    def log_directory(self) -> Path:
        """That of the partition's folder."""
        if self.proofs:
            return self.proofs[0].path.parent.parent
        file = self.finding.get("file")
        path = next((one for one in self.dump.places(file) if one.exists()), None) if file else None
        if path is None and self.finding.get("topic") is None:
            raise HoldsError("no bytes are named: it is about what is listed beside the log")
        if path is None:
            return self.dump.folder(self.place, self.finding.get("broker")).parent
        return path.parent.parent


Claim = Callable[[Case], bool | None]


def of_batch(says: Callable[[Batch], bool]) -> Claim:
    """A claim about the one batch."""
    return lambda case: says(case.proofs[-1].batch)


def of_two(says: Callable[[Batch, Batch], bool | None]) -> Claim:
    """A claim about two batches of one partition: the first and the last that are named."""

    def claim(case: Case) -> bool | None:
        proofs = case.proofs
        if len(proofs) < 2 or not all(is_log(o.file) or ".snapshot" in o.file for o in proofs):
            return None
        one, other = proofs[0].batch, proofs[-1].batch
        if any(each.magic < 2 and each.codec for each in (one, other)):
            # The first offset of a wrapper is that of a message within it.
            return None
        return says(one, other)

    return claim


def of_producer(says: Callable[[Batch, Batch], bool]) -> Claim:
    """The same of one producer, in the order of the log."""
    return of_two(lambda a, b: a.producer == b.producer >= 0 and a.base < b.base and says(a, b))


def of_markers(says: Callable[[Batch, Batch, tuple[int, int], tuple[int, int]], bool]) -> Claim:
    """The same of two markers, with their control types and coordinator epochs."""
    return of_producer(lambda a, b: says(a, b, a.marker(), b.marker()))


def all_of(*claims: Claim) -> Claim:
    """A claim that needs several; the first that fails or cannot be shown decides."""

    def claim(case: Case) -> bool | None:
        for one in claims:
            says = one(case)
            if not says:
                return says
        return True

    return claim


def unreadable(read: Callable[[Record], object]) -> Claim:
    """A claim that the record at the offset cannot be read so."""

    def claim(case: Case) -> bool | None:
        for record in case.proofs[-1].batch.records():
            if case.finding.get("offset_first") in (None, record.offset):
                try:
                    read(record)
                except (ValueError, struct.error, UndecidedError):
                    return True
        return False

    return claim


def data_proofs(case: Case) -> list[Proof]:
    """Evidence in the partition that the finding accuses."""
    return [one for one in case.proofs if is_log(one.file) and TXN_LOG not in one.path.parent.name]


# --- snapshots ------------------------------------------------------------------------------------
# Claims about producer snapshots: what a broker must know of a producer behind its batches.


def corrupt_snapshot(case: Case) -> bool | None:
    """A snapshot with another version, checksum or length, or a producer twice."""
    data = case.proofs[-1].data
    return len(data) == case.proofs[-1].size and not is_sound_snapshot(data)


def snapshot_entry(case: Case) -> tuple[Proof, tuple[int, ...]]:
    """The entry of a snapshot."""
    proof = case.proofs[0]
    if len(proof.data) != SNAPSHOT_ENTRY.size:
        raise HoldsError("no whole entry is named")
    return proof, SNAPSHOT_ENTRY.unpack(proof.data)


def without_origin(case: Case) -> bool | None:
    """A producer of a snapshot is neither in the one before nor in the batches between."""
    proof, (producer, *_) = snapshot_entry(case)
    before, copy = snapshots_before(proof.path), case.copy(proof)
    begin, end = segment_base(before[0]) if before else 0, segment_base(proof.path)
    if before and producer in told_in_snapshot(before[0]):
        return False
    copy.require_complete(begin, end)
    if copy.begin > begin:
        raise HoldsError(f"this copy begins at offset {copy.begin}")
    return not any(begin <= o.batch.base < end and o.whole for o in copy.of(producer))


def replayed(heads: list[Head]) -> tuple[int, int, int, int, int, int, int]:
    """What a broker knows of a producer behind its batches.

    Epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, and the first
    offset of the transaction that is open; -1 where nothing is known.
    """
    epoch = sequence = offset = coordinator = begun = -1
    moment = delta = 0
    for one in heads:
        batch = one.batch
        moment = batch.newest
        if batch.epoch != epoch:
            epoch, sequence, offset, delta = batch.epoch, -1, -1, 0
        if batch.control:
            coordinator, begun = (one.coordinator, -1) if one.ends else (coordinator, begun)
            continue
        sequence, offset, delta = batch.last_sequence, batch.last, batch.delta
        if batch.transactional and begun < 0:
            begun = batch.base
    return epoch, sequence, offset, delta, moment, coordinator, begun


def absent_from_snapshot(case: Case) -> bool | None:
    """A snapshot has nothing of a producer that has a batch before it."""
    proof, producer = case.proofs[0], int(case.finding.get("producer_id") or 0)
    case.dump.beside(f"all of {proof.path.name}")
    before = [o for o in case.proofs[1:] if o.batch.base < segment_base(proof.path)]
    known = told_in_snapshot(proof.path)
    return producer not in known and any(one.batch.producer == producer for one in before)


def contradicted(entry: tuple[int, ...], heads: list[Head]) -> bool:
    """Whether an entry of a snapshot is wrong whatever is missing beside these batches.

    Its transaction is open behind a marker, or it has another sequence of the same batch.
    """
    _, epoch, sequence, last, *_, begun = entry
    ended = begun >= 0 and any(one.ends and one.batch.base > begun for one in heads)
    return ended or any(
        not batch.control
        and (batch.epoch, batch.last) == (epoch, last)
        and batch.last_sequence >= 0 <= sequence != batch.last_sequence
        for batch in (one.batch for one in heads)
    )


def denied_by_newest(entry: tuple[int, ...], heads: list[Head], copy: Copy, end: int) -> bool:
    """Whether the newest batch of a producer, or its open transaction, denies an entry.

    What lies in front of them may be missing, and nothing behind; else raises HoldsError.
    """
    _, epoch, sequence, last, delta, _, coordinator, begun = entry
    newest = heads[-1]
    copy.require_complete(newest.batch.base, end)
    if newest.batch.epoch != epoch:
        return True
    if newest.batch.control:
        return newest.ends and (begun >= 0 or coordinator != newest.coordinator)
    batch = newest.batch
    if (sequence, last, delta) != (batch.last_sequence, batch.last, batch.delta):
        return True
    after = 1 + max((i for i, one in enumerate(heads) if one.ends), default=-1)
    opened = next((one.batch.base for one in heads[after:] if one.batch.transactional), -1)
    if opened < 0:
        return begun >= 0
    copy.require_complete(opened, end)
    return begun < 0 or begun > opened


def other_state(case: Case) -> bool | None:
    """An entry of a snapshot is not the state that the batches before it lead to."""
    if len(case.proofs[0].data) == SNAPSHOT_HEAD.size:
        return absent_from_snapshot(case)
    proof, entry = snapshot_entry(case)
    producer, end, copy = entry[0], segment_base(proof.path), case.copy(proof)
    heads = [one for one in copy.of(producer) if one.batch.base < end]
    if not heads:
        return None
    if contradicted(entry, heads) or denied_by_newest(entry, heads, copy, end):
        return True
    copy.require_complete(heads[0].batch.base, end)
    epoch, sequence, offset, delta, moment, coordinator, begun = replayed(heads)
    _, its_epoch, its_sequence, its_offset, its_delta, its_moment, its_coordinator, its_begun = (
        entry
    )
    told = (its_epoch, its_sequence, its_offset, its_delta, its_moment)
    if told != (epoch, sequence, offset, delta, moment):
        return True
    if any(one.ends for one in heads) and its_coordinator != coordinator:
        return True
    return its_begun != begun if its_begun < 0 or its_begun >= copy.begin else None


# --- broker_answers -------------------------------------------------------------------------------
# Claims about what brokers answered while their logs were fetched.


ANSWERS = "broker-answers.json"
STATE_NAMES = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort",
)  # fmt: skip


@cache
def answers_in(log_directory: Path) -> list[dict[str, Any]]:
    """What brokers answered before and after the logs of a folder were fetched."""
    path = log_directory / ANSWERS
    return list(json.loads(path.read_text("utf-8"))["answers"]) if path.is_file() else []


def told_copy(case: Case) -> Copy:
    """The copy of the partition that was fetched."""
    proofs = data_proofs(case)
    if proofs:
        return case.copy(proofs[0])
    return case.dump.copy(case.dump.folder(case.place, case.finding.get("broker")))


def told_of(case: Case, copy: Copy, request: str, isolation: int = 0) -> list[dict[str, Any]]:
    """The answers about a partition, one a moment; raises HoldsError where there are not both."""
    case.dump.beside(ANSWERS)
    found = [
        (str(one.get("moment")), there)
        for one in answers_in(copy.folder.parent)
        if one.get("request") == request and one.get("isolation", 0) == isolation
        for topic in one["answer"].get("topics", ())
        for there in topic["partitions"]
        if (topic["name"], there["partition_index"]) == case.place and not there["error_code"]
    ]
    if {moment for moment, _ in found} != {"before", "after"}:
        raise HoldsError(f"{ANSWERS} has not both answers to {request}")
    return [there for _, there in found]


def told_producers(case: Case, copy: Copy) -> list[dict[str, Any] | None]:
    """What each answer says of the producer, None for nothing."""
    producer = case.finding.get("producer_id")
    return [
        next((one for one in told["active_producers"] if one["producer_id"] == producer), None)
        for told in told_of(case, copy, "DescribeProducers")
    ]


def other_memory(case: Case) -> bool | None:
    """A leader knew another epoch or sequence of a producer than its log has, both times."""
    copy = told_copy(case)
    heads = copy.of(int(case.finding.get("producer_id") or 0))
    epoch, sequence, *_ = replayed(heads)
    told = told_producers(case, copy)
    if not heads or None in told:
        raise HoldsError("the log or an answer has nothing of the producer")
    return all(one and (one["producer_epoch"], one["last_sequence"]) != (epoch, sequence)
               for one in told)  # fmt: skip


def other_open(case: Case) -> bool | None:
    """A leader had another transaction of a producer open than its log has, both times."""
    copy = told_copy(case)
    heads = copy.of(int(case.finding.get("producer_id") or 0))
    *_, begun = replayed(heads)
    copy.require_complete(heads[0].batch.base if heads else copy.begin)
    told = [one["current_txn_start_offset"] if one else -1 for one in told_producers(case, copy)]
    return all(one != begun for one in told)


def other_stable(case: Case) -> bool | None:
    """A last stable offset, told both times, that waits for nothing, or passes what is open.

    A leader that passes an open transaction may tell another one each time, as its log goes on.
    """
    copy = told_copy(case)
    told = {one["offset"] for one in told_of(case, copy, "ListOffsets", isolation=1)}
    copy.require_complete(copy.begin)
    begun = {replayed(copy.of(one))[-1] for one in copy.by_producer if one >= 0} - {-1}
    holds = min(begun, default=copy.end)
    waits = len(told) == 1 and min(told) < holds
    return waits or (bool(begun) and min(told) > holds)


def other_coordinator_state(case: Case) -> bool | None:
    """A coordinator knew another state of an id than its log has, both times."""
    name = str(case.finding.get("transactional_id"))
    newest = case.dump.newest(name)
    case.dump.beside(ANSWERS)
    told = [
        (one["transaction_state"], one["producer_id"])
        for root in case.dump.roots
        for folders in folders_of(root).values()
        for folder in folders
        for answer in answers_in(folder)
        if answer["request"] == "ListTransactions"
        for one in answer["answer"].get("transaction_states", ())
        if one["transactional_id"] == name
    ]
    if newest is None or newest.state is None or newest.state.state >= len(STATE_NAMES) or not told:
        raise HoldsError("the log or the answers have nothing of the transactional id")
    return (STATE_NAMES[newest.state.state], newest.state.producer) not in told


# --- checkpoints ----------------------------------------------------------------------------------
# Claims about checkpoints and other small texts of a log directory.


def checkpoint_beyond_end(name: str) -> Claim:
    """An entry of an offset checkpoint lies above the end of the log."""

    def claim(case: Case) -> bool | None:
        directory = case.log_directory()
        entry = case.dump.checkpoint(directory, name, case.place)
        topic, number = case.place
        copy = case.dump.copy(directory / f"{topic}-{number}")
        if entry is not None and entry <= copy.end:
            # A damaged batch does not count: only its checksum tells.
            copy = Copy(copy.folder, whole=True)
        # What cannot be read at the end is no log, as to a broker that starts.
        return entry is not None and entry > copy.end

    return claim


def mark_below_start(case: Case) -> bool | None:
    """The high watermark lies below the log start offset."""
    directory = case.log_directory()
    mark = case.dump.checkpoint(directory, "replication-offset-checkpoint", case.place)
    topic, number = case.place
    start = case.dump.copy(directory / f"{topic}-{number}").bases
    try:
        told = case.dump.checkpoint(directory, "log-start-offset-checkpoint", case.place)
    except UndecidedError:
        told = None
    return mark is not None and mark < max(told or 0, min(start, default=0))


def leader_epoch_differs(case: Case) -> bool | None:
    """The batch has another leader epoch than the leader-epoch-checkpoint has for its offset.

    Or its entries do not rise, or the log begins behind the first of them.
    """
    text = next(one for one in case.proofs if not is_log(one.file))
    batch = next((one.batch for one in case.proofs if is_log(one.file)), None)
    lines = [line.split() for line in text.path.read_text("utf-8", "replace").splitlines()[2:]]
    entries = [(int(one[0]), int(one[1])) for one in lines if len(one) == 2]
    case.dump.beside(f"the {text.path.name}")
    if any(b[0] <= a[0] or b[1] < a[1] for a, b in pairwise(entries)):
        return True
    if batch is None:
        bases = case.dump.copy(text.path.parent).bases
        return bool(entries) and entries[0][1] < min(bases, default=0)
    of_offset = [epoch for epoch, start in entries if start <= batch.base]
    return bool(of_offset) and of_offset[-1] != batch.leader


def property_of(proof: Proof, name: str) -> str | None:
    """A line of a small text."""
    for line in proof.data.decode("utf-8", "replace").splitlines():
        key, _, value = line.replace("=", ":", 1).partition(":")
        if key.strip() == name:
            return value.strip()
    return None


def topic_ids_differ(case: Case) -> bool | None:
    """Two `partition.metadata` have different topic ids."""
    told = [property_of(one, "topic_id") for one in case.proofs]
    return None if len(told) < 2 or None in told else told[0] != told[-1]


def other_cluster(case: Case) -> bool | None:
    """A `meta.properties` has another cluster id than the finding expects."""
    told = property_of(case.proofs[-1], "cluster.id")
    return told is not None and told not in str(case.finding.get("expected")).split()


# --- consumer_groups ------------------------------------------------------------------------------
# Claims about records of `__consumer_offsets`: offset commits and classic groups.


def misplaced_group(case: Case) -> bool | None:
    """The group of a record belongs to another partition, if the dump has all of them."""
    numbers = {int(o.name.rpartition("-")[2]) for o in case.dump.copies_of(case.place[0])}
    if numbers != set(range(len(numbers))):
        raise HoldsError(
            "the bytes are there and whole; how many partitions there are is not known"
        )
    for record in case.proofs[-1].batch.records():
        if case.finding.get("offset_first") in (None, record.offset):
            return placed(group_of(record.key), len(numbers)) != case.place[1]
    return False


def group_of(key: bytes | None) -> str:
    """The group of a key of `__consumer_offsets`."""
    if key is None or len(key) < 4:
        raise ValueError("no key of a group")
    (size,) = struct.unpack_from(">h", key, 2)
    if size < 0 or len(key) < 4 + size:
        raise ValueError("a key that is cut off")
    return key[4 : 4 + size].decode("utf-8", "replace")


def read_group(record: Record) -> None:
    """Reads an offset commit or a classic group; raises ValueError where it is none."""
    if record.key is None:
        raise ValueError("no key")
    (kind,) = struct.unpack_from(">h", record.key)
    if not 0 <= kind <= 2:
        return
    at = text(record.key, 2, False)
    if kind < 2:
        at = text(record.key, at, False) + 4
    if at != len(record.key):
        raise ValueError("a key of another length")
    if record.value is not None:
        end = commit_end(record.value) if kind < 2 else group_end(record.value)
        if end != len(record.value):
            raise ValueError("a value of another length")


def text(data: bytes, at: int, flexible: bool, null: bool = False) -> int:
    """Where a string ends; raises ValueError where it is null and must not be."""
    content, at = sized(data, at, ">h", flexible)
    if content is None and not null:
        raise ValueError("a string that is null")
    (content or b"").decode()
    return at


def commit_end(value: bytes) -> int:
    """Where the value of an offset commit ends; any bytes count as its metadata."""
    (version,) = struct.unpack_from(">h", value)
    if version not in range(5):
        raise ValueError("a version that is not known")
    metadata, at = sized(value, 14 if version >= 3 else 10, ">h", version >= 4)
    if metadata is None:
        raise ValueError("metadata that are null")
    at += 16 if version == 1 else 8
    if version >= 4:
        tags, at = tagged(value, at)
        if len(tags.get(0, bytes(16))) != 16:
            raise ValueError("a topic id of another size")
    return at


def group_end(value: bytes) -> int:
    """Where the value of a classic group ends."""
    (version,) = struct.unpack_from(">h", value)
    if version not in range(5):
        raise ValueError("a version that is not known")
    flexible = version >= 4
    at = text(value, 2, flexible) + 4
    at = text(value, text(value, at, flexible, null=True), flexible, null=True)
    members, at = counted(value, at + (8 if version >= 2 else 0), flexible, ">i")
    if members < 0:
        raise ValueError("no members")
    for _ in range(members):
        at = text(value, at, flexible)
        if version >= 3:
            at = text(value, at, flexible, null=True)
        at = text(value, text(value, at, flexible), flexible) + (8 if version >= 1 else 4)
        for _ in range(2):
            content, at = sized(value, at, ">i", flexible)
            if content is None:
                raise ValueError("bytes that are null")
        at = tagged(value, at)[1] if flexible else at
    return tagged(value, at)[1] if flexible else at


def committed(batch: Batch) -> dict[bytes, int]:
    """Offsets by key of a batch of `__consumer_offsets`; other records are left out."""
    found = {}
    for one in batch.records():
        if one.key and one.value and one.key[:2] in (b"\0\0", b"\0\1") and len(one.value) >= 10:
            (found[one.key],) = struct.unpack_from(">q", one.value, 2)
    return found


def went_back(case: Case) -> bool | None:
    """One committed offset is lower than the one before, and the next one is higher than both."""
    if len(case.proofs) < 3:
        return None
    before, lower, after = (committed(one.batch) for one in case.proofs)
    keys = before.keys() & lower.keys() & after.keys()
    return any(lower[key] < before[key] < after[key] for key in keys)


def committed_of(key: bytes) -> tuple[str, int]:
    """Topic and partition of the key of an offset commit."""
    at = text(key, 2, False)
    end = text(key, at, False)
    (number,) = struct.unpack_from(">i", key, end)
    return key[at + 2 : end].decode("utf-8", "replace"), number


def beyond_end(case: Case) -> bool | None:
    """A committed offset lies behind the end of each copy of its partition."""
    topic, number = case.place
    ends = [case.dump.copy(one).end for one in case.dump.folders(f"{topic}-{number}")]
    told = committed(case.proofs[-1].batch)
    mine = [offset for key, offset in told.items() if committed_of(key) == case.place]
    return bool(ends) and any(offset > max(ends) for offset in mine)


# --- transactional_ids ----------------------------------------------------------------------------
# The coordinator's records of a finding's transactional id, and claims about first and last.


def named_states(case: Case) -> list[tuple[str, State | None]]:
    """Transactional id and state of the coordinator's records in the batches that are named."""
    wanted, first = case.finding.get("transactional_id"), case.finding.get("offset_first")
    found = []
    for number, proof in enumerate(case.proofs):
        last = number == len(case.proofs) - 1
        of_id = [
            one
            for one in proof.batch.records()
            if (wanted is None or not last or identity(one.key) == wanted)
            and (not last or first in (None, one.offset))
        ]
        same_id = [one for one in of_id if wanted is None or identity(one.key) == wanted]
        if not of_id:
            raise RefutedError("the batch has no record of the transactional id at that offset")
        record = (same_id or of_id)[-1]
        found.append((identity(record.key), state_of(record.value)))
    return found


def states(case: Case) -> list[State | None]:
    """The coordinator's records of one id in the batches named, None for a tombstone."""
    told = named_states(case)
    if len({one for one, _ in told}) > 1:
        raise RefutedError("the batches have records of different transactional ids")
    return [state for _, state in told]


def of_state(says: Callable[[State], bool]) -> Claim:
    """A claim about a record of the coordinator."""

    def claim(case: Case) -> bool | None:
        state = states(case)[-1]
        return None if state is None else says(state)

    return claim


def of_states(says: Callable[[State, State], bool]) -> Claim:
    """A claim about a record of the coordinator and the one before it."""

    def claim(case: Case) -> bool | None:
        before, state, *_ = [*states(case), None]
        return None if before is None or state is None else says(before, state)

    return claim


def mine(case: Case, folders: list[Path]) -> list[Entry]:
    """Records of the finding's transactional id in the order of the log; of one copy a number."""
    wanted = case.finding.get("transactional_id")
    found = case.dump.entries(folders, wanted)
    return sorted({(e.folder.name, e.offset): e for e in found}.values(), key=lambda e: e.offset)


def following(case: Case, proof: Proof) -> list[Entry]:
    """Records behind one that is named, in its copy, of the id of that one.

    That is another one than the finding's where a fault gave two ids one producer id.
    """
    folder, batch = proof.path.parent, proof.batch
    inside = [one for one in entries_of(folder)[0] if batch.base <= one.offset <= batch.last]
    names = {one.transactional_id for one in inside if one.readable}
    ours = case.finding.get("transactional_id")
    if ours is None or ours in names or len(names) != 1:
        behind = mine(case, [folder])
    else:
        behind = case.dump.entries([folder], names.pop())
    return [one for one in behind if one.offset > batch.last]


def newest_of_id(case: Case) -> Entry | None:
    """The last record of the finding's transactional id; None without an id, or without one."""
    name = case.finding.get("transactional_id")
    return None if name is None else case.dump.newest(name)


def newest_state(case: Case) -> tuple[Entry, State]:
    """The last record of the finding's transactional id, and its state. Raises HoldsError."""
    newest = newest_of_id(case)
    if newest is None or newest.state is None:
        raise HoldsError("no record of the transactional id is in the dump")
    return newest, newest.state


def last_of_id(case: Case) -> bool | None:
    """The record is the last one of its id in every copy."""
    proof = case.proofs[-1]
    copies = [one for one in case.dump.txn_logs if one.name == proof.path.parent.name]
    behind = (one for one in mine(case, copies) if one.offset > proof.batch.last)
    return all(case.dump.told_by_another(one) for one in behind)


def outlived_timeout(case: Case) -> bool | None:
    """The copy of the log goes on for longer than the timeout of the record."""
    state = states(case)[-1]
    if state is None or state.state not in (ONGOING, *PREPARED):
        return False
    until = max(case.dump.as_of or -1, case.copy(case.proofs[-1]).newest_ms)
    # A start of -1 is added as it is, as the coordinator does.
    if until <= state.start_ms + state.timeout_ms:
        raise HoldsError("it is the last record of the id; its age needs the moment of the audit")
    return True


def first_of_id(case: Case) -> bool | None:
    """No record of the id lies before, in a log that is whole from its begin on."""
    proof = case.proofs[-1]
    copy = case.copy(proof)
    copy.require_complete(-1, proof.batch.base)
    if copy.begin > 0:
        raise HoldsError(f"this copy begins at offset {copy.begin}")
    return not any(one.offset < proof.batch.base for one in mine(case, [proof.path.parent]))


# --- coordinator_steps ----------------------------------------------------------------------------
# Claims about a record of the coordinator, and about the step to it from the one before.


def may_follow(a: State, b: State) -> bool:
    """Whether a coordinator makes that step."""
    before = {
        EMPTY: AT_REST,
        ONGOING: (ONGOING, *AT_REST),
        PREPARE_COMMIT: (ONGOING,),
        # From transaction.version 2 on a client may abort what it has not begun.
        PREPARE_ABORT: (ONGOING, *(AT_REST if b.client_version >= 2 else ())),
        COMPLETE_COMMIT: (PREPARE_COMMIT,),
        COMPLETE_ABORT: (PREPARE_ABORT,),
    }
    return a.state in before.get(b.state, ())


def invalid_step(case: Case) -> bool | None:
    """No coordinator makes that step, or begins so."""
    told = states(case)
    if len(told) == 1:
        return None if told[0] is None else told[0].state != EMPTY
    before, state = told[0], told[-1]
    if state is None:
        return None
    return state.state != EMPTY if before is None else not may_follow(before, state)


def wrong_places(a: State, b: State) -> bool:
    """Whether the partitions of b do not fit those of a."""
    mine, before = set(b.places), set(a.places)
    if b.state in AT_REST:
        return bool(mine)
    if a.state == ONGOING and b.state == ONGOING:
        return bool(before - mine)
    if b.state in PREPARED and a.state in (ONGOING, b.state):
        return mine != before
    return b.state == PREPARE_ABORT and a.state in AT_REST and bool(mine)


def places_invalid(case: Case) -> bool | None:
    """The partitions of a record do not fit its state, or the record before."""
    told = states(case)
    before, state = told[0], told[-1]
    if state is None or len(told) < 2:
        return None
    # After a tombstone an id is at rest.
    return bool(state.places) if before is None else wrong_places(before, state)


def wrong_start(a: State | None, b: State) -> bool:
    """Whether the start of a transaction does not fit its state."""
    if (b.state == EMPTY) != (b.start_ms < 0):
        return True
    if b.state != EMPTY and b.start_ms > b.update_ms:
        return True
    aborts_nothing = b.state == PREPARE_ABORT and b.client_version >= 2
    begins = a is not None and a.state in AT_REST and (b.state == ONGOING or aborts_nothing)
    if begins and b.start_ms != b.update_ms:
        return True
    runs = a is not None and a.state in (ONGOING, *PREPARED) and b.state != EMPTY
    return a is not None and runs and a.start_ms != b.start_ms


def start_invalid(case: Case) -> bool | None:
    """The start of a transaction does not fit its state, or the record before."""
    told = states(case)
    state = told[-1]
    return None if state is None else wrong_start(told[0] if len(told) > 1 else None, state)


def epoch_jump(a: State, b: State) -> bool:
    """Whether the epoch rises by more, or less, than the step allows."""
    rise = b.epoch - a.epoch
    if a.producer != b.producer:
        return False
    keeps = b.state == ONGOING or b.state in COMPLETE
    keeps |= b.state == PREPARE_COMMIT and b.client_version < 2
    lazy = b.state in PREPARED and b.client_version >= 2 and rise == 0
    used_up = b.state == EMPTY and a.epoch >= LAST_EPOCH - 1
    return rise > 1 or (rise == 1 and (keeps or used_up)) or lazy


def before_tombstone(case: Case) -> State:
    """The record of the id before that of the finding; behind a tombstone, the one before that."""
    before, proof = states(case)[0], case.proofs[-1]
    if before is None:
        behind = [e for e in mine(case, [proof.path.parent]) if e.offset < proof.batch.base]
        before = next((one.state for one in reversed(behind) if one.state), None)
    if before is None:
        raise HoldsError("no record of the id with a producer epoch lies before the tombstone")
    return before


def jumps(case: Case) -> bool | None:
    """The epoch rises too far; behind a tombstone a new producer id does not begin at 0."""
    told = states(case)
    state = told[-1]
    if state is None or len(told) < 2:
        return None
    before = before_tombstone(case)
    anew = told[0] is None and before.producer != state.producer and state.epoch > 0
    return anew or epoch_jump(before, state)


def lower_epoch(case: Case) -> bool | None:
    """The producer epoch goes down; behind a tombstone, against the record before that."""
    told = states(case)
    state = told[-1]
    if state is None or len(told) < 2:
        return None
    before = before_tombstone(case)
    return before.producer == state.producer and state.epoch < before.epoch


def timeout_out_of_range(case: Case) -> bool | None:
    """A timeout that no coordinator accepts; its upper limit is that of the finding."""
    state = states(case)[-1]
    limits = [int(word) for word in str(case.finding.get("expected")).split() if word.isdigit()]
    return None if state is None else not 0 < state.timeout_ms <= max(limits, default=1 << 31)


def forgotten_inside(case: Case) -> bool | None:
    """A tombstone follows a running transaction."""
    before, state = states(case)[0], states(case)[-1]
    return state is None and before is not None and before.state in (ONGOING, *PREPARED)


def read_state(record: Record) -> None:
    """Reads a record of `__transaction_state`; raises ValueError where it is none."""
    identity(record.key)
    state_of(record.value)


def odd_batch(case: Case) -> bool | None:
    """A batch of `__transaction_state` that no coordinator writes."""
    batch = case.proofs[-1].batch
    if batch.codec or batch.transactional or batch.producer >= 0:
        return True
    return batch.count > 1 and any(one.value is not None for one in batch.records())


def misplaced(case: Case) -> bool | None:
    """The id of a record belongs to another partition; how many there are the finding tells."""
    name, number = named_states(case)[-1][0], case.place[1]
    told = [int(one) for one in str(case.finding.get("expected")).split() if one.isdigit()]
    return placed(name, told[-1]) != number if told else None


# --- damage ---------------------------------------------------------------------------------------
# Claims about batches that are no whole ones, or cannot be read.


# These findings say that the bytes are no whole batch, or that their checksum is wrong.
OF_DAMAGE = {
    "batch_crc_mismatch", "batch_length_invalid", "batch_magic_unknown", "active_tail_torn",
    "closed_segment_tail_garbage", "legacy_wrapper_invalid",
}  # fmt: skip


def fails(read: Callable[[Batch], Any]) -> Callable[[Batch], bool]:
    """Whether reading the records fails."""

    def says(batch: Batch) -> bool:
        try:
            read(batch)
        except (ValueError, struct.error):
            return True
        return False

    return says


def malformed_marker(b: Batch) -> bool:
    """Whether a control batch is not one record of one producer, or that record no marker."""
    shape = b.count == 1 and b.delta == 0 and b.sequence == -1
    return not shape or not b.transactional or b.producer < 0 or fails(Batch.marker)(b)


def not_decompressed(case: Case) -> bool | None:
    """The records cannot be decompressed; a limit of the audit's own is not known here."""
    if case.text == "more than the limit":
        return None
    batch = case.proofs[-1].batch
    failed = fails(lambda b: b.plain())(batch)
    if not failed and batch.codec == 3:
        raise UndecidedError("the checksums of blocks of LZ4 are not asked")
    return failed


def broken_wrapper(case: Case) -> bool | None:
    """Of the messages within a message one is broken or compressed, or its offset is higher."""
    outer = case.proofs[-1].batch
    if outer.magic == 2 or not outer.codec:
        return False
    if outer.value is None:
        return True
    inner, at, last = outer.plain(), 0, -1
    while at < len(inner):
        (size,) = struct.unpack_from(">i", inner, at + 8)
        one = Batch(inner[at : at + 12 + size])
        if not one.fits:
            return None
        if not one.whole or one.codec:
            return True
        last, at = one.base, at + 12 + size
    # Some versions of librdkafka left that of the outer message at 0.
    return last < 0 or 0 < outer.base < last


def tail(case: Case) -> bool | None:
    """Bytes to the end of the file that are no whole batch."""
    one = case.proofs[-1]
    return one.position + len(one.data) == one.size and not one.batch.whole


def wrong_checksum(batch: Batch) -> bool:
    """A batch of the right length, or one that ends within the damaged bytes."""
    first = Batch(batch.data[: batch.length + 12])
    return first.fits and not first.whole


def broken_frame(case: Case) -> bool | None:
    """A length that cannot be, or that leads to no batch with that checksum."""
    return not case.proofs[-1].batch.whole


# --- ended_transactions ---------------------------------------------------------------------------
# The data that a marker ended, and claims about markers without the coordinator's word.


def ended_data(copy: Copy, marker: Head, since: int = -1) -> list[Head]:
    """Data of its producer that a marker ended; raises HoldsError where they may be missing.

    `since`: the offset from which on they are asked; what lies in front of the copy does not matter
    if that is in the copy.
    """
    data: list[Head] = []
    before = -1
    for one in copy.of(marker.batch.producer):
        if one.batch.base >= marker.batch.base:
            break
        if one.ends:
            data, before = [], one.batch.base
        elif one.batch.of_client:
            data.append(one)
    if before < 0 < copy.begin and since < copy.begin:
        raise HoldsError(f"this copy begins at offset {copy.begin}: what was before it is gone")
    producer = marker.batch.producer
    copy.require_complete(max(before, copy.begin), marker.batch.base, producer)
    return [one for one in data if one.whole]


def nothing_between(case: Case) -> bool | None:
    """No data of the producer lie between two markers."""
    first, second = case.head(case.proofs[0]), case.head(case.proofs[-1])
    copy = case.copy(case.proofs[0])
    copy.require_complete(first.batch.base, second.batch.base, first.batch.producer)
    between = (
        one
        for one in copy.of(first.batch.producer)
        if first.batch.base < one.batch.base < second.batch.base
    )
    return not any(one.batch.of_client and one.whole for one in between)


def no_marker_between(case: Case) -> bool | None:
    """No marker of the producer lies between two batches."""
    first, second = case.proofs[0].batch, case.proofs[-1].batch
    copy = case.copy(case.proofs[0])
    copy.require_complete(first.base, second.base)
    mine = (one for one in copy.of(first.producer) if first.base < one.batch.base < second.base)
    return not any(one.ends for one in mine)


def without_data(case: Case) -> bool | None:
    """A marker ended no data of its producer in this copy."""
    marker = case.head(case.proofs[-1])
    return marker.ends and not ended_data(case.copy(case.proofs[-1]), marker)


def next_marker(case: Case, proof: Proof) -> Head | None:
    """The marker that ended data."""
    batch, copy = proof.batch, case.copy(proof)
    later = (one for one in copy.of(batch.producer) if one.ends and one.batch.base > batch.base)
    found = next(later, None)
    if found is not None:
        copy.require_complete(batch.base, found.batch.base, batch.producer)
    return found


def opposite_ends(case: Case) -> bool | None:
    """Data of one producer and epoch were committed in one partition and aborted in the other."""
    one, other = case.proofs[0], case.proofs[1]
    same = (one.batch.producer, one.batch.epoch) == (other.batch.producer, other.batch.epoch)
    if not same or not one.batch.of_client or not other.batch.of_client:
        return False
    ends = [next_marker(case, proof) for proof in (one, other)]
    kinds = {end.kind for end in ends if end is not None}
    return kinds == {ABORT, COMMIT}


def too_far_above(data: Batch, marker: Batch) -> bool:
    """Whether the epoch of a marker is above all that may end the data."""
    kind, _ = marker.marker()
    return marker.epoch > data.epoch + (1 if kind == COMMIT else 2)


def count_markers(case: Case, proof: Proof, epoch: int, kind: int) -> int:
    """Markers of a producer's epoch and outcome in the copy of the partition."""
    copy = case.copy(proof)
    copy.require_complete(copy.begin)
    producer = case.finding.get("producer_id")
    heads = copy.of(-1 if producer is None else int(producer))
    return sum(one.kind == kind and one.batch.epoch == epoch for one in heads)


def ended_by(copy: Copy, marker: Batch, kind: int, last: int | None = None) -> int:
    """How many markers like that one, up to offset `last`, ended data of their producer."""
    ended, open_ = 0, False
    for one in copy.of(marker.producer):
        if last is not None and one.batch.base > last:
            break
        if one.kind == kind and one.batch.epoch == marker.epoch:
            ended += open_
        open_ = one.batch.of_client or (open_ and not one.ends)
    return ended


# --- indexes --------------------------------------------------------------------------------------
# Claims about entries of a segment's indexes: of transactions, of offsets, of times.


TXNINDEX = struct.Struct(">hqqqq")
OFFSET_ENTRY, TIME_ENTRY = struct.Struct(">ii"), struct.Struct(">qi")


def index_entry(case: Case) -> tuple[Proof, int, int, int, int]:
    """An entry of a transaction index: producer, first and last offset, last stable offset."""
    proof = next((one for one in case.proofs if ".txnindex" in one.file), None)
    if proof is None or len(proof.data) != TXNINDEX.size:
        raise HoldsError("no whole entry is named")
    _, producer, first, last, stable = TXNINDEX.unpack(proof.data)
    if case.finding.get("producer_id") not in (None, producer):
        raise RefutedError(f"the entry is of producer {producer}")
    return proof, producer, first, last, stable


def marker_at(case: Case, proof: Proof, producer: int, offset: int) -> Head | None:
    """The ABORT marker of a producer at an offset; raises HoldsError where no batch has it."""
    copy = case.copy(proof)
    head = copy.covering(offset)
    if head is None:
        copy.require_complete(copy.begin)
        if offset < copy.begin:
            raise HoldsError(f"this copy begins at offset {copy.begin}")
        return None
    own = head.kind == ABORT and head.batch.producer == producer and head.batch.last == offset
    return head if own else None


def entry_without_marker(case: Case) -> bool | None:
    """No ABORT marker of the producer is at the last offset of an entry."""
    proof, producer, _, last, _ = index_entry(case)
    return marker_at(case, proof, producer, last) is None


def entry_of_nothing(case: Case) -> bool | None:
    """An entry of a marker that ended no data."""
    proof, producer, first, last, _ = index_entry(case)
    return first == last and marker_at(case, proof, producer, last) is not None


def entry_begins_elsewhere(case: Case) -> bool | None:
    """The transaction that the marker of an entry ended begins at another offset."""
    proof, producer, first, last, _ = index_entry(case)
    marker = marker_at(case, proof, producer, last)
    if marker is None:
        return None
    data = ended_data(case.copy(proof), marker, since=first)
    return not data or data[0].batch.base != first


def entry_stable_elsewhere(case: Case) -> bool | None:
    """The last stable offset of an entry is not that of the log at its marker."""
    proof, producer, _, last, stable = index_entry(case)
    marker = marker_at(case, proof, producer, last)
    if marker is None:
        return None
    copy = case.copy(proof)
    copy.require_complete(copy.begin, last)
    try:
        begun, unknown = open_at_begin(copy), None
    except HoldsError as error:
        begun, unknown = {}, error
    for one in copy.heads:
        if one.batch.base >= last:
            break
        if one.ends:
            begun.pop(one.batch.producer, None)
        elif one.batch.of_client:
            begun.setdefault(one.batch.producer, one.batch.base)
    begun.pop(producer, None)
    there = min(begun.values(), default=last + 1)
    # What was open in front of the copy makes it a lower one.
    if unknown is not None and stable <= there:
        raise unknown
    return stable != there


def open_at_begin(copy: Copy) -> dict[int, int]:
    """First offsets of transactions that are open where a copy begins, by producer.

    Only a snapshot at that offset tells; raises HoldsError where none does.
    """
    if copy.begin == 0:
        return {}
    path = copy.folder / f"{copy.begin:020}.snapshot"
    if not path.is_file():
        raise HoldsError(f"this copy begins at offset {copy.begin}: what was open is not known")
    entries = snapshot_of(path.read_bytes())
    return {producer: one[7] for producer, one in entries.items() if one[7] >= 0}


def entry_malformed(case: Case) -> bool | None:
    """An entry that breaks the format, does not rise, or is of another segment."""
    proof, _, first, last, _ = index_entry(case)
    if int.from_bytes(proof.data[:2], "big") != 0 or first > last:
        return True
    before = entries_in(proof.path, TXNINDEX)
    number = proof.position // TXNINDEX.size
    if number > 0 and before[number - 1][3] >= last:
        return True
    begin = segment_base(proof.path)
    return last < begin or last >= next_segment(case.copy(proof), begin)


def entries_in(path: Path, form: struct.Struct) -> list[tuple[int, ...]]:
    """The whole entries of an index."""
    data = path.read_bytes()
    return list(form.iter_unpack(data[: len(data) // form.size * form.size]))


def entry_missing(case: Case) -> bool | None:
    """An ABORT marker that ended data has no entry in the index of its segment."""
    proof = case.proofs[-1]
    if proof.batch.marker()[0] != ABORT:
        return False
    path = proof.path.with_suffix(".txnindex")
    case.dump.beside(path.name)
    entries = entries_in(path, TXNINDEX) if path.is_file() else []
    if any((one[1], one[3]) == (proof.batch.producer, proof.batch.last) for one in entries):
        return False
    return bool(ended_data(case.copy(proof), case.head(proof)))


def heads_of_segment(case: Case, entry: Proof) -> list[Head]:
    """The batches of the segment of an index."""
    begin = segment_base(entry.path)
    return [one for one in case.copy(entry).heads if segment_base(one.path) == begin]


def offset_entry_invalid(case: Case) -> bool | None:
    """An entry of an offset index that no reader may follow."""
    entry = next(one for one in case.proofs if not is_log(one.file))
    if len(entry.data) != OFFSET_ENTRY.size:
        return None
    begin = segment_base(entry.path)
    relative, position = OFFSET_ENTRY.unpack(entry.data)
    offset, heads = begin + relative, heads_of_segment(case, entry)
    at = next((one for one in heads if one.position == position), None)
    if at is None or offset < at.batch.base or offset >= next_segment(case.copy(entry), begin):
        return True
    entries = entries_in(entry.path, OFFSET_ENTRY)
    number = entry.position // OFFSET_ENTRY.size
    if number > 0 and (entries[number - 1][0] >= relative or entries[number - 1][1] >= position):
        return True
    following_ = entries[number + 1][1] if number + 1 < len(entries) else None
    behind = next((one for one in heads if one.position == following_), None)
    if following_ and behind is not None and offset >= behind.batch.base:
        return True
    last = max(one.batch.last for one in heads)
    return bool(offset > last or relative < 0)


def time_entry_invalid(case: Case) -> bool | None:
    """An entry of a time index that is of no batch, or has a later one before it."""
    entry = next(one for one in case.proofs if not is_log(one.file))
    if len(entry.data) != TIME_ENTRY.size:
        return None
    begin = segment_base(entry.path)
    moment, relative = TIME_ENTRY.unpack(entry.data)
    heads = heads_of_segment(case, entry)
    of_offset = [o for o in heads if o.batch.base <= begin + relative <= o.batch.last]
    if not of_offset or of_offset[0].batch.newest != moment:
        return True
    before = [o.batch.newest for o in heads if o.batch.base < of_offset[0].batch.base]
    if max(before, default=-1) > moment:
        return True
    entries = entries_in(entry.path, TIME_ENTRY)
    number = entry.position // TIME_ENTRY.size
    return number > 0 and not (
        entries[number - 1][0] < moment and entries[number - 1][1] <= relative
    )


# --- decisions ------------------------------------------------------------------------------------
# The Prepare records that decide a transaction: those named, those of an epoch, those given up.


def prepared(case: Case) -> State | None:
    """The decision that is named, of the finding's producer; None where none is."""
    producer = case.finding.get("producer_id")
    for one in case.proofs:
        if one.role == PREPARE_RECORD:
            found = [state_of(record.value) for record in one.batch.records()]
            mine_ = [state for state in found if state and state.producer == producer]
            decided = [state for state in mine_ if state.state in (*PREPARED, *COMPLETE)]
            if not decided:
                raise RefutedError("the batch has no Prepare record of the producer")
            return decided[-1]
    return None


def gave_way(prepare: Entry, behind: Entry | None) -> bool:
    """Whether the next record of its id shows that a Prepare record was never in effect.

    It goes on with the transaction, or completes it the other way: then the record to which the
    decision gave way is missing between.
    """
    if not (prepare.state and behind and behind.state and prepare.state.state in PREPARED):
        return False
    one, other = prepare.state, behind.state
    if (one.producer, one.start_ms) != (other.producer, other.start_ms):
        return False
    if other.state in COMPLETE:
        otherwise = (one.state in COMMITTED) != (other.state in COMMITTED)
        return otherwise and lacks_records(prepare.folder, prepare.offset, behind.offset)
    return other.state in (ONGOING, *PREPARED)


def lacks_records(folder: Path, first: int, last: int) -> bool:
    """Whether records of the coordinator between two offsets may be missing."""
    try:
        entries_of(folder)[1].require_complete(first, last)
    except HoldsError:
        return True
    return False


def not_given_up(entries: list[Entry]) -> list[Entry]:
    """Records of the coordinator, without the Prepare records that gave way."""
    logs: dict[tuple[Path, str], list[Entry]] = {}
    for one in entries:
        logs.setdefault((one.folder, one.transactional_id), []).append(one)
    return [
        one
        for log in logs.values()
        for one, behind in zip(log, [*log[1:], None], strict=True)
        if not gave_way(one, behind)
    ]


def decisions(
    case: Case, producer: int, epoch: int, kind: int | None, listing: bool,
    entries: list[Entry] | None = None,
) -> list[Entry]:  # fmt: skip
    """Prepare records of a producer's epoch; `kind`: of this outcome, `listing`: the partition.

    Of the finding's transactional id, or of `entries`. None that gave way: it was never in the
    coordinator's memory.
    """
    found = {
        (one.folder.name, one.offset): one
        for one in not_given_up(case.of_id() if entries is None else entries)
        if one.state
        and (one.state.producer, one.state.epoch) == (producer, epoch)
        and one.state.state in PREPARED
        and kind in (None, int(one.state.state == PREPARE_COMMIT))
        and (not listing or case.place in one.state.places)
    }
    return list(found.values())


def went_on_unseen(case: Case, record: Proof) -> Entry | None:
    """The record with which an id went on behind a decision whose Complete record is lost."""
    behind = next((one for one in following(case, record) if one.readable), None)
    inside = range(record.batch.base, record.batch.last + 1)
    of_log = case.dump.entries([record.path.parent], behind.transactional_id) if behind else []
    prepare = next((one for one in of_log if one.offset in inside), None)
    if behind is None or prepare is None or prepare.state is None or gave_way(prepare, behind):
        return None
    if behind.state is None or behind.state.state not in COMPLETE:
        return behind
    return None if behind.state.start_ms == prepare.state.start_ms else behind


def without_prepare(case: Case, complete: Entry) -> bool:
    """A Complete record has no Prepare record in front of it, and none can be missing there."""
    copy = entries_of(complete.folder)[1]
    name = complete.transactional_id
    earlier = [
        one.offset
        for one in mine(case, [complete.folder])
        if one.transactional_id == name and one.offset < complete.offset
    ]
    if not earlier:
        raise HoldsError("only the Complete record of the decision is left")
    copy.require_complete(earlier[-1], complete.offset)
    return True


# --- markers --------------------------------------------------------------------------------------
# Claims about a marker and the decision of the coordinator that it belongs to.


# By how much the clocks of two brokers may differ.
CLOCKS_APART_MS = 60_000


def marker_of(case: Case) -> tuple[Proof, int, int] | None:
    """The marker that is named, its control type and coordinator epoch."""
    for one in case.proofs:
        if one.role in MARKERS:
            return one, *one.batch.marker()
    return None


def other_outcome(case: Case) -> bool | None:
    """A marker of the other outcome than the decision of its epoch."""
    state, marker = prepared(case), marker_of(case)
    if marker is None:
        return None
    proof, kind, _ = marker
    if state is not None:
        other = (kind == COMMIT) != (state.state in COMMITTED)
        return other and state.epoch == proof.batch.epoch
    entries = case.of_id()
    decided = {
        one.state.state in COMMITTED
        for one in not_given_up(entries)
        if one.state
        and (one.state.producer, one.state.epoch) == (proof.batch.producer, proof.batch.epoch)
        and one.state.state in (*PREPARED, *COMPLETE)
    }
    if not decided:
        raise HoldsError("no record of the decision is left")
    if len(decided) > 1:
        raise HoldsError("the epoch was ended both ways: of which transaction it is, is open")
    return decided == {kind != COMMIT}


def torn(case: Case) -> bool | None:
    """An ABORT of the data's own epoch, of a transaction that was committed and lists it."""
    state, marker = prepared(case), marker_of(case)
    if state is None or marker is None:
        return None
    proof, kind, _ = marker
    raised = int(state.client_version >= 2)
    if kind != ABORT or state.state not in COMMITTED:
        return False
    if state.epoch != proof.batch.epoch + raised:
        return False
    if state.state in PREPARED and case.place not in state.places:
        return False
    if raised:
        # Late data of an older transaction of the epoch hang until an operator aborts them.
        owners = decisions(case, state.producer, proof.batch.epoch, None, listing=True)
        if any(one.state and one.state.client_version < 2 for one in owners):
            raise HoldsError("transactions of older versions have the epoch: whose data, is open")
        return True
    # Of transactions that share an epoch one has no COMMIT here.
    commits = count_markers(case, proof, state.epoch, COMMIT)
    return commits < len(decisions(case, state.producer, state.epoch, COMMIT, listing=True))


def begun(entry: Entry, marker: Batch) -> bool:
    """Whether the transaction of a record may have begun when a marker was written."""
    return entry.state is not None and entry.state.start_ms <= marker.newest + CLOCKS_APART_MS


def undecided(case: Case) -> bool | None:
    """The coordinator's records have no decision for the marker, of what had begun by then."""
    marker = marker_of(case)
    if marker is None:
        return None
    proof, kind, _ = marker
    batch = proof.batch
    entries = case.of_id()
    mine_ = [e for e in entries if e.state and e.state.producer == batch.producer]
    of_epoch = [e for e in mine_ if e.state and e.state.epoch == batch.epoch and begun(e, batch)]
    every = decisions(case, batch.producer, batch.epoch, kind, listing=False)
    decided = [one for one in every if begun(one, batch)]
    same = [COMPLETE_ABORT, COMPLETE_COMMIT][kind]
    raised = [e for e in of_epoch if e.state and e.state.client_version >= 2]
    if not decided:
        told = [e for e in raised if e.state and e.state.state == same]
        return all(without_prepare(case, one) for one in told)
    if any(e.state and e.state.client_version >= 2 for e in decided):
        return False
    # Transactions share the epoch. Decisions that do not list the partition are none of its own.
    listed = [e for e in every if e.state and case.place in e.state.places]
    copy = case.copy(proof)
    early = all(e.moment_ms > batch.newest for e in listed)
    surplus = early or ended_by(copy, batch, kind) > len(listed)
    if not surplus and copy.begin > 0:
        raise HoldsError(f"this copy begins at offset {copy.begin}: what was before it is gone")
    return surplus


def marker_not_listed(case: Case) -> bool | None:
    """The epoch was decided so, but no decision lists the partition."""
    state, marker = prepared(case), marker_of(case)
    if state is None or marker is None:
        return None
    proof, kind, _ = marker
    if (state.producer, state.epoch) != (proof.batch.producer, proof.batch.epoch):
        return False
    same = (state.state in COMMITTED) == (kind == COMMIT)
    if same and case.place in state.places:
        return False
    # The newest decision of an epoch is named, which may have another outcome.
    if not same and not decisions(case, state.producer, state.epoch, kind, listing=False):
        return False
    return not decisions(case, state.producer, state.epoch, kind, listing=True)


def ended_too_many(case: Case) -> bool | None:
    """At the marker more transactions of the epoch had been ended than were decided by then."""
    marker = marker_of(case)
    if marker is None:
        return None
    proof, kind, _ = marker
    batch = proof.batch
    ended = ended_by(case.copy(proof), batch, kind, batch.base)
    decided = decisions(case, batch.producer, batch.epoch, kind, listing=True)
    return ended > sum(one.moment_ms <= batch.newest for one in decided)


def other_protocol(case: Case) -> bool | None:
    """A COMMIT has the epoch of its data under version 2, or a higher one under version 0 and 1."""
    state, marker = prepared(case), marker_of(case)
    if state is None or marker is None:
        return None
    proof, kind, _ = marker
    data = ended_data(case.copy(proof), case.head(proof))
    if kind != COMMIT or not data:
        return False
    raised = proof.batch.epoch > max(one.batch.epoch for one in data)
    return raised != (state.client_version >= 2)


def other_coordinator(case: Case) -> bool | None:
    """A coordinator epoch below the leader epoch of the decision, or above that of its end."""
    marker = marker_of(case)
    record = next((one for one in case.proofs if one.role == PREPARE_RECORD), None)
    if marker is None or record is None:
        return None
    proof, _, epoch = marker
    told = case.text.strip()
    if told.isdigit() and int(told) != epoch:
        later = [o.coordinator for o in case.copy(proof).of(proof.batch.producer) if o.ends]
        if int(told) not in later:
            return False
        epoch = int(told)
    if epoch < record.batch.leader:
        return True
    end = next(iter(following(case, record)), None)
    if end is not None and epoch > end.leader:
        return True
    batch = proof.batch
    if len(decisions(case, batch.producer, batch.epoch, None, listing=True)) > 1:
        raise HoldsError("several decisions share the epoch: whose marker it is, is open")
    return False


def before_decision(case: Case) -> bool | None:
    """The marker is older than the record that decides it."""
    marker = marker_of(case)
    record = next((one for one in case.proofs if one.role == PREPARE_RECORD), None)
    if marker is None or record is None:
        return None
    return marker[0].batch.newest < record.batch.newest


# --- missing_markers ------------------------------------------------------------------------------
# Claims that a partition lacks the marker of a decision that lists it.


def lacks_marker(case: Case) -> bool | None:
    """A decision that was carried out lists the partition, and has no marker in this copy."""
    state = prepared(case)
    if state is None:
        return None
    if state.state not in PREPARED or case.place not in state.places:
        return False
    data, record = case.proofs[0], case.proofs[-1]
    kind = int(state.state == PREPARE_COMMIT)
    after, unseen = next(iter(following(case, record)), None), went_on_unseen(case, record)
    completed_by = after is not None and after.state and after.state.state in COMPLETE
    if after is None or not (completed_by or unseen):
        raise HoldsError("the decision is not followed by its Complete record in this copy")
    if TXN_LOG in data.path.parent.name:
        # Data and marker are both gone; that the copy held something older is the audit's word.
        folder = case.dump.folder(case.place, case.finding.get("broker"))
        copy, begin = case.dump.copy(folder), int(case.finding.get("offset_first") or 0)
    else:
        copy, begin = case.copy(data), data.batch.base
    # Offsets that are missing behind the data hold no marker in this copy, either.
    copy.require_readable(begin)
    if unseen:
        # Which attempt took effect is not known: a marker of either outcome and any epoch may be.
        begun, gone_on = record.batch.newest, unseen.moment_ms
        ends = [one.batch.newest for one in copy.of(state.producer) if one.ends]
        return not any(begun <= moment <= gone_on for moment in ends)
    found = [o for o in copy.of(state.producer) if o.kind == kind and o.batch.epoch == state.epoch]
    if state.client_version >= 2 and not found:
        return True
    # A fault may give a second id the producer id; then both ids' decisions need these markers.
    of_all = case.dump.entries(case.dump.logs_of_producer(state.producer), None)
    ids = {o.transactional_id for o in of_all if o.state and o.state.producer == state.producer}
    if state.client_version >= 2 and len(ids) == 1:
        return False
    behind = [one for one in found if one.batch.base > begin]
    completed = decisions(case, state.producer, state.epoch, kind, listing=True, entries=of_all)
    if len(found) < len(completed):
        return True
    if found and len(ids) > 1:
        raise HoldsError("two ids have the producer id: whose markers these are, is open")
    if behind:
        # One of another time may be that of a decision that this copy of the log has not.
        in_time = [o for o in behind if state.update_ms <= o.batch.newest <= after.moment_ms]
        if len(completed) > 1 or not in_time:
            raise HoldsError("several decisions share the epoch: whose markers these are, is open")
        return False
    # Markers before the data are of earlier transactions, if the data are not of a later one.
    if found and data.batch.newest > state.update_ms and data.path != record.path:
        raise HoldsError("the data may be of a transaction behind the decision")
    return True


def no_marker_yet(case: Case) -> bool | None:
    """A decision is the last record of its id, lists the partition, and has no marker there."""
    state = prepared(case)
    if state is None or state.state not in PREPARED or case.place not in state.places:
        return False
    if not last_of_id(case):
        return False
    copy = case.dump.copy(case.dump.folder(case.place, case.finding.get("broker")))
    copy.require_readable()
    raised = state.client_version >= 2
    kind = COMMIT if state.state in COMMITTED else ABORT
    heads = copy.of(state.producer)
    ends = [one for one in heads if one.kind == kind and one.batch.epoch == state.epoch]
    return not ends if raised else not ends or ends[-1].batch.newest < state.update_ms


# --- open_transactions ----------------------------------------------------------------------------
# Claims about data that no marker ended: how old they are, and whether their id runs them.


class Open(NamedTuple):
    """Data that are open: by a batch, or where that is gone by the entry of a snapshot."""

    proof: Proof
    producer: int
    epoch: int
    base: int
    moment_ms: int


def open_data(case: Case, first: bool = False) -> Open:
    """The last data that are named, or the first; raises RefutedError where they are not open."""
    logs = data_proofs(case)
    if not logs:
        proof, entry = snapshot_entry(case)
        producer, epoch, _, last, _, moment, _, begun = entry
        if begun < 0 or producer != case.finding.get("producer_id"):
            raise RefutedError("the snapshot has no open transaction of the producer")
        return Open(proof, producer, epoch, last, moment)
    proof = logs[0 if first else -1]
    batch = proof.batch
    if not batch.of_client:
        raise RefutedError("the batch has no data of a transaction")
    return Open(proof, batch.producer, batch.epoch, batch.base, batch.newest)


def unended(case: Case) -> bool | None:
    """No marker of the producer follows its data in this copy."""
    data = open_data(case)
    copy = case.copy(data.proof)
    if any(one.ends and one.batch.base > data.base for one in copy.of(data.producer)):
        return False
    try:
        copy.require_complete(max(data.base, open_in_snapshots(copy.folder, data) - 1))
    except MissingError:
        # Of what it runs a coordinator has written no marker.
        if not runs_here(case):
            raise
    return True


def runs_here(case: Case) -> bool:
    """Whether the last record of the id is Ongoing with that producer, and lists the partition."""
    newest = newest_of_id(case)
    state = None if newest is None else newest.state
    return (
        state is not None
        and state.producer == case.finding.get("producer_id")
        and lists_open(case, state)
    )


def lists_open(case: Case, state: State) -> bool:
    """Whether a transaction runs there that lists the finding's partition."""
    return state.state == ONGOING and case.place in state.places


def open_in_snapshots(folder: Path, data: Open) -> int:
    """Up to which offset producer snapshots show the data open, exclusive; -1 for none.

    What is missing below it has no marker of the producer: its transaction would begin later.
    """
    shown = -1
    for path in folder.glob("[0-9]*.snapshot"):
        content = path.read_bytes()
        if not is_sound_snapshot(content):
            continue
        begun = snapshot_of(content).get(data.producer, (-1,))[-1]
        if 0 <= begun <= data.base < segment_base(path):
            shown = max(shown, segment_base(path))
    return shown


def too_old(case: Case) -> bool | None:
    """Data were older than every timeout at the moment of the audit.

    By the first moment of a broker's clock from their batch on; where there is none, by that of
    their client. Neither shows that they are young: a client may be days ahead. What is in
    `__consumer_offsets` the coordinator stamps itself. The limit, in minutes, is that of the
    finding.
    """
    if case.dump.as_of is None:
        raise HoldsError("no marker follows in this copy; its age needs the moment of the audit")
    told = f"{case.finding.get('expected')} {case.text}"
    minutes = [int(a) for a, b in pairwise(told.split()) if a.isdigit() and b.startswith("minute")]
    data = open_data(case, first=True)
    behind = [one.batch for one in case.copy(data.proof).heads if one.batch.base >= data.base]
    ours = data.proof.path.parent.name.rpartition("-")[0] == OFFSETS
    told_ms = (one.newest if ours else one.of_broker_ms for one in behind)
    by = next((one for one in told_ms if one is not None), data.moment_ms)
    age = (case.dump.as_of - by) // 60_000
    if age >= min(minutes, default=0):
        return True
    if not behind or (not ours and behind[0].of_broker_ms is None):
        raise HoldsError("no marker follows in this copy; when it was appended no broker tells")
    return False


def passed_by_cleaner(case: Case) -> bool | None:
    """The cleaner checkpoint lies above the last batch that is named."""
    name = "cleaner-offset-checkpoint"
    found = case.dump.checkpoint(case.log_directory(), name, case.place)
    if found is None:
        return False
    last = case.proofs[-1].batch
    return bool(found > (last.base if last.control else open_data(case, first=True).base))


def lost_its_marker(case: Case) -> bool | None:
    """The cleaner has passed the data, or the newest snapshot has their transaction ended."""
    return passed_by_cleaner(case) or ended_in_newest_snapshot(case)


def ended_in_newest_snapshot(case: Case) -> bool:
    """Behind the data, the newest sound snapshot of this log has no open transaction of them."""
    data = open_data(case)
    copy = case.copy(data.proof)
    told = [path for path in copy.folder.glob("[0-9]*.snapshot") if segment_base(path) <= copy.end]
    for path in sorted(told, key=segment_base, reverse=True):
        content = path.read_bytes()
        if is_sound_snapshot(content):
            begun = snapshot_of(content).get(data.producer, (-1,))[-1]
            return segment_base(path) > data.base and not 0 <= begun <= data.base
    return False


def not_run_here(case: Case) -> bool | None:
    """The last record of the id does not run a transaction that lists the partition.

    Without an id: no id has the producer.
    """
    name, producer = case.finding.get("transactional_id"), case.finding.get("producer_id")
    if name is not None:
        newest = case.dump.newest(name)
        if newest is None:
            raise HoldsError("no record of the transactional id is in the dump")
        state = newest.state
        if not any(one.state and one.state.producer == producer for one in case.of_id()):
            # The id never had the producer: whoever runs the data, it is not this one.
            return False
        runs = state is not None and state.state in (ONGOING, *PREPARED)
        return not (runs and state is not None and case.place in state.places)
    latest: dict[str, Entry] = {}
    for one in case.of_id():
        if one.offset >= latest.get(one.transactional_id, one).offset:
            latest[one.transactional_id] = one
    return not any(one.state and one.state.producer == producer for one in latest.values())


def not_run_here_then(case: Case) -> bool | None:
    """The same, or that transaction began after a broker's moment behind the batch."""
    if not_run_here(case):
        return True
    (_, state), data = newest_state(case), open_data(case)
    behind = (one.batch for one in case.copy(data.proof).heads if one.batch.base > data.base)
    moments = (one.of_broker_ms for one in behind)
    earlier = any(one is not None and one < state.start_ms for one in moments)
    return lists_open(case, state) and earlier


def overdue_here(case: Case) -> bool | None:
    """The last record of the id is Ongoing, lists the partition, and has outlived its timeout."""
    newest, state = newest_state(case)
    if not lists_open(case, state):
        return False
    until = max(case.dump.as_of or -1, entries_of(newest.folder)[1].newest_ms)
    if until <= state.start_ms + state.timeout_ms:
        raise HoldsError("the coordinator lists it; its age needs the moment of the audit")
    return True


def went_on(case: Case) -> bool | None:
    """The last record of the id has a higher epoch, or producer id, and decides other data."""
    (_, state), data = newest_state(case), open_data(case)
    above = state.producer != data.producer or state.epoch > data.epoch
    # A decision of version 2 raises the epoch of its data by two at most.
    later = state.client_version >= 2 and state.epoch - data.epoch > 2
    return above and (state.state not in PREPARED or later)


def unlisted(case: Case) -> bool | None:
    """No record of the producer's epoch lists the partition, in the copy that is named."""
    data, record = open_data(case, first=True), case.proofs[-1]
    if TXN_LOG not in record.path.parent.name:
        return None
    named_ = [state_of(one.value) for one in record.batch.records()]
    if not any(one and one.producer == data.producer for one in named_):
        return False
    found = [
        one.state
        for one in case.dump.entries([record.path.parent], case.finding.get("transactional_id"))
        if one.state and one.state.producer == data.producer and case.place in one.state.places
    ]
    if any(of_epoch(one, data.epoch) for one in found):
        return False
    if any(one.epoch in (data.epoch, data.epoch + 1) and may_fence(one) for one in found):
        raise HoldsError("an abort lists it, and may have raised the epoch: whose it is, is open")
    return True


def may_fence(state: State) -> bool:
    """Whether a decision may have raised the epoch without saying so."""
    return state.state == PREPARE_ABORT and state.client_version < 2


def of_epoch(state: State, epoch: int) -> bool:
    """Whether a running transaction has data of an epoch, as far as its record tells."""
    raised = state.state in PREPARED and state.client_version >= 2
    return not may_fence(state) and state.epoch == epoch + raised


# --- producer_ids ---------------------------------------------------------------------------------
# Claims about who has a producer id, and about the blocks in which brokers get them.


# So many a broker gets at once (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE, all releases).
BLOCK_OF_PRODUCER_IDS = 1_000
PRODUCER_IDS_RECORD = 15
BEGIN_TRANSACTION_RECORD, END_TRANSACTION_RECORD, ABORT_TRANSACTION_RECORD = 23, 24, 25


def other_producer(a: State, b: State) -> bool:
    """Whether it changes where none is given out, or stays where another one was announced."""
    initializes = b.state == EMPTY and a.epoch >= LAST_EPOCH - 1
    completes = b.state in COMPLETE and a.state in PREPARED and a.epoch >= LAST_EPOCH
    used_up = b.epoch == 0 and (initializes or completes)
    if a.producer != b.producer and used_up:
        raise HoldsError(
            "the bytes are there and whole; the epochs of the producer id were used up"
        )
    keeps = a.state in PREPARED and b.state in COMPLETE and b.client_version >= 2
    return a.producer != b.producer or (keeps and a.announced not in (-1, b.producer))


def former_producer(case: Case) -> bool | None:
    """The id had the producer id before, and another one or none since."""
    told, proof = states(case), case.proofs[-1]
    before, state = told[0], told[-1]
    if state is None or (before is not None and before.producer == state.producer):
        return None if state is None else False
    earlier = [e for e in mine(case, [proof.path.parent]) if e.offset < proof.batch.base]
    return any(one.state and one.state.producer == state.producer for one in earlier)


def shared_producer(case: Case) -> bool | None:
    """Records of two ids have one producer id."""
    (one, a), (other, b) = named_states(case)[0], named_states(case)[-1]
    return one != other and a is not None and b is not None and a.producer == b.producer


def metadata_kind(record: Record) -> tuple[int, int]:
    """Kind of a record of `__cluster_metadata`, and where its message begins; -1 for none."""
    if record.value is None:
        return -1, 0
    try:
        _, at = unsigned(record.value, 0)
        kind, at = unsigned(record.value, at)
        _, at = unsigned(record.value, at)
    except ValueError:
        return -1, 0
    return kind, at


def next_producer(record: Record) -> int | None:
    """The producer id behind a block that a record of `__cluster_metadata` gives out."""
    kind, at = metadata_kind(record)
    if record.value is None or kind != PRODUCER_IDS_RECORD or at + 20 > len(record.value):
        return None
    (behind,) = struct.unpack_from(">q", record.value, at + 12)
    return int(behind)


def aborted_before(folder: Path, earlier: int, later: int) -> bool:
    """Whether the metadata transaction of a record was aborted before a later record.

    Raises HoldsError where its abort may be among what is lost. An abort whose begin is lost takes
    back nothing from before that.
    """
    copy = Copy(folder, whole=True, keep=True)
    lost = {number for number, *_ in copy.holes}
    begun, is_open, behind = -1, False, -1
    for number, head in enumerate(copy.heads):
        if head.batch.base > later:
            break
        if number in lost or (number and head.batch.base > behind + 1):
            if is_open and begun <= earlier < head.batch.base:
                raise HoldsError("the abort of its transaction may be among what is lost")
            begun, is_open = head.batch.base, False
        behind = head.batch.last
        for record in [] if head.batch.control else head.batch.records():
            kind, _ = metadata_kind(record)
            if kind == ABORT_TRANSACTION_RECORD and begun <= earlier < record.offset < later:
                return True
            if kind in (BEGIN_TRANSACTION_RECORD, END_TRANSACTION_RECORD, ABORT_TRANSACTION_RECORD):
                begun, is_open = record.offset, kind == BEGIN_TRANSACTION_RECORD
    return False


def block_again(case: Case) -> bool | None:
    """A block of producer ids begins within the one before, or in front of that."""
    one, before = case.proofs[0], case.proofs[-1]
    if one.path.suffix == before.path.suffix == ".log" and aborted_before(
        one.path.parent, before.batch.base, one.batch.base
    ):
        raise RefutedError("the transaction of the block before was aborted")
    first = case.finding.get("offset_first")
    told = [
        [behind for o in proof.batch.records() if (behind := next_producer(o)) is not None]
        for proof in case.proofs
    ]
    here = [o for o in case.proofs[0].batch.records() if first in (None, o.offset)]
    behind = next((found for o in here if (found := next_producer(o)) is not None), None)
    if behind is None or not told[-1]:
        return None
    return behind < max(told[-1]) + BLOCK_OF_PRODUCER_IDS


def never_allocated(case: Case) -> bool | None:
    """The producer id lies above all blocks that `__cluster_metadata` of its cluster gave out."""
    here = case.log_directory()
    copies = [
        one
        for one in case.dump.copies_of("__cluster_metadata")
        if may_be_of_one_cluster(one.parent, here)
    ]
    case.dump.beside("all records of __cluster_metadata")
    given = [
        behind
        for folder in copies
        for head in Copy(folder, whole=True, keep=True).heads
        if not head.batch.control
        for record in head.batch.records()
        if (behind := next_producer(record)) is not None
    ]
    if not given:
        raise HoldsError("the bytes are there and whole; no block of producer ids is in the dump")
    return int(case.finding.get("producer_id") or 0) >= max(given)


def used_outside(case: Case) -> bool | None:
    """A batch without a transaction has the producer id of a transactional id."""
    batch, record = case.proofs[0].batch, case.proofs[-1].batch
    owners = [state_of(one.value) for one in record.records()]
    owned = any(one and one.producer == batch.producer for one in owners)
    return owned and not batch.transactional


# --- replicas -------------------------------------------------------------------------------------
# Claims that compare two copies of a partition.


def copies_differ(a: Batch, b: Batch) -> bool | None:
    """Whether two copies of the same offsets have other bytes; None where the offsets differ."""
    return None if (a.base, a.last) != (b.base, b.last) else a.data[12:] != b.data[12:]


def other_copy(case: Case) -> bool | None:
    """Two copies have other bytes at the same offsets, or one lacks the marker of its data."""
    if len(case.proofs) < 2:
        raise HoldsError(
            "the bytes are there and whole; which value of a key is newest is not read"
        )
    one, other = case.proofs[0], case.proofs[-1]
    marker = other.batch.control and other.batch.producer == one.batch.producer
    if one.batch.of_client and marker and other.batch.base > one.batch.base:
        there = case.copy(one).covering(other.batch.base)
        return there is None or not there.ends
    return copies_differ(one.batch, other.batch)


def lacks_range(case: Case) -> bool | None:
    """One copy has batches before and behind offsets that it lacks and the other one has."""
    behind, missing = case.proofs[0], case.proofs[-1].batch
    copy = case.copy(behind)
    copy.require_readable()
    between = copy.begin <= missing.base < behind.batch.base
    return between and copy.covering(missing.base) is None


def records_differ(case: Case) -> bool | None:
    """Two copies of the coordinator's log have different records at one offset."""
    first = case.finding.get("offset_first")
    told = [
        [
            (o.offset, proof.batch.leader, o.key, o.value)
            for o in proof.batch.records()
            if first in (None, o.offset)
        ]
        for proof in case.proofs
    ]
    if len(told) == 1:
        return lacks_last_record(case)
    return None if not told[0] or not told[-1] else told[0] != told[-1]


def lacks_last_record(case: Case) -> bool | None:
    """Another copy of the partition has no record of the id at or behind the offset."""
    proof = case.proofs[-1]
    others = [
        one
        for one in case.dump.folders(proof.path.parent.name)
        if one.resolve() != proof.path.parent.resolve()
    ]
    if not others:
        raise HoldsError(f"no other copy of {proof.path.parent.name} is in the dump")
    lacking = [not any(e.offset >= proof.batch.last for e in mine(case, [o])) for o in others]
    return any(lacking)


# --- segments -------------------------------------------------------------------------------------
# Claims about the offsets of a segment, and about those between two batches.


def out_of_segment(case: Case) -> bool | None:
    """A batch has offsets that its segment, by its name and that of the next, cannot have."""
    proof = case.proofs[-1]
    begin = segment_base(proof.path)
    heads = [one.batch for one in case.copy(proof).heads if segment_base(one.path) == begin]
    if any(one.magic < 2 and one.codec for one in heads):
        return None
    lowest, highest = min(one.base for one in heads), max(one.last for one in heads)
    after = next_segment(case.copy(proof), begin)
    return bool(lowest < begin or highest >= after or highest - begin > MAX_SEQUENCE)


def gap_in_copy(case: Case) -> bool | None:
    """No batch lies between two, in the order of the files.

    What lies between in a segment that begins within the first one may have been replaced by that
    while the copy was made (`Cleaner.cleanSegments`): no bytes show it.
    """
    copy = case.copy(case.proofs[-1])
    first, second = (copy.heads.index(case.head(one)) for one in (case.proofs[0], case.proofs[-1]))
    between = [one for one in copy.heads[first + 1 : second] if one.whole]
    before = copy.heads[first]
    replaced = [
        one.path != before.path and segment_base(one.path) <= before.batch.last for one in between
    ]
    return None if between and all(replaced) else not between


# --- sequences ------------------------------------------------------------------------------------
# Claims about the sequences, epochs and timestamps of a producer's batches.


def ahead(a: Batch, b: Batch) -> bool:
    """Whether the sequence of b lies above the one that follows a."""
    expected = (a.last_sequence + 1) % (MAX_SEQUENCE + 1)
    return (b.sequence - expected) % (MAX_SEQUENCE + 1) < 1 << 30 and b.sequence != expected


def skips_forward(case: Case) -> bool | None:
    """The sequence is above the one that must follow: 0 behind a marker of another epoch."""
    before, batch = case.proofs[0].batch, case.proofs[-1].batch
    between = (
        one
        for one in case.copy(case.proofs[-1]).of(batch.producer)
        if one.ends and before.base < one.batch.base < batch.base
    )
    if any(one.batch.epoch != before.epoch for one in between):
        return batch.sequence > 0
    return ahead(before, batch)


def next_of_producer(case: Case) -> bool | None:
    """No data of the producer lie between two batches."""
    before, after = case.proofs[0].batch, case.proofs[-1]
    copy = case.copy(after)
    copy.require_readable(before.base, after.batch.base)
    between = (o for o in copy.of(before.producer) if before.base < o.batch.base < after.batch.base)
    return not any(not o.batch.control and o.batch.sequence >= 0 and o.whole for o in between)


def repeated(case: Case) -> bool | None:
    """Sequences of a batch are in an earlier one of its producer and epoch."""
    proof = case.proofs[-1]
    batch = proof.batch

    def has(a: Batch) -> bool:
        same = not a.control and (a.producer, a.epoch) == (batch.producer, batch.epoch)
        return same and (batch.sequence - a.sequence) % (MAX_SEQUENCE + 1) <= a.delta

    if batch.producer < 0 or batch.control or batch.sequence < 0:
        return False
    if has(case.proofs[0].batch) and case.proofs[0].batch.base < batch.base:
        return True
    before = (one.batch for one in case.copy(proof).of(batch.producer))
    return any(has(one) for one in before if one.base < batch.base)


def begins_late(case: Case) -> bool | None:
    """The first batch of an epoch does not begin with sequence 0."""
    proof = case.proofs[-1]
    batch = proof.batch
    if len(case.proofs) > 1:
        says = of_producer(lambda a, b: b.epoch > a.epoch and b.sequence > 0)(case)
        if not says:
            return says
    same = (
        one
        for one in case.copy(proof).of(batch.producer)
        if one.batch.epoch == batch.epoch and not one.batch.control
    )
    return batch.sequence > 0 and not any(o.batch.base < batch.base and o.whole for o in same)


def with_these_timestamps(case: Case) -> bool | None:
    """The two timestamps of the finding: of the batch, and of one before it or a marker between."""
    before, batch = case.proofs[0].batch, case.proofs[-1].batch
    told = [int(word) for word in case.text.replace(",", "").split() if word.lstrip("-").isdigit()]
    if before.producer != batch.producer or before.base >= batch.base or len(told) != 2:
        return False
    mine_ = (one.batch for one in case.copy(case.proofs[-1]).of(batch.producer))
    # The batch before may be the entry of a snapshot.
    newest = [before.newest, *(o.newest for o in mine_ if before.base <= o.base < batch.base)]
    return told[0] in newest and told[1] == batch.newest


def first_of_producer(case: Case) -> bool | None:
    """No batch of the producer lies before."""
    proof = case.proofs[-1]
    copy = case.copy(proof)
    before = (o for o in copy.of(proof.batch.producer) if o.batch.base < proof.batch.base)
    return not any(one.batch.sequence >= 0 and one.whole for one in before)


# --- claims ---------------------------------------------------------------------------------------
# The claim of each check.


CLAIMS: dict[str, Claim] = {
    "batch_attribute_bits_unknown": of_batch(lambda b: bool(b.attributes & ~0x7F)),
    "batch_codec_invalid": of_batch(
        lambda b: b.codec > (4 if b.magic == 2 else 3) or (b.control and b.codec > 0)
    ),
    "batch_count_below_range": of_batch(lambda b: b.count <= b.delta),
    "batch_count_exceeds_range": of_batch(lambda b: b.count < 0 or b.count > b.delta + 1),
    "batch_crc_mismatch": of_batch(wrong_checksum),
    "batch_decompression_failed": not_decompressed,
    "batch_empty_unexpected": of_batch(lambda b: b.count == 0),
    "batch_length_invalid": broken_frame,
    "batch_magic_unknown": of_batch(lambda b: b.magic not in (0, 1, 2)),
    "batch_max_timestamp_mismatch": of_batch(
        lambda b: max(one.timestamp for one in b.records()) != b.newest
    ),
    "batch_producer_fields_inconsistent": of_batch(
        lambda b: (
            (b.producer >= 0) != (b.epoch >= 0)
            or (b.producer < 0 and (b.sequence >= 0 or b.transactional))
            or (b.producer >= 0 and not b.control and b.sequence < 0)
        )
    ),
    "batch_record_count_mismatch": of_batch(fails(lambda b: list(b.records()))),
    "batch_record_malformed": of_batch(fails(lambda b: list(b.records()))),
    "batch_record_offset_order": of_batch(
        lambda b: (
            (deltas := [one.offset - b.base for one in b.records()]) != sorted({*deltas})
            or deltas[-1] > b.delta
            or deltas[0] < 0
        )
    ),
    "legacy_wrapper_invalid": broken_wrapper,
    "control_batch_malformed": of_batch(lambda b: b.control and malformed_marker(b)),
    "control_type_unknown": of_batch(lambda b: b.marker()[0] not in (ABORT, COMMIT)),
    "delete_horizon_unexpected": of_batch(lambda b: bool(b.attributes & HORIZON)),
    "active_tail_torn": tail,
    "closed_segment_tail_garbage": tail,
    "offset_gap": all_of(of_two(lambda a, b: b.base > a.last + 1), gap_in_copy),
    "segment_missing": all_of(of_two(lambda a, b: b.base > a.last + 1), gap_in_copy),
    "offset_not_increasing": of_two(lambda a, b: b.base <= a.last),
    "leader_epoch_regression": of_two(lambda a, b: b.leader < a.leader),
    "leader_epoch_checkpoint_mismatch": leader_epoch_differs,
    "segment_offset_out_of_range": out_of_segment,
    "hw_beyond_log_end": checkpoint_beyond_end("replication-offset-checkpoint"),
    "recovery_point_beyond_log_end": checkpoint_beyond_end("recovery-point-offset-checkpoint"),
    "log_start_beyond_end": checkpoint_beyond_end("log-start-offset-checkpoint"),
    "hw_below_log_start": mark_below_start,
    "replica_divergence": other_copy,
    "replica_range_hole": lacks_range,
    "topic_id_mismatch": topic_ids_differ,
    "cluster_id_mismatch": other_cluster,
    "index_entry_invalid": offset_entry_invalid,
    "timeindex_invalid": time_entry_invalid,
    "txnindex_missing_entry": entry_missing,
    "txnindex_wrong_lso": entry_stable_elsewhere,
    "txnindex_wrong_first_offset": entry_begins_elsewhere,
    "txnindex_extra_entry": entry_without_marker,
    "txnindex_empty_transaction": entry_of_nothing,
    "txnindex_malformed": entry_malformed,
    "snapshot_corrupt": corrupt_snapshot,
    "snapshot_foreign_producer": without_origin,
    "snapshot_state_mismatch": other_state,
    "sequence_gap": all_of(
        of_producer(lambda a, b: a.epoch == b.epoch), skips_forward, next_of_producer
    ),
    "sequence_regression": all_of(
        of_producer(
            lambda a, b: (
                a.epoch == b.epoch and not ahead(a, b) and b.sequence != a.last_sequence + 1
            )
        ),
        next_of_producer,
    ),
    "duplicate_batch": repeated,
    "sequence_nonzero_at_new_epoch": begins_late,
    "first_sequence_nonzero": all_of(
        of_batch(lambda b: b.producer >= 0 and b.sequence > 0), first_of_producer
    ),
    "producer_epoch_regression": of_producer(lambda a, b: b.epoch < a.epoch),
    "producer_timestamp_expired_state": with_these_timestamps,
    "producer_epoch_out_of_range": of_batch(lambda b: b.epoch == LAST_EPOCH),
    "pid_used_outside_transaction_id": used_outside,
    "zombie_write_after_fence": of_producer(
        lambda a, b: a.control and not b.control and b.epoch < a.epoch
    ),
    "nontransactional_in_open_txn": all_of(
        of_producer(lambda a, b: a.of_client and not b.transactional), no_marker_between
    ),
    "mixed_transactional_mode": of_two(
        lambda a, b: a.producer == b.producer and not a.transactional and b.transactional
    ),
    "epoch_bump_inside_open_txn": all_of(
        of_producer(lambda a, b: a.of_client and b.of_client and b.epoch > a.epoch),
        no_marker_between,
    ),
    "late_write_after_marker": all_of(
        of_producer(lambda a, b: a.control and b.of_client and a.epoch == b.epoch),
        unended,
        not_run_here_then,
    ),
    "conflicting_markers": all_of(
        of_markers(lambda a, b, x, y: a.epoch == b.epoch and x[0] != y[0]), nothing_between
    ),
    "duplicate_marker": all_of(
        of_markers(lambda a, b, x, y: a.epoch == b.epoch and x[0] == y[0]), nothing_between
    ),
    "coordinator_epoch_regression": of_markers(lambda a, b, x, y: y[1] < x[1]),
    "marker_epoch_regression": of_producer(lambda a, b: b.control and b.epoch < a.epoch),
    "marker_epoch_invalid": all_of(of_producer(too_far_above), no_marker_between),
    "marker_without_transaction": without_data,
    "committed_output_without_offsets": without_data,
    "hanging_transaction": all_of(unended, not_run_here),
    "open_data_of_completed_transaction": all_of(unended, went_on),
    "data_in_unlisted_partition": all_of(unended, unlisted),
    "open_transaction_overdue": all_of(unended, overdue_here),
    "cleaned_data_without_marker": all_of(unended, lost_its_marker),
    "aborted_data_below_cleaned_bound": all_of(
        of_producer(lambda a, b: a.of_client and b.control and b.marker()[0] == ABORT),
        passed_by_cleaner,
    ),
    "lso_stuck": all_of(unended, too_old),
    "pending_offsets_stuck": all_of(unended, too_old),
    "offset_commit_unlisted": unlisted,
    "marker_outcome_mismatch": other_outcome,
    "torn_transaction": torn,
    "epoch_committed_and_aborted": opposite_ends,
    "offset_commit_outcome_mismatch": opposite_ends,
    "missing_marker_in_listed_partition": lacks_marker,
    "marker_pending": no_marker_yet,
    "marker_without_prepare": undecided,
    "marker_in_unlisted_partition": marker_not_listed,
    "marker_stale": ended_too_many,
    "marker_protocol_mixed": other_protocol,
    "marker_coordinator_epoch_mismatch": other_coordinator,
    "marker_before_prepare": before_decision,
    "prepare_never_completed": all_of(
        of_state(lambda s: s.state in PREPARED), last_of_id, outlived_timeout
    ),
    "txnlog_overdue_transaction": all_of(
        of_state(lambda s: s.state == ONGOING), last_of_id, outlived_timeout
    ),
    "txnlog_epoch_regression": lower_epoch,
    "txnlog_complete_without_prepare": of_states(
        lambda a, b: b.state in COMPLETE and a.state not in PREPARED
    ),
    "txnlog_epoch_invalid": of_state(lambda s: s.epoch < 0),
    "txnlog_epoch_jump": jumps,
    "txnlog_first_epoch_nonzero": all_of(of_state(lambda s: s.epoch > 0), first_of_id),
    "txnlog_invalid_transition": invalid_step,
    "txnlog_partitions_invalid": places_invalid,
    "txnlog_start_timestamp_invalid": start_invalid,
    "txnlog_timeout_invalid": timeout_out_of_range,
    "txnlog_timeout_changed": of_states(
        lambda a, b: a.timeout_ms != b.timeout_ms and b.state != EMPTY
    ),
    "txnlog_pid_changed": of_states(other_producer),
    "txnlog_pid_regression": former_producer,
    "txnlog_pid_shared": shared_producer,
    "txnlog_state_invalid": of_state(lambda s: s.state not in range(6)),
    "txnlog_tombstone_invalid": forgotten_inside,
    "txnlog_undecodable": unreadable(read_state),
    "txnlog_unknown_tag": of_state(lambda s: bool(s.unknown_tags)),
    "txnlog_update_timestamp_regression": of_states(lambda a, b: b.update_ms < a.update_ms),
    "txnlog_batch_shape": odd_batch,
    "txnlog_replica_divergence": records_differ,
    "txnlog_wrong_partition": misplaced,
    "group_wrong_partition": misplaced_group,
    "offsets_undecodable": unreadable(read_group),
    "offset_commit_beyond_log_end": beyond_end,
    "offset_commit_regression": went_back,
    "producer_block_regression": block_again,
    "producer_id_unallocated": never_allocated,
    "told_producer_mismatch": other_memory,
    "told_open_mismatch": other_open,
    "told_lso_mismatch": other_stable,
    "told_coordinator_mismatch": other_coordinator_state,
}


# --- findings -------------------------------------------------------------------------------------
# What became of a finding, at each of its places.


def recheck_place(finding: dict[str, Any], dump: Dump) -> tuple[str, str]:
    """What became of a finding at one place, and why."""
    evidence = [one for one in finding.get("evidence") or () if one.get("file")]
    code = finding["code"]
    try:
        proofs = [proof_of(one, dump, code in OF_DAMAGE) for one in evidence]
        named(finding, proofs)
        at_its_place(finding, proofs)
        claim = CLAIMS.get(code)
        says = claim(Case(finding, proofs, dump)) if claim else None
    except RefutedError as error:
        return REFUTED, str(error)
    except OSError as error:
        return UNDECIDED, f"{error.filename} cannot be read: {error.strerror}"
    except UndecidedError as error:
        return UNDECIDED, str(error)
    except MissingError as error:
        says_so = finding.get("reason") in error.reasons
        return CONFIRMED if says_so else HOLDS, str(error)
    except HoldsError as error:
        return HOLDS, str(error)
    except (ValueError, struct.error, IndexError) as error:
        if not evidence:
            return UNDECIDED, "the finding names no evidence"
        return REFUTED, f"the bytes cannot be read as the finding says: {error}"
    if says is None:
        return HOLDS, "the bytes are there and whole"
    what = " and ".join(["the bytes", *dump.read])
    return (CONFIRMED, f"follows from {what}") if says else (REFUTED, f"{what} show otherwise")


def at_places(finding: dict[str, Any], dump: Dump) -> Iterator[dict[str, Any]]:
    """The finding at each of its places where the evidence there is known.

    Evidence is that of the first place. At another one the batch at its position is known, and the
    coordinator's records are the same; a further batch is not.
    """
    first, *others = finding.get("places") or [finding]
    yield finding | first
    evidence = finding.get("evidence") or []
    here = (finding.get("file"), finding.get("byte_position"))
    own = [one for one in evidence if (one.get("file"), one.get("byte_position")) == here]
    ours = [one for one in evidence if TXN_LOG in str(one.get("file"))]
    further = [o for o in evidence if o not in own + ours and o.get("role") != LAST_OF_TRANSACTION]
    for place in others if not further else ():
        moved = [one if one in ours else moved_to(one, place, dump) for one in own]
        yield finding | place | {"evidence": [*moved, *(one for one in ours if one not in own)]}


def moved_to(one: dict[str, Any], place: dict[str, Any], dump: Dump) -> dict[str, Any]:
    """Evidence at another place, where it is as long as the batch there says.

    There it may be the entry of a snapshot, whose length all have.
    """
    file, position = str(place.get("file")), place.get("byte_position")
    path = next((each for each in dump.places(file) if each.is_file()), None)
    length = SNAPSHOT_ENTRY.size if file.endswith(".snapshot") else 0
    if path is not None and position is not None and not length:
        # What cannot be read here cannot be read as evidence either.
        with suppress(OSError), path.open("rb") as opened:
            opened.seek(position)
            length = framed(opened.read(HEADER.size))
    found = {"file": file, "byte_position": position, "byte_length": length}
    return {"role": one.get("role")} | found


def recheck(
    finding: dict[str, Any],
    roots: list[Path],
    evidence_only: bool = False,
    as_of: int | None = None,
) -> tuple[str, str]:
    """What became of a finding, and why; of several places the weakest."""
    told = [
        recheck_place(one, Dump(roots, evidence_only, as_of))
        for one in at_places(finding, Dump(roots))
    ]
    weakest = next(r for r in (REFUTED, UNDECIDED, HOLDS, CONFIRMED) if r in [x for x, _ in told])
    number, why = next((n, why) for n, (result, why) in enumerate(told) if result == weakest)
    all_places = finding.get("place_count") or len(finding.get("places") or ())
    where = f" (place {number + 1} of {all_places})" if all_places > 1 else ""
    if weakest == CONFIRMED and all_places > 1:
        where = f" ({len(told)} of {all_places} places)"
    return weakest, why + where


# --- report_files ---------------------------------------------------------------------------------
# The findings of report.json, or of rows of the table `violation`.


FORMAT = "eosaudit-report/1"
WANTED = "give report.json, or rows of the table violation as JSON"
# A row of a finding has some of them, whatever is left out because it is null.
PLACED = {"evidence", "file", "topic", "offset_first"}


class AskedError(Exception):
    """The command line or a file is wrong: why, in a sentence without its full stop."""


def content_of(path: Path) -> Any:
    """What is in report.json, a JSON array, or JSON objects a line. Raises AskedError."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise AskedError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise AskedError(f"{path} is no text: {WANTED}") from None
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        raise AskedError(f"{path} is no JSON: {WANTED}") from None


def findings_of(path: Path) -> list[dict[str, Any]]:
    """Findings of report.json, of a JSON array, or of a JSON object a line. Raises AskedError."""
    told = content_of(path)
    if isinstance(told, dict) and "code" not in told:
        if told.get("format") != FORMAT:
            raise AskedError(f"{path} is no report.json: {WANTED}")
        told = told["findings"]
    rows = list(told) if isinstance(told, list) else [told]
    # What only counts findings, such as verdict.json, names no place.
    if not all(isinstance(one, dict) and "code" in one and PLACED & set(one) for one in rows):
        raise AskedError(f"{path} holds no findings: {WANTED}")
    return rows


def moment_of(path: Path) -> int | None:
    """The moment of the audit, ms; only report.json tells it, and not every dump has one."""
    told = content_of(path)
    verdict = told.get("verdict") if isinstance(told, dict) else None
    moment = verdict.get("as_of_ms") if isinstance(verdict, dict) else None
    return moment if isinstance(moment, int) else None


# --- command_line ---------------------------------------------------------------------------------


EVIDENCE_ONLY = "--evidence-only"


class Asked(NamedTuple):
    """The command line; `codes`: the checks asked for, empty for all."""

    report: Path
    dumps: list[Path]
    codes: set[str]
    evidence_only: bool

    @classmethod
    def of(cls, arguments: list[str]) -> "Asked":
        """Raises AskedError where a word is none of these."""
        options = [one for one in arguments if one.startswith("-")]
        if wrong := [one for one in options if one != EVIDENCE_ONLY]:
            raise AskedError(f"{wrong[0]} is no option; see --help")
        words = [one for one in arguments if one not in options]
        if not words:
            raise AskedError("report.json and the folder of the dump are missing; see --help")
        report, *others = Path(words[0]), *words[1:]
        if not report.is_file():
            raise AskedError(f"{report} is not a file: {WANTED}")
        dumps = [Path(one) for one in others if Path(one).is_dir()]
        codes = {one for one in others if not Path(one).is_dir()}
        for one in sorted(codes - set(CLAIMS)):
            near = get_close_matches(one, CLAIMS, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise AskedError(f"{one} is neither a folder nor a check{meant}")
        if not dumps:
            raise AskedError("the folder of the dump is missing; see --help")
        return cls(report, dumps, codes, bool(options))


def main(arguments: list[str]) -> int:
    """Tells each finding in a line, and the numbers."""
    if {"-h", "--help"} & set(arguments):
        sys.stdout.write(__doc__ or "")
        return 0
    try:
        asked = Asked.of(arguments)
        findings, as_of = findings_of(asked.report), moment_of(asked.report)
    except AskedError as error:
        sys.stderr.write(f"recheck.py: {error}.\n")
        return 2
    chosen = [one for one in findings if not asked.codes or one["code"] in asked.codes]
    counts: Counter[str] = Counter()
    for one in chosen:
        result, why = recheck(one, asked.dumps, asked.evidence_only, as_of)
        counts[result] += 1
        place = f"{one.get('topic')}-{one.get('partition')} at {one.get('offset_first')}"
        sys.stdout.write(f"{result:9}  {one['code']}  {place}: {why}\n")
    if not chosen:
        of_checks = f" of {', '.join(sorted(asked.codes))}" if asked.codes else ""
        sys.stdout.write(f"nothing was checked: {asked.report} has no finding{of_checks}\n")
        return 3
    sys.stdout.write(
        ", ".join(f"{number} {result}" for result, number in sorted(counts.items())) + "\n"
    )
    return 1 if counts[REFUTED] else 3 if counts[UNDECIDED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
