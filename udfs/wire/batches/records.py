"""Records of magic-2 batches (`DefaultRecord`, `EndTransactionMarker`): the record-level rules.

A record is a zig-zag varint length and a body that must be consumed exactly: attributes,
timestamp delta, offset delta, key, value, headers. Nothing may remain after the last record.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numba import int64, njit, types, void
from numpy.typing import NDArray

from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults
from udfs.wire.batches.batch_headers import BatchHeaders, Int64s
from udfs.wire.batches.walk import BYTES, read_int16, read_int32
from udfs.wire.errors import WireError
from udfs.wire.varint import decode_varint, decode_varlong

ABORT, COMMIT = 0, 1
CONTROL_UNKNOWN = -1
NO_TIMESTAMP = -(1 << 63)

# Rows of the matrix that check_batches fills.
FAULTS, MAX_TIMESTAMP, CONTROL_TYPE, COORDINATOR_EPOCH, TOMBSTONES = range(5)
RESULT_ROWS = 5

# Rows of the matrix that find_spans fills.
SECTION, OFFSET_DELTA, KEY_START, KEY_LENGTH, VALUE_START, VALUE_LENGTH = range(6)
TIMESTAMP_DELTA, HEADERS_START, RECORD_END = range(6, 9)
SPAN_ROWS = 9
SMALLEST_RECORD = 7


@njit(types.UniTuple(int64, 2)(BYTES, int64, int64, int64), cache=True)
def _varint(data, at, end, max_bytes):  # type: ignore[no-untyped-def]
    """(value, next position); position -1 when the varint is overlong or reaches past `end`."""
    value = np.uint64(0)
    shift = np.uint64(0)
    for i in range(max_bytes):
        if at + i >= end:
            return 0, -1
        byte = np.uint64(data[at + i])
        value |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            half = np.int64(value >> np.uint64(1))
            return (-half - 1 if value & np.uint64(1) else half), at + i + 1
        shift += np.uint64(7)
    return 0, -1


@njit(types.UniTuple(int64, 2)(BYTES, int64, int64), cache=True)
def _skip_bytes(data, at, end):  # type: ignore[no-untyped-def]
    """Skips a varint length and that many bytes: (length, next position or -1).

    Any length below 0 is null (`DefaultRecord.readFrom`).
    """
    length, at = _varint(data, at, end, 5)
    if at < 0 or length > end - at:
        return length, -1
    return length, at + max(length, 0)


@njit(int64(BYTES, int64, int64), cache=True)
def _skip_headers(data, at, end):  # type: ignore[no-untyped-def]
    """Position after the headers of a record, -1 when they are malformed."""
    header_count, at = _varint(data, at, end, 5)
    if at < 0 or header_count < 0 or header_count > end - at:
        return -1
    for _ in range(header_count):
        key_length, at = _skip_bytes(data, at, end)
        if at < 0 or key_length < 0:
            return -1
        _, at = _skip_bytes(data, at, end)
        if at < 0:
            return -1
    return at


@njit(types.UniTuple(int64, 4)(BYTES, int64, int64, int64, int64), cache=True)
def check_section(data, start, end, count, last_offset_delta):  # type: ignore[no-untyped-def]
    """Walks the records in data[start:end]: (faults, max timestamp delta, tombstones, records)."""
    mask = 0
    max_delta = NO_TIMESTAMP
    tombstones = 0
    previous = -1
    at = start
    for seen in range(count):
        if at >= end:
            return mask | faults.RECORD_COUNT_MISMATCH, max_delta, tombstones, seen
        size, at = _varint(data, at, end, 5)
        if at < 0 or size < 1 or size > end - at:
            return mask | faults.RECORD_MALFORMED, max_delta, tombstones, seen
        body_end = at + size
        timestamp_delta, at = _varint(data, at + 1, body_end, 10)
        if at < 0:
            return mask | faults.RECORD_MALFORMED, max_delta, tombstones, seen
        offset_delta, at = _varint(data, at, body_end, 5)
        if at < 0:
            return mask | faults.RECORD_MALFORMED, max_delta, tombstones, seen
        _, at = _skip_bytes(data, at, body_end)
        if at < 0:
            return mask | faults.RECORD_MALFORMED, max_delta, tombstones, seen
        value_length, at = _skip_bytes(data, at, body_end)
        if at < 0:
            return mask | faults.RECORD_MALFORMED, max_delta, tombstones, seen
        at = _skip_headers(data, at, body_end)
        if at != body_end:
            return mask | faults.RECORD_MALFORMED, max_delta, tombstones, seen
        if offset_delta <= previous or offset_delta > last_offset_delta:
            mask |= faults.RECORD_OFFSET_ORDER
        previous = offset_delta
        max_delta = max(max_delta, timestamp_delta)
        if value_length < 0:
            tombstones += 1
    if at != end:
        mask |= faults.RECORD_COUNT_MISMATCH
    return mask, max_delta, tombstones, count


@njit(types.UniTuple(int64, 4)(BYTES, int64, int64), cache=True)
def read_marker(data, start, end):  # type: ignore[no-untyped-def]
    """One control record: (faults, control type, coordinator epoch, timestamp delta)."""
    bad = (faults.CONTROL_MALFORMED, CONTROL_UNKNOWN, -1, 0)
    size, at = _varint(data, start, end, 5)
    if at < 0 or size < 1 or at + size != end:
        return bad
    timestamp_delta, at = _varint(data, at + 1, end, 10)
    if at < 0:
        return bad
    _, at = _varint(data, at, end, 5)
    if at < 0:
        return bad
    key_length, at = _varint(data, at, end, 5)
    if at < 0 or key_length < 4 or key_length > end - at:
        return bad
    if read_int16(data, at) < 0:
        return bad
    control_type = read_int16(data, at + 2)
    value_length, at = _varint(data, at + key_length, end, 5)
    if at < 0 or value_length > end - at:
        return bad
    if control_type != ABORT and control_type != COMMIT:
        return faults.CONTROL_TYPE_UNKNOWN, control_type, -1, timestamp_delta
    if value_length < 6 or read_int16(data, at) < 0:
        return bad
    return 0, control_type, read_int32(data, at + 2), timestamp_delta


@njit(
    void(
        BYTES,
        int64[::1],
        int64[::1],
        int64[::1],
        int64[::1],
        int64[::1],
        int64[::1],
        types.boolean,
        types.Array(int64, 2, "C"),
    ),
    cache=True,
)
def _check_batches(  # type: ignore[no-untyped-def]
    data, position, length, attributes, last_offset_delta, count, magic, with_data, out
):
    for i in range(position.shape[0]):
        start = position[i] + layout.HEADER_SIZE
        end = position[i] + length[i]
        out[FAULTS, i] = 0
        out[MAX_TIMESTAMP, i] = NO_TIMESTAMP
        out[CONTROL_TYPE, i] = CONTROL_UNKNOWN
        out[COORDINATOR_EPOCH, i] = -1
        out[TOMBSTONES, i] = 0
        if magic[i] < 2 or attributes[i] & layout.CODEC_MASK:
            continue
        if attributes[i] & layout.CONTROL_MASK:
            if count[i] == 1:
                mask, kind, epoch, delta = read_marker(data, start, end)
                out[FAULTS, i] = mask
                out[CONTROL_TYPE, i] = kind
                out[COORDINATOR_EPOCH, i] = epoch
                out[MAX_TIMESTAMP, i] = delta
        elif with_data and count[i] >= 0:
            mask, delta, tombstones, _ = check_section(
                data, start, end, count[i], last_offset_delta[i]
            )
            out[FAULTS, i] = mask
            out[MAX_TIMESTAMP, i] = delta
            out[TOMBSTONES, i] = tombstones


def check_plain_batches(
    data: NDArray[np.uint8], headers: BatchHeaders, with_data: bool
) -> NDArray[np.int64]:
    """Record-level results of all uncompressed batches, one column a batch.

    Rows: FAULTS (bits), MAX_TIMESTAMP (largest timestamp delta, ms, NO_TIMESTAMP where none),
    CONTROL_TYPE, COORDINATOR_EPOCH, TOMBSTONES (count). Columns of compressed batches and of magic
    0 and 1 hold the neutral values; `with_data=False` reads control records only.
    """
    out = np.empty((RESULT_ROWS, headers.record_count.shape[0]), dtype=np.int64)
    _check_batches(
        data,
        headers.position,
        headers.length,
        headers.attributes,
        headers.last_offset_delta,
        headers.record_count,
        headers.magic,
        with_data,
        out,
    )
    return out


@njit(
    int64(BYTES, int64[::1], int64[::1], int64[::1], types.Array(int64, 2, "C")),
    cache=True,
)
def _find_spans(data, start, end, count, out):  # type: ignore[no-untyped-def]
    """Fills one column of `out` a record; returns the number of records found."""
    found = 0
    for i in range(start.shape[0]):
        at = start[i]
        for _ in range(count[i]):
            size, at = _varint(data, at, end[i], 5)
            if at < 0 or size < 1 or size > end[i] - at:
                break
            body_end = at + size
            written, at = _varint(data, at + 1, body_end, 10)
            if at < 0:
                break
            delta, at = _varint(data, at, body_end, 5)
            if at < 0:
                break
            key_length, key_end = _skip_bytes(data, at, body_end)
            if key_end < 0:
                break
            value_length, value_end = _skip_bytes(data, key_end, body_end)
            if value_end < 0:
                break
            out[SECTION, found] = i
            out[OFFSET_DELTA, found] = delta
            out[KEY_START, found] = key_end - max(key_length, 0)
            out[KEY_LENGTH, found] = key_length
            out[VALUE_START, found] = value_end - max(value_length, 0)
            out[VALUE_LENGTH, found] = value_length
            out[TIMESTAMP_DELTA, found] = written
            out[HEADERS_START, found] = value_end
            out[RECORD_END, found] = body_end
            found += 1
            at = body_end
    return found


def find_spans(
    data: NDArray[np.uint8], start: Int64s, end: Int64s, count: Int64s
) -> NDArray[np.int64]:
    """Where keys and values lie in plain sections: one column a record, without copying any.

    Section i is data[start[i]:end[i]] and announces count[i] records. Rows: SECTION (i),
    OFFSET_DELTA, KEY_START, KEY_LENGTH, VALUE_START, VALUE_LENGTH (-1 for null), TIMESTAMP_DELTA
    (ms), HEADERS_START, RECORD_END. A section ends at its first malformed record, which is a fault
    of its batch.
    """
    # No record is shorter than its length and six empty fields; counts may lie.
    room = np.minimum(np.maximum(count, 0), (end - start) // SMALLEST_RECORD + 1)
    out = np.empty((SPAN_ROWS, int(room.sum())), dtype=np.int64)
    found = _find_spans(data, start, end, room, out)
    return out[:, :found]


def timestamp_faults(headers: BatchHeaders, max_delta: Int64s) -> Int64s:
    """MAX_TIMESTAMP_MISMATCH bits: CreateTime batches whose maximum is not that of a record."""
    known = (max_delta != NO_TIMESTAMP) & ~headers.log_append_time & (headers.record_count > 0)
    differs = headers.base_timestamp + np.where(known, max_delta, 0) != headers.max_timestamp
    return np.where(known & differs, np.int64(faults.MAX_TIMESTAMP_MISMATCH), np.int64(0))


class Record(NamedTuple):
    """One record: deltas against its batch, key, value, and headers in order."""

    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def _nullable_bytes(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = decode_varint(data, at)
    if length < 0:
        return None, at
    if length > end - at:
        raise WireError("length_out_of_bounds", f"length {length} bytes, {end - at} left")
    return data[at : at + length], at + length


def _read_record(data: bytes, at: int, end: int) -> Record:
    timestamp_delta, at = decode_varlong(data, at + 1)
    offset_delta, at = decode_varint(data, at)
    key, at = _nullable_bytes(data, at, end)
    value, at = _nullable_bytes(data, at, end)
    return Record(timestamp_delta, offset_delta, key, value, read_record_headers(data, at, end))


def read_record_headers(data: bytes, at: int, end: int) -> tuple[tuple[str, bytes | None], ...]:
    """The headers of a record, which fill data[at:end]. Raises WireError."""
    header_count, at = decode_varint(data, at)
    if not 0 <= header_count <= end - at:
        raise WireError("length_out_of_bounds", f"header count {header_count}")
    headers = []
    for _ in range(header_count):
        name, at = _nullable_bytes(data, at, end)
        content, at = _nullable_bytes(data, at, end)
        headers.append(((name or b"").decode("utf-8", "replace"), content))
    if at != end:
        raise WireError("bytes_left_over", f"record body ends at {at}, expected {end}")
    return tuple(headers)


def iter_records(section: bytes, count: int) -> Iterator[Record]:
    """Yields the records of a decompressed section. Raises WireError at the first bad one."""
    at = 0
    for _ in range(count):
        size, at = decode_varint(section, at)
        if not 1 <= size <= len(section) - at:
            raise WireError("length_out_of_bounds", f"record of {size} bytes")
        yield _read_record(section, at, at + size)
        at += size
    if at != len(section):
        raise WireError("bytes_left_over", f"{len(section) - at} bytes after the last record")
