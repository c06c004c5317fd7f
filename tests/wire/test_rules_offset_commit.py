"""Which commit came too late: the same over arrays and columns."""

import numpy as np
import pytest
from engines import check_in_both_engines
from pyspark.sql import SparkSession

from udfs.rules.offset_commit import Commit, is_late, takes_effect

FIRST, SECOND, PLAIN = 1, 2, -1


@pytest.mark.parametrize(
    ("replaced", "late", "following", "told"),
    [
        ((FIRST, 10), (SECOND, 5), (FIRST, 15), True),
        ((FIRST, 10), (FIRST, 5), (FIRST, 15), True),
        ((FIRST, 10), (SECOND, 10), (FIRST, 15), False),
        # A rewind that was meant goes on from where it went.
        ((FIRST, 10), (FIRST, 5), (FIRST, 10), False),
        ((FIRST, 10), (SECOND, 5), (SECOND, 15), False),
        ((FIRST, 10), (PLAIN, 5), (FIRST, 15), False),
        ((PLAIN, 10), (SECOND, 5), (PLAIN, 15), False),
    ],
)
def test_a_late_commit_goes_below_what_goes_on(
    replaced: tuple[int, int], late: tuple[int, int], following: tuple[int, int], told: bool
) -> None:
    three = (Commit(*map(np.array, one)) for one in (replaced, late, following))
    assert bool(is_late(*three)) == told


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_what_takes_effect(spark: SparkSession) -> None:
    choices = {"record": [1, 2, 3], "newest": [-1, 2, 3, None]}
    check_in_both_engines(spark, lambda row: takes_effect(**row), choices)


@pytest.mark.spark
def test_columns_say_what_arrays_say_and_a_tombstone_tells_nothing(spark: SparkSession) -> None:
    names = ("replaced", "late", "following")
    choices = {f"{name}_pid": [-1, 1, 2] for name in names}
    choices |= {f"{name}_offset": [5, 10, 15, None] for name in names}
    check_in_both_engines(
        spark,
        lambda row: is_late(*[Commit(row[f"{one}_pid"], row[f"{one}_offset"]) for one in names]),
        choices,
    )
