"""What a partition tells again and again is one finding with a count."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from jobs.verify.repeated import FEW, combined
from schemas.violation import FINDING_COLUMNS

SCHEMA = StructType(list(FINDING_COLUMNS))
EXPIRED = {
    "code": "producer_timestamp_expired_state",
    "severity": "info",
    "verdict": "suspect",
    "reason": "also_legal",
    "topic": "orders",
    "partition": 0,
    "broker": 1,
    "message": "The broker may have forgotten it.",
    "cause_id": "producer_id=7",
    "evidence": [],
}


def at(offset: int, **more: Any) -> dict[str, Any]:
    return EXPIRED | {"offset_first": offset, "offset_last": offset, "byte_position": 9} | more


def told(spark: SparkSession, given: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    rows = combined(spark.createDataFrame(given, SCHEMA)).collect()
    return sorted((row.partition, row.offset_first, row.message, row.cause_id) for row in rows)


@pytest.mark.spark
def test_a_thousand_observations_of_a_partition_are_one_with_a_count(spark: SparkSession) -> None:
    given = [at(offset) for offset in range(1058, 0, -1)] + [at(5, partition=1)]
    sentence = EXPIRED["message"]
    counted = f"{sentence} (The first of 1058 such places in this partition, up to offset 1058.)"
    assert told(spark, given) == [(0, 1, counted, None), (1, 5, sentence, EXPIRED["cause_id"])]


@pytest.mark.spark
def test_what_cannot_be_decided_is_told_one_by_one_while_it_is_little(spark: SparkSession) -> None:
    undecided = {
        "code": "offset_gap", "severity": "error", "verdict": "inconclusive", "reason": "unknown",
    }  # fmt: skip
    few = [at(offset, **undecided) for offset in range(FEW)]
    assert len(told(spark, few)) == FEW
    assert len(told(spark, [*few, at(FEW, **undecided)])) == 1
    assert len(told(spark, [*few, at(FEW, **undecided | {"reason": "cleaned_range"})])) == FEW + 1
    assert len(told(spark, [*few, at(FEW, **undecided | {"broker": 2})])) == FEW + 1
    owners = [at(offset, **undecided, transactional_id=f"id-{offset}") for offset in range(9)]
    assert len(told(spark, owners)) == len(owners)


@pytest.mark.spark
def test_of_findings_at_one_place_the_first_by_what_they_say_stands_for_all(
    spark: SparkSession,
) -> None:
    given = [at(5, producer_id=number, message=f"Of {number}.") for number in range(FEW + 2)]
    for turn in (1, -1):
        ((_, _, message, _),) = told(spark, given[::turn])
        assert message.startswith("Of 0."), message


@pytest.mark.spark
@pytest.mark.parametrize("severity", ["error", "warning", "info"])
def test_violations_are_all_told(spark: SparkSession, severity: str) -> None:
    proven = {"severity": severity, "verdict": "violation", "reason": None}
    assert len(told(spark, [at(offset, **proven) for offset in range(50)])) == 50
