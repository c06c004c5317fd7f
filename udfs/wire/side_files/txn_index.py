"""Entries of a `.txnindex` file (`AbortedTxn` version 0, Kafka 0.11 to 4.3).

One 34-byte entry for each aborted transaction whose ABORT marker lies in the segment; no header
and no checksum. Kafka ignores an entry that is cut off at the end of the file.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class AbortedTxnEntry(NamedTuple):
    """An aborted transaction; `last_offset` is that of its ABORT marker."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


# The one place that states the layout of an entry, in the order of the file.
STORED = np.dtype(
    list(zip(AbortedTxnEntry._fields, (">i2", ">i8", ">i8", ">i8", ">i8"), strict=True))
)
ENTRY_SIZE = STORED.itemsize


def decode(data: bytes | NDArray[np.uint8]) -> tuple[NDArray[Any], int]:
    """(entries, trailing bytes that form no whole entry). Versions are kept, not judged.

    The entries are an array of STORED: the fields of `AbortedTxnEntry`, in the order of the file.
    """
    number, partial = divmod(len(data), ENTRY_SIZE)
    return np.frombuffer(data, dtype=STORED, count=number), partial
