"""Where the parts of a message of magic 0 or 1 lie (`LegacyRecord`; KIP-31, KIP-32)."""

from collections.abc import Iterator

import numpy as np
from numba import int64, njit, types
from numpy.typing import NDArray

from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.batches.records import (
    HEADERS_START,
    KEY_LENGTH,
    KEY_START,
    OFFSET_DELTA,
    RECORD_END,
    SECTION,
    SPAN_ROWS,
    TIMESTAMP_DELTA,
    VALUE_LENGTH,
    VALUE_START,
    Record,
)
from udfs.wire.batches.walk import BYTES, minimum_length, read_int32, read_int64
from udfs.wire.errors import WireError
from udfs.wire.legacy import legacy_layout

MALFORMED = "length_out_of_bounds"
SMALLEST_MESSAGE = layout.LOG_OVERHEAD + layout.MIN_LENGTH_V0


@njit(int64(BYTES, int64, int64), cache=True)
def message_end(data, at, end):  # type: ignore[no-untyped-def]
    """Where the message at `at` ends, by its length; -1 where that cannot be before `end`."""
    if at + SMALLEST_MESSAGE > end:
        return -1
    magic = np.int64(data[at + layout.MAGIC])
    length = read_int32(data, at + layout.LENGTH)
    if magic > 1 or length < minimum_length(magic) or length > end - at - layout.LOG_OVERHEAD:
        return -1
    return at + layout.LOG_OVERHEAD + length


@njit(types.UniTuple(int64, 4)(BYTES, int64, int64), cache=True)
def content(data, at, end):  # type: ignore[no-untyped-def]
    """(key start, key length, value start, value length) of the message in data[at:end].

    A length of -1 is a null; key start is -1 where key or value do not fit.
    """
    start = at + (legacy_layout.KEY_V1 if data[at + layout.MAGIC] else legacy_layout.KEY_V0)
    key_start = start + legacy_layout.LENGTH_SIZE
    key_length = read_int32(data, start)
    if key_length < -1 or key_length > end - key_start - legacy_layout.LENGTH_SIZE:
        return -1, 0, 0, 0
    start = key_start + max(key_length, 0)
    value_start = start + legacy_layout.LENGTH_SIZE
    value_length = read_int32(data, start)
    if value_length < -1 or value_length > end - value_start:
        return -1, 0, 0, 0
    return key_start, key_length, value_start, value_length


def is_old_message(data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether data[at:end] is a message of magic 0 or 1 by the lengths of its key and value."""
    if data[at + layout.MAGIC] > 1:
        return False
    key_start, _, value_start, value_length = content(data, at, end)
    return bool(key_start >= 0 and value_start + max(value_length, 0) == end)


@njit(int64(BYTES, int64), cache=True)
def timestamp_of(data, at):  # type: ignore[no-untyped-def]
    """Timestamp of the message at `at`, ms; -1 for magic 0."""
    if data[at + layout.MAGIC] == 0:
        return legacy_layout.NO_TIMESTAMP
    return read_int64(data, at + legacy_layout.TIMESTAMP)


@njit(int64(BYTES, int64[::1], int64[::1], types.Array(int64, 2, "C")), cache=True)
def _find_spans(data, start, end, out):  # type: ignore[no-untyped-def]
    """Fills one column of `out` a message; returns the number of messages found."""
    found = 0
    for i in range(start.shape[0]):
        at = start[i]
        first = read_int64(data, at) if at < end[i] else 0
        while at < end[i]:
            after = message_end(data, at, end[i])
            if after < 0:
                break
            key_start, key_length, value_start, value_length = content(data, at, after)
            if key_start < 0:
                break
            out[SECTION, found] = i
            out[OFFSET_DELTA, found] = read_int64(data, at) - first
            out[KEY_START, found] = key_start
            out[KEY_LENGTH, found] = key_length
            out[VALUE_START, found] = value_start
            out[VALUE_LENGTH, found] = value_length
            out[TIMESTAMP_DELTA, found] = timestamp_of(data, at) - timestamp_of(data, start[i])
            out[HEADERS_START, found] = value_start + max(value_length, 0)
            out[RECORD_END, found] = out[HEADERS_START, found]
            found += 1
            at = after
    return found


def find_spans(
    data: NDArray[np.uint8], start: Int64s, end: Int64s, count: Int64s
) -> NDArray[np.int64]:
    """Where keys and values of plain messages lie, as in `batches.records.find_spans`.

    Section i is data[start[i]:end[i]], one plain message or those of a wrapper; there are
    count[i] of them.
    """
    out = np.empty((SPAN_ROWS, int(count.sum())), dtype=np.int64)
    found = _find_spans(data, start, end, out)
    return out[:, :found]


def iter_messages(section: bytes) -> Iterator[Record]:
    """Yields the plain messages of a section as records; their deltas are those to the first.

    Raises WireError at the first bad one.
    """
    data = np.frombuffer(section, dtype=np.uint8)
    at, first = 0, None
    while at < len(section):
        end = int(message_end(data, at, len(section)))
        key_start, key_length, value_start, value_length = (
            content(data, at, end) if end >= 0 else (-1, 0, 0, 0)
        )
        if key_start < 0:
            raise WireError(MALFORMED, f"message at {at} extends beyond the end")
        offset, timestamp = int(read_int64(data, at)), int(timestamp_of(data, at))
        first = first or (offset, timestamp)
        yield Record(
            timestamp - first[1],
            offset - first[0],
            None if key_length < 0 else section[key_start : key_start + key_length],
            None if value_length < 0 else section[value_start : value_start + value_length],
            (),
        )
        at = end
