"""Fingerprints: equal for the same bytes. Those of batches are cheap where checksums are proven.

The stored checksum of a proven batch stands for all bytes after it, so the header, with that
checksum and with the offset, length and partition leader epoch that it does not cover, stands for
the whole batch. A fingerprint therefore reads no more than the header.
"""

import numpy as np
from numba import int64, njit, uint64, void
from numpy.typing import NDArray

from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.batches.walk import BYTES, read_int32, read_int64

WORD_BYTES = 8
SEED = 0x9E3779B97F4A7C15
FACTOR_1 = 0xFF51AFD7ED558CCD
FACTOR_2 = 0xC4CEB9FE1A85EC53


@njit(uint64(uint64), cache=True)
def _mix(value):  # type: ignore[no-untyped-def]
    """The finaliser of MurmurHash3: every bit of the input changes half of the output."""
    value ^= value >> uint64(33)
    value *= uint64(FACTOR_1)
    value ^= value >> uint64(33)
    value *= uint64(FACTOR_2)
    return value ^ (value >> uint64(33))


@njit(int64(BYTES, int64, int64, uint64), cache=True)
def _hash(data, at, end, value):  # type: ignore[no-untyped-def]
    """One number for data[at:end], begun with a value."""
    while at + WORD_BYTES <= end:
        value = _mix(value ^ uint64(read_int64(data, at)))
        at += WORD_BYTES
    rest = uint64(0)
    while at < end:
        rest = (rest << uint64(8)) | uint64(data[at])
        at += 1
    return int64(_mix(value ^ rest))


@njit(void(BYTES, int64[::1], int64[::1]), cache=True)
def _fill(data, positions, out):  # type: ignore[no-untyped-def]
    for i in range(positions.shape[0]):
        at = positions[i]
        size = read_int32(data, at + layout.LENGTH) + layout.LOG_OVERHEAD
        end = at + min(size, layout.HEADER_SIZE)
        out[i] = _hash(data, at, end, uint64(SEED))


def fingerprints(data: NDArray[np.uint8], positions: Int64s) -> Int64s:
    """One number for each proven batch, of any magic, that starts at a position."""
    out = np.empty(positions.shape[0], dtype=np.int64)
    _fill(data, positions, out)
    return out


@njit(void(BYTES, int64[::1], int64[::1], int64[::1]), cache=True)
def _fill_pieces(data, start, length, out):  # type: ignore[no-untyped-def]
    for i in range(start.shape[0]):
        at = start[i]
        end = at + max(length[i], 0)
        out[i] = _hash(data, at, end, _mix(uint64(SEED) ^ uint64(length[i])))


def piece_fingerprints(data: NDArray[np.uint8], start: Int64s, length: Int64s) -> Int64s:
    """One number for each key or value data[start:start + length]; length -1 for null."""
    out = np.empty(start.shape[0], dtype=np.int64)
    _fill_pieces(data, np.ascontiguousarray(start), np.ascontiguousarray(length), out)
    return out


@njit(void(int64[::1], int64[::1]), cache=True)
def _stir(column, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        out[i] = int64(_mix(uint64(out[i]) ^ uint64(column[i])))


def joined_fingerprints(columns: list[Int64s]) -> Int64s:
    """One number for each row of the columns, which are equally long."""
    out = np.full(columns[0].shape[0], np.int64(1), dtype=np.int64)
    for column in columns:
        _stir(np.ascontiguousarray(column, dtype=np.int64), out)
    return out
