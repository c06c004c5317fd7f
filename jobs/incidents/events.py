"""What happened around an incident, in the order of time: decisions, elections, fencing, reads.

Of each kind some of the first and some of the last; only these come to the driver.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from jobs.incidents.evidence import AROUND_MS, UNCLEAN
from jobs.incidents.leaders import topics_now
from jobs.incidents.lineage import InputRead
from jobs.spark.joins import inner, small
from jobs.spark.local import local_frame
from schemas.coordinator_states import EMPTY
from schemas.incident import INCIDENT_EVENT
from schemas.topics import TXN_LOG_TOPIC

# So many of a kind at either end of an incident.
MOST_AT_AN_END = 6
SPANS = "incident int, first_ms long, last_ms long"
NAMES = tuple(field.name for field in INCIDENT_EVENT if field.name != "audit_id")


@dataclass(frozen=True)
class Logs:
    """Where events stand.

    `decisions`: of the producers of findings, kept, None for none; `txn_log_records`: of the
    coordinator's log, those that were not folded away; `changes`: rows of METADATA_CHANGE, None
    where the dump has no `__cluster_metadata`.
    """

    decisions: DataFrame | None
    txn_log_records: DataFrame
    changes: Callable[[], DataFrame] | None


def events(
    placed: DataFrame, sums: Mapping[int, Row], logs: Logs, reads: Sequence[InputRead]
) -> list[dict[str, Any]]:
    """Rows of INCIDENT_EVENT without audit_id.

    `placed`, `sums`: see `jobs.incidents.assign`, the first kept.
    """
    dated = {number: row for number, row in sums.items() if row.first_ms is not None}
    rows = [*_affected(dated), *_read(reads)]
    frames = list(_frames(placed, dated, logs))
    if frames:
        told = _some(reduce(DataFrame.unionByName, frames)).select(*NAMES)
        rows += [row.asDict() for row in told.collect()]
    return sorted(rows, key=_turn)


def _turn(row: Mapping[str, Any]) -> tuple[object, ...]:
    """Where a row stands: by time, and among those of one moment by all that it tells."""
    names = ("incident", "at_ms", "event", *NAMES)
    return tuple((row[name] is not None, row[name]) for name in dict.fromkeys(names))


def _frames(placed: DataFrame, dated: Mapping[int, Row], logs: Logs) -> Iterator[DataFrame]:
    """What the logs have of dated incidents, if anything."""
    if not dated:
        return
    spark = placed.sparkSession
    ends = [(number, row.first_ms, row.last_ms) for number, row in dated.items()]
    spans = local_frame(spark, ends, SPANS)
    mine = placed.filter(F.col("incident").isNotNull())
    if logs.decisions is not None:
        yield _decided(mine, logs.decisions)
        yield _restarted(mine, spans, logs.txn_log_records)
    if logs.changes is not None:
        yield _changed(mine, spans, logs.changes())


def _affected(dated: Mapping[int, Row]) -> Iterator[dict[str, Any]]:
    """When the first and the last transaction concerned were decided or began."""
    for number, row in dated.items():
        for end in ("first", "last"):
            place = row[end].asDict() if row[end] else {}
            offset = place.pop("offset_first", None)
            own = {"incident": number, "at_ms": row[f"{end}_ms"], "offset": offset}
            yield _event(f"{end}_affected", place | own)


def _event(event: str, values: dict[str, Any]) -> dict[str, Any]:
    return dict.fromkeys(NAMES) | values | {"event": event}


def _read(reads: Iterable[InputRead]) -> Iterator[dict[str, Any]]:
    for one in sorted(reads)[: 2 * MOST_AT_AN_END * len({one.incident for one in reads})]:
        values = one._asdict()
        yield _event("read_by_group", values)


def _rows(frame: DataFrame, event: Column, at_ms: Column, **values: Column) -> DataFrame:
    given = {"incident": F.col("incident"), "event": event, "at_ms": at_ms, **values}
    return frame.select(
        *[
            given.get(field.name, F.lit(None)).cast(field.dataType).alias(field.name)
            for field in INCIDENT_EVENT
            if field.name != "audit_id"
        ]
    )


def _some(rows: DataFrame) -> DataFrame:
    """The first and the last of each incident and event."""
    order = Window.partitionBy("incident", "event")
    names = [name for name in NAMES if name not in ("incident", "event", "at_ms")]
    ranked = rows.dropDuplicates(list(NAMES)).withColumns(
        {
            "turn": F.row_number().over(order.orderBy("at_ms", *names)),
            "number": F.count("*").over(order),
        }
    )
    near = F.least(F.col("turn") - 1, F.col("number") - F.col("turn"))
    return ranked.filter(near < MOST_AT_AN_END)


def _decided(placed: DataFrame, decisions: DataFrame) -> DataFrame:
    """Prepare and Complete records of the transactions that findings name."""
    named = placed.filter(F.col("producer_id").isNotNull() & F.col("producer_epoch").isNotNull())
    theirs = named.select("incident", "producer_id", "decided_offset", "data_epoch").distinct()
    # Of version 0 and 1 transactions share an epoch: a record tells which of them is meant.
    is_it = F.coalesce(
        F.col("d.prepare_offset") == F.col("f.decided_offset"),
        F.col("d.data_epoch") == F.col("f.data_epoch"),
    )
    found = (
        decisions.alias("d")
        .join(small(theirs.alias("f")), (F.col("d.producer_id") == F.col("f.producer_id")) & is_it)
        .select("f.incident", "d.*")
    )
    outcome = F.when(F.col("commit"), F.lit("commit")).otherwise(F.lit("abort"))
    own = {
        "producer_id": F.col("producer_id"),
        "producer_epoch": F.col("data_epoch"),
        "detail": F.col("transactional_id"),
    }
    prepared = _rows(
        found,
        F.concat(F.lit("prepare_"), outcome),
        F.col("prepare_timestamp"),
        offset=F.col("prepare_offset"),
        **own,
    )
    completed = _rows(
        found.filter(F.col("complete_offset").isNotNull()),
        F.concat(F.lit("complete_"), outcome),
        F.col("complete_timestamp"),
        offset=F.col("complete_offset"),
        **own,
    )
    return prepared.unionByName(completed)


def _around(at_ms: Column) -> Column:
    return at_ms.between(F.col("first_ms") - AROUND_MS, F.col("last_ms") + AROUND_MS)


def _restarted(placed: DataFrame, spans: DataFrame, txn_log_records: DataFrame) -> DataFrame:
    """InitProducerId of producers concerned: a producer started, and fenced the one before it."""
    mine = placed.filter(F.col("producer_id").isNotNull()).select("incident", "producer_id")
    started = txn_log_records.filter((F.col("status") == EMPTY) & F.col("producer_id").isNotNull())
    told = started.select(
        "producer_id", "producer_epoch", "timestamp", "offset", "transactional_id"
    )
    of_mine = inner(told, small(mine.distinct()), on="producer_id")
    span = small(spans.select("incident", "first_ms", "last_ms"))
    found = inner(of_mine, span, on="incident").filter(_around(F.col("timestamp")))
    return _rows(
        found,
        F.lit("producer_started"),
        F.col("timestamp"),
        offset=F.col("offset"),
        producer_id=F.col("producer_id"),
        producer_epoch=F.col("producer_epoch"),
        detail=F.col("transactional_id"),
    )


def _changed(placed: DataFrame, spans: DataFrame, changes: DataFrame) -> DataFrame:
    """Changes of brokers, and of leaders of partitions concerned, as the controller wrote them.

    And of a partition of `__transaction_state` that a broker led that was not in sync: decisions
    are lost with what it lacks, whatever partitions they concerned.
    """
    window = small(spans.select("incident", "first_ms", "last_ms"))
    dated = changes.filter(F.col("event") != "topic").drop("name").crossJoin(window)
    near = dated.filter(_around(F.col("at_ms")))
    named = near.join(small(topics_now(changes)), on="topic_id", how="left")
    places = placed.select("incident", "topic", "partition", F.lit(True).alias("mine")).distinct()
    found = named.join(small(places), on=["incident", "topic", "partition"], how="left")
    of_brokers = F.col("topic_id").isNull()
    cut = (F.col("topic") == TXN_LOG_TOPIC) & (F.col("event") == UNCLEAN)
    return _rows(
        found.filter(of_brokers | F.col("mine") | cut),
        F.col("event"),
        F.col("at_ms"),
        broker=F.col("broker"),
        topic=F.col("topic"),
        partition=F.col("partition"),
    )
