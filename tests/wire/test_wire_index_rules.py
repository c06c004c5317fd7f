"""Indexes beside batches: which entries send a reader elsewhere than to what it asks for."""

from typing import Any

import numpy as np
import pytest

from udfs.wire.side_files import index_rules as rules
from udfs.wire.side_files.index_rules import Batches, Fault
from udfs.wire.side_files.sparse_index import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    SparseIndex,
    offset_index,
    time_index,
)

BASE = 1000


def index(*entries: tuple[int, int]) -> SparseIndex:
    """Entries (offset, position or timestamp)."""
    table = np.array(entries, dtype=np.int64).reshape(len(entries), 2)
    return SparseIndex(table[:, 0], table[:, 1])


def log(**changed: Any) -> Batches:
    """Four batches of 100 bytes, the first with offsets 1000 and 1001, and so on."""
    number = 4
    at = np.arange(number, dtype=np.int64)
    return Batches(
        position=at * 100,
        base_offset=BASE + 2 * at,
        last_offset=BASE + 2 * at + 1,
        max_timestamp=np.array([50, 70, 60, 90]),
        opened=np.ones(number, dtype=np.bool_),
        first=0,
        end=400,
        damaged=[],
        file_end=400,
    )._replace(**changed)


def test_zeros_at_the_end_and_a_cut_entry_are_no_entries() -> None:
    content = np.array([(3, 256), (5, 512)], dtype=OFFSET_ENTRY).tobytes() + bytes(83)
    read = offset_index(np.frombuffer(content, dtype=np.uint8), BASE)
    assert read.offsets.tolist() == [1003, 1005]
    assert read.values.tolist() == [256, 512]
    content = np.array([(0, 4), (9, 5)], dtype=TIME_ENTRY).tobytes()[:-1]
    read = time_index(np.frombuffer(content, dtype=np.uint8), BASE)
    assert (read.offsets.tolist(), read.values.tolist()) == ([1004], [0])


@pytest.mark.parametrize(
    ("entries", "faults"),
    [
        ([(1003, 100), (1007, 300)], []),
        ([(1002, 100), (1005, 200), (1006, 300)], []),
        # Of a later batch of its append.
        ([(1005, 100), (1007, 300)], []),
        ([(1003, 101)], [Fault(rules.NO_BATCH, 0, 1)]),
        ([(1001, 100)], [Fault(rules.OFFSET_BELOW_BATCH, 0, 1)]),
        ([(1006, 100), (1007, 300)], [Fault(rules.OFFSET_ABOVE_BATCHES, 0, 3)]),
        ([(1003, 100), (1009, 400)], [Fault(rules.BEHIND_END, 1, None)]),
        # Nothing can be searched behind an entry that does not rise.
        ([(1003, 100), (1002, 101)], []),
    ],
)
def test_offset_index(entries: list[tuple[int, int]], faults: list[Fault]) -> None:
    assert rules.offset_index_faults(index(*entries), log()) == faults


def test_where_the_bytes_are_damaged_or_of_another_split_no_entry_is_judged() -> None:
    entries = index((1001, 50), (1003, 150), (1005, 250), (1007, 350))
    judged = log(first=100, end=300, damaged=[(220, 260)], file_end=None)
    assert rules.offset_index_faults(entries, judged) == [Fault(rules.NO_BATCH, 1, 1)]


def test_a_wrapper_that_cannot_be_read_has_no_first_offset() -> None:
    opened = np.array([True, False, True, True])
    assert rules.offset_index_faults(index((1001, 100)), log(opened=opened)) == []


@pytest.mark.parametrize(
    ("entries", "faults"),
    [
        ([(1001, 50), (1003, 70), (1007, 90)], []),
        ([(1002, 70), (1006, 90)], []),
        ([(1003, 71)], [Fault(rules.NOT_OF_BATCH, 0, 1)]),
        ([(1005, 60)], [Fault(rules.LATER_THAN_PROMISED, 0, 1)]),
        # Behind the batches of the split, and in front of them.
        ([(1009, 90), (1011, 95)], []),
        ([(999, 40)], []),
    ],
)
def test_time_index(entries: list[tuple[int, int]], faults: list[Fault]) -> None:
    assert rules.time_index_faults(index(*entries), log()) == faults


def test_order_and_segment_need_no_log() -> None:
    entries = index((1003, 100), (1003, 200), (2000, 300), (999, 400))
    assert rules.faults_alone(entries, BASE, 2000, times=False) == [
        Fault(rules.ORDER, 1, None),
        Fault(rules.ORDER, 3, None),
        Fault(rules.OUTSIDE, 2, None),
        Fault(rules.OUTSIDE, 3, None),
    ]
    assert rules.faults_alone(entries.head(3), BASE, None, times=True) == []
