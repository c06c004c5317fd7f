"""The records sections of many batches of a split, decompressed."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.arrow.batches import Decoded
from udfs.arrow.byte_range import ByteRange
from udfs.wire import batch_layout as layout
from udfs.wire import codecs, faults
from udfs.wire.batch_headers import Bools, Int64s

# Such a batch is told as a fault itself; its records say nothing.
UNREADABLE = (
    faults.NOT_REPLAYED
    | faults.CODEC_INVALID
    | faults.DECOMPRESSION_FAILED
    | faults.DECOMPRESSED_SIZE_LIMIT
    | faults.RECORD_COUNT_MISMATCH
    | faults.RECORD_MALFORMED
)
# Decompressed batches are held up to this many bytes at a time.
UNPACKED_BYTES = 1 << 26


class Sections(NamedTuple):
    """Plain records sections in `data`: section i is data[start[i]:end[i]], of batch[i]."""

    data: NDArray[np.uint8]
    batch: Int64s
    start: Int64s
    end: Int64s


def readable(decoded: Decoded) -> Bools:
    """Which batches are data batches whose records could be read."""
    headers = decoded.headers
    told: Bools = (
        ~headers.control & (headers.record_count > 0) & ((decoded.fault & UNREADABLE) == 0)
    )
    return told


def sections(
    source: ByteRange, decoded: Decoded, limit: int, wanted: Bools | None = None
) -> Iterator[Sections]:
    """The sections of the readable batches, plain ones first; of the others only some at a time.

    `limit` bounds a decompressed batch, bytes; `wanted`: those batches alone, None for all.
    """
    headers = decoded.headers
    chosen = readable(decoded) if wanted is None else readable(decoded) & wanted
    start = headers.position + layout.HEADER_SIZE
    end = headers.position + headers.length
    plain = np.flatnonzero(chosen & (headers.codec == 0)).astype(np.int64)
    yield Sections(source.data, plain, start[plain], end[plain])
    batches: list[int] = []
    unpacked: list[bytes] = []
    held = 0
    for i in np.flatnonzero(chosen & (headers.codec != 0)).tolist():
        stored = source.data[start[i] : end[i]].tobytes()
        unpacked.append(codecs.decompress(int(headers.codec[i]), stored, limit))
        batches.append(i)
        held += len(unpacked[-1])
        if held > UNPACKED_BYTES:
            yield _joined(batches, unpacked)
            batches, unpacked, held = [], [], 0
    if batches:
        yield _joined(batches, unpacked)


def _joined(batches: list[int], unpacked: list[bytes]) -> Sections:
    end = np.cumsum([len(section) for section in unpacked]).astype(np.int64)
    start = np.concatenate((np.zeros(1, dtype=np.int64), end[:-1]))
    data = np.frombuffer(b"".join(unpacked), dtype=np.uint8)
    return Sections(data, np.array(batches, dtype=np.int64), start, end)
