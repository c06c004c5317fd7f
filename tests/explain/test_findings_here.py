"""A finding that has several places is told with the offsets that it has in the partition."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from jobs.cli.commands.explain import _findings
from jobs.explain.text import _found
from jobs.spark.local import local_frame
from schemas.violation import VIOLATION

NAMES = (
    "severity", "topic", "partition", "broker", "offset_first", "offset_last", "producer_id",
    "places",
)  # fmt: skip
SCHEMA = StructType([VIOLATION[name] for name in NAMES])
STATE = {"topic": "m", "partition": 0, "broker": 1}
HOLDER = {"producer_id": 12, "first_offset": 485}


def place(topic: str, first: int, last: int) -> dict[str, object]:
    return {"topic": topic, "partition": 0, "broker": 1, "offset_first": first, "offset_last": last}


@pytest.mark.spark
def test_offsets_are_those_of_the_place_in_the_partition(spark: SparkSession) -> None:
    finding = {"severity": "error", "producer_id": 12} | place("o", 98, 99)
    rows = [
        finding | {"places": [place("o", 98, 99), place("m", 3, 4), place("m", 485, 523)]},
        finding | place("m", 7, 8),
        finding | {"places": [place("o", 98, 99), place("n", 485, 523)]},
    ]
    here, elsewhere = _findings(local_frame(spark, rows, SCHEMA), STATE, HOLDER)
    assert [(row.offset_first, row.offset_last) for row in here.collect()] == [(485, 523), (7, 8)]
    assert [(row.offset_first, row.offset_last) for row in elsewhere.collect()] == [(98, 99)]


def test_a_message_with_the_offsets_of_another_place_says_whose_they_are() -> None:
    row = {
        "code": "hanging_transaction", "verdict": "violation", "reason": None,
        "message": "it hangs", "topic": "o", "partition": 0, "broker": 1, "offset_first": 485,
        "offset_last": 485,
    }  # fmt: skip
    assert list(_found("here", (row,), 1, "m-0"))[-1] == "    offset 485 (told of o-0): it hangs"
    assert list(_found("here", (row,), 1, "o-0"))[-1] == "    offset 485: it hangs"
    assert list(_found("there", (row,), 1))[-1] == "    o-0 on broker 1, offset 485: it hangs"
