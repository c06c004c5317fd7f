"""Checksums that Python lacks: CRC-32C, and xxHash of the header of an LZ4 frame."""

import struct
from functools import cache


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
