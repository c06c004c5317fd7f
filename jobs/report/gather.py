"""Reads the facts of a report from the tables: aggregates, and examples whose number is bounded.

What comes to the driver does not grow with the dump: a report of 100,000 findings in 100,000
partitions needs no bigger machine than one of ten.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from jobs.report.facts import (
    Cause,
    CheckManual,
    CheckRun,
    Coverage,
    Damage,
    Evidence,
    Facts,
    Finding,
    FindingPlace,
    Incident,
    PartitionState,
    PastAudit,
    Timeline,
    TopicCount,
)
from jobs.report.history import lag
from jobs.report.incidents import incidents, with_incident
from jobs.report.timelines import STATE_COLUMNS, state_of, timelines_at, worst_places
from jobs.report.verdict import Verdict
from jobs.spark.joins import small
from jobs.spark.threads import side_by_side

MAX_TOPICS = 10
MAX_CAUSES = 20
MAX_LAGGING = 20
MAX_COVERAGE_ROWS = 80
MAX_DAMAGES = 20
# Of a finding; those of a transaction over more partitions are in the table.
MAX_PLACES = 100
LONGEST_TEXT = 1_000
# Queries are small; planning one overlaps with computing another.
QUERIES_AT_ONCE = 4
NO_CAUSES: tuple[tuple[Cause, ...], int] = ((), 0)
CLIPPED = ("topic", "transactional_id", "expected", "found", "message", "remedy", "cause_id")


@dataclass(frozen=True)
class Source:
    """Where the facts of one audit come from.

    `table`: name -> the rows of this audit; `violation` with the column `new` of
    jobs/report/history.py. `per_code`: examples of a check and verdict.
    """

    table: Callable[[str], DataFrame]
    verdict: Verdict
    depth: str
    configuration: str
    per_code: int
    manuals: dict[str, CheckManual]
    history: tuple[PastAudit, ...]


def examples(findings: DataFrame, per_code: int) -> tuple[Finding, ...]:
    """The first findings of each code and verdict, new ones first, then by place."""
    order = Window.partitionBy("code", "verdict").orderBy(
        F.desc_nulls_last("new"), "topic", "partition", "broker", "offset_first", "producer_id",
        "offset_last", "file", "byte_position", "producer_epoch", "message", "expected", "found",
    )  # fmt: skip
    ranked = findings.withColumn("rank", F.row_number().over(order))
    chosen = ranked.filter(F.col("rank") <= per_code).orderBy("code", "verdict", "rank")
    names = [name for name in Finding.__dataclass_fields__ if name in findings.columns]
    shown = {name: _clipped(name) for name in CLIPPED}
    if "places" in names:
        shown["places"] = F.slice("places", 1, MAX_PLACES).alias("places")
        names.append("place_count")
        shown["place_count"] = (
            F.when(F.col("places").isNotNull(), F.size("places")).otherwise(1).alias("place_count")
        )
    clipped = chosen.select(*[shown.get(name, F.col(name)) for name in names])
    return tuple(_finding(row) for row in clipped.collect())


def _clipped(name: str) -> Column:
    whole = F.col(name)
    cut = F.concat(F.substring(whole, 1, LONGEST_TEXT), F.lit("…"))
    return F.when(F.length(whole) > LONGEST_TEXT, cut).otherwise(whole).alias(name)


def _finding(row: Row) -> Finding:
    values: dict[str, Any] = row.asDict()
    proofs = tuple(Evidence(**proof.asDict()) for proof in values["evidence"] or [])
    places = tuple(FindingPlace(**place.asDict()) for place in values.get("places") or [])
    return Finding(**(values | {"evidence": proofs, "places": places}))


def _with_files(findings: tuple[Finding, ...], files: DataFrame) -> tuple[Finding, ...]:
    """Findings that name no file at all get the first of their copy, else of their broker.

    A log comes before other files.
    """
    bare = [one for one in findings if not one.evidence and one.file is None]
    if not bare:
        return findings
    of_copies = F.col("topic").isin(sorted({one.topic for one in bare if one.topic is not None}))
    of_copies &= F.col("partition").isin(sorted({one.partition or 0 for one in bare}))
    copies = files.filter(of_copies).groupBy("topic", "partition", "broker")
    first = F.min_by("path", F.struct(F.col("kind") != "segment", "path")).alias("path")
    of_copy = {tuple(row)[:3]: row.path for row in copies.agg(first).collect()}
    of_broker = {row.broker: row.path for row in files.groupBy("broker").agg(first).collect()}

    def beside(one: Finding) -> str | None:
        place = (one.topic, one.partition, one.broker)
        return of_copy.get(place, of_broker.get(one.broker, min(of_broker.values(), default=None)))

    return tuple(replace(one, beside=beside(one)) if one in bare else one for one in findings)


def gather(source: Source) -> Facts:
    """The facts of one audit. Where nothing was found, nothing is asked about findings."""
    verdict, table = source.verdict, source.table
    findings: tuple[Finding, ...] = ()
    by_topic: tuple[TopicCount, ...] = ()
    timelines: tuple[Timeline, ...] = ()
    found: tuple[Incident, ...] = ()
    causes, cause_count = NO_CAUSES
    partitions = table("partition_state")
    with side_by_side(QUERIES_AT_ONCE) as pool:
        lagging = pool.submit(_lagging, partitions)
        coverage = pool.submit(_coverage, table("dump_file"))
        damage = pool.submit(_damage, table("decode_failure"))
        checks = pool.submit(_checks, table("check_run"))
        if verdict.counts:
            all_findings = table("violation")
            if verdict.incidents:
                told = pool.submit(incidents, table)
                all_findings = with_incident(all_findings, table("incident_finding"))
            topics = pool.submit(_by_topic, all_findings)
            caused = pool.submit(_causes, all_findings)
            findings = _with_files(examples(all_findings, source.per_code), table("dump_file"))
            if places := worst_places(findings):
                timelines = timelines_at(places, partitions, table("txn"), all_findings)
            by_topic, (causes, cause_count) = topics.result(), caused.result()
            found = told.result() if verdict.incidents else ()
    damages, damage_count, damage_bytes = damage.result()
    states, lagging_count = lagging.result()
    return Facts(
        verdict=verdict,
        depth=source.depth,
        configuration=source.configuration,
        findings=findings,
        by_topic=by_topic,
        causes=causes,
        cause_count=cause_count,
        lagging=states,
        lagging_count=lagging_count,
        timelines=timelines,
        coverage=coverage.result(),
        damages=damages,
        damage_count=damage_count,
        damage_bytes=damage_bytes,
        checks=checks.result(),
        history=source.history,
        manuals=source.manuals,
        incidents=found,
    )


def _by_topic(findings: DataFrame) -> tuple[TopicCount, ...]:
    """Findings by topic, code and verdict; topics beyond the first by number are one, None."""
    topic = F.coalesce(F.substring("topic", 1, LONGEST_TEXT), F.lit(""))
    grouped = (
        findings.select(topic.alias("topic"), "code", "verdict")
        .groupBy("topic", "code", "verdict")
        .agg(F.count("*").alias("number"))
    )
    totals = grouped.groupBy(F.col("topic").alias("shown")).agg(F.sum("number").alias("all"))
    top = totals.orderBy(F.desc("all"), "shown").limit(MAX_TOPICS).select("shown")
    joined = grouped.join(small(top), F.col("topic") == F.col("shown"), "left")
    rows = joined.groupBy("shown", "code", "verdict").agg(F.sum("number").alias("number")).collect()
    counts = [TopicCount(row.shown, row.code, row.verdict, row.number) for row in rows]
    return tuple(sorted(counts, key=lambda c: (c.topic is None, c.topic or "", c.code, c.verdict)))


def _causes(findings: DataFrame) -> tuple[tuple[Cause, ...], int]:
    """(the causes that explain most findings, number of causes that explain more than one)."""
    if "cause_id" not in findings.columns:
        return NO_CAUSES
    grouped = (
        findings.filter(F.col("cause_id").isNotNull())
        .groupBy("cause_id")
        .agg(
            F.count("*").alias("number"),
            F.sort_array(F.collect_set("code")).alias("codes"),
            F.min(F.struct("topic", "partition")).alias("first"),
        )
        .filter(F.col("number") > 1)
    )
    counted = _with_number_of_rows(grouped, "causes")
    rows = counted.orderBy(F.desc("number"), "cause_id").limit(MAX_CAUSES).collect()
    causes = [
        Cause(row.cause_id[:LONGEST_TEXT], row.number, tuple(row.codes), row.first.topic,
              row.first.partition)
        for row in rows
    ]  # fmt: skip
    return tuple(causes), rows[0].causes if rows else 0


def _with_number_of_rows(rows: DataFrame, name: str) -> DataFrame:
    """The rows with a column that says how many they are, for a list that is cut."""
    return rows.crossJoin(F.broadcast(rows.agg(F.count("*").alias(name))))


def _lagging(states: DataFrame) -> tuple[tuple[PartitionState, ...], int]:
    """(partitions that hold back read_committed consumers most, number of all such)."""
    held = states.select(*STATE_COLUMNS, lag().alias("lag")).filter(F.col("lag") > 0)
    counted = _with_number_of_rows(held, "number")
    rows = (
        counted.orderBy(F.desc("lag"), "topic", "partition", "broker").limit(MAX_LAGGING).collect()
    )
    return tuple(state_of(row) for row in rows), rows[0].number if rows else 0


def _coverage(files: DataFrame) -> tuple[Coverage, ...]:
    rows = (
        files.groupBy("broker", "status")
        .agg(F.count("*").alias("files"), F.sum("size_bytes").alias("bytes"))
        .orderBy("broker", "status")
        .limit(MAX_COVERAGE_ROWS)
        .collect()
    )
    return tuple(Coverage(row.broker, row.status, row.files, row.bytes) for row in rows)


def _damage(ranges: DataFrame) -> tuple[tuple[Damage, ...], int, int]:
    """(first damaged ranges, number of all, their bytes)."""
    size = F.col("end_byte") - F.col("first_byte")
    total = ranges.agg(F.count("*").alias("number"), F.sum(size).alias("bytes")).collect()[0]
    if not total.number:
        return (), 0, 0
    names = list(Damage.__dataclass_fields__)
    rows = ranges.select(*names).orderBy("file", "first_byte").limit(MAX_DAMAGES).collect()
    return tuple(Damage(**row.asDict()) for row in rows), total.number, total.bytes or 0


def _checks(runs: DataFrame) -> tuple[CheckRun, ...]:
    names = list(CheckRun.__dataclass_fields__)
    rows = runs.select(*names).orderBy("code").collect()
    return tuple(CheckRun(**row.asDict()) for row in rows)
