"""From tables to facts: numbers stay exact, and what comes to the driver stays bounded."""

import made_facts
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.report import history
from jobs.report.gather import (
    LONGEST_TEXT,
    MAX_CAUSES,
    MAX_DAMAGES,
    MAX_LAGGING,
    MAX_TOPICS,
    Source,
    gather,
)
from jobs.report.page import render
from jobs.report.timelines import MAX_TIMELINES, MAX_TRANSACTIONS
from jobs.spark import delta_tables
from schemas.tables import TABLES

pytestmark = pytest.mark.spark
FINDINGS = 100_000
PER_CODE = 5


def table(spark: SparkSession, name: str, rows: int, **columns: str) -> DataFrame:
    """`rows` rows of a table, its columns null but for SQL expressions over `id`."""
    values = [F.expr(columns.get(field.name, "null")).alias(field.name) for field in TABLES[name]]
    return delta_tables.as_schema(spark.range(rows).select(*values), TABLES[name])


def large(spark: SparkSession) -> dict[str, DataFrame]:
    """100,000 findings, each in a partition of its own; as many transactions in the first."""
    place = {"topic": "concat('t-', id % 1000)", "partition": "int(id div 1000)", "broker": "1"}
    findings = table(
        spark, "violation", FINDINGS, **place, offset_first="10 * id", producer_id="id",
        code="if(id % 2 = 0, 'hanging_transaction', 'sequence_gap')", severity="'error'",
        verdict="if(id % 2 = 0, 'violation', 'suspect')", message="repeat('m', 5000)",
        expected="'e'", found="'f'", evidence="array()",
    )  # fmt: skip
    cause = F.expr("concat('cause-', producer_id % 500)")
    return {
        "violation": history.marked(findings.withColumn("cause_id", cause), None),
        "partition_state": table(
            spark, "partition_state", FINDINGS, **place, log_start_offset="0",
            log_end_offset="id + 10", high_watermark="id + 9", last_stable_offset="9",
            open_transactions="1", lso_since_ms="1000 + id",
        ),
        "txn": table(
            spark, "txn", FINDINGS, topic="'t-0'", partition="0", broker="1", producer_id="id",
            first_offset="10 * id", last_offset="10 * id", outcome="if(id = 0, 'open', 'commit')",
        ),
        "dump_file": table(spark, "dump_file", FINDINGS, broker="1", status="'audited'",
                           size_bytes="2"),
        "decode_failure": table(spark, "decode_failure", FINDINGS, file="string(id)",
                                first_byte="0", end_byte="3", reason="'r'"),
        "check_run": table(spark, "check_run", 2, code="if(id = 0, 'lso_stuck', 'sequence_gap')",
                           context="'run'", status="'ran'", violations="0", suspects="0",
                           inconclusive="0"),
    }  # fmt: skip


def test_a_hundred_thousand_of_everything_is_told_within_bounds(spark: SparkSession) -> None:
    tables = large(spark)
    half = FINDINGS // 2
    counts = {
        ("hanging_transaction", "error", "violation"): half,
        ("sequence_gap", "error", "suspect"): half,
    }
    verdict = made_facts.verdict(counts=counts)
    facts = gather(
        Source(tables.__getitem__, verdict, "records", "{}", PER_CODE, made_facts.MANUALS, ())
    )
    assert len(facts.findings) == 2 * PER_CODE
    assert {len(finding.message) for finding in facts.findings} == {LONGEST_TEXT + 1}
    topics = {count.topic for count in facts.by_topic}
    assert len(topics) == MAX_TOPICS + 1 and None in topics
    assert sum(count.number for count in facts.by_topic) == FINDINGS
    assert (len(facts.causes), facts.cause_count) == (MAX_CAUSES, 500)
    assert facts.causes[0].number == FINDINGS // 500
    assert (len(facts.lagging), facts.lagging_count) == (MAX_LAGGING, FINDINGS - 1)
    assert facts.lagging[0].lag == FINDINGS - 1
    assert (len(facts.damages), facts.damage_count) == (MAX_DAMAGES, FINDINGS)
    assert facts.damage_bytes == 3 * FINDINGS
    assert [(row.files, row.bytes) for row in facts.coverage] == [(FINDINGS, 2 * FINDINGS)]
    assert len(facts.timelines) <= MAX_TIMELINES
    (timeline,) = facts.timelines
    assert len(timeline.transactions) == MAX_TRANSACTIONS
    assert timeline.transactions[0].outcome == "hanging"
    assert "100,000" in render(facts)


def test_new_and_gone_are_told_by_place_and_producer(spark: SparkSession) -> None:
    names = [*history.IDENTITY, "verdict"]
    kinds = "code string, topic string, partition int, offset_first long, producer_id long, "
    kinds += "verdict string"
    stays = ("hanging_transaction", "h", 0, 59, 5, "violation")
    without = ("txnlog_undecodable", "x", 1, None, None, "suspect")
    proven, doubted = ("lso_stuck", "p", 0, 1, 2), ("lso_stuck", "d", 0, 1, 2)
    before = spark.createDataFrame(
        [stays, without, ("lso_stuck", "h", 0, 1, 2, "suspect"), (*proven, "inconclusive"),
         (*doubted, "violation")], kinds
    )  # fmt: skip
    now = spark.createDataFrame(
        [stays, without, ("lso_stuck", "h", 0, 1, 3, "suspect"),
         ("lso_stuck", "h", 1, 1, 2, "violation"), (*proven, "violation"),
         (*doubted, "suspect")], kinds
    )  # fmt: skip
    told = history.since("id", now, before)
    assert (told.new, told.gone) == ({"suspect": 1, "violation": 2}, {"suspect": 1})
    marked = history.marked(now, before).collect()
    fresh = {tuple(row)[: len(names)]: row.new for row in marked}
    assert fresh[stays] is False and fresh[without] is False and fresh[*doubted, "suspect"] is False
    assert sum(fresh.values()) == 3
    assert [tuple(row)[: len(proven)] for row in marked if row.proven_anew] == [proven]
    assert {row.new for row in history.marked(now, None).collect()} == {None}
    assert now.columns == names


def test_an_incident_is_new_if_the_audit_before_had_none_of_its_violations(
    spark: SparkSession,
) -> None:
    kinds = "incident int, code string, topic string, partition int, offset_first long, "
    kinds += "producer_id long, verdict string"
    place = ("h", 0, 59, 5)
    now = [
        (1, "hanging_transaction", *place, "violation"),
        (1, "lso_stuck", "h", 0, 59, 6, "violation"),
        (2, "batch_crc_mismatch", *place, "violation"),
        # What was only suspected before is proven for the first time.
        (3, "replica_divergence", *place, "violation"),
        (3, "leader_epoch_regression", *place, "suspect"),
        (None, "offset_gap", *place, "suspect"),
    ]
    before = [
        (None, "hanging_transaction", *place, "violation"),
        (None, "replica_divergence", *place, "suspect"),
        (None, "leader_epoch_regression", *place, "suspect"),
    ]
    told = history.new_incidents(
        spark.createDataFrame(now, kinds), spark.createDataFrame(before, kinds).drop("incident")
    )
    assert told == {1: False, 2: True, 3: True}


def test_open_transactions_are_summed_over_partitions(spark: SparkSession) -> None:
    states = large(spark)["partition_state"]
    told = history.open_transactions(states)
    assert (told.number, told.oldest_since_ms, told.largest_lag) == (FINDINGS, 1000, FINDINGS - 1)
    none = history.open_transactions(states.limit(0))
    assert (none.number, none.oldest_since_ms, none.largest_lag) == (0, None, 0)
