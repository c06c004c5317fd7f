"""Many encoded batches at once: fields and checksums written into blocks of copies."""

import numpy as np
from numba import int64, njit, types, void
from numpy.typing import NDArray

from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.walk import TABLE, checksum


@njit(void(types.Array(types.uint8, 1, "C"), int64[::1], int64[::1], TABLE), cache=True)
def seal(data, starts, sizes, table):  # type: ignore[no-untyped-def]
    """Writes the CRC-32C of every batch."""
    for i in range(starts.shape[0]):
        at = starts[i]
        crc = checksum(data, at + layout.ATTRIBUTES, at + sizes[i], table)
        for b in range(4):
            data[at + layout.CRC + b] = (crc >> (8 * (3 - b))) & 0xFF


def put(block: NDArray[np.uint8], at: int, values: NDArray[np.int64], size: int) -> None:
    """Writes big-endian integers of `size` bytes at byte `at` of every batch of a block."""
    raw = values.astype(f">i{size}", order="C").view(np.uint8).reshape(*values.shape, size)
    block[..., at : at + size] = raw
