"""The codecs of records: gzip, Snappy, LZ4, and zstd where this Python has it."""

import struct
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

from jobs.report.recheck.checksums import xxh32
from jobs.report.recheck.results import UndecidedError
from jobs.report.recheck.wire import sized, unsigned

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
