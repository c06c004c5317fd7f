"""Header fields of many batches as arrays, and the faults that headers alone show.

A message of magic 0 or 1 is a batch without a producer: its offset is the base offset and the last
one, until `udfs.wire.legacy.legacy_wrappers` has opened the wrappers among them.
"""

from typing import NamedTuple

import numpy as np
from numba import int64, njit, types, void
from numpy.typing import NDArray

from udfs.rules.producer_step import sequence_at
from udfs.wire import bounds
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults
from udfs.wire.batches.walk import BYTES, read_int16, read_int32, read_int64
from udfs.wire.legacy import legacy_layout

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

FIELDS = (
    "position",
    "length",
    "base_offset",
    "partition_leader_epoch",
    "attributes",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
    "magic",
    "checksum",
)
_FIELDS_COUNT = len(FIELDS)


class BatchHeaders(NamedTuple):
    """One array a field, one element a batch, in file order.

    `position` is the index of the batch in the buffer, `length` the whole size in bytes
    (12 more than the stored length field). `checksum`: as stored, from 0; -1 where not known.
    """

    position: Int64s
    length: Int64s
    base_offset: Int64s
    partition_leader_epoch: Int64s
    attributes: Int64s
    last_offset_delta: Int64s
    base_timestamp: Int64s
    max_timestamp: Int64s
    producer_id: Int64s
    producer_epoch: Int64s
    base_sequence: Int64s
    record_count: Int64s
    magic: Int64s
    checksum: Int64s

    @property
    def last_offset(self) -> Int64s:
        """Offset of the last record the batch had when it was written (inclusive)."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> Int64s:
        """Last sequence, with the wrap from 2147483647 to 0; -1 without a base sequence."""
        last = sequence_at(self.base_sequence, np.maximum(self.last_offset_delta, 0))
        return np.where(self.base_sequence < 0, np.int64(-1), last)

    def bounded(self) -> "BatchHeaders":
        """With offsets and timestamps that can be reckoned with (`udfs.wire.bounds`)."""
        return self._replace(
            base_offset=bounds.offsets(self.base_offset),
            base_timestamp=bounds.timestamps(self.base_timestamp),
            max_timestamp=bounds.timestamps(self.max_timestamp),
        )

    def _has(self, mask: int) -> Bools:
        flags: Bools = np.not_equal(self.attributes & mask, 0)
        return flags

    @property
    def control(self) -> Bools:
        """Whether the batch is a control batch."""
        return self._has(layout.CONTROL_MASK)

    @property
    def transactional(self) -> Bools:
        """Whether the batch belongs to a transaction."""
        return self._has(layout.TRANSACTIONAL_MASK)

    @property
    def codec(self) -> Int64s:
        """Codec number, 0 to 7; 5 and above are illegal."""
        return self.attributes & layout.CODEC_MASK

    @property
    def log_append_time(self) -> Bools:
        """Whether timestamps are the broker's."""
        return self._has(layout.TIMESTAMP_TYPE_MASK)

    @property
    def delete_horizon(self) -> Bools:
        """Whether the base timestamp holds a delete horizon set by the cleaner."""
        return self._has(layout.DELETE_HORIZON_MASK)


@njit(void(BYTES, int64, int64[:]), cache=True)
def _read_message(data, at, out):  # type: ignore[no-untyped-def]
    """One column for a message of magic 0 or 1; what it does not have is -1."""
    out[:] = -1
    magic = np.int64(data[at + layout.MAGIC])
    attributes = np.int64(data[at + legacy_layout.ATTRIBUTES])
    out[0] = at
    out[1] = read_int32(data, at + layout.LENGTH) + layout.LOG_OVERHEAD
    out[2] = read_int64(data, at)
    out[4] = attributes & legacy_layout.KNOWN_ATTRIBUTES_V0
    out[5] = 0
    if magic == 1:
        out[4] = attributes & legacy_layout.KNOWN_ATTRIBUTES_V1
        out[6] = read_int64(data, at + legacy_layout.TIMESTAMP)
        out[7] = out[6]
    out[11] = 1
    out[12] = magic


@njit(void(BYTES, int64[::1], types.Array(int64, 2, "C")), cache=True)
def _gather(data, positions, out):  # type: ignore[no-untyped-def]
    for i in range(positions.shape[0]):
        at = positions[i]
        if data[at + layout.MAGIC] < 2:
            _read_message(data, at, out[:, i])
            continue
        out[0, i] = at
        out[1, i] = read_int32(data, at + layout.LENGTH) + layout.LOG_OVERHEAD
        out[2, i] = read_int64(data, at)
        out[3, i] = read_int32(data, at + layout.PARTITION_LEADER_EPOCH)
        out[4, i] = read_int16(data, at + layout.ATTRIBUTES) & 0xFFFF
        out[5, i] = read_int32(data, at + layout.LAST_OFFSET_DELTA)
        out[6, i] = read_int64(data, at + layout.BASE_TIMESTAMP)
        out[7, i] = read_int64(data, at + layout.MAX_TIMESTAMP)
        out[8, i] = read_int64(data, at + layout.PRODUCER_ID)
        out[9, i] = read_int16(data, at + layout.PRODUCER_EPOCH)
        out[10, i] = read_int32(data, at + layout.BASE_SEQUENCE)
        out[11, i] = read_int32(data, at + layout.RECORDS_COUNT)
        out[12, i] = 2
        out[13, i] = read_int32(data, at + layout.CRC) & 0xFFFFFFFF


def read_headers(data: NDArray[np.uint8], positions: Int64s) -> BatchHeaders:
    """Reads the header of the batch at each position; all of them were proven before."""
    table = np.empty((_FIELDS_COUNT, positions.shape[0]), dtype=np.int64)
    _gather(data, positions, table)
    return BatchHeaders(*table)


def header_faults(headers: BatchHeaders, coordinator_topic: bool) -> Int64s:
    """Fault bits that need the header alone (`LogValidator`).

    Coordinator topics write batches of their own shape, so the rules for client data are off.
    """
    mask = np.zeros(headers.record_count.shape[0], dtype=np.int64)
    control, producer = headers.control, headers.producer_id
    span = headers.last_offset_delta + 1

    too_high = headers.codec > layout.HIGHEST_CODEC
    mask[too_high | (control & (headers.codec != 0))] |= faults.CODEC_INVALID
    mask[(headers.record_count > span) | (span < 1) | (headers.record_count < 0)] |= (
        faults.COUNT_EXCEEDS_RANGE
    )
    data_batch = ~control & (not coordinator_topic)
    mask[data_batch & (headers.record_count >= 1) & (headers.record_count < span)] |= (
        faults.COUNT_BELOW_RANGE
    )
    mask[(headers.record_count == 0) & (not coordinator_topic)] |= faults.EMPTY
    mask[(headers.attributes & layout.UNUSED_ATTRIBUTES_MASK) != 0] |= faults.ATTRIBUTE_BITS_UNKNOWN

    # Any number below 0 is no producer id (`hasProducerId`), and what else the batch says of
    # producers is then read by nobody, its transactional bit included.
    inconsistent = (producer >= 0) & (headers.producer_epoch < 0)
    inconsistent |= (producer >= 0) & ~control & (headers.base_sequence < 0)
    mask[inconsistent] |= faults.PRODUCER_FIELDS_INCONSISTENT

    malformed = ~headers.transactional | (headers.base_sequence != -1) | (producer < 0)
    malformed |= (headers.last_offset_delta != 0) | (headers.record_count > 1)
    mask[control & malformed] |= faults.CONTROL_MALFORMED
    return mask
