"""Aborted transactions and the entries of their index, matched as arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from udfs.wire.side_files.aborted_list import (
    NEVER,
    NONE_LONG,
    agreeing,
    last_stable_offsets,
    long_transactions,
)

# (marker, first offset): a transaction that is open has no marker.
TRANSACTIONS = st.lists(st.tuples(st.integers(1, 30) | st.just(NEVER), st.integers(0, 30)))


def numbers(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@given(TRANSACTIONS, st.lists(st.tuples(st.integers(0, 31), st.integers(0, 31) | st.just(NEVER))))
def test_the_oldest_that_is_still_open_holds_the_last_stable_offset(
    long_ones: list[tuple[int, int]], aborts: list[tuple[int, int]]
) -> None:
    known = long_transactions(
        numbers([end for end, _ in long_ones]), numbers([began for _, began in long_ones])
    )
    found = last_stable_offsets(
        numbers([marker for marker, _ in aborts]), numbers([other for _, other in aborts]), known
    )
    for (marker, other), stable in zip(aborts, found, strict=True):
        still_open = [other, *(began for end, began in long_ones if end > marker)]
        assert stable == (min(still_open) if min(still_open) < marker else marker + 1)


def test_nothing_long_leaves_what_the_split_has() -> None:
    found = last_stable_offsets(numbers([5, 9]), numbers([NEVER, 7]), NONE_LONG)
    assert found.tolist() == [6, 7]


def aborts(*rows: tuple[int, int, int, int]) -> dict[str, np.ndarray]:
    names = ("producer_id", "first_offset", "marker_offset", "last_stable_offset")
    return {name: numbers([row[at] for row in rows]) for at, name in enumerate(names)}


def entries(*rows: tuple[int, int, int, int], version: int = 0) -> dict[str, np.ndarray]:
    """(producer id, first, last, last stable offset); each follows the one before it."""
    names = ("producer_id", "first_offset", "last_offset", "last_stable_offset")
    columns = {name: numbers([row[at] for row in rows]) for at, name in enumerate(names)}
    before = numbers([-1, *(row[2] for row in rows)][: len(rows)])
    return columns | {"version": numbers([version] * len(rows)), "previous_last": before}


ONE, OTHER = (7, 0, 4, 2), (8, 2, 9, 10)


def pairs(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> list[tuple[int, int]]:
    return sorted(zip(*(one.tolist() for one in agreeing(ours, theirs)), strict=True))


def test_what_says_the_same_agrees() -> None:
    assert pairs(aborts(OTHER, ONE), entries(ONE, OTHER)) == [(0, 1), (1, 0)]
    assert pairs(aborts(), entries(ONE)) == []
    assert pairs(aborts(ONE), entries()) == []


def test_one_other_number_and_nothing_agrees() -> None:
    for at in range(4):
        strange = tuple(value + (place == at) for place, value in enumerate(ONE))
        assert pairs(aborts(ONE, OTHER), entries(strange, OTHER)) == [(1, 1)], at
    assert pairs(aborts(ONE), entries(ONE, version=1)) == []


def test_what_occurs_twice_or_out_of_order_is_left_to_the_checks() -> None:
    assert pairs(aborts(ONE, OTHER), entries(ONE, ONE, OTHER)) == [(1, 2)]
    assert pairs(aborts(ONE, ONE), entries(ONE)) == []
    assert pairs(aborts(ONE, OTHER), entries(OTHER, ONE)) == [(1, 0)]


def test_an_entry_of_a_transaction_without_data_is_left_to_the_checks() -> None:
    """Brokers up to 2.7 wrote one for an ABORT marker that ended nothing."""
    assert pairs(aborts((7, 4, 4, 5)), entries((7, 4, 4, 5))) == []
