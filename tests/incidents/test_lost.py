"""Which copies of a partition others outlived, and from where on they differ."""

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.incidents.assign import VIOLATION
from jobs.incidents.lost import _copies, first_differences
from jobs.incidents.parted import Stretch, parts_at
from jobs.incidents.signature import DIVERGED
from jobs.spark.local import local_frame
from udfs.rules.extent import MAX_OFFSET

INFO = (
    "partition_index int, broker int, topic string, partition int, replica_set int, "
    "incarnation int, log_start_offset long, log_end_offset long"
)
# Two copies of a topic, and the folder that a broker keeps of one of that name that is deleted.
COPIES = [(0, 1, "t", 0, 7, 1, 0, 50), (1, 2, "t", 0, 7, 1, 0, 50), (2, 3, "t", 0, 7, 0, 0, 50)]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("leader_epochs", "outlived"),
    [([4, 5, 9], [0]), ([5, 5, 9], []), ([5, 5, 0], [])],
    ids=["by the other copy", "by another topic only", "another topic by none of these"],
)
def test_a_copy_is_outlived_by_one_of_its_own_topic(
    spark: SparkSession, leader_epochs: list[int], outlived: list[int]
) -> None:
    schema = "partition_index int, final_leader_epoch int"
    ends = local_frame(spark, enumerate(leader_epochs), schema)
    known: Any = SimpleNamespace(info=local_frame(spark, COPIES, INFO), splits=ends)
    found = _copies(known).filter("outlived").collect()
    assert [one.partition_index for one in found] == outlived


@pytest.mark.spark
def test_copies_of_another_topic_do_not_differ_from_where_these_do(spark: SparkSession) -> None:
    findings = local_frame(
        spark,
        [(DIVERGED, VIOLATION, 2, "t", 0, 40), (DIVERGED, VIOLATION, 1, "t", 0, 30)],
        "code string, verdict string, broker int, topic string, partition int, offset_first long",
    )
    found = first_differences(findings, local_frame(spark, COPIES, INFO)).collect()
    assert sorted((one.partition_index, one.cut) for one in found) == [(0, 30), (1, 30)]


@pytest.mark.parametrize(
    ("own", "surviving", "offset"),
    [
        # The old leader's copy, and one that went on without it.
        ([(2, 3, 0)], [(2, 9, 1), (10, 10, 2)], 2),
        # It was stopped before the next, clean, election: it lags.
        ([(2, 9, 1)], [(2, 9, 1), (10, 10, 2)], 10),
        ([(2, 7, 1)], [(2, 9, 1), (10, 10, 2)], 10),
        # A cleaner took the end of the epoch from the surviving copy.
        ([(2, 9, 1)], [(2, 4, 1), (12, 12, 2)], 12),
        ([(2, 9, 1)], [(2, 4, 1)], MAX_OFFSET),
        # The second of two unclean elections cut off its end.
        ([(2, 9, 1), (10, 12, 1)], [(2, 9, 1), (10, 11, 2)], 10),
        # An epoch that only this copy has, behind one that both have.
        ([(2, 4, 3), (5, 8, 4)], [(2, 6, 3), (7, 9, 5)], 5),
        # Two brokers led in turn, and neither truncated its log (KIP-279).
        ([(2, 4, 1), (5, 6, 3)], [(2, 4, 2), (5, 10, 4)], 2),
        ([(2, 3, 0), (4, 5, 1), (6, 7, 3)], [(2, 3, 0), (4, 6, 2), (7, 10, 4)], 4),
        # Nothing of the surviving copy is left behind the cut.
        ([(2, 9, 1)], [], 2),
    ],
)
def test_a_copy_parts_where_the_first_of_two_ends_the_newest_epoch_of_both(
    own: list[tuple[int, int, int]], surviving: list[tuple[int, int, int]], offset: int
) -> None:
    """`LeaderEpochFileCache.endOffsetFor`."""
    assert (
        parts_at([Stretch(*one) for one in own], [Stretch(*one) for one in surviving], 2) == offset
    )
