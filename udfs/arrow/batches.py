"""The batches of a split as arrays: headers, faults, and what their records say."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.topics import COORDINATOR_TOPICS
from udfs.arrow.byte_range import ByteRange
from udfs.wire import bounds, codecs
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults, records
from udfs.wire.batches.batch_headers import BatchHeaders, Bools, Int64s, header_faults, read_headers
from udfs.wire.errors import WireError
from udfs.wire.legacy.legacy_wrappers import check_messages


@dataclass(frozen=True)
class DecodeOptions:
    """Limits and depth of the decoder; times in ms, sizes in bytes."""

    max_batch_bytes: int
    max_decompressed_bytes: int
    producer_expiration_ms: int
    with_records: bool


class DecodedBatches(NamedTuple):
    """Batches of a split with everything the records say: one array element a batch.

    `headers`: within `udfs.wire.bounds`; `stored`: as they are in the file. `fault`: bits;
    `control_type`, `coordinator_epoch`: of markers; `marker_timestamp`, `record_timestamp` (largest
    of the data records, where they were read): ms.
    """

    headers: BatchHeaders
    fault: Int64s
    control_type: Int64s
    coordinator_epoch: Int64s
    marker_timestamp: Int64s
    record_timestamp: Int64s
    stored: BatchHeaders

    @property
    def not_opened(self) -> Bools:
        """Wrappers of magic 0 and 1 that cannot be read: their first offset is not known.

        Their base offset is the last one, and they count as one record.
        """
        not_opened = np.zeros(self.fault.size, dtype=np.bool_)
        old = np.flatnonzero(self.headers.magic < 2)
        wrapper = (self.headers.attributes[old] & layout.CODEC_MASK) != 0
        not_opened[old] = wrapper & ((self.fault[old] & faults.NOT_OPENED) != 0)
        return not_opened

    @property
    def unread_markers(self) -> Bools:
        """Control batches that may be markers, though what they did is not to be known.

        Not those without a record, which the cleaner emptied. One that is compressed counts where
        it could not be decompressed: `ProducerAppendInfo.append` fails there as well.
        """
        headers = self.headers
        compressed = (headers.codec != 0) & (self.control_type == records.CONTROL_UNKNOWN)
        unread = compressed & (headers.record_count != 0)
        result: Bools = headers.control & (unread | ((self.fault & faults.NOT_REPLAYED) != 0))
        return result


def _compressed_results(
    source: ByteRange,
    headers: BatchHeaders,
    results: NDArray[np.int64],
    options: DecodeOptions,
) -> None:
    """Fills the columns of compressed batches; data whose codec cannot be read are a fault.

    A compressed marker is one for Kafka, which reads its record as any other
    (`ProducerAppendInfo.append`, `CompletedFetch.containsAbortMarker`). Its codec is a fault, so
    that of one that cannot be read no other is reported.
    """
    wanted = (headers.magic == 2) & (headers.codec >= 1) & (headers.codec <= layout.HIGHEST_CODEC)
    data = ~headers.control & (headers.record_count > 0) & options.with_records
    wanted &= data | (headers.control & (headers.record_count == 1))
    for i in np.flatnonzero(wanted):
        control = bool(headers.control[i])
        start = int(headers.position[i]) + layout.HEADER_SIZE
        end = int(headers.position[i] + headers.length[i])
        try:
            section = codecs.decompress(
                int(headers.codec[i]),
                source.data[start:end].tobytes(),
                options.max_decompressed_bytes,
            )
        except WireError as error:
            too_large = error.reason == "decompressed_size_limit"
            failed = faults.DECOMPRESSED_SIZE_LIMIT if too_large else faults.DECOMPRESSION_FAILED
            results[records.FAULTS, i] = 0 if control else failed
            continue
        plain = np.frombuffer(section, dtype=np.uint8)
        if control:
            mask, kind, epoch, delta = records.read_marker(plain, 0, len(section))
            results[records.CONTROL_TYPE, i] = kind
            results[records.COORDINATOR_EPOCH, i] = epoch
            tombstones = 0
        else:
            mask, delta, tombstones, _ = records.check_section(
                plain,
                0,
                len(section),
                int(headers.record_count[i]),
                int(headers.last_offset_delta[i]),
            )
        results[records.FAULTS, i] = mask
        results[records.MAX_TIMESTAMP, i] = delta
        results[records.TOMBSTONES, i] = tombstones


def record_faults(
    headers: BatchHeaders, fault: Int64s, largest: Int64s, tombstones: Int64s
) -> Int64s:
    """`fault` with the bits of rules that hold headers against records.

    `largest`: largest record timestamps relative to the base timestamp, ms, records.NO_TIMESTAMP
    where not known; `tombstones`: records without a value.
    """
    control = headers.control
    delta = np.where(control, records.NO_TIMESTAMP, largest)
    fault = fault | records.timestamp_faults(headers, delta)
    whole = ~control & (headers.record_count == headers.last_offset_delta + 1)
    pointless = headers.delete_horizon & whole & (tombstones == 0)
    fault[pointless & (fault == 0)] |= faults.HORIZON_WITHOUT_CAUSE
    fault[headers.delete_horizon] |= faults.DELETE_HORIZON
    return fault


def decode_batches(
    source: ByteRange, positions: Int64s, topic: str, options: DecodeOptions
) -> DecodedBatches:
    """Reads headers and records of the batches at `positions`.

    Wrappers of magic 0 and 1 are opened at every depth: only their messages give the first offset.
    """
    headers = read_headers(source.data, positions)
    results = records.check_plain_batches(source.data, headers, options.with_records)
    old, old_fault, largest = check_messages(source.data, headers, options.max_decompressed_bytes)
    results[records.FAULTS, old] = old_fault
    results[records.MAX_TIMESTAMP, old] = largest
    fault = header_faults(headers, topic in COORDINATOR_TOPICS)
    _compressed_results(source, headers, results, options)
    fault |= results[records.FAULTS]
    control = headers.control
    record_delta = results[records.MAX_TIMESTAMP].copy()
    record_delta[record_delta == records.NO_TIMESTAMP] = 0
    if options.with_records:
        delta = results[records.MAX_TIMESTAMP]
        fault = record_faults(headers, fault, delta, results[records.TOMBSTONES])
    stored, headers = headers, headers.bounded()
    record_delta = bounds.timestamps(record_delta)
    marker_delta = np.where(control & (headers.record_count == 1), record_delta, 0)
    marker_timestamp = np.where(
        headers.log_append_time, headers.max_timestamp, headers.base_timestamp + marker_delta
    )
    return DecodedBatches(
        headers,
        fault,
        results[records.CONTROL_TYPE],
        results[records.COORDINATOR_EPOCH],
        bounds.timestamps(marker_timestamp),
        bounds.timestamps(headers.base_timestamp + record_delta),
        stored,
    )
