"""Transactions of the partitions in which the worst findings are, for the pictures of a report.

At most MAX_TIMELINES partitions, of each at most MAX_TRANSACTIONS transactions: those nearest to
the finding, of perhaps millions.
"""

from functools import reduce
from operator import and_, or_
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from jobs.report.facts import Finding, PartitionState, Timeline, Transaction
from schemas.topics import TXN_LOG_TOPIC
from schemas.verdicts import VERDICTS, VIOLATION

MAX_TIMELINES = 6
MAX_TRANSACTIONS = 80
PLACE = ("broker", "topic", "partition")
# The values of PLACE -> the offset to look around.
Places = dict[tuple[Any, ...], int]
STATE_COLUMNS = tuple(PartitionState.__dataclass_fields__)


def state_of(row: Row) -> PartitionState:
    """A row of the table `partition_state`."""
    return PartitionState(**{name: row[name] for name in STATE_COLUMNS})


def worst_places(findings: tuple[Finding, ...]) -> Places:
    """(broker, topic, partition) of the worst findings -> the offset to look around."""
    order = {verdict: number for number, verdict in enumerate(VERDICTS)}
    # The coordinator's log holds no transaction.
    proven = [
        f
        for f in findings
        if f.offset_first is not None and f.severity != "info" and f.topic != TXN_LOG_TOPIC
    ]
    proven.sort(key=lambda f: (order[f.verdict], f.severity))
    places: Places = {}
    for finding in proven:
        place = (finding.broker, finding.topic, finding.partition)
        places.setdefault(place, finding.offset_first or 0)
    return dict(list(places.items())[:MAX_TIMELINES])


def _at(places: Places) -> Column:
    """Whether a row belongs to one of the places."""
    each = [
        reduce(and_, [F.col(n).eqNullSafe(F.lit(v)) for n, v in zip(PLACE, place, strict=True)])
        for place in places
    ]
    return reduce(or_, each)


def timelines_at(
    places: Places,
    partitions: DataFrame,
    transactions: DataFrame,
    findings: DataFrame,
) -> tuple[Timeline, ...]:
    """Transactions of the partitions at `places`, those nearest to the offset."""
    states = partitions.filter(_at(places)).select(*STATE_COLUMNS).collect()
    by_place = {(row.broker, row.topic, row.partition): state_of(row) for row in states}
    rows = _nearest(places, transactions, findings).collect()
    timelines = []
    for place, around in places.items():
        mine = [row for row in rows if (row.broker, row.topic, row.partition) == place]
        if mine and place in by_place:
            mine.sort(key=lambda row: (row.first_offset, row.producer_id))
            names = list(Transaction.__dataclass_fields__)
            listed = tuple(Transaction(**{name: row[name] for name in names}) for row in mine)
            timelines.append(Timeline(by_place[place], around, listed))
    return tuple(timelines)


def _nearest(places: Places, transactions: DataFrame, findings: DataFrame) -> DataFrame:
    """At most MAX_TRANSACTIONS rows of `txn` a place; outcome hanging where a finding says so."""
    around = F.lit(None).cast("long")
    for place, offset in places.items():
        around = F.when(_at({place: offset}), F.lit(offset)).otherwise(around)
    hanging = (
        findings.filter((F.col("code") == "hanging_transaction") & (F.col("verdict") == VIOLATION))
        .filter(_at(places))
        .select(*PLACE, "producer_id", F.col("offset_first").alias("first_offset"))
        .distinct()
        .withColumn("hangs", F.lit(True))
    )
    order = Window.partitionBy(*PLACE).orderBy(
        F.abs(F.col("first_offset") - around),
        "first_offset",
        "producer_id",
    )
    ranked = (
        transactions.filter(_at(places))
        .select(*PLACE, *Transaction.__dataclass_fields__)
        .withColumn("rank", F.row_number().over(order))
        .filter(F.col("rank") <= MAX_TRANSACTIONS)
    )
    keys = (*PLACE, "producer_id", "first_offset")
    same = reduce(and_, [F.col(f"t.{name}").eqNullSafe(F.col(f"h.{name}")) for name in keys])
    joined = ranked.alias("t").join(hanging.alias("h"), same, "left")
    outcome = F.when(F.col("hangs"), F.lit("hanging")).otherwise(F.col("t.outcome"))
    kept = [name for name in Transaction.__dataclass_fields__ if name != "outcome"]
    return joined.select(
        *[F.col(f"t.{name}").alias(name) for name in (*PLACE, *kept)], outcome.alias("outcome")
    )
