"""Wrappers of magic 0 and 1: compressed messages that hold others (`AbstractLegacyRecordBatch`).

A message holds one key and value. A compressed one, a wrapper, holds compressed messages as its
value; it is one batch, and its own offset is that of the last of them. Offsets of the messages
inside are absolute in a wrapper of magic 0, and relative to each other in one of magic 1 (KIP-31).
"""

from typing import NamedTuple

import numpy as np
from numba import int64, njit, types, void
from numpy.typing import NDArray

from udfs.wire import bounds, codecs
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults
from udfs.wire.batches.batch_headers import BatchHeaders, Int64s
from udfs.wire.batches.records import NO_TIMESTAMP
from udfs.wire.batches.walk import BYTES, CRC32_TABLE, TABLE, checksum, read_int32, read_int64
from udfs.wire.errors import WireError
from udfs.wire.legacy import legacy_layout
from udfs.wire.legacy.legacy_messages import MALFORMED, content, message_end, timestamp_of

EMPTY_WRAPPER = "empty_wrapper"
# What WireErrors mean for a batch; every other one is DECOMPRESSION_FAILED.
FAULT_OF_REASON = {
    "decompressed_size_limit": faults.DECOMPRESSED_SIZE_LIMIT,
    EMPTY_WRAPPER: faults.WRAPPER_EMPTY,
    MALFORMED: faults.RECORD_MALFORMED,
}


@njit(types.UniTuple(int64, 6)(BYTES, TABLE), cache=True)
def check_set(data, crc32):  # type: ignore[no-untyped-def]
    """Walks the messages of an opened wrapper, up to the first that breaks a rule.

    Returns (fault, first offset, last offset, first timestamp, largest timestamp relative to the
    first, messages). With a fault the others mean nothing.
    """
    at, count, end_of_data = 0, 0, data.shape[0]
    first, previous = np.int64(-1), np.int64(-1)
    first_timestamp, largest = np.int64(legacy_layout.NO_TIMESTAMP), np.int64(-1)
    while at < end_of_data:
        end = message_end(data, at, end_of_data)
        if end < 0:
            return faults.RECORD_MALFORMED, 0, 0, 0, 0, 0
        stored = np.uint32(read_int32(data, at + legacy_layout.CRC) & 0xFFFFFFFF)
        if checksum(data, at + layout.MAGIC, end, crc32) != stored:
            return faults.WRAPPER_INNER_CRC, 0, 0, 0, 0, 0
        if data[at + legacy_layout.ATTRIBUTES] & layout.CODEC_MASK:
            return faults.WRAPPER_NESTED, 0, 0, 0, 0, 0
        key_start, _, _, _ = content(data, at, end)
        if key_start < 0:
            return faults.RECORD_MALFORMED, 0, 0, 0, 0, 0
        offset = read_int64(data, at)
        if offset <= previous:
            return faults.WRAPPER_ORDER, 0, 0, 0, 0, 0
        timestamp = timestamp_of(data, at)
        if count == 0:
            first, first_timestamp, largest = offset, timestamp, timestamp
        largest = max(largest, timestamp)
        previous = offset
        count += 1
        at = end
    if count == 0:
        return faults.WRAPPER_EMPTY, 0, 0, 0, 0, 0
    return 0, first, previous, first_timestamp, largest - first_timestamp, count


def inner_messages(message: bytes, limit: int) -> bytes:
    """The messages in a wrapper, decompressed up to `limit` bytes.

    Raises WireError, whose reason FAULT_OF_REASON turns into a fault.
    """
    magic, codec = message[layout.MAGIC], message[legacy_layout.ATTRIBUTES] & layout.CODEC_MASK
    key_start, _, value_start, value_length = content(
        np.frombuffer(message, dtype=np.uint8), 0, len(message)
    )
    if key_start < 0:
        raise WireError(MALFORMED, "key or value extends beyond the message")
    if value_length < 0:
        raise WireError(EMPTY_WRAPPER, "a compressed message without a value")
    stored = message[value_start : value_start + value_length]
    decompress = codecs.decompress if magic else codecs.decompress_magic_0
    return decompress(codec, stored, limit)


class Opened(NamedTuple):
    """What a wrapper holds: offsets (inclusive) and timestamps (ms) of its messages.

    `largest_timestamp` is relative to `first_timestamp`. With a `fault` nothing else is known.
    """

    fault: int
    first_offset: int = 0
    last_offset: int = 0
    first_timestamp: int = legacy_layout.NO_TIMESTAMP
    largest_timestamp: int = NO_TIMESTAMP
    messages: int = 1


def open_wrapper(message: bytes, limit: int) -> Opened:
    """Opens one wrapper; `limit` bounds its decompressed messages, bytes."""
    try:
        plain = inner_messages(message, limit)
    except WireError as error:
        return Opened(FAULT_OF_REASON.get(error.reason, faults.DECOMPRESSION_FAILED))
    fault, first, last, timestamp, largest, count = check_set(
        np.frombuffer(plain, dtype=np.uint8), CRC32_TABLE
    )
    if fault:
        return Opened(fault)
    offset = int.from_bytes(message[: layout.LENGTH], "big", signed=True)
    if offset == 0:
        # Some versions of librdkafka left it at 0: the offsets inside count.
        offset = last
    if offset < last:
        return Opened(faults.WRAPPER_OFFSET)
    if message[layout.MAGIC] == 1:
        first += offset - last
    return Opened(0, first, offset, timestamp, largest, count)


@njit(void(BYTES, int64[::1], int64[::1], int64[::1]), cache=True)
def _check_plain(data, position, length, out):  # type: ignore[no-untyped-def]
    for i in range(position.shape[0]):
        key_start, _, _, _ = content(data, position[i], position[i] + length[i])
        out[i] = faults.RECORD_MALFORMED if key_start < 0 else 0


def check_messages(
    data: NDArray[np.uint8], headers: BatchHeaders, limit: int
) -> tuple[Int64s, Int64s, Int64s]:
    """Opens all wrappers and fills in their offsets, counts and first timestamps in `headers`.

    Returns (indices of the batches of magic 0 and 1, their fault bits, their largest timestamps
    relative to the base timestamp, ms, NO_TIMESTAMP where there is none).
    """
    old = np.flatnonzero(headers.magic < 2).astype(np.int64)
    codec = headers.attributes[old] & layout.CODEC_MASK
    fault = np.where(
        codec > legacy_layout.HIGHEST_CODEC, np.int64(faults.CODEC_INVALID), np.int64(0)
    )
    plain = codec == 0
    stamped = plain & (headers.magic[old] == 1)
    largest = np.where(stamped, np.int64(0), np.int64(NO_TIMESTAMP))
    checked = np.empty(int(plain.sum()), dtype=np.int64)
    _check_plain(data, headers.position[old[plain]], headers.length[old[plain]], checked)
    fault[plain] = checked
    for k in np.flatnonzero(~plain & (codec <= legacy_layout.HIGHEST_CODEC)).tolist():
        i = int(old[k])
        start = int(headers.position[i])
        opened = open_wrapper(data[start : start + int(headers.length[i])].tobytes(), limit)
        fault[k] = opened.fault
        if opened.fault:
            continue
        headers.base_offset[i] = opened.first_offset
        headers.last_offset_delta[i] = min(opened.last_offset - opened.first_offset, bounds.HIGHEST)
        headers.record_count[i] = opened.messages
        if headers.magic[i] == 1:
            headers.base_timestamp[i] = opened.first_timestamp
            largest[k] = opened.largest_timestamp
    return old, fault, largest
