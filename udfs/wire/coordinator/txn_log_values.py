"""Many values of `__transaction_state` at once (`TransactionLogValue`).

Only what brokers write is read here; whatever else there is takes the long way through
`udfs.wire.coordinator.txn_log`, which says what is wrong with it.
"""

import numpy as np
from numba import int64, njit, types
from numpy.typing import NDArray

from udfs.rules.coordinator_step import UNTOLD_VERSION
from udfs.wire.batches.batch_headers import Bools, Int64s
from udfs.wire.batches.walk import BYTES, read_int16, read_int32, read_int64

# Rows of the matrix that read_values fills; positions are those in the data.
(
    FLEXIBLE,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    TIMEOUT_MS,
    STATUS,
    LIST_START,
    LIST_END,
    LAST_UPDATE_MS,
    START_MS,
    NEXT_PRODUCER_ID,
    CLIENT_TRANSACTION_VERSION,
) = range(11)
VALUE_ROWS = 11

# Version, producer id, producer epoch, timeout, status.
HEAD_SIZE = 17
TIMES_SIZE = 16
# A varint of more bytes than that is no count of a value that a broker wrote.
MOST_VARINT_BYTES = 3
NO_MATCH = -1

_PAIR = types.UniTuple(int64, 2)


@njit(_PAIR(BYTES, int64, int64), cache=True)
def _unsigned_varint(data, at, end):  # type: ignore[no-untyped-def]
    """(value, position after it); a position of -1 where it does not fit."""
    value = np.int64(0)
    for i in range(MOST_VARINT_BYTES):
        if at + i >= end:
            return np.int64(0), np.int64(NO_MATCH)
        byte = np.int64(data[at + i])
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            return value, np.int64(at + i + 1)
    return np.int64(0), np.int64(NO_MATCH)


@njit(int64(BYTES, int64, int64), cache=True)
def _plain_list_end(data, at, end):  # type: ignore[no-untyped-def]
    """Position after the partitions of a version 0 value."""
    if end - at < 4:
        return NO_MATCH
    topics = read_int32(data, at)
    at += 4
    for _ in range(topics):
        if end - at < 2:
            return NO_MATCH
        name = read_int16(data, at)
        at += 2 + name
        if name < 0 or end - at < 4:
            return NO_MATCH
        count = read_int32(data, at)
        if count < 0 or count > (end - at) // 4:
            return NO_MATCH
        at += 4 + 4 * count
    return at if topics >= -1 and at <= end else NO_MATCH


@njit(int64(BYTES, int64, int64), cache=True)
def _flexible_list_end(data, at, end):  # type: ignore[no-untyped-def]
    """Position after the partitions of a version 1 value, whose topics have no tags."""
    topics, at = _unsigned_varint(data, at, end)
    if at < 0:
        return NO_MATCH
    for _ in range(topics - 1):
        name, at = _unsigned_varint(data, at, end)
        if at < 0 or name < 1 or name - 1 > end - at:
            return NO_MATCH
        count, at = _unsigned_varint(data, at + name - 1, end)
        if at < 0 or count < 1 or count - 1 > (end - at) // 4:
            return NO_MATCH
        at += 4 * (count - 1)
        if at >= end or data[at] != 0:
            return NO_MATCH
        at += 1
    return at


@njit(types.boolean(BYTES, int64, int64, types.Array(int64, 2, "C"), int64), cache=True)
def _read_tags(data, at, end, out, i):  # type: ignore[no-untyped-def]
    """The tags of a version 1 value up to its end; false for an order or size that is unusual."""
    number, at = _unsigned_varint(data, at, end)
    previous = np.int64(-1)
    for _ in range(number):
        tag, at = _unsigned_varint(data, at, end)
        if at < 0 or tag <= previous or tag > 3:
            return False
        previous = tag
        size, at = _unsigned_varint(data, at, end)
        if at < 0 or size > end - at or size != (8 if tag < 2 else 2):
            return False
        if tag == 1:
            out[NEXT_PRODUCER_ID, i] = read_int64(data, at)
        elif tag == 2:
            out[CLIENT_TRANSACTION_VERSION, i] = read_int16(data, at)
        at += size
    return at == end


@njit(types.boolean(BYTES, int64, int64, types.Array(int64, 2, "C"), int64), cache=True)
def _read_value(data, at, end, out, i):  # type: ignore[no-untyped-def]
    if end - at < HEAD_SIZE:
        return False
    version = read_int16(data, at)
    if version < 0 or version > 1:
        return False
    out[FLEXIBLE, i] = version
    out[PRODUCER_ID, i] = read_int64(data, at + 2)
    out[PRODUCER_EPOCH, i] = read_int16(data, at + 10)
    out[TIMEOUT_MS, i] = read_int32(data, at + 12)
    out[STATUS, i] = np.int8(data[at + 16])
    out[NEXT_PRODUCER_ID, i] = -1
    out[CLIENT_TRANSACTION_VERSION, i] = 0 if version else UNTOLD_VERSION
    at += HEAD_SIZE
    out[LIST_START, i] = at
    at = _flexible_list_end(data, at, end) if version else _plain_list_end(data, at, end)
    out[LIST_END, i] = at
    if at < 0 or end - at < TIMES_SIZE:
        return False
    out[LAST_UPDATE_MS, i] = read_int64(data, at)
    out[START_MS, i] = read_int64(data, at + 8)
    at += TIMES_SIZE
    return _read_tags(data, at, end, out, i) if version else at == end


@njit(
    types.void(BYTES, int64[::1], int64[::1], types.Array(int64, 2, "C"), types.boolean[::1]),
    cache=True,
)
def _read_values(data, start, length, out, usual):  # type: ignore[no-untyped-def]
    for i in range(start.shape[0]):
        usual[i] = _read_value(data, start[i], start[i] + length[i], out, i)


def read_values(
    data: NDArray[np.uint8], start: Int64s, length: Int64s
) -> tuple[NDArray[np.int64], Bools]:
    """(fields, usual): one column a value at `start`; where not `usual`, it says nothing.

    LIST_START and LIST_END bound the stored partitions; FLEXIBLE is the version. A `length` of -1
    is a tombstone, which is not usual.
    """
    out = np.zeros((VALUE_ROWS, start.size), dtype=np.int64)
    usual = np.zeros(start.size, dtype=np.bool_)
    _read_values(data, np.ascontiguousarray(start), np.ascontiguousarray(length), out, usual)
    return out, usual
