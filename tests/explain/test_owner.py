"""The owner of a producer id that `explain` shows is the one that the audit took."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.cli.commands.explain import _owner
from jobs.replay.coordinator import owners, with_owner
from jobs.spark.local import local_frame

STATES = (
    "broker int, partition int, transactional_id string, producer_id long, record_offset long, "
    "leader_epoch int, record_timestamp long, complete_up_to_ms long, told_by_another boolean, "
    "tombstone boolean, replicas int, state string, partitions array<string>"
)
HOLDER = {"producer_id": 5, "first_offset": 60}
FIRST: dict[str, Any] = {
    "broker": 1, "partition": 7, "transactional_id": "pay", "producer_id": 5, "record_offset": 90,
    "leader_epoch": 3, "record_timestamp": 1_000, "complete_up_to_ms": 1_000,
    "told_by_another": False, "tombstone": False, "replicas": 0, "state": "Empty",
    "partitions": [],
}  # fmt: skip
# The copy of the next leader: shorter, as it cut off what the first one had alone.
NEXT = FIRST | {"broker": 2, "record_offset": 80, "leader_epoch": 4}
AHEAD = FIRST | {"broker": None, "partition": 8, "replicas": 1, "transactional_id": "old"}


def _table(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    states = local_frame(spark, rows, STATES)
    return with_owner(states, owners(states))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("rows", "broker"),
    [
        ([FIRST, NEXT], 2),
        ([FIRST, NEXT | {"leader_epoch": 3}], 1),
        ([FIRST | {"told_by_another": True}, NEXT | {"leader_epoch": 3}], 2),
        ([FIRST, NEXT | {"producer_id": 6}], None),
        ([FIRST, NEXT | {"producer_id": None, "tombstone": True}], None),
        ([FIRST, AHEAD | {"record_timestamp": 999}], 1),
    ],
    ids=["a later leader", "the same leader", "what another copy tells better",
         "it went on with another producer", "the id has expired", "an older id"],
)  # fmt: skip
def test_the_owner_is_that_of_the_audit(
    spark: SparkSession, rows: list[dict[str, Any]], broker: int | None
) -> None:
    owner = _owner(_table(spark, rows), HOLDER, "t-0")
    assert (owner and owner["broker"]) == broker


@pytest.mark.spark
def test_the_broker_of_an_owner_may_be_unknown(spark: SparkSession) -> None:
    owner = _owner(_table(spark, [AHEAD, FIRST | {"record_timestamp": 1}]), HOLDER, "t-0")
    assert owner is not None
    assert owner["transactional_id"] == "old"


@pytest.mark.spark
def test_of_audits_of_before_the_copy_that_goes_furthest_has_the_owner(spark: SparkSession) -> None:
    table = _table(spark, [FIRST, NEXT])
    for older in (
        table.drop("owner"),
        table.selectExpr("* except (owner)", "cast(null as boolean) as owner"),
    ):
        owner = _owner(older, HOLDER, "t-0")
        assert owner is not None
        assert owner["broker"] == 1


@pytest.mark.spark
def test_of_ids_that_share_a_producer_id_the_one_that_runs_here_is_the_owner(
    spark: SparkSession,
) -> None:
    other = FIRST | {"transactional_id": "other", "record_offset": 40, "record_timestamp": 9}
    runs = other | {"state": "Ongoing", "partitions": ["t-0"]}
    table = _table(spark, [FIRST, runs])
    for place, owner in (("t-0", "other"), ("t-1", "pay")):
        found = _owner(table, HOLDER, place)
        assert found is not None
        assert found["transactional_id"] == owner
    # A copy that lags has it running, the one that goes furthest does not.
    table = _table(spark, [FIRST, runs | {"broker": 2}, other | {"record_offset": 41}])
    found = _owner(table, HOLDER, "t-0")
    assert found is not None
    assert found["transactional_id"] == "pay"
