"""`eosaudit explain --out DIR --topic T --partition P`: what holds a partition, and what to do.

Reads the tables of a finished audit only. Every list that comes to the driver is bounded.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from jobs.audit.finished import finished_audit
from jobs.explain.situation import Row, Situation, remembered
from jobs.explain.text import explanation
from jobs.explain.words import printable
from jobs.incidents.signature import BLOCKED
from jobs.model.ending import covers
from jobs.model.errors import UsageError
from jobs.spark import delta_tables
from schemas.topics import TXN_LOG_TOPIC
from schemas.verdicts import VERDICTS, VIOLATION
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely

# Its copies are of a topic and of one that was deleted.
TOPIC_IDS = "topic_id_mismatch"
MOST_FINDINGS = 20
MOST_OPEN = 5
MOST_NAMES = 10_000
MOST_LISTED = 20
# Last records of other ids that have the same producer id, in all copies.
MOST_SHARING = 50


@dataclass(frozen=True)
class ExplainRequest:
    """Which partition of which audit; `broker` None where no copy was chosen."""

    out: str
    audit: str | None
    topic: str
    partition: int
    broker: int | None


def explain(spark: SparkSession, asked: ExplainRequest) -> str:
    """The explanation. Raises UsageError where audit, topic, partition or copy is not there."""
    audit = finished_audit(spark, asked.out, asked.audit)

    def table(name: str) -> DataFrame:
        rows = delta_tables.read(spark, asked.out, name, audit.audit_id)
        if rows is None:
            raise UsageError(f"--out {asked.out} lacks the table {name}; run the audit again.")
        return rows

    states = _states(table("partition_state"), asked)
    state = states[0]
    copies = {row["broker"] for row in states}
    holder = _holder(table("txn"), state)
    log = table("coordinator_txn")
    findings = _told(table("violation"))
    here, elsewhere = _findings(findings, state, holder)
    return explanation(
        Situation(
            audit_id=audit.audit_id,
            as_of_ms=audit.as_of_ms,
            state=state,
            replicas=tuple(states[1:]) if asked.broker is None else (),
            holder=holder,
            owner=_owner(log, holder, f"{state['topic']}-{state['partition']}"),
            behind=_open_behind(table("txn"), state, holder),
            waiting=_waiting(table("txn"), state),
            of_several_topics=asked.broker is None
            and not _of_other_topics(findings, state).isEmpty(),
            here=_first(here),
            here_in_all=here.count(),
            elsewhere=_first(elsewhere),
            elsewhere_in_all=elsewhere.count(),
            also_elsewhere=_also_elsewhere(here, state, holder),
            in_other_copies=tuple(
                row | {"has_state": row["broker"] in copies - {None}}
                for row in _in_other_copies(findings, state)
            ),
            knows_topic_ids=not _of_kind(table("dump_file"), "partition_metadata").isEmpty(),
            blocking=_blocking(
                delta_tables.rows_or_none(spark, asked.out, "consequence", audit.audit_id), state
            ),
            dumped=not _logs(table("partition_state")).isEmpty(),
        )
    )


def _blocking(consequences: DataFrame, state: Row) -> tuple[Row, ...]:
    """What the audit says of open transactions of the copy; an older one lacks the table."""
    mine = consequences.filter((F.col("kind") == BLOCKED) & _at(state))
    return tuple(_rows(mine.orderBy("start_offset", "producer_id"), MOST_OPEN))


def _rows(frame: DataFrame, most: int) -> list[Row]:
    return [row.asDict(recursive=True) for row in frame.limit(most).collect()]


def _at(row: Row, place: Column | None = None) -> Column:
    """Rows, or places in them, of the same partition on the same broker."""
    broker = F.col("broker") if place is None else place["broker"]
    here: Column = _in_partition(row, place) & broker.eqNullSafe(F.lit(row["broker"]).cast("int"))
    return here


def _in_partition(row: Row, place: Column | None = None) -> Column:
    """Rows, or places in them, of the same partition on any broker."""
    topic, partition = (
        F.col(name) if place is None else place[name] for name in ("topic", "partition")
    )
    same: Column = (topic == row["topic"]) & (partition == row["partition"])
    return same


def _of_kind(files: DataFrame, kind: str) -> DataFrame:
    return files.filter(F.col("kind") == kind)


def _logs(states: DataFrame) -> DataFrame:
    return states.filter(F.col("topic") == TXN_LOG_TOPIC)


def _states(states: DataFrame, asked: ExplainRequest) -> list[Row]:
    """The copies of the partition, the one to be explained first: the one asked, or the leader's.

    An old leader's copy may be longer than that of its successor. Audits of before have no column
    `furthest`, or nulls: there the longest copy comes first.
    """
    furthest = F.col("furthest") if "furthest" in states.columns else F.lit(False)
    named = states.filter(F.col("topic") == asked.topic)
    found = _rows(
        named.filter(F.col("partition") == asked.partition).orderBy(
            surely(furthest).desc(), F.col("log_end_offset").desc(), "broker"
        ),
        MOST_NAMES,
    )
    if not found:
        raise UsageError(_unknown(states, named, asked))
    if asked.broker is None:
        return found
    chosen = [row for row in found if row["broker"] == asked.broker]
    if not chosen:
        brokers = ", ".join(str(row["broker"]) for row in found)
        raise UsageError(
            f"broker {asked.broker} has no copy of {asked.topic}-{asked.partition} in this audit; "
            f"there is one on broker {brokers}."
        )
    return chosen + [row for row in found if row["broker"] != asked.broker]


def _unknown(states: DataFrame, named: DataFrame, asked: ExplainRequest) -> str:
    """Why there is no such partition, and what is nearest to it."""
    numbers = _rows(named.select("partition").distinct().orderBy("partition"), MOST_LISTED)
    if numbers:
        known = ", ".join(str(row["partition"]) for row in numbers)
        return (
            f"partition {asked.partition} of {asked.topic} is not in this audit; "
            f"it has (the first 20): {known}."
        )
    topics = [row["topic"] for row in _rows(states.select("topic").distinct(), MOST_NAMES)]
    near = difflib.get_close_matches(asked.topic, sorted(topics), n=3)
    known = ", ".join(printable(topic) for topic in sorted(topics)[:MOST_LISTED])
    hint = f"did you mean {', '.join(near)}?" if near else f"it has (the first 20): {known}."
    return f"topic {asked.topic} is not in this audit; {hint}"


def _undecided(state: Row) -> Column:
    """Transactions that hold the last stable offset back: open, or their marker unreplicated."""
    high_watermark = F.lit(state["high_watermark"]).cast("long")
    unreplicated: Column = ~is_replicated(F.col("marker_offset"), high_watermark)
    return F.col("marker_offset").isNull() | surely(unreplicated)


def _holder(transactions: DataFrame, state: Row) -> Row | None:
    """The transaction that holds the last stable offset, where its batches are gone as remembered.

    Only one that has batches in the copy has a row.
    """
    if state["lso_producer_id"] is None:
        return None
    mine = transactions.filter(
        _at(state) & (F.col("producer_id") == state["lso_producer_id"]) & _undecided(state)
    )
    return next(iter(_rows(mine.orderBy("first_offset"), 1)), remembered(state))


def _open_behind(transactions: DataFrame, state: Row, holder: Row | None) -> tuple[Row, ...]:
    if holder is None:
        return ()
    behind = transactions.filter(
        _at(state)
        & F.col("marker_offset").isNull()
        & (F.col("first_offset") > holder["first_offset"])
    )
    return tuple(_rows(behind.orderBy("first_offset", "producer_id"), MOST_OPEN))


def _owner(log: DataFrame, holder: Row | None, place: str) -> Row | None:
    """The newest last record that names the producer id, as the audit chose it (`owner`).

    Of ids that share a producer id, that of the one which runs a transaction in the partition
    (`jobs.model.owners`). Audits of before have no column `owner`, or nulls: there of copies of one
    partition the one that goes furthest. `place`: topic-partition.
    """
    if holder is None:
        return None
    chosen = F.col("owner") if "owner" in log.columns else F.lit(None).cast("boolean")
    named = F.col("producer_id") == holder["producer_id"]
    mine = log.filter(named & F.coalesce(chosen, F.lit(True)))
    furthest = mine.groupBy("partition").agg(F.max("record_offset").alias("record_offset"))
    last = mine.join(furthest, on=["partition", "record_offset"], how="left_semi")
    newest = last.orderBy(
        F.col("record_timestamp").desc(), F.col("record_offset").desc(), "broker", "partition"
    )
    owner = next(iter(_rows(newest, 1)), None)
    if owner is None or covers(owner, place):
        return owner
    other = F.col("transactional_id") != owner["transactional_id"]
    latest = log.filter(named & other).orderBy(F.col("record_offset").desc(), "broker", "partition")
    last_of_ids: dict[str, Row] = {}
    for row in _rows(latest, MOST_SHARING):
        last_of_ids.setdefault(row["transactional_id"], row)
    return next((row for row in last_of_ids.values() if covers(row, place)), owner)


def _waiting(transactions: DataFrame, state: Row) -> tuple[int, int, int]:
    """(transactions, records) that begin at or after the last stable offset, and who ends there.

    Of a transaction that began before it the first records are delivered already; the table does
    not show how many.
    """
    stable = state["last_stable_offset"]
    waits = F.col("first_offset") >= stable
    behind = transactions.filter(_at(state) & (F.col("last_offset") >= stable)).agg(
        F.count_if(waits).alias("number"),
        F.sum(F.when(waits, F.col("records"))).alias("records"),
        F.count_if(~waits).alias("begun"),
    )
    row: Any = behind.collect()[0]
    return int(row.number), int(row.records or 0), int(row.begun)


def _told(violations: DataFrame) -> DataFrame:
    """The findings that are told. Each has all its places; audits of before have no such column."""
    findings = violations.filter(F.col("severity") != "info")
    own = F.array(F.struct("topic", "partition", "broker", "offset_first", "offset_last"))
    if "places" not in violations.columns:
        return findings.withColumn("places", own)
    several = F.transform(
        "places",
        lambda place: F.struct(
            *[place[name].alias(name) for name in ("topic", "partition", "broker")],
            *[place[name].alias(name) for name in ("offset_first", "offset_last")],
        ),
    )
    return findings.withColumn("places", F.coalesce(several, own))


def _findings(findings: DataFrame, state: Row, holder: Row | None) -> tuple[DataFrame, DataFrame]:
    """Findings in the copy, and others about the holder's producer id in other partitions."""
    here = surely(F.exists("places", lambda place: _at(state, place)))
    of_copy = _with_offsets_of(findings.filter(here), lambda place: _at(state, place))
    if holder is None:
        return of_copy, findings.limit(0)
    producer = F.col("producer_id") == holder["producer_id"]
    return of_copy, findings.filter(producer & ~here & _has_place_elsewhere(state))


def _has_place_elsewhere(state: Row) -> Column:
    """Whether a finding has a place in another partition; in none is elsewhere, too."""
    return F.exists("places", lambda place: ~surely(_in_partition(state, place)))


def _of_other_topics(findings: DataFrame, state: Row) -> DataFrame:
    """Findings that copies of the topic have different ids."""
    mine = F.exists("places", lambda place: place["topic"] == state["topic"])
    return findings.filter((F.col("code") == TOPIC_IDS) & mine)


def _also_elsewhere(here: DataFrame, state: Row, holder: Row | None) -> int:
    """How many findings of the copy about the holder's producer id are in other partitions, too."""
    if holder is None:
        return 0
    producer = F.col("producer_id") == holder["producer_id"]
    return here.filter(producer & _has_place_elsewhere(state)).count()


def _in_other_copies(findings: DataFrame, state: Row) -> list[Row]:
    """Rows of (broker, findings, proven) for further findings in other copies of the partition.

    A finding that is in this copy, too, is none of them.
    """
    further = findings.filter(~surely(F.exists("places", lambda place: _at(state, place))))
    copies = F.array_distinct(
        F.transform(
            F.filter("places", lambda place: _in_partition(state, place)),
            lambda place: place["broker"],
        )
    )
    counted = (
        further.select("verdict", F.explode(copies).alias("broker"))
        .groupBy("broker")
        .agg(
            F.count("*").alias("findings"),
            F.count_if(F.col("verdict") == VIOLATION).alias("proven"),
        )
    )
    return _rows(counted.orderBy(F.col("broker").asc_nulls_last()), MOST_LISTED)


def _with_offsets_of(findings: DataFrame, wanted: Callable[[Column], Column]) -> DataFrame:
    """Findings with the offsets of one wanted place, of several the newest."""
    offsets = F.transform(
        F.filter("places", wanted),
        lambda place: F.struct(place["offset_last"], place["offset_first"]),
    )
    told = findings.withColumn("here", F.array_max(offsets))
    return told.withColumns(
        {name: F.col(f"here.{name}") for name in ("offset_first", "offset_last")}
    ).drop("here")


def _first(findings: DataFrame) -> tuple[Row, ...]:
    """The first findings, proven ones before others, the newest offsets first."""
    order = F.array_position(F.array(*[F.lit(one) for one in VERDICTS]), F.col("verdict"))
    ranked = findings.orderBy(
        order, F.col("offset_last").desc_nulls_last(), "code", "topic", "partition", "broker",
        "offset_first", "producer_id", "producer_epoch", "file", "byte_position", "message",
    )  # fmt: skip
    return tuple(_rows(ranked, MOST_FINDINGS))
