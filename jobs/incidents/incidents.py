"""The stage: findings and what the replay knows in, the tables of incidents out.

Of an audit without a violation nothing is asked. The number of incidents is bounded
(`causes.MOST_OF_A_KIND`); only their sums come to the driver.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.incidents.assign import placed, summed
from jobs.incidents.catalogue import SIGNATURES
from jobs.incidents.consequences import consequences
from jobs.incidents.events import Logs, events
from jobs.incidents.evidence import CONCERNED, SKIPPED, Seen, evidence, kind_by
from jobs.incidents.groups import OF_PLAN, affected_groups, own_commits
from jobs.incidents.known import Known
from jobs.incidents.leaders import seen
from jobs.incidents.lineage import (
    CLEAN,
    SUSPECT,
    TAKEN_OVER,
    UNKNOWN,
    Followed,
    Traffic,
    affected,
)
from jobs.incidents.lost import LOSSES
from jobs.incidents.moments import moments
from jobs.incidents.plan import MOST_PLACES, Commit, Place, plan
from jobs.incidents.signature import (
    BLOCKED,
    BROKER,
    BUMPED,
    CONSISTENT,
    INDEXED_OUTCOME,
    MOMENT,
    PRODUCER,
    PROVEN,
    UNEXPLAINED,
    Signature,
)
from jobs.incidents.versions import of_version_2
from jobs.model.incident import CONSEQUENCES, UNREADABLE, Effect, IncidentLine
from jobs.model.moment import moment
from jobs.spark.kept import KeptFrames, is_known_empty
from jobs.spark.local import local_frame
from schemas.incident import AFFECTED, AFFECTED_GROUP, BEFORE, INCIDENT, INCIDENT_EVENT, OWN
from schemas.topics import OFFSETS_TOPIC

BY_NAME = {signature.name: signature for signature in SIGNATURES}
NOT_EXPLAINED = Signature(
    name=UNEXPLAINED,
    title="No signature explains these findings",
    why="Each is proven by itself; what caused it is not known.",
    explains=lambda finding: finding.one_of(),
)
# Of an incident that only the records of the controller make one of that signature.
MAY_BE_CUT = (
    "A leader that was not in sync was elected behind these transactions. It may have cut off "
    "their markers, and left data of them."
)
MOST_NAMED = 5
# Columns of a consequence about an open transaction that blocks, beside its producer id.
HOLDER = ("ended_by", "producer_epoch", "start_offset", "coordinator_epoch", "transactional_id")


@dataclass(frozen=True)
class Offsets:
    """Committed offsets: `newest`: see `newest_offsets`; `traffic`.

    `known`: some are decoded; `unknown`: why not all of them are, None where they are. `untraced`:
    why transactions and the commits in affected ranges are not looked for, None where they are.
    """

    known: bool
    unknown: str | None
    untraced: str | None
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
    incident_event: DataFrame
    lines: tuple[IncidentLine, ...]


def incidents(
    findings: DataFrame,
    codes: Collection[str],
    known: Callable[[DataFrame], Known],
    offsets: Offsets,
    logs: Callable[[DataFrame | None], Logs],
    kept: KeptFrames,
) -> Incidents:
    """The incidents of an audit with at least one violation.

    `findings`: rows of VIOLATION without audit_id, kept, with these `codes`. `known`: what the
    replay knows of the producers (distinct, column producer_id) of a frame. `logs`: where events
    stand, with the decisions about these producers.
    """
    of_producers = findings.filter(F.col("producer_id").isNotNull())
    replayed = known(of_producers.select("producer_id").distinct())
    dated = moments(replayed.decisions, replayed.transactions, replayed.info, replayed.files)
    logged, raising = logs(replayed.decisions), None
    if BUMPED in codes:
        records = logged.txn_log_records
        raising = of_version_2(replayed.decisions, records, replayed.transactions)
    rows = kept.keep(placed(findings, dated, raising))
    sums = {row.incident: row for row in summed(rows).collect()}
    labels = {label for row in sums.values() for label in row.labels}
    effects = kept.keep(consequences(rows, labels, replayed, kept))
    effect_sums = _sums(effects).collect()
    followed = Followed([], [])
    if offsets.known and not offsets.untraced and _taken_over(effect_sums):
        followed = affected(effects, offsets.traffic)
    derived = _frame(findings, followed.rows, AFFECTED)
    groups, commits = _frame(findings, [], AFFECTED_GROUP), {}
    if offsets.known and any(row.with_offsets for row in effect_sums):
        newest = kept.keep(offsets.newest())
        groups = affected_groups(effects, derived, newest)
        own = own_commits(effects, replayed, newest)
        if own is not None:
            own = kept.keep(own)
            groups, commits = groups.unionByName(own.drop(*OF_PLAN)), _commits(own)
        groups = kept.keep(groups)
    around = events(rows, sums, logged, followed.reads)
    led: list[Seen] = []
    if logged.changes is not None and any(row.kind in CONCERNED for row in sums.values()):
        led = seen(rows, logged.changes(), replayed)
    told = _told(sums, _places(effects) if effect_sums else {}, commits, led)
    return Incidents(
        incident=_frame(findings, told, INCIDENT),
        incident_finding=rows.filter("first").select("incident", "key.*"),
        consequence=effects,
        affected=derived,
        affected_group=groups,
        incident_event=_frame(findings, around, INCIDENT_EVENT),
        lines=tuple(_lines(told, sums, effect_sums, groups, followed, offsets)),
    )


def _told(
    sums: dict[int, Row],
    places: dict[int, list[tuple[Place, int | None]]],
    commits: dict[int, list[Commit]],
    led: list[Seen],
) -> list[dict[str, Any]]:
    """Rows of INCIDENT by number."""
    mine = {n: [one for one in led if one.incident == n] for n in sums}
    grades = {n: _grade(row) for n, row in sums.items()}
    kinds = {n: kind_by(row.kind, grades[n] == PROVEN, mine[n]) for n, row in sums.items()}
    several = Counter(kinds.values())
    rows = []
    for number in sorted(sums):
        of_findings, kind = sums[number].kind, kinds[number]
        shown = evidence(kind, mine[number])
        signature = BY_NAME.get(kind, NOT_EXPLAINED)
        mine_at = places.get(number, [])
        row = _row(number, sums[number], signature, mine_at, several[kind] > 1)
        labels = frozenset(sums[number].weighty_labels)
        at = [place for place, _ in mine_at]
        row |= {"steps": plan(signature, at, commits.get(number, []), labels)}
        grade = grades[number]
        if kind not in (of_findings, SKIPPED):
            # The election is one that fits these findings; what it cut off no copy has.
            grade, row["why"] = CONSISTENT, MAY_BE_CUT
        elif shown is not None:
            grade = PROVEN
        if shown is not None:
            row |= {"why": f"{row['why']} {shown}"}
        rows.append(row | {"grade": grade})
    return rows


def _grade(row: Row) -> str:
    """Of a row of `summed`, by its findings alone."""
    signature = BY_NAME.get(row.kind)
    return UNEXPLAINED if signature is None else signature.grade(frozenset(row.codes))


def _frame(like: DataFrame, rows: list[dict[str, Any]], schema: StructType) -> DataFrame:
    own = StructType([field for field in schema.fields if field.name != "audit_id"])
    return local_frame(like.sparkSession, rows, own)


def _lines(
    rows: list[dict[str, Any]],
    sums: dict[int, Row],
    effects: list[Row],
    groups: DataFrame,
    followed: Followed,
    offsets: Offsets,
) -> Iterator[IncidentLine]:
    """The incidents in short, in their order. `effects`: rows of `_sums`."""
    told: dict[int, list[Effect]] = {}
    for row in effects:
        number = row.offsets if row.kind == BLOCKED else row.records
        effect = Effect(row.kind, row.partitions, number, row.transactions, row.since_ms)
        told.setdefault(row.incident, []).append(effect)
    hit = {} if is_known_empty(groups) else {row.incident: row for row in _hit(groups).collect()}
    for one in rows:
        mine = hit.get(one["incident"])
        mine_taken_over = _taken_over(told.get(one["incident"], []))
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
            committing=tuple(mine.committing) if mine else (),
            committing_count=mine.committing_number if mine else 0,
            groups_known=offsets.unknown is None,
            groups_unknown=offsets.unknown,
            followed=followed.whole and not (offsets.untraced and mine_taken_over),
            untraced=offsets.untraced,
            commits_gone=followed.gone and mine_taken_over,
            suspect_topics=_topics(followed.rows, one["incident"], SUSPECT),
            clean_topics=_topics(followed.rows, one["incident"], CLEAN),
            unknown_topics=_topics(followed.rows, one["incident"], UNKNOWN),
            first_step=one["steps"][0]["what"] if one["steps"] else None,
            topics=tuple(one["topics"] or ()),
            index_contradicts=not set(INDEXED_OUTCOME).isdisjoint(sums[one["incident"]].codes),
        )


def _taken_over(effects: Iterable[Row | Effect]) -> bool:
    """Whether a reader may have taken some of it over into what it writes."""
    return any(one.kind in TAKEN_OVER for one in effects)


def _topics(derived: list[dict[str, Any]], incident: int, state: str) -> tuple[str, ...]:
    """Topics downstream of an incident in a state; one with a suspect partition is suspect."""
    mine = [row for row in derived if row["incident"] == incident]
    suspect = {row["topic"] for row in mine if row["state"] == SUSPECT}
    others = {row["topic"] for row in mine if row["state"] == state} - suspect
    return tuple(sorted(suspect if state == SUSPECT else others))


def _sums(effects: DataFrame) -> DataFrame:
    """One row an incident and kind. Where copies differ, the one with most of a partition counts.

    records: null where one partition is not countable.
    """
    span = F.col("last_offset") - F.col("first_offset") + 1
    # What is lost is counted once, though copies have it on several brokers.
    copy = F.when(~F.col("kind").isin(*LOSSES), F.col("broker")).alias("copy")
    # Behind each open transaction of a copy lies the same end.
    offsets = F.when(F.col("kind") == BLOCKED, F.max(span)).otherwise(F.sum(span))
    by_copy = effects.groupBy("incident", "kind", "topic", "partition", copy).agg(
        F.min("first_offset").alias("first_offset"),
        F.sum("records").alias("records"),
        offsets.alias("offsets"),
        F.sum("transactions").alias("transactions"),
        F.min("since_ms").alias("since_ms"),
        F.bool_and("provable").alias("provable"),
    )
    by_partition = by_copy.groupBy("incident", "kind", "topic", "partition").agg(
        F.min("first_offset").alias("first_offset"),
        F.max("records").alias("records"),
        F.max("offsets").alias("offsets"),
        F.max("transactions").alias("transactions"),
        F.min("since_ms").alias("since_ms"),
        F.bool_and("provable").alias("provable"),
    )
    return by_partition.groupBy("incident", "kind").agg(
        (F.count("first_offset") > 0).alias("with_offsets"),
        F.count("*").alias("partitions"),
        F.when(F.bool_and("provable"), F.sum("records")).alias("records"),
        F.sum("offsets").alias("offsets"),
        F.sum("transactions").alias("transactions"),
        F.min("since_ms").alias("since_ms"),
    )


def _hit(groups: DataFrame) -> DataFrame:
    """One row an incident: how many groups read of an affected range, and some of their names.

    committing_number and committing: the same of groups whose own commits are affected.
    """
    own = F.col("position") == OWN
    reached = ~own & (F.col("position") != BEFORE) & ~F.col("kind").isin(BLOCKED, UNREADABLE)

    def some(those: Column) -> Column:
        return F.slice(F.sort_array(F.collect_set(F.when(those, F.col("group")))), 1, MOST_NAMED)

    return groups.groupBy("incident").agg(
        F.count_distinct(F.when(reached, F.col("group"))).alias("number"),
        some(reached).alias("named"),
        F.count_distinct(F.when(own, F.col("group"))).alias("committing_number"),
        some(own).alias("committing"),
    )


def _commits(own: DataFrame) -> dict[int, list[Commit]]:
    """Commits that groups lack, by incident: some of each kind, more than plans can name."""
    order = Window.partitionBy("incident", "kind").orderBy(
        "group", "topic", "partition", "committed_offset", "ended_by"
    )
    ranked = own.filter("behind").withColumn("turn", F.row_number().over(order))
    rows = ranked.filter(F.col("turn") <= MOST_PLACES + 1).orderBy("incident", "kind", "turn")
    found: dict[int, list[Commit]] = {}
    for row in rows.select("incident", *Commit._fields).collect():
        commit = Commit(*(row[name] for name in Commit._fields))
        found.setdefault(row.incident, []).append(commit)
    return found


def _places(effects: DataFrame) -> dict[int, list[tuple[Place, int | None]]]:
    """Places of each incident, some of each kind, and since when; more than plans can name."""
    # Partitions of __consumer_offsets have steps of their own.
    of_offsets = F.col("topic") == OFFSETS_TOPIC
    kind = Window.partitionBy("incident", "kind", of_offsets)
    at = ("topic", "partition", "broker", "start_offset", "producer_id", "first_offset")
    order = kind.orderBy(*at)
    # Of what blocks a partition has a row an open transaction; each is ended by itself. So has it
    # of damaged offsets a range: a group goes behind the one at which it stands, and no further.
    own = ("incident", "kind", *at[:3], "producer_id", "apart")
    apart = F.when(F.col("kind") == UNREADABLE, F.col("first_offset"))
    whole = (
        effects.withColumn("apart", apart)
        .groupBy(*own)
        .agg(
            F.min("first_offset").alias("first_offset"),
            F.max("last_offset").alias("last_offset"),
            F.min("since_ms").alias("since_ms"),
            *[F.max(name).alias(name) for name in HOLDER],
        )
    )
    ranked = whole.withColumns(
        {
            "turn": F.row_number().over(order),
            "oldest": F.min("since_ms").over(Window.partitionBy("incident")),
        }
    )
    names = (*Place._fields, "incident", "oldest")
    rows = ranked.filter(F.col("turn") <= MOST_PLACES + 1).orderBy("incident", "kind", *at)
    found: dict[int, list[tuple[Place, int | None]]] = {}
    for row in rows.select(*names).collect():
        place = Place(*(row[name] for name in Place._fields))
        found.setdefault(row.incident, []).append((place, row.oldest))
    return found


def _row(
    number: int,
    row: Row,
    signature: Signature,
    places: list[tuple[Place, int | None]],
    several: bool,
) -> dict[str, Any]:
    """A row of INCIDENT without its grade; one of `several` of its kind is told apart from them."""
    which = _which(signature, row) if several else None
    return {
        "incident": number,
        "kind": signature.name,
        "title": signature.title if which is None else f"{signature.title} ({which})",
        "why": signature.why,
        "known_bug": signature.known_bug,
        "broker": row.broker if signature.key == BROKER else None,
        "findings": row.findings,
        "violations": row.violations,
        "places": row.places,
        "topics": row.topics,
        "since_ms": next((oldest for _, oldest in places), None),
    }


def _which(signature: Signature, row: Row) -> str | None:
    """What tells an incident apart from others of its signature, in words."""
    if signature.key == BROKER and row.broker is not None:
        return f"broker {row.broker}"
    if signature.key == PRODUCER and row.producer_id is not None:
        return f"producer {row.producer_id}"
    if signature.key == MOMENT and row.first_ms is not None:
        return moment(row.first_ms)
    return None
