"""How many partitions `__transaction_state` has, from where its ids lie."""

import math

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs.verify.contexts.partition_count import known_count, no_multiple_fits, partition_count
from tests.wire_writer.txn_log import partition_for
from udfs.wire.coordinator.txn_log import placing_hash

IDS = [f"application-{i}" for i in range(150)]

Ids = list[tuple[int, int]]  # partition, hash


def placed(names: list[str], count: int) -> Ids:
    return [(partition_for(name, count), placing_hash(name)) for name in names]


def moved(ids: Ids, number: int) -> Ids:
    """The first ids one partition further."""
    return [(partition + 1, hashed) for partition, hashed in ids[:number]] + ids[number:]


def only(ids: Ids, *partitions: int) -> Ids:
    return [one for one in ids if one[0] in partitions]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("ids", "highest", "count", "proven"),
    [
        ([], None, 50, True),
        (placed(IDS, 50), 49, 50, True),
        (only(placed(IDS, 50), 0, 1, 2), 2, 50, True),
        (placed(IDS, 5), 4, 5, True),
        (only(placed(IDS, 13), 1, 4), 4, 13, True),
        (placed(IDS, 13), 13, None, False),
        (moved(placed(IDS, 50), 3), 49, 50, True),
        (moved(placed(IDS[:6], 5), 1), 4, None, False),
    ],
    ids=[
        "no ids: the default",
        "the default",
        "some partitions of the default",
        "another number",
        "some partitions of another number",
        "a partition more than the ids fit",
        "few ids lie wrong",
        "one of few ids lies wrong",
    ],
)
def test_the_ids_tell_the_number_of_partitions(
    spark: SparkSession, ids: Ids, highest: int | None, count: int | None, proven: bool
) -> None:
    told = partition_count(
        spark.createDataFrame(ids, "partition int, id_hash int"),
        spark.createDataFrame([(highest, None)], "highest_partition int, known_count int"),
    ).collect()
    assert len(told) == 1
    assert told[0].partition_count_proven == proven
    if count is not None:
        assert told[0].partition_count == count


@pytest.mark.spark
def test_what_the_cluster_tells_of_it_counts(spark: SparkSession) -> None:
    ids = spark.createDataFrame(moved(placed(IDS[:6], 5), 1), "partition int, id_hash int")
    of_topic = "partition int, topic_partitions int"
    for facts, expected in (
        ([(0, 7), (4, 7)], (7, True)),
        ([(0, 7), (4, None)], None),
        ([(0, 7), (4, 8)], None),
        ([(0, 4), (4, 4)], None),
    ):
        known = spark.createDataFrame(facts, of_topic).agg(
            F.max("partition").alias("highest_partition"), known_count().alias("known_count")
        )
        told = partition_count(ids, known).collect()[0]
        if expected is None:
            assert not told.partition_count_proven
        else:
            assert tuple(told) == expected


@pytest.mark.spark
@pytest.mark.parametrize(
    ("ids", "number", "sole"),
    [
        (placed(IDS, 5), 5, True),
        (placed(IDS[:6], 5), 5, True),
        (only(placed(IDS, 4), 0, 1), 2, False),
        (only(placed(IDS, 100), *range(50)), 50, False),
        (only(placed(IDS, 50), 0), 1, False),
        (placed(IDS, 1), 1, True),
        ([(7, 7), (9, 9)], 50, False),
        ([], 5, False),
    ],
    ids=[
        "all partitions",
        "all partitions, few ids",
        "two of four",
        "fifty of a hundred",
        "one of fifty",
        "a single one",
        "hashes that any number puts there",
        "no ids",
    ],
)
def test_ids_tell_a_number_from_its_multiples(
    spark: SparkSession, ids: Ids, number: int, sole: bool
) -> None:
    # Two splits.
    divisors = [
        math.gcd(*[hashed - partition for partition, hashed in some])
        for some in (ids[::2], ids[1::2])
    ]
    told = spark.range(1).select(no_multiple_fits(number, F.lit(divisors)).alias("sole"))
    assert [row.sole for row in told.collect()] == [sole]
