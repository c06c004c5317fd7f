"""The records sections of many batches of a split, decompressed."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.arrow.batches import DecodedBatches
from udfs.arrow.byte_range import ByteRange
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults, records
from udfs.wire.batches.batch_headers import BatchHeaders, Bools, Int64s
from udfs.wire.batches.batch_records import plain_section
from udfs.wire.legacy import legacy_messages

# Such a batch is reported as a fault itself; nothing is read from its records.
UNREADABLE = (
    faults.NOT_REPLAYED
    | faults.CODEC_INVALID
    | faults.DECOMPRESSION_FAILED
    | faults.DECOMPRESSED_SIZE_LIMIT
    | faults.RECORD_COUNT_MISMATCH
    | faults.RECORD_MALFORMED
    | faults.WRAPPER_INVALID
    | faults.WRAPPER_ORDER
)
# Decompressed batches are held up to this many bytes at a time.
UNPACKED_BYTES = 1 << 26

FindSpans = Callable[[NDArray[np.uint8], Int64s, Int64s, Int64s], NDArray[np.int64]]


class Sections(NamedTuple):
    """Plain sections in `data`: section i is data[start[i]:end[i]], of batch[i].

    `find_spans` finds the records of their magic, with the rows of
    `udfs.wire.batches.records.find_spans`.
    """

    find_spans: FindSpans
    data: NDArray[np.uint8]
    batch: Int64s
    start: Int64s
    end: Int64s


def readable(decoded: DecodedBatches) -> Bools:
    """Which batches are data batches whose records could be read."""
    headers = decoded.headers
    has_records: Bools = (
        ~headers.control & (headers.record_count > 0) & ((decoded.fault & UNREADABLE) == 0)
    )
    return has_records


def sections(
    source: ByteRange, decoded: DecodedBatches, limit: int, wanted: Bools | None = None
) -> Iterator[Sections]:
    """The sections of the readable batches, plain ones first; of the others only some at a time.

    `limit` bounds a decompressed batch, bytes; `wanted`: those batches alone, None for all.
    """
    headers = decoded.headers
    chosen = readable(decoded) if wanted is None else readable(decoded) & wanted
    end = headers.position + headers.length
    for of_magic_2, find_spans, header_size in (
        (True, records.find_spans, layout.HEADER_SIZE),
        (False, legacy_messages.find_spans, 0),
    ):
        of_format = chosen & ((headers.magic == 2) == of_magic_2)
        plain = np.flatnonzero(of_format & (headers.codec == 0)).astype(np.int64)
        start = headers.position[plain] + header_size
        if plain.size or of_magic_2:
            yield Sections(find_spans, source.data, plain, start, end[plain])
        compressed = np.flatnonzero(of_format & (headers.codec != 0)).astype(np.int64)
        yield from _unpacked(source, headers, compressed, find_spans, limit)


def _unpacked(
    source: ByteRange, headers: BatchHeaders, chosen: Int64s, find_spans: FindSpans, limit: int
) -> Iterator[Sections]:
    """The sections of some compressed batches."""
    batches: list[int] = []
    unpacked: list[bytes] = []
    held = 0
    for i in chosen.tolist():
        start = int(headers.position[i])
        stored = source.data[start : start + int(headers.length[i])].tobytes()
        unpacked.append(plain_section(stored, limit))
        batches.append(i)
        held += len(unpacked[-1])
        if held > UNPACKED_BYTES:
            yield _joined(batches, unpacked, find_spans)
            batches, unpacked, held = [], [], 0
    if batches:
        yield _joined(batches, unpacked, find_spans)


def _joined(batches: list[int], unpacked: list[bytes], find_spans: FindSpans) -> Sections:
    end = np.cumsum([len(section) for section in unpacked]).astype(np.int64)
    start = np.concatenate((np.zeros(1, dtype=np.int64), end[:-1]))
    data = np.frombuffer(b"".join(unpacked), dtype=np.uint8)
    return Sections(find_spans, data, np.array(batches, dtype=np.int64), start, end)
