"""A text up to Kafka 3.9 does not tell when a transaction began: what is said of its age then."""

import pytest
from pyspark.sql import SparkSession

from jobs.verify.checks.coordinator import txnlog_overdue_transaction
from jobs.verify.checks.transaction import lso_stuck, open_transaction_overdue
from jobs.verify.contexts.open_coordinator import coordinator_columns
from jobs.verify.contexts.open_transaction import overdue, start_untold
from jobs.verify.verdict import judge

NOW, TIMEOUT = 1_000_000, 60_000
# Of the coordinator, one row a record: name, start, last update, ms.
RECORDS = [
    ("told, in time", NOW - 60_000, NOW - 60_000),
    ("told, overdue", NOW - 200_000, NOW - 1_000),
    ("not told", None, NOW - 1_000),
    ("not told, overdue", None, NOW - 200_000),
]
UNDECIDED = ("inconclusive", "text_dump_lacks_field")
OVERDUE = ("suspect", "coordinator_stopped")
EXPECTED = {"told, overdue": OVERDUE, "not told": UNDECIDED, "not told, overdue": OVERDUE}


def test_an_open_transaction_of_an_untold_start_is_undecided(spark: SparkSession) -> None:
    rows = spark.createDataFrame(RECORDS, "name string, start_ms long, last_update_ms long")
    placed = rows.selectExpr(
        "name", "'open' outcome", "true coordinator_covers_partition", "false two_phase_commit",
        "'Ongoing' coordinator_state", "0L offset_first", "9L replicated_below",
        "true holds_lso", "99L held_ms", "1L limit_ms", "false hangs", "false outlasted",
        "'t' topic", "0 partition",
        f"struct(start_ms, last_update_ms, {TIMEOUT} timeout_ms, {NOW}L complete_up_to_ms,"
        " 'Ongoing' state, array('t-0') partitions) coordinator",
    )  # fmt: skip
    *_, overdue_ms = coordinator_columns(NOW, 0, 0)
    told = placed.select("*", overdue_ms).select(
        "*", overdue().alias("overdue"), start_untold().alias("start_untold")
    )
    check = open_transaction_overdue.CHECK
    fired = told.filter(check.fires()).select("name", *judge(check.excuses)).collect()
    assert {name: (verdict, reason) for name, verdict, reason in fired} == EXPECTED
    # What holds the last stable offset is told as long as it is not known to be overdue.
    stuck = told.filter(lso_stuck.CHECK.fires()).collect()
    assert {row.name for row in stuck} == {"told, in time", "not told"}


@pytest.mark.parametrize("record", RECORDS, ids=[name for name, *_ in RECORDS])
def test_so_is_the_last_record_of_its_id(
    spark: SparkSession, record: tuple[str, int | None, int]
) -> None:
    name, start, updated = record
    latest = updated if start is None else start
    row = spark.createDataFrame(
        [(start, NOW - latest - TIMEOUT - 10_000)], "start_ms long, overdue_ms long"
    ).selectExpr(
        "*", f"{TIMEOUT} timeout_ms", "1 state", "true last_of_all", "cast(null as string) error",
        "false tombstone", "0L offset_last", "9L replicated_below", "false lost_behind",
    )  # fmt: skip
    check = txnlog_overdue_transaction.CHECK
    fired = row.filter(check.fires()).select(*judge(check.excuses)).collect()
    wanted = [EXPECTED[name]] if name in EXPECTED else []
    assert [tuple(one) for one in fired] == wanted
