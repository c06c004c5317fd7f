"""Many records of `__consumer_offsets` at once: distinct keys, and the offsets of commits."""

import numpy as np
from numba import int64, njit, types, void
from numpy.typing import NDArray

from udfs.wire.batches import records
from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.batches.walk import BYTES, read_int16, read_int64
from udfs.wire.distinct import Distinct
from udfs.wire.errors import WireError
from udfs.wire.offsets import offsets_log

NO_OFFSET = -1
# What is left of a version 4 value after its commit timestamp: no tags, or the topic id alone.
NO_TAGS_SIZE = 1
TOPIC_ID_TAG_SIZE = 19


def _decode_key(stored: bytes | None) -> offsets_log.GroupKey:
    if stored is None:
        raise WireError("unexpected_null", "null key")
    return offsets_log.decode_key(stored)


class Keys(Distinct[bytes | None, offsets_log.GroupKey]):
    """The distinct keys of a split."""

    def __init__(self) -> None:
        """No key has been seen yet."""
        super().__init__(_decode_key)

    def number(self, data: bytes, spans: NDArray[np.int64]) -> Int64s:
        """Numbers of the keys at `spans` (rows of `records.find_spans`); new ones are decoded."""
        places = zip(
            spans[records.KEY_START].tolist(), spans[records.KEY_LENGTH].tolist(), strict=True
        )
        return self.numbers(None if size < 0 else data[at : at + size] for at, size in places)


@njit(int64(BYTES, int64, int64), cache=True)
def _plain_metadata_end(data, at, end):  # type: ignore[no-untyped-def]
    """Position after a string with an int16 length, -1 where it does not fit."""
    if end - at < 2:
        return -1
    size = read_int16(data, at)
    return at + 2 + size if 0 <= size <= end - at - 2 else -1


@njit(types.boolean(BYTES, int64, int64), cache=True)
def _is_plain_commit(data, at, end):  # type: ignore[no-untyped-def]
    """Whether data[at:end] is a commit of a known version, of the shapes that brokers write."""
    if end - at < 10:
        return False
    version = read_int16(data, at)
    if version < 0 or version > 4:
        return False
    at += 10 if version < 3 else 14
    if version < 4:
        at = _plain_metadata_end(data, at, end)
        return at >= 0 and end - at == (16 if version == 1 else 8)
    # A longer string than 126 bytes takes the long way.
    if end - at < 1 or data[at] < 1 or data[at] > 127:
        return False
    at += np.int64(data[at]) + 8
    left = end - at
    if left == NO_TAGS_SIZE:
        return data[at] == 0
    return left == TOPIC_ID_TAG_SIZE and data[at] == 1 and data[at + 1] == 0 and data[at + 2] == 16


@njit(void(BYTES, int64[::1], int64[::1], int64[::1], types.boolean[::1]), cache=True)
def _read_commits(data, start, length, offset, sound):  # type: ignore[no-untyped-def]
    for i in range(start.shape[0]):
        sound[i] = _is_plain_commit(data, start[i], start[i] + length[i])
        offset[i] = read_int64(data, start[i] + 2) if sound[i] else NO_OFFSET


def read_commits(
    data: NDArray[np.uint8], start: Int64s, length: Int64s
) -> tuple[Int64s, dict[int, str]]:
    """(committed offsets, error by index) of the values at `start`; -1 for what has none.

    `length` -1 is a tombstone. Shapes that the kernel does not know are decoded one by one.
    """
    offset = np.empty(start.size, dtype=np.int64)
    sound = np.empty(start.size, dtype=np.bool_)
    _read_commits(data, np.ascontiguousarray(start), np.ascontiguousarray(length), offset, sound)
    errors = {}
    for i in np.flatnonzero(~sound & (length >= 0)).tolist():
        try:
            value = data[start[i] : start[i] + length[i]].tobytes()
            offset[i] = offsets_log.decode_offset_commit(value).offset
        except WireError as error:
            errors[i] = f"{error.reason}: {error.detail}"
    return offset, errors
