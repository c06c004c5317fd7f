"""A finding that has several places is told with the offsets that it has in the partition."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from jobs.cli.commands.explain import (
    _also_elsewhere,
    _findings,
    _in_other_copies,
    _of_other_topics,
    _told,
)
from jobs.explain.text import _found
from jobs.spark.local import local_frame
from schemas.violation import VIOLATION

NAMES = (
    "severity", "verdict", "topic", "partition", "broker", "offset_first", "offset_last",
    "producer_id", "places",
)  # fmt: skip
SCHEMA = StructType([VIOLATION[name] for name in NAMES])
STATE = {"topic": "m", "partition": 0, "broker": 1}
HOLDER = {"producer_id": 12, "first_offset": 485}


FINDING = {"severity": "error", "verdict": "violation", "producer_id": 12}


def place(topic: str, first: int, last: int, broker: int | None = 1) -> dict[str, object]:
    offsets = {"offset_first": first, "offset_last": last}
    return {"topic": topic, "partition": 0, "broker": broker} | offsets


@pytest.mark.spark
def test_offsets_are_those_of_the_place_in_the_partition(spark: SparkSession) -> None:
    finding = FINDING | place("o", 98, 99)
    rows = [
        finding | {"places": [place("o", 98, 99), place("m", 3, 4), place("m", 485, 523)]},
        finding | place("m", 7, 8),
        finding | {"places": [place("o", 98, 99), place("n", 485, 523)]},
    ]
    here, elsewhere = _findings(_told(local_frame(spark, rows, SCHEMA)), STATE, HOLDER)
    assert [(row.offset_first, row.offset_last) for row in here.collect()] == [(485, 523), (7, 8)]
    assert [(row.offset_first, row.offset_last) for row in elsewhere.collect()] == [(98, 99)]
    # The first has places in other partitions, too; the second only its own.
    assert _also_elsewhere(here, STATE, HOLDER) == 1
    assert _also_elsewhere(here, STATE, HOLDER | {"producer_id": 13}) == 0
    assert _also_elsewhere(here, STATE, None) == 0


@pytest.mark.spark
def test_what_only_other_copies_have_is_counted_by_broker(spark: SparkSession) -> None:
    everywhere = [place("m", 7, 8, broker) for broker in (1, 2, 3)]
    rows = [
        FINDING | place("m", 7, 8) | {"places": everywhere},
        FINDING | place("m", 9, 9, 2) | {"verdict": "suspect"},
        FINDING | place("m", 9, 9, 2),
        FINDING | place("o", 1, 1) | {"places": [place("o", 1, 1), *everywhere[1:]]},
        FINDING | place("m", 9, 9, 4) | {"severity": "info"},
        FINDING | place("o", 9, 9, 5),
        FINDING | place("m", 9, 9, None),
    ]
    findings = local_frame(spark, rows, SCHEMA)
    counted = [tuple(row.values()) for row in _in_other_copies(_told(findings), STATE)]
    assert counted == [(2, 3, 2), (3, 1, 1), (None, 1, 1)]
    # Audits of before have no places.
    counted = [
        tuple(row.values()) for row in _in_other_copies(_told(findings.drop("places")), STATE)
    ]
    assert counted == [(2, 2, 1), (None, 1, 1)]
    _, elsewhere = _findings(_told(findings), STATE, HOLDER)
    assert sorted((row.topic, row.broker) for row in elsewhere.collect()) == [("o", 1), ("o", 5)]
    alone = _told(local_frame(spark, rows[:1] + rows[4:6], SCHEMA))
    assert _in_other_copies(alone, STATE) == []


def test_a_message_with_the_offsets_of_another_place_says_whose_they_are() -> None:
    row = {
        "code": "hanging_transaction", "verdict": "violation", "reason": None,
        "message": "it hangs", "topic": "o", "partition": 0, "broker": 1, "offset_first": 485,
        "offset_last": 485,
    }  # fmt: skip
    assert list(_found("here", (row,), 1, "m-0"))[-1] == "    offset 485 (told of o-0): it hangs"
    assert list(_found("here", (row,), 1, "o-0"))[-1] == "    offset 485: it hangs"
    assert list(_found("there", (row,), 1))[-1] == "    o-0 on broker 1, offset 485: it hangs"


@pytest.mark.spark
@pytest.mark.parametrize(("topic", "told"), [("m", 1), ("o", 0)])
def test_copies_of_another_topic_of_the_name_are_found_on_any_broker(
    spark: SparkSession, topic: str, told: int
) -> None:
    coded = StructType([VIOLATION["code"], *SCHEMA])
    rows = [FINDING | place(topic, 0, 0, 4) | {"code": "topic_id_mismatch", "verdict": "suspect"}]
    findings = _told(local_frame(spark, rows, coded))
    assert _of_other_topics(findings, STATE).count() == told
