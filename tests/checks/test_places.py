"""What one cause did in many partitions is one finding."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from jobs.model.found import ALL_ABORTED
from jobs.verify.places import MOST_NAMED, MOST_PLACES, one_a_cause
from schemas.violation import FINDING_COLUMNS

TORN = {
    "code": "torn_transaction",
    "severity": "error",
    "verdict": "violation",
    "topic": "orders",
    "broker": 1,
    "message": "Transaction id is torn.",
    "cause_id": "producer_id=7 producer_epoch=3",
    "evidence": [],
}


def at(partition: int, offset: int, **more: Any) -> dict[str, Any]:
    place = {"partition": partition, "offset_first": offset, "offset_last": offset + 1}
    return TORN | place | {"file": f"orders-{partition}", "byte_position": 10 * offset} | more


@pytest.mark.spark
def test_a_fault_over_twenty_partitions_is_one_finding_that_names_all(spark: SparkSession) -> None:
    twenty = [at(partition, 7) for partition in range(20)]
    (found,) = one_a_cause(
        spark.createDataFrame(twenty, StructType(list(FINDING_COLUMNS)))
    ).collect()
    assert [one.partition for one in found.places] == list(range(20))
    assert "It shows in 20 places: orders-0 at 7" in found.message
    assert found.message.endswith("orders-19 at 7 on broker 1.")


@pytest.mark.spark
def test_all_places_are_counted_where_not_all_are_kept(spark: SparkSession) -> None:
    many = [at(partition, 7) for partition in range(MOST_PLACES + 5)]
    (found,) = one_a_cause(spark.createDataFrame(many, StructType(list(FINDING_COLUMNS)))).collect()
    assert len(found.places) == MOST_PLACES
    assert f"It shows in {MOST_PLACES + 5} places: " in found.message


@pytest.mark.spark
def test_one_cause_is_one_finding_with_all_its_places(spark: SparkSession) -> None:
    many = [at(partition, 100 + partition) for partition in range(30)]
    others = [
        at(3, 900),
        at(4, 5, verdict="inconclusive", reason="dump_before_event"),
        at(5, 5, cause_id=None),
        at(6, 5, cause_id=None),
    ]
    frame = spark.createDataFrame(many[::-1] + others, StructType(list(FINDING_COLUMNS)))
    found = sorted(one_a_cause(frame).collect(), key=lambda row: (-len(row.places or ()), row[6]))

    whole, *rest = found
    assert [(one.partition, one.offset_first) for one in whole.places] == [
        (partition, 100 + partition) for partition in range(30)
    ]
    assert (whole.partition, whole.offset_first, whole.file) == (0, 100, "orders-0")
    assert whole.message.startswith(
        "Transaction id is torn. It shows in 30 places: orders-0 at 100"
    )
    assert whole.message.endswith(f"orders-{MOST_NAMED - 1} at {99 + MOST_NAMED} on broker 1, ….")
    told = {(one.partition, one.offset_first, one.verdict, one.places) for one in rest}
    assert told == {
        (3, 900, "violation", None),
        (4, 5, "inconclusive", None),
        (5, 5, "violation", None),
        (6, 5, "violation", None),
    }
    assert {one.message for one in rest} == {TORN["message"]}


@pytest.mark.spark
def test_places_of_two_decisions_of_one_epoch_are_two_findings(spark: SparkSession) -> None:
    def decided_at(position: int) -> dict[str, Any]:
        record = {"file": "__transaction_state-0", "byte_position": position, "byte_length": 150}
        return {"evidence": [record | {"role": "the Prepare record"}]}

    rows = [
        at(0, 7, **decided_at(100)),
        at(1, 8, **decided_at(300)),
        at(2, 9, **decided_at(100)),
        at(3, 10, **decided_at(300)),
    ]
    frame = spark.createDataFrame(rows, StructType(list(FINDING_COLUMNS)))
    found = one_a_cause(frame).collect()
    told = {one.evidence[0].byte_position: [p.partition for p in one.places] for one in found}
    assert told == {100: [0, 2], 300: [1, 3]}


@pytest.mark.spark
def test_data_that_were_surely_aborted_are_not_put_to_others(spark: SparkSession) -> None:
    rows = [at(0, 7, found=f"none{ALL_ABORTED}"), at(1, 8), at(2, 9, found=f"none{ALL_ABORTED}")]
    frame = spark.createDataFrame(rows, StructType(list(FINDING_COLUMNS)))
    found = one_a_cause(frame).collect()
    told = {one.found: [p.partition for p in one.places or (one,)] for one in found}
    assert told == {f"none{ALL_ABORTED}": [0, 2], None: [1]}
