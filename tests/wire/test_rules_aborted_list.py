"""What an index says of an aborted transaction: the same over arrays and columns."""

import numpy as np
import pytest
from engines import check_in_both_engines
from pyspark.sql import SparkSession

from udfs.rules.aborted_list import (
    Entry,
    agrees,
    is_behind,
    is_malformed,
    is_misplaced,
    stable_at_abort,
)
from udfs.rules.extent import MAX_OFFSET

OFFSETS = [3, 4, 5, 6]
ENTRY = {
    "version": [0, 0, 0, 1],
    "first": OFFSETS,
    "last": OFFSETS,
    "last_stable_offset": OFFSETS,
    "previous_last": [2, *OFFSETS, None],
}


def entry(row: dict) -> Entry:  # type: ignore[type-arg]
    return Entry(*[row[name] for name in ENTRY])


def test_the_oldest_open_transaction_holds_the_last_stable_offset() -> None:
    marker, oldest = np.array([7, 7, 7]), np.array([4, 8, MAX_OFFSET])
    assert stable_at_abort(marker, oldest).tolist() == [4, 8, 8]


def test_an_entry_lies_within_its_segment() -> None:
    last = np.array([9, 10, 19, 20])
    assert is_behind(last, 20).tolist() == [False, False, False, True]
    assert is_misplaced(last, 10, 20).tolist() == [True, False, False, True]
    assert is_misplaced(last, 10, MAX_OFFSET).tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    ("told", "malformed"),
    [
        (Entry(0, 4, 7, 8, -1), False),
        (Entry(0, 4, 7, 8, 6), False),
        (Entry(0, 4, 7, 8, 7), True),
        (Entry(1, 4, 7, 8, -1), True),
        (Entry(0, 8, 7, 8, -1), True),
        # Up to 2.7 of a marker that ended nothing.
        (Entry(0, 7, 7, 8, -1), False),
    ],
)
def test_entries_stand_in_the_order_of_their_markers(told: Entry, malformed: bool) -> None:
    assert bool(is_malformed(Entry(*map(np.array, told)))) == malformed


def test_an_entry_agrees_in_its_begin_and_its_last_stable_offset() -> None:
    told = Entry(*map(np.array, (0, 4, 7, 8, -1)))
    first, stable = np.array([4, 3, 4]), np.array([8, 8, 4])
    assert agrees(told, first, stable).tolist() == [True, False, False]
    assert not agrees(told._replace(first=np.array(7)), np.array(7), np.array(8))


@pytest.mark.spark
def test_columns_say_what_arrays_say(spark: SparkSession) -> None:
    beside = {"marker": [5, 6], "oldest": [3, 5, 6, 7, MAX_OFFSET], "next_base": [5, 6, 9, None]}
    choices = {**ENTRY, **beside, "first_offset": [*OFFSETS, None], "base": [3, 4]}
    check_in_both_engines(spark, lambda row: stable_at_abort(row["marker"], row["oldest"]), choices)
    check_in_both_engines(
        spark, lambda row: is_malformed(entry(row)), choices, {"previous_last": -1}
    )
    check_in_both_engines(
        spark,
        lambda row: agrees(entry(row), row["first_offset"], row["marker"]),
        choices,
        {"previous_last": -1},
    )
    check_in_both_engines(
        spark,
        lambda row: is_behind(row["last"], row["next_base"]),
        choices,
        {"next_base": MAX_OFFSET},
    )
    check_in_both_engines(
        spark,
        lambda row: is_misplaced(row["last"], row["base"], row["next_base"]),
        choices,
        {"next_base": MAX_OFFSET},
    )
