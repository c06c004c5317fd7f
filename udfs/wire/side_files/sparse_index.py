"""The `.index` and `.timeindex` of a segment (`OffsetIndex`, `TimeIndex`, Kafka 0.10.1 to 4.3).

Entries of 8 bytes (offset relative to the base of the segment, byte position in its `.log`) and of
12 bytes (timestamp in ms, relative offset), about one for every 4 KiB of log; no header and no
checksum. Both files are preallocated with zeros and trimmed when the segment is closed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.wire import bounds
from udfs.wire.batches.batch_headers import Int64s

Bytes = NDArray[np.uint8]

OFFSET_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
TIME_ENTRY = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])


class SparseIndex(NamedTuple):
    """Entries of an index in file order: absolute `offsets`, and `values`.

    A value is a byte position in the `.log`, or of a time index a timestamp in ms.
    """

    offsets: Int64s
    values: Int64s

    def head(self, entries: int) -> "SparseIndex":
        """The first entries."""
        return SparseIndex(self.offsets[:entries], self.values[:entries])


def _entries(data: Bytes, entry: np.dtype[np.void], value: str, base: int) -> SparseIndex:
    """Whole entries up to the zeros at the end of the file; a cut last entry is left out."""
    whole = data[: data.size - data.size % entry.itemsize]
    used = np.flatnonzero(whole)
    number = int(used[-1]) // entry.itemsize + 1 if used.size else 0
    table = np.frombuffer(whole, dtype=entry, count=number)
    values = bounds.timestamps(table[value].astype(np.int64))
    return SparseIndex(table["offset"].astype(np.int64) + base, values)


def offset_index(data: Bytes, base_offset: int) -> SparseIndex:
    """Entries of an `.index`."""
    return _entries(data, OFFSET_ENTRY, "position", base_offset)


def time_index(data: Bytes, base_offset: int) -> SparseIndex:
    """Entries of a `.timeindex`."""
    return _entries(data, TIME_ENTRY, "timestamp", base_offset)
