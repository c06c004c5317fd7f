"""Stored names of which a log holds few, many times: each distinct one is decoded once."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import numpy as np

from udfs.wire.batches.batch_headers import Int64s
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
