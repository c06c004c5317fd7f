"""Stored names of which a log holds few, many times: each distinct one is decoded once."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numba import int64, njit, uint8, void
from numpy.typing import NDArray

from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.batches.walk import BYTES
from udfs.wire.errors import WireError

Stored = TypeVar("Stored")
Name = TypeVar("Name")


class Distinct(Generic[Stored, Name]):
    """The distinct names of a split, numbered in the order in which they first appear.

    `decoded[n]` is None where name n cannot be decoded, and `errors[n]` says why.
    """

    def __init__(self, decode: Callable[[Stored], Name]) -> None:
        """`decode` raises WireError. No name has been seen yet."""
        self._decode = decode
        self._numbers: dict[Stored, int] = {}
        self.decoded: list[Name | None] = []
        self.errors: dict[int, str] = {}

    def numbers(self, stored: Iterable[Stored]) -> Int64s:
        """The number of each name; new ones are decoded."""
        known = self._numbers.get
        numbers = []
        for one in stored:
            number = known(one)
            numbers.append(self._add(one) if number is None else number)
        return np.array(numbers, dtype=np.int64)

    def _add(self, stored: Stored) -> int:
        number = self._numbers[stored] = len(self._numbers)
        try:
            self.decoded.append(self._decode(stored))
        except WireError as error:
            self.decoded.append(None)
            self.errors[number] = f"{error.reason}: {error.detail}"
        return number


@njit(void(BYTES, int64[::1], int64[::1], uint8[::1]), cache=True)
def _copy(data, start, offsets, into):  # type: ignore[no-untyped-def]
    for i in range(start.shape[0]):
        at = start[i] - offsets[i]
        for j in range(offsets[i], offsets[i + 1]):
            into[j] = data[at + j]


def distinct_slices(
    data: NDArray[np.uint8], start: Int64s, end: Int64s
) -> tuple[Int64s, list[bytes]]:
    """(numbers, distinct): which of the distinct slices of the bytes each one is.

    `start`, `end`: of each slice, end exclusive. The distinct ones are in the order in which they
    first appear.
    """
    offsets = np.concatenate(([0], np.cumsum(end - start)))
    together = np.empty(int(offsets[-1]), dtype=np.uint8)
    _copy(data, np.ascontiguousarray(start), offsets, together)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(together)]
    slices = pa.Array.from_buffers(pa.large_binary(), start.size, buffers).dictionary_encode()
    numbers: Int64s = slices.indices.to_numpy().astype(np.int64)
    return numbers, slices.dictionary.to_pylist()
