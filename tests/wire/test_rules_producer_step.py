"""What follows what a broker knows of a producer: the same over arrays and columns."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from engines import check_in_both_engines
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from udfs.rules.producer_step import (
    MAX_SEQUENCE,
    Batch,
    Marker,
    ProducerState,
    follows,
    is_ahead,
    is_behind,
    is_contiguous,
    is_regular_end,
    next_sequence,
    sequence_at,
    sequence_distance,
)

EPOCHS = [0, 1, 2, None]
SEQUENCES = [0, 1, 2, MAX_SEQUENCE - 1, MAX_SEQUENCE, None]


@pytest.mark.parametrize(
    ("last", "following"),
    [(-1, 0), (0, 1), (MAX_SEQUENCE - 1, MAX_SEQUENCE), (MAX_SEQUENCE, 0)],
)
def test_behind_the_last_sequence_comes_the_first(last: int, following: int) -> None:
    assert next_sequence(np.array([last])).tolist() == [following]


def test_sequences_go_round() -> None:
    there, steps = np.array([5, MAX_SEQUENCE - 1, 0, 5]), np.array([2, 4, -1, -5])
    assert sequence_at(there, steps).tolist() == [7, 2, MAX_SEQUENCE, 0]


def test_half_of_the_circle_is_ahead() -> None:
    half = (MAX_SEQUENCE + 1) // 2
    start = np.array([5, 5, 5, 5, MAX_SEQUENCE, 0, -1])
    end = np.array([5, 6, 5 + half - 1, 5 + half, 0, MAX_SEQUENCE, MAX_SEQUENCE])
    assert sequence_distance(start, end).tolist() == [0, 1, half - 1, half, 1, MAX_SEQUENCE, 0]
    assert is_ahead(start, end).tolist() == [False, True, True, False, True, False, False]
    assert is_behind(start, end).tolist() == [False, False, False, True, False, True, False]


@pytest.mark.spark
@pytest.mark.parametrize("rule", [sequence_distance, is_ahead, is_behind])
def test_columns_say_what_arrays_say_of_the_circle(
    spark: SparkSession, rule: Callable[..., Any]
) -> None:
    half = (MAX_SEQUENCE + 1) // 2
    anything = [*SEQUENCES, -1, -7, -half, half - 1, half, half + 1, -MAX_SEQUENCE - 1]
    choices = {"start": anything, "end": anything}
    check_in_both_engines(spark, lambda row: rule(row["start"], row["end"]), choices)


@pytest.mark.parametrize(
    ("batch", "known", "taken"),
    [
        (Batch(3, 6), ProducerState(3, 3, 6), True),
        (Batch(3, 7), ProducerState(3, 3, 6), False),
        (Batch(3, 0), ProducerState(3, 3, 6), False),
        (Batch(4, 0), ProducerState(3, 3, 6), True),
        (Batch(4, 6), ProducerState(3, 3, 6), False),
        # A marker raised the epoch of the data.
        (Batch(4, 0), ProducerState(4, 3, 6), True),
        (Batch(4, 6), ProducerState(4, 3, 6), False),
        (Batch(3, 6), ProducerState(4, 3, 6), False),
        # Only a marker is known.
        (Batch(4, 0), ProducerState(4, -1, 0), True),
        (Batch(4, 1), ProducerState(4, -1, 0), False),
    ],
)
def test_a_batch_goes_on_or_begins_anew_in_a_new_epoch(
    batch: Batch, known: ProducerState, taken: bool
) -> None:
    batch, known = Batch(*map(np.array, batch)), ProducerState(*map(np.array, known))
    assert bool(follows(batch, known, np.bool_(False))) == taken


def test_batches_of_coordinators_carry_no_sequence() -> None:
    known = ProducerState(*map(np.array, (3, 3, 6)))
    assert follows(Batch(np.array(3), np.array(-1)), known, np.bool_(True))
    assert not follows(Batch(np.array(2), np.array(-1)), known, np.bool_(True))


@pytest.mark.parametrize(
    ("marker", "regular"),
    [
        (Marker(9, 3, True, 5, 5), True),
        (Marker(9, 4, True, 6, 5), True),
        (Marker(9, 5, True, 5, 5), False),
        (Marker(9, 2, True, 5, 5), False),
        (Marker(9, 3, True, 4, 5), False),
        (Marker(9, 3, False, 5, 5), True),
        # Data that a cleaner may have taken.
        (Marker(6, 3, False, 5, 5), False),
        (Marker(6, 3, True, 5, 5), True),
    ],
)
def test_a_marker_has_the_epoch_of_its_data_or_the_next(marker: Marker, regular: bool) -> None:
    assert bool(is_regular_end(Marker(*map(np.array, marker)), np.array(3), 7)) == regular


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_a_batch(spark: SparkSession) -> None:
    choices = {
        "epoch": [0, 1, 2],
        "first_sequence": [-1, *SEQUENCES[:-1]],
        "known_epoch": EPOCHS,
        "data_epoch": EPOCHS,
        "last_sequence": SEQUENCES,
        "unsequenced": [True, False],
    }

    def given(row: dict) -> tuple[Batch, ProducerState]:  # type: ignore[type-arg]
        batch = Batch(row["epoch"], row["first_sequence"])
        known = ProducerState(
            row["known_epoch"], row["data_epoch"], next_sequence(row["last_sequence"])
        )
        return batch, known

    check_in_both_engines(
        spark, lambda row: follows(*given(row), row["unsequenced"]), choices, {"data_epoch": -1}
    )
    check_in_both_engines(spark, lambda row: is_contiguous(*given(row)), choices)


@pytest.mark.spark
def test_columns_of_32_bits_do_not_overflow(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(-1,), (0,), (MAX_SEQUENCE,), (None,)], "last int")
    told = rows.select(next_sequence(F.col("last")).alias("next"))
    assert [row.next for row in told.collect()] == [0, 1, 0, None]
    assert told.schema["next"].dataType.simpleString() == "int"


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_a_marker(spark: SparkSession) -> None:
    choices = {
        "offset": [3, 6, 7, 9, None],
        "epoch": EPOCHS,
        "commit": [True, False],
        "coordinator_epoch": [4, 5, 6],
        "coordinator_before": [5, 6, None],
        "data_epoch": [0, 1, None],
        "cleaned_below": [7, None],
    }
    check_in_both_engines(
        spark,
        lambda row: is_regular_end(
            Marker(*[row[name] for name in list(choices)[:5]]),
            row["data_epoch"],
            row["cleaned_below"],
        ),
        {**choices, "offset": [3, 6, 7, 9]},
        {"coordinator_before": -1, "cleaned_below": 0},
    )
