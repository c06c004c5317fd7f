"""The words of rules mean the same over arrays and columns, nulls included."""

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from udfs.rules.logic import clipped, is_absent, is_in, surely

NUMBERS = [3, 0, -1, 7]


def test_words_over_arrays() -> None:
    numbers = np.array(NUMBERS)
    assert is_in(numbers, (0, 7)).tolist() == [False, True, False, True]
    assert is_absent(numbers).tolist() == [False] * 4
    assert surely(numbers > 0).tolist() == [True, False, False, True]
    assert clipped(numbers, 0, 5).tolist() == [3, 0, 0, 5]


@pytest.mark.spark
def test_words_over_columns_say_the_same_and_know_nulls(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(number,) for number in [*NUMBERS, None]], "number int")
    number = F.col("number")
    told = rows.select(
        is_in(number, (0, 7)), is_absent(number), surely(number > 0), clipped(number, 0, 5)
    ).collect()
    numbers = np.array(NUMBERS)
    assert [row[0] for row in told] == [*is_in(numbers, (0, 7)).tolist(), None]
    assert [row[1] for row in told] == [*is_absent(numbers).tolist(), True]
    assert [row[2] for row in told] == [*surely(numbers > 0).tolist(), False]
    assert [row[3] for row in told] == [*clipped(numbers, 0, 5).tolist(), None]
