"""The bytes of one split of a file, read as far as the batches that start in it reach."""

import hashlib
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

READ_AHEAD_BYTES = 1 << 20
DIGEST_BLOCK_BYTES = 1 << 20


class ByteRange:
    """Bytes [start, start + length) of an open file, and more after them on demand.

    `file_size` is the size noted when the dump was listed: bytes that a live broker appended
    since then are not read. `shrank`: the file ended earlier than that.
    """

    def __init__(self, file: BinaryIO, start: int, length: int, file_size: int) -> None:
        """Reads the range and a little more, so that most last batches are complete at once."""
        self._file = file
        self.start = start
        self.length = length
        self.file_left = file_size - start
        self.shrank = False
        self.data: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self.extend_to(min(length + READ_AHEAD_BYTES, self.file_left))
        self.length = min(self.length, self.file_left)

    def extend_to(self, size: int) -> None:
        """Makes at least `size` bytes from `start` on available, as far as the file has them."""
        size = min(size, self.file_left)
        have = self.data.shape[0]
        if size <= have:
            return
        grown = bytearray(size)
        view = memoryview(grown)
        view[:have] = self.data.data
        self._file.seek(self.start + have)
        filled = have
        while filled < size:
            got = self._file.readinto(view[filled:])  # type: ignore[attr-defined]
            if not got:
                self.shrank = True
                self.file_left = filled
                break
            filled += got
        self.data = np.frombuffer(grown, dtype=np.uint8)[:filled]

    def digests(self) -> bytes:
        """SHA-256 of each block of 1 MiB of the range itself, one after the other."""
        view = self.data.data[: self.length]
        return b"".join(
            hashlib.sha256(view[at : at + DIGEST_BLOCK_BYTES]).digest()
            for at in range(0, len(view), DIGEST_BLOCK_BYTES)
        )
