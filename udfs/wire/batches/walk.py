"""Finds the batches of a segment: header walk with checksums, and the search after damage.

A batch is accepted only when it is proven: its length lies within bounds and its checksum
(CRC-32C from the attributes on for magic 2, CRC-32 from the magic byte on for magic 0 and 1)
matches. Compiled with Numba: the walk is the one loop that touches every byte of a dump.
"""

import numpy as np
from numba import int64, njit, types, uint32
from numpy.typing import NDArray

from udfs.wire.batches import batch_layout as layout

# Signatures are given so that kernels compile at import and never again for another layout.
BYTES = types.Array(types.uint8, 1, "C", readonly=True)
TABLE = types.Array(types.uint32, 2, "C", readonly=True)

# How a walk ended.
AT_STOP = 0  # the next batch starts at or after `stop`, or the data ended cleanly
NEED_MORE = 1  # the batch at `position` reaches past the data
NOT_PROVEN = 2  # the bytes at `position` are no provable batch

CRC32C_POLYNOMIAL = 0x82F63B78
CRC32_POLYNOMIAL = 0xEDB88320


def _slicing_table(polynomial: int) -> NDArray[np.uint32]:
    """Eight tables of 256 entries: eight bytes of input a step."""
    table = np.zeros((8, 256), dtype=np.uint32)
    for value in range(256):
        crc = value
        for _ in range(8):
            crc = (crc >> 1) ^ (polynomial if crc & 1 else 0)
        table[0, value] = crc
    for level in range(1, 8):
        previous = table[level - 1]
        table[level] = (previous >> 8) ^ table[0][previous & 0xFF]
    return table


CRC32C_TABLE = _slicing_table(CRC32C_POLYNOMIAL)
CRC32_TABLE = _slicing_table(CRC32_POLYNOMIAL)


@njit(uint32(BYTES, int64, int64, TABLE), cache=True)
def checksum(data, start, end, table):  # type: ignore[no-untyped-def]
    """Reflected CRC of data[start:end], initial and final XOR 0xFFFFFFFF."""
    crc = uint32(0xFFFFFFFF)
    i = start
    while i + 8 <= end:
        low = uint32(
            crc
            ^ (
                uint32(data[i])
                | (uint32(data[i + 1]) << uint32(8))
                | (uint32(data[i + 2]) << uint32(16))
                | (uint32(data[i + 3]) << uint32(24))
            )
        )
        crc = (
            table[7, low & uint32(0xFF)]
            ^ table[6, (low >> uint32(8)) & uint32(0xFF)]
            ^ table[5, (low >> uint32(16)) & uint32(0xFF)]
            ^ table[4, low >> uint32(24)]
            ^ table[3, data[i + 4]]
            ^ table[2, data[i + 5]]
            ^ table[1, data[i + 6]]
            ^ table[0, data[i + 7]]
        )
        i += 8
    while i < end:
        crc = table[0, (crc ^ uint32(data[i])) & uint32(0xFF)] ^ (crc >> uint32(8))
        i += 1
    return uint32(crc ^ uint32(0xFFFFFFFF))


@njit(int64(BYTES, int64), cache=True)
def read_int64(data, at):  # type: ignore[no-untyped-def]
    """Signed big-endian 64-bit integer at byte `at`."""
    value = np.int64(0)
    for i in range(8):
        value = (value << 8) | np.int64(data[at + i])
    return value


@njit(int64(BYTES, int64), cache=True)
def read_int32(data, at):  # type: ignore[no-untyped-def]
    """Signed big-endian 32-bit integer at byte `at`, widened to 64 bits."""
    value = (
        (np.int64(data[at]) << 24)
        | (np.int64(data[at + 1]) << 16)
        | (np.int64(data[at + 2]) << 8)
        | np.int64(data[at + 3])
    )
    return value - 4294967296 if value >= 2147483648 else value


@njit(int64(BYTES, int64), cache=True)
def read_int16(data, at):  # type: ignore[no-untyped-def]
    """Signed big-endian 16-bit integer at byte `at`, widened to 64 bits."""
    value = (np.int64(data[at]) << 8) | np.int64(data[at + 1])
    return value - 65536 if value >= 32768 else value


@njit(int64(int64), cache=True)
def minimum_length(magic):  # type: ignore[no-untyped-def]
    """Smallest legal length field for a magic; -1 for an unknown magic."""
    if magic == 2:
        return layout.MIN_LENGTH_V2
    if magic == 1:
        return layout.MIN_LENGTH_V1
    if magic == 0:
        return layout.MIN_LENGTH_V0
    return -1


@njit(int64(BYTES, int64, int64, int64, TABLE, TABLE), cache=True)
def frame_end(data, at, file_left, max_length, crc32c, crc32):  # type: ignore[no-untyped-def]
    """End of the proven batch at `at`; -1 if it is none; -2 if the data end before it does.

    `file_left` is the number of bytes between `at` and the end of the file.
    """
    available = data.shape[0] - at
    if file_left < layout.MAGIC + 1:
        return -1
    if available < layout.MAGIC + 1:
        return -2
    magic = np.int64(data[at + layout.MAGIC])
    length = read_int32(data, at + layout.LENGTH)
    minimum = minimum_length(magic)
    if minimum < 0 or length < minimum or length > max_length:
        return -1
    size = length + layout.LOG_OVERHEAD
    if size > file_left:
        return -1
    if size > available:
        return -2
    if magic == 2:
        stored = np.uint32(read_int32(data, at + layout.CRC) & 0xFFFFFFFF)
        computed = checksum(data, at + layout.ATTRIBUTES, at + size, crc32c)
    else:
        stored = np.uint32(read_int32(data, at + layout.LOG_OVERHEAD) & 0xFFFFFFFF)
        computed = checksum(data, at + layout.MAGIC, at + size, crc32)
    return at + size if stored == computed else -1


@njit(
    types.UniTuple(int64, 3)(BYTES, int64, int64, int64, int64, int64[::1], TABLE, TABLE),
    cache=True,
)
def walk(  # type: ignore[no-untyped-def]
    data, start, stop, file_left, max_length, positions, crc32c, crc32
):
    """Writes the start of every proven batch in [start, stop) into `positions`.

    `file_left` is the number of bytes between data[0] and the end of the file. Returns
    (batches written, position where the walk ended, AT_STOP | NEED_MORE | NOT_PROVEN).
    """
    at = start
    found = 0
    while at < stop and at < file_left:
        end = frame_end(data, at, file_left - at, max_length, crc32c, crc32)
        if end == -2:
            return found, at, NEED_MORE
        if end == -1:
            return found, at, NOT_PROVEN
        positions[found] = at
        found += 1
        at = end
    return found, at, AT_STOP


@njit(
    types.UniTuple(int64, 3)(BYTES, int64, int64, int64, int64, int64, int64, int64, TABLE, TABLE),
    cache=True,
)
def find_batch(  # type: ignore[no-untyped-def]
    data, start, stop, file_left, max_length, offset_min, offset_max, budget, crc32c, crc32
):
    """First proven batch in [start, stop) whose base offset lies in [offset_min, offset_max).

    `budget` bounds the bytes that may be checksummed for candidates that turn out false, so that
    hostile bytes cannot make the search quadratic. Returns (position, budget left, state) with
    AT_STOP for found, NEED_MORE when the data end first, NOT_PROVEN when nothing was found.
    """
    at = start
    end_of_data = data.shape[0]
    while at < stop and at + layout.LOG_OVERHEAD + layout.MIN_LENGTH_V0 <= file_left:
        if at + layout.MAGIC + 1 > end_of_data:
            return at, budget, NEED_MORE
        magic = np.int64(data[at + layout.MAGIC])
        if magic <= 2 and data[at] == 0:
            base_offset = read_int64(data, at)
            length = read_int32(data, at + layout.LENGTH)
            if (
                offset_min <= base_offset < offset_max
                and minimum_length(magic) <= length <= max_length
                and length + layout.LOG_OVERHEAD <= file_left - at
                and length <= budget
            ):
                end = frame_end(data, at, file_left - at, max_length, crc32c, crc32)
                if end == -2:
                    return at, budget, NEED_MORE
                if end >= 0:
                    return at, budget, AT_STOP
                budget -= length
        at += 1
    return min(stop, file_left), budget, NOT_PROVEN
