"""What a broker may have forgotten: the same over arrays and columns, for any moments."""

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from udfs.rules.memory import (
    at_least_later,
    explains_first_offset,
    explains_stable_offset,
    is_remembered_from,
    may_be_gone_with_the_head,
    may_have_expired,
)

DAY = 86_400_000
LONGEST = np.iinfo(np.int64)
# State of a producer, the latest moment of the append, whether a transaction is open: expired?
MOMENTS = [
    (0, DAY, False, True),
    (0, DAY - 1, False, False),
    (0, DAY, True, False),
    # Event times of long ago are as good as expired; stamps of the future live longer.
    (-10 * DAY, 0, False, True),
    (10 * DAY, 2 * DAY, False, False),
    (LONGEST.max, 0, False, False),
    (LONGEST.min, LONGEST.max, False, True),
    (LONGEST.max, LONGEST.min, False, False),
]


def test_state_expires_by_the_clock_of_the_broker_against_the_stamps_of_records() -> None:
    state, latest, is_open, expected = (np.array(column) for column in zip(*MOMENTS, strict=True))
    assert may_have_expired(state, latest, is_open, DAY).tolist() == expected.tolist()


@pytest.mark.spark
def test_columns_say_what_arrays_say_and_know_nulls(spark: SparkSession) -> None:
    given = [(int(state), int(latest), is_open) for state, latest, is_open, _ in MOMENTS]
    rows = spark.createDataFrame(
        [*given, (None, 1, False)], "state long, latest long, open boolean"
    )
    told = may_have_expired(F.col("state"), F.col("latest"), F.col("open"), DAY)
    assert [row[0] for row in rows.select(told).collect()] == [
        *[expected for *_, expected in MOMENTS],
        None,
    ]


def test_a_pause_is_at_least_so_long() -> None:
    later = np.array([4, 5, 6, -1])
    assert at_least_later(np.int64(0), later, 5).tolist() == [False, True, True, False]


def test_the_head_ends_in_front_of_the_log_start() -> None:
    assert may_be_gone_with_the_head(np.array([8, 9, 10]), 10).tolist() == [True, True, False]


def test_an_entry_may_begin_with_what_a_broker_kept_and_nowhere_behind_it() -> None:
    # Data at 2, 4 and 7, the log start at 5.
    told = np.array([1, 2, 3, 4, 7, 8])
    fits = explains_first_offset(told, np.int64(2), np.int64(7), np.int64(0), np.int64(5))
    assert fits.tolist() == [False, False, True, True, True, False]
    # A snapshot at the base of the first segment knew the begin in front of it.
    fits = explains_first_offset(told, np.int64(2), np.int64(7), np.int64(5), np.int64(5))
    assert fits.tolist() == [False, False, False, False, True, False]
    # All of it lies above the log start.
    above = explains_first_offset(told, np.int64(2), np.int64(2), np.int64(0), np.int64(2))
    assert not above.any()


def test_a_stable_offset_is_later_where_the_head_of_a_transaction_was_forgotten() -> None:
    told = np.array([1, 2, 3, 9])
    fits = explains_stable_offset(told, np.int64(2), np.int64(5))
    assert fits.tolist() == [False, False, True, True]
    # The transaction begins at the log start.
    assert not explains_stable_offset(told, np.int64(2), np.int64(2)).any()


def test_a_rebuild_reads_the_batch_that_holds_the_log_start() -> None:
    first, last = np.array([0, 3, 6]), np.array([2, 5, 8])
    assert [is_remembered_from(first, last, at) for at in (0, 2, 3, 5, 6)] == [0, 0, 3, 3, 6]
    assert is_remembered_from(first, last, 9) > int(last.max())
