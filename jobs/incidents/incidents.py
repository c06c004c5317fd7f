"""The stage: findings and what the replay knows in, the tables of incidents out.

Of an audit without a violation nothing is asked. The number of incidents is bounded
(`causes.MOST_OF_A_KIND`); only their sums come to the driver.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.incidents.assign import placed, summed
from jobs.incidents.catalogue import SIGNATURES
from jobs.incidents.consequences import Known, consequences
from jobs.incidents.groups import affected_groups
from jobs.incidents.lineage import Traffic, affected
from jobs.incidents.moments import moments
from jobs.incidents.plan import MOST_PLACES, Place, plan
from jobs.incidents.signature import BROKER, MOMENT, PRODUCER, UNEXPLAINED, Signature
from jobs.model.incident import CONSEQUENCES, Effect, IncidentLine
from jobs.spark.kept import Kept
from schemas.incident import AFFECTED, INCIDENT

BY_NAME = {signature.name: signature for signature in SIGNATURES}
NOT_EXPLAINED = Signature(
    name=UNEXPLAINED,
    title="No signature explains these findings",
    why="Each is proven by itself; what caused it is not known.",
    explains=lambda finding: finding.one_of(),
)
MOST_NAMED = 5


@dataclass(frozen=True)
class Offsets:
    """Committed offsets: `known`, the dump has any; `newest`: see `newest_offsets`; `traffic`."""

    known: bool
    newest: Callable[[], DataFrame]
    traffic: Traffic


@dataclass(frozen=True)
class Incidents:
    """Rows of the tables of the same names, without audit_id, all kept; `lines`: in short."""

    incident: DataFrame
    incident_finding: DataFrame
    consequence: DataFrame
    affected: DataFrame
    affected_group: DataFrame
    lines: tuple[IncidentLine, ...]


def incidents(
    findings: DataFrame,
    known: Callable[[DataFrame], Known],
    offsets: Offsets,
    kept: Kept,
) -> Incidents:
    """The incidents of an audit with at least one violation.

    `findings`: rows of VIOLATION without audit_id, kept. `known`: what the replay knows of the
    producers (distinct, column producer_id) of a frame.
    """
    of_producers = findings.filter(F.col("producer_id").isNotNull())
    replayed = known(of_producers.select("producer_id").distinct())
    dated = moments(replayed.decisions, replayed.transactions, replayed.info, replayed.files)
    rows = kept.keep(placed(findings, dated))
    sums = {row.incident: row for row in summed(rows).collect()}
    effects = kept.keep(consequences(rows, replayed, kept))
    derived = _frame(
        findings, affected(effects, offsets.traffic) if offsets.known else [], AFFECTED
    )
    groups = kept.keep(affected_groups(effects, derived, offsets.newest()))
    places = _places(effects)
    several = Counter(row.kind for row in sums.values())
    told = [
        _row(number, sums[number], places.get(number, []), several[sums[number].kind] > 1)
        for number in sorted(sums)
    ]
    return Incidents(
        incident=_frame(findings, told, INCIDENT),
        incident_finding=rows.filter("first").select("incident", "key.*"),
        consequence=effects,
        affected=derived,
        affected_group=groups,
        lines=tuple(_lines(told, effects, groups, offsets.known)),
    )


def _frame(like: DataFrame, rows: list[dict[str, Any]], schema: StructType) -> DataFrame:
    own = StructType([field for field in schema.fields if field.name != "audit_id"])
    return like.sparkSession.createDataFrame(rows, own)


def _lines(
    rows: list[dict[str, Any]], effects: DataFrame, groups: DataFrame, groups_known: bool
) -> Iterator[IncidentLine]:
    """The incidents in short, in their order."""
    told: dict[int, list[Effect]] = {}
    for row in _sums(effects).collect():
        number = row.offsets if row.kind == "records_blocked" else row.records
        effect = Effect(row.kind, row.partitions, number, row.transactions, row.since_ms)
        told.setdefault(row.incident, []).append(effect)
    hit = {row.incident: row for row in _hit(groups).collect()}
    for one in rows:
        mine = hit.get(one["incident"])
        effects_in_order = sorted(
            told.get(one["incident"], []), key=lambda effect: list(CONSEQUENCES).index(effect.kind)
        )
        yield IncidentLine(
            **{name: one[name] for name in ("incident", "kind", "grade", "title")},
            findings=one["findings"],
            violations=one["violations"],
            effects=tuple(effects_in_order),
            groups=tuple(mine.named) if mine else (),
            group_count=mine.number if mine else 0,
            groups_known=groups_known,
            first_step=one["steps"][0]["what"] if one["steps"] else None,
        )


def _sums(effects: DataFrame) -> DataFrame:
    """One row an incident and kind. Where copies differ, the one with most of a partition counts.

    records: null where one partition is not countable.
    """
    span = F.col("last_offset") - F.col("first_offset") + 1
    by_partition = effects.groupBy("incident", "kind", "topic", "partition").agg(
        F.max("records").alias("records"),
        F.max(span).alias("offsets"),
        F.max("transactions").alias("transactions"),
        F.min("since_ms").alias("since_ms"),
        F.bool_and("provable").alias("provable"),
    )
    return by_partition.groupBy("incident", "kind").agg(
        F.count("*").alias("partitions"),
        F.when(F.bool_and("provable"), F.sum("records")).alias("records"),
        F.sum("offsets").alias("offsets"),
        F.sum("transactions").alias("transactions"),
        F.min("since_ms").alias("since_ms"),
    )


def _hit(groups: DataFrame) -> DataFrame:
    """One row an incident: how many groups read of an affected range, and some of their names."""
    reached = groups.filter((F.col("position") != "before") & (F.col("kind") != "records_blocked"))
    names = F.sort_array(F.collect_set("group"))
    return reached.groupBy("incident").agg(
        F.count_distinct("group").alias("number"), F.slice(names, 1, MOST_NAMED).alias("named")
    )


def _places(effects: DataFrame) -> dict[int, list[tuple[Place, int | None]]]:
    """Places of each incident, some of each kind, and since when; more than plans can name."""
    order = Window.partitionBy("incident", "kind").orderBy("topic", "partition", "broker")
    ranked = effects.withColumns(
        {
            "turn": F.row_number().over(order),
            "oldest": F.min("since_ms").over(Window.partitionBy("incident")),
        }
    )
    names = (*Place._fields, "incident", "oldest")
    rows = ranked.filter(F.col("turn") <= MOST_PLACES + 1).orderBy("incident", "kind", "turn")
    found: dict[int, list[tuple[Place, int | None]]] = {}
    for row in rows.select(*names).collect():
        place = Place(*(row[name] for name in Place._fields))
        found.setdefault(row.incident, []).append((place, row.oldest))
    return found


def _row(
    number: int, row: Row, places: list[tuple[Place, int | None]], several: bool
) -> dict[str, Any]:
    """A row of INCIDENT; one of `several` of its kind is told apart from the others."""
    signature = BY_NAME.get(row.kind, NOT_EXPLAINED)
    which = _which(signature, row) if several else None
    explained = signature is not NOT_EXPLAINED
    return {
        "incident": number,
        "kind": row.kind,
        "grade": signature.grade(frozenset(row.codes)) if explained else UNEXPLAINED,
        "title": signature.title if which is None else f"{signature.title} ({which})",
        "why": signature.why,
        "known_bug": signature.known_bug,
        "broker": row.broker if signature.key == BROKER else None,
        "findings": row.findings,
        "violations": row.violations,
        "places": row.places,
        "topics": row.topics,
        "since_ms": next((oldest for _, oldest in places), None),
        "steps": plan(signature, [place for place, _ in places]),
    }


def _which(signature: Signature, row: Row) -> str | None:
    """What tells an incident apart from others of its signature, in words."""
    if signature.key == BROKER and row.broker is not None:
        return f"broker {row.broker}"
    if signature.key == PRODUCER and row.producer_id is not None:
        return f"producer {row.producer_id}"
    if signature.key == MOMENT and row.at is not None:
        return f"{datetime.fromtimestamp(row.at / 1000, UTC):%Y-%m-%d %H:%M} UTC"
    return None
