"""What the context `decided_partition` asks of plain epochs, which are no rows of it."""

from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.model.plain_epochs import PlainEpochs
from jobs.model.set_back_clocks import JOINED
from jobs.spark.local import local_frame
from jobs.verify.contexts.decided.first_ended import completed
from udfs.arrow.plain_epochs import FIRST_ENDED

ROW = (
    "partition_index int, prepared_index int, complete_offset long, marker_offset long, "
    "prepares long, completes long, markers long, closing long, commit boolean, "
    "raised_offset long, complete_timestamp long, latest_marker long"
)
COPIES = f"partition_index int, alone_in_cluster boolean, set_backs {JOINED}"


def row(complete_offset: int) -> tuple[Any, ...]:
    """A decision about partition 4 with its marker."""
    return (4, 9, complete_offset, 30, 1, 1, 1, 1, True, 30, 1_050, 1_020)


def offsets(
    spark: SparkSession, set_backs: list[dict[str, int]], alone: bool | None
) -> list[tuple[int, int]]:
    """(complete_offset, marker_offset) of what counts as completed."""

    def rows(*complete_offsets: int) -> DataFrame:
        return local_frame(spark, map(row, complete_offsets), ROW)

    firsts = [(4, 9, True, 22, 32, 1_020), (4, 9, False, 21, 31, 1_010)]
    first_ended = local_frame(spark, firsts, FIRST_ENDED)
    plain = PlainEpochs(2, 0, np.empty(0, np.uint64), first_ended)
    copies = local_frame(spark, [(4, alone, set_backs)], COPIES)
    found = completed(rows(40), plain, lambda: rows(40, 21, 22), copies, F.lit(60_000))
    return sorted((one.complete_offset, one.marker_offset) for one in found.collect())


@pytest.mark.spark
def test_plain_epochs_tell_what_was_completed_first_as_far_as_clocks_may_be_apart(
    spark: SparkSession,
) -> None:
    assert offsets(spark, [], alone=True) == [(22, 32), (40, 30)]
    assert offsets(spark, [], alone=False) == [(21, 31), (40, 30)]
    assert offsets(spark, [], alone=None) == [(21, 31), (40, 30)]


@pytest.mark.spark
def test_where_a_clock_was_set_back_their_rows_tell_it(spark: SparkSession) -> None:
    elsewhere = {"to_ms": 9_000_000, "from_ms": 9_100_000, "by_ms": 100_000}
    here = {"to_ms": 0, "from_ms": 500_000, "by_ms": 500_000}
    assert offsets(spark, [elsewhere], alone=True) == [(21, 30), (22, 30), (40, 30)]
    assert offsets(spark, [here], alone=True) == []
