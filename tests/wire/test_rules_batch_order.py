"""How batches follow each other: the same over arrays and columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from engines import check_in_both_engines
from pyspark.sql import SparkSession

from udfs.rules.absence import is_gap
from udfs.rules.batch_order import goes_back, leader_epoch_fell

OFFSETS = [4, 5, 6, 7, None]


def test_a_batch_begins_behind_the_one_before_it() -> None:
    assert goes_back(np.array([4, 4, 4]), np.array([3, 4, 5])).tolist() == [True, True, False]


def test_an_epoch_that_is_not_told_has_not_fallen() -> None:
    before, epoch = np.array([3, 3, 3, 3]), np.array([2, 3, 4, -1])
    assert leader_epoch_fell(before, epoch).tolist() == [True, False, False, False]


@pytest.mark.spark
@pytest.mark.parametrize("rule", [is_gap, goes_back, leader_epoch_fell])
def test_columns_say_what_arrays_say(spark: SparkSession, rule: Callable[..., Any]) -> None:
    choices = {"before": OFFSETS, "here": [-1, *OFFSETS]}
    check_in_both_engines(spark, lambda row: rule(row["before"], row["here"]), choices)
