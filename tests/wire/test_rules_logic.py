"""The words of rules mean the same over arrays and columns, nulls included."""

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from udfs.rules.logic import as_number, chosen, clipped, is_in, surely

NUMBERS = [3, 0, -1, 7]


def test_words_over_arrays() -> None:
    numbers = np.array(NUMBERS)
    assert is_in(numbers, (0, 7)).tolist() == [False, True, False, True]
    assert as_number(numbers > 0).tolist() == [1, 0, 0, 1]
    assert chosen(numbers > 0, numbers, 9).tolist() == [3, 9, 9, 7]
    assert surely(numbers > 0).tolist() == [True, False, False, True]
    assert clipped(numbers, 0, 5).tolist() == [3, 0, 0, 5]


@pytest.mark.spark
def test_words_over_columns_say_the_same_and_know_nulls(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(number,) for number in [*NUMBERS, None]], "number int")
    number = F.col("number")
    told = rows.select(
        is_in(number, (0, 7)),
        as_number(number > 0),
        surely(number > 0),
        clipped(number, 0, 5),
        chosen(number > 0, number, F.lit(9)),
    ).collect()
    numbers = np.array(NUMBERS)
    assert [row[0] for row in told] == [*is_in(numbers, (0, 7)).tolist(), None]
    assert [row[1] for row in told] == [*as_number(numbers > 0).tolist(), None]
    assert [row[2] for row in told] == [*surely(numbers > 0).tolist(), False]
    assert [row[3] for row in told] == [*clipped(numbers, 0, 5).tolist(), None]
    assert [row[4] for row in told] == [*chosen(numbers > 0, numbers, 9).tolist(), None]
