"""A leader in memory, for tests of a dump over the protocol: offsets, epochs, errors, batches."""

import struct
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import NamedTuple


def batch(first: int, records: int = 1, epoch: int = 0, size: int = 80) -> bytes:
    """A batch of magic 2 by its header; the rest are zeros."""
    body = struct.pack(">ibIhiqqqhii", epoch, 2, 0, 0, records - 1, 0, 0, -1, -1, -1, records)
    return struct.pack(">qi", first, size - 12) + body + bytes(size - 12 - len(body))


def wrapper(last: int, codec: int = 1, size: int = 80) -> bytes:
    """A compressed set of messages of magic 1 by its header, or a plain message; the rest zeros."""
    return struct.pack(">qiIbb", last, size - 12, 0, 1, codec) + bytes(size - 18)


class Answer(NamedTuple):
    error: int
    high_watermark: int
    last_stable_offset: int
    log_start: int
    records: bytes


class Leader:
    """What a client sees of one partition. `trouble`: errors to answer with first, one a fetch.

    `behind`: by how much its own high watermark is behind at first, as of a leader just elected.
    """

    def __init__(self, partition: object, batches: list[bytes], log_start: int = 0) -> None:
        self.partition = partition
        self.batches = batches
        self.log_start = log_start
        self.trouble: list[int | Exception] = []
        self.asked: list[int] = []
        self.behind = 0
        self.lost: Callable[[], None] = lambda: None

    @property
    def end(self) -> int:
        return max([self.log_start, *(last + 1 for _, last, _ in self._spans())])

    def _spans(self) -> Iterator[tuple[int, int, bytes]]:
        for one in self.batches:
            first = int.from_bytes(one[:8], "big")
            yield first, first + int.from_bytes(one[23:27], "big"), one

    def refresh(self) -> None:
        self.lost()

    def partitions(self, topics: list[str]) -> list[object]:
        return [self.partition]

    def list_offset(self, partition: object, moment: int) -> tuple[int, int]:
        return 0, self.log_start if moment == -2 else self.end

    def end_of_epoch(self, partition: object, epoch: int) -> tuple[int, int, int]:
        epochs = [(int.from_bytes(one[12:16], "big"), last + 1) for _, last, one in self._spans()]
        known = list(takewhile(lambda each: each[0] <= epoch, epochs))
        return (0, *(known[-1] if known else (-1, -1)))

    def fetch(self, partition: object, offset: int, size: int, wait_ms: int) -> Answer:
        self.asked.append(offset)
        if self.trouble:
            trouble = self.trouble.pop(0)
            if isinstance(trouble, Exception):
                raise trouble
            return Answer(trouble, -1, -1, -1, b"")
        if not self.log_start <= offset <= self.end:
            return Answer(1, -1, -1, -1, b"")
        there = b"".join(one for _, last, one in self._spans() if last >= offset)
        first = len(next((one for _, last, one in self._spans() if last >= offset), b""))
        mark = self.end - self.behind
        if self.behind:
            there = b"".join(one for _, last, one in self._spans() if offset <= last < mark)
            self.behind -= 1
        return Answer(0, mark, mark, self.log_start, there[: max(size, first)])
