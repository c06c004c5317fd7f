"""Reads incidents from the tables, with some of their consequences and groups, bounded."""

from collections.abc import Callable
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from jobs.report.facts import (
    AffectedGroup,
    Consequence,
    Derived,
    Event,
    Incident,
    RepairStep,
)
from schemas.incident import INSIDE, OWN, READ
from schemas.violation import FINDING_KEY

MAX_INCIDENTS = 50
MAX_CONSEQUENCES = 20
MAX_GROUPS = 20
MAX_DERIVED = 20
# More than the table has of an incident (`jobs.incidents.events`).
MAX_EVENTS = 200
# Orders are total: rows that are equal in all of one are shown alike.
CONSEQUENCE_ORDER = (
    "kind", "topic", "partition", "broker", "first_offset", "last_offset", "since_ms",
    "transactions", "records", "provable",
)  # fmt: skip
GROUP_ORDER = (
    "group", "topic", "partition", "kind", "first_offset", "last_offset", "committed_offset",
    "position",
)  # fmt: skip
DERIVED_ORDER = ("depth", "topic", "partition", "path")
EVENT_ORDER = (
    "at_ms", "event", "broker", "topic", "partition", "offset", "producer_id", "producer_epoch",
    "detail",
)  # fmt: skip


def incidents(table: Callable[[str], DataFrame], only: int | None = None) -> tuple[Incident, ...]:
    """The incidents of an audit by number; with `only` that one."""

    def mine(name: str) -> DataFrame:
        rows = table(name)
        return rows if only is None else rows.filter(F.col("incident") == only)

    told = mine("incident").orderBy("incident").limit(MAX_INCIDENTS).collect()
    if not told:
        return ()
    effects = _some(mine("consequence"), MAX_CONSEQUENCES, *CONSEQUENCE_ORDER)
    position = F.array_position(F.array(*[F.lit(p) for p in (OWN, READ, INSIDE)]), "position")
    groups = _some(mine("affected_group"), MAX_GROUPS, (position == 0), *GROUP_ORDER)
    derived = _some(mine("affected"), MAX_DERIVED, F.desc("state"), *DERIVED_ORDER)
    events = _some(mine("incident_event"), MAX_EVENTS, *EVENT_ORDER)
    return tuple(
        _incident(row, *[some.get(row.incident, []) for some in (effects, groups, derived, events)])
        for row in told
    )


def _some(rows: DataFrame, most: int, *order: str | Column) -> dict[int, list[Row]]:
    """The first rows of each incident, with the column `number` of all its rows."""
    mine = Window.partitionBy("incident")
    ranked = rows.withColumns(
        {"turn": F.row_number().over(mine.orderBy(*order)), "number": F.count("*").over(mine)}
    )
    chosen = ranked.filter(F.col("turn") <= most).orderBy("incident", "turn")
    found: dict[int, list[Row]] = {}
    for row in chosen.limit(most * MAX_INCIDENTS).collect():
        found.setdefault(row.incident, []).append(row)
    return found


def _incident(
    row: Row, mine: list[Row], hit: list[Row], derived: list[Row], events: list[Row]
) -> Incident:
    own: dict[str, Any] = {name: row[name] for name in Incident.__dataclass_fields__ if name in row}
    return Incident(
        **own
        | {
            "topics": tuple(row.topics or []),
            "steps": tuple(RepairStep(**step.asDict()) for step in row.steps or []),
            "consequences": tuple(_filled(Consequence, one) for one in mine),
            "consequence_count": mine[0].number if mine else 0,
            "groups": tuple(_filled(AffectedGroup, one) for one in hit),
            "group_count": hit[0].number if hit else 0,
            "derived": tuple(_filled(Derived, one) for one in derived),
            "derived_count": derived[0].number if derived else 0,
            "events": tuple(_filled(Event, one) for one in events),
        }
    )


def _filled(kind: type, row: Row) -> Any:
    names = getattr(kind, "__dataclass_fields__", {})
    return kind(**{name: row[name] for name in names})


def with_incident(findings: DataFrame, explained: DataFrame) -> DataFrame:
    """Rows of `violation` with the number of their incident. `explained`: `incident_finding`."""
    names = {name: f"explained_{name}" for name in FINDING_KEY}
    keys = (
        explained.select("incident", *FINDING_KEY)
        .dropDuplicates(list(FINDING_KEY))
        .withColumnsRenamed(names)
    )
    same = F.lit(True)
    for name, other in names.items():
        same &= F.col(name).eqNullSafe(F.col(other))
    return findings.join(keys, same, "left").select(*findings.columns, "incident")
