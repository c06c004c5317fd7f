"""Of which logs the mark of a clean stop counts."""

import pytest
from pyspark.sql import SparkSession

from jobs.replay.stopped import stopped
from jobs.spark.local import local_frame

LISTED = (
    "partition_index int, cluster_id string, broker int, clean_shutdown boolean, "
    "checkpoint_recovery_point long"
)
SPLITS = (
    "partition_index int, base_offset long, split_start long, batches long, final_last_offset long"
)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("ends", "clean"),
    [
        ((9, 4, None), [True, True, True]),
        # One log goes on: it may be a bit of a base offset, and says nothing of the others.
        ((10, 4, None), [False, True, True]),
        ((10, 5, None), [False, False, False]),
        # A log that ends in front of its recovery point has lost its end.
        ((8, 4, None), [True, True, True]),
    ],
    ids=["all end there", "one goes on", "two go on", "one ends before"],
)
def test_a_log_that_goes_on_behind_the_stop_was_written_since(
    spark: SparkSession, ends: tuple[int | None, ...], clean: list[bool]
) -> None:
    """Recovery points of three logs: 10, 5 and 0, an empty one; another broker has stopped, too."""
    listed = [(0, "c", 1, True, 10), (1, "c", 1, True, 5), (2, "c", 1, True, 0)]
    others = [(3, "c", 2, True, 7), (4, "c", 3, False, 1)]
    # Which of these are of one broker nothing tells.
    others += [(5, None, None, True, 51), (6, None, None, True, 50), (7, None, None, True, 50)]
    # The newest segment has the end, whatever an older one has.
    splits = [(index, 0, 0, 1, 99) for index in (0, 1)]
    splits += [(index, 5, 0, 1, end) for index, end in enumerate(ends) if end is not None]
    splits += [(2, 7, 0, 0, None), (3, 0, 0, 1, 6)]
    splits += [(index, 0, 0, 1, 50) for index in (4, 5, 6, 7)]
    found = stopped(
        local_frame(spark, listed + others, LISTED), local_frame(spark, splits, SPLITS)
    ).collect()
    told = {one.partition_index: (one.clean_shutdown, one.started_again) for one in found}
    assert [told[index][0] for index in range(3)] == clean
    assert told[3] == (True, False)
    assert told[4] == (False, False)
    assert told[5] == (True, False)
    assert told[6] == told[7] == (False, True)
    assert [told[index][1] for index in range(3)] == [not one for one in clean]
