"""From tables to facts: numbers stay exact, and what comes to the driver stays bounded."""

from dataclasses import replace
from typing import Any

import made_facts
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StructField, StructType

from jobs.report import history
from jobs.report.gather import (
    LONGEST_TEXT,
    MAX_CAUSES,
    MAX_DAMAGES,
    MAX_LAGGING,
    MAX_TOPICS,
    Source,
    _with_files,
    gather,
)
from jobs.report.page import render
from jobs.report.timelines import MAX_TIMELINES, MAX_TRANSACTIONS
from jobs.spark import delta_tables
from jobs.spark.local import local_frame
from schemas.columns import PLACE
from schemas.dump_file import DUMP_FILE
from schemas.tables import TABLES
from schemas.violation import VIOLATION

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


def a_finding(
    code: str, topic: str | None, number: int | None, first: int | None, producer: int | None,
    verdict: str, *others: tuple[str, int, int], broker: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """A row of `violation`; `others`: topic, partition and first offset of its further places."""
    place = {"topic": topic, "partition": number, "offset_first": first, "broker": broker}
    names = ("topic", "partition", "offset_first")
    further = [dict(zip(names, one, strict=True)) | {"broker": broker} for one in others]
    places = [place, *further] if others else None
    return place | {"code": code, "producer_id": producer, "verdict": verdict, "places": places}


def findings(spark: SparkSession, *rows: dict[str, Any]) -> DataFrame:
    fields = [*VIOLATION, StructField("incident", IntegerType())]
    given = [{"audit_id": ""} | row for row in rows]
    return spark.createDataFrame(
        [[row.get(one.name) for one in fields] for row in given], StructType(fields)
    )


# Of one finding by the partition where it is, of others by the coordinator's log too.
EVIDENCE = """
    if(topic is null, array(named_struct('file', 'b/meta.properties', 'byte_position', 0L,
        'byte_length', 1L, 'role', 'r')),
    transform(array('b/h-0/0.log', 'b/__transaction_state-3/0.log'), one -> named_struct(
        'file', one, 'byte_position', 0L, 'byte_length', 1L, 'role', 'r')))
"""
COPIES = "topic string, partition int, broker int"


def test_new_and_gone_are_told_by_place_and_producer(spark: SparkSession) -> None:
    stays = ("hanging_transaction", "h", 0, 59, 5, "violation")
    without = ("txnlog_undecodable", "x", 1, None, None, "suspect")
    proven, doubted = ("lso_stuck", "p", 0, 1, 2), ("lso_stuck", "d", 0, 1, 2)
    before = findings(
        spark, a_finding(*stays), a_finding(*without),
        a_finding("lso_stuck", "h", 0, 1, 2, "suspect"),
        a_finding(*proven, "inconclusive"), a_finding(*doubted, "violation"),
    )  # fmt: skip
    now = findings(
        spark, a_finding(*stays), a_finding(*without),
        a_finding("lso_stuck", "h", 0, 1, 3, "suspect"),
        a_finding("lso_stuck", "h", 1, 1, 2, "violation"), a_finding(*proven, "violation"),
        a_finding(*doubted, "suspect"),
    )  # fmt: skip
    copies = spark.createDataFrame([("h", 0, 1)], COPIES)
    told = history.since("id", now, before, copies)
    assert (told.new, told.gone) == ({"suspect": 1, "violation": 2}, {"suspect": 1})
    assert told.unseen == {}
    shown = ("code", "topic", "partition", "offset_first", "producer_id", "verdict")
    marked = history.marked(now, before).collect()
    fresh = {tuple(row[name] for name in shown): row.new for row in marked}
    assert fresh[stays] is False and fresh[without] is False and fresh[*doubted, "suspect"] is False
    assert sum(fresh.values()) == 3
    anew = [tuple(row[name] for name in shown[:-1]) for row in marked if row.proven_anew]
    assert anew == [proven]
    assert {row.new for row in history.marked(now, None).collect()} == {None}


def test_a_finding_of_several_places_stays_when_retention_takes_the_first(
    spark: SparkSession,
) -> None:
    of = ("missing_marker_in_listed_partition", "m", 0)
    before = findings(spark, a_finding(*of, 5, 7, "violation", ("m", 1, 8), ("m", 2, 9)))
    now = findings(
        spark, a_finding(of[0], "m", 1, 8, 7, "violation", ("m", 2, 9)),
        a_finding(of[0], "m", 3, 8, 7, "violation"),
    )  # fmt: skip
    told = history.since("id", now, before, spark.createDataFrame([("m", 0, 1)], COPIES))
    assert (told.new, told.gone, told.unseen) == ({"violation": 1}, {}, {})


def test_what_was_not_looked_at_again_is_not_gone(spark: SparkSession) -> None:
    code = "lso_stuck"
    before = findings(
        spark, a_finding(code, "h", 0, 1, 2, "violation"),
        a_finding(code, "h", 1, 1, 2, "suspect"),
        a_finding(code, "h", 0, 1, 3, "suspect", broker=2),
        a_finding(code, "h", 1, 4, 4, "violation", ("h", 0, 8)),
        a_finding("cluster_mismatch", None, None, None, None, "violation"),
    )  # fmt: skip
    told = history.since(
        "id", before.limit(0), before, spark.createDataFrame([("h", 0, 1), ("h", 0, 1)], COPIES)
    )
    assert (told.new, told.gone) == ({}, {"violation": 3})
    assert told.unseen == {"suspect": 2}
    told = history.since(
        "id",
        before.limit(0),
        before.withColumn("evidence", F.expr(EVIDENCE)),
        spark.createDataFrame([("h", 0, 1), ("h", 0, 1)], COPIES),
    )
    assert (told.gone, told.unseen) == ({"violation": 1}, {"suspect": 2, "violation": 2})
    anywhere = spark.createDataFrame([("h", 0, None), ("h", 1, 1)], COPIES)
    told = history.since("id", before.limit(0), before, anywhere)
    assert (told.gone, told.unseen) == ({"violation": 3, "suspect": 2}, {})


def test_an_incident_is_new_if_the_audit_before_had_none_of_its_violations(
    spark: SparkSession,
) -> None:
    place = ("h", 0, 59)
    now = [
        (1, "hanging_transaction", 5, "violation"),
        (1, "lso_stuck", 6, "violation"),
        (2, "batch_crc_mismatch", 5, "violation"),
        # What was only suspected before is proven for the first time.
        (3, "replica_divergence", 5, "violation"),
        (3, "leader_epoch_regression", 5, "suspect"),
        (None, "offset_gap", 5, "suspect"),
    ]
    before = [
        (None, "hanging_transaction", 5, "violation"),
        (None, "replica_divergence", 5, "suspect"),
        (None, "leader_epoch_regression", 5, "suspect"),
    ]
    explained, earlier = (
        findings(
            spark,
            *(
                a_finding(code, *place, of, told) | {"incident": one}
                for one, code, of, told in rows
            ),
        )
        for rows in (now, before)
    )
    told = history.new_incidents(explained, earlier)
    assert told == {1: False, 2: True, 3: True}


def test_open_transactions_are_summed_over_partitions(spark: SparkSession) -> None:
    states = large(spark)["partition_state"]
    told = history.open_transactions(states)
    assert (told.number, told.oldest_since_ms, told.largest_lag) == (FINDINGS, 1000, FINDINGS - 1)
    none = history.open_transactions(states.limit(0))
    assert (none.number, none.oldest_since_ms, none.largest_lag) == (0, None, 0)


def test_a_finding_without_any_file_gets_one_of_its_copy(spark: SparkSession) -> None:
    of_h = {"topic": "h", "partition": 0, "kind": "segment"}
    files = [
        of_h | {"broker": 1, "topic": None, "kind": "meta", "path": "b1/meta.properties"},
        of_h | {"broker": 1, "kind": "offset_index", "path": "b1/h-0/0.index"},
        of_h | {"broker": 1, "path": "b1/h-0/1.log"},
        of_h | {"broker": 1, "path": "b1/h-0/0.log"},
        of_h | {"broker": 2, "path": "b2/h-0/0.log"},
    ]
    frame = local_frame(spark, files, StructType([*PLACE, DUMP_FILE["path"], DUMP_FILE["kind"]]))
    proven, *_ = made_facts.hanging().findings
    bare = replace(proven, evidence=(), file=None, byte_position=None, broker=1)
    asked = (
        proven, replace(bare, file="named.log"), bare, replace(bare, broker=2),
        replace(bare, partition=7), replace(bare, broker=9), replace(bare, topic=None),
    )  # fmt: skip
    assert [one.beside for one in _with_files(asked, frame)] == [
        None, None, "b1/h-0/0.log", "b2/h-0/0.log",
        "b1/h-0/0.log", "b1/h-0/0.log", "b1/h-0/0.log",
    ]  # fmt: skip
    assert _with_files(asked[:2], frame) == asked[:2]
