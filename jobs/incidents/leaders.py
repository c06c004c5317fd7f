"""Who led what an incident is about, by all changes that the metadata log has of it.

The table incident_event shows some of them; what is concluded needs each.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.incidents.evidence import (
    CONCERNED,
    OF_LEADERS,
    OF_LEAVING,
    Change,
    Found,
    Seen,
    seen_at,
    survived,
)
from jobs.incidents.known import Known
from jobs.spark.joins import inner, small
from schemas.verdicts import VIOLATION
from udfs.arrow.data_between import Between

SEEN = (
    "incident int, partition_index int, topic string, partition int, whole boolean, cut_ms long, "
    "cut_broker int, begin long, since_ms long, gone_ms long, completed_ms long"
)
OF_SEEN = pa.schema(
    [
        (name, {"int": pa.int32(), "long": pa.int64(), "string": pa.string()}.get(kind, pa.bool_()))
        for name, kind in (one.split() for one in SEEN.split(", "))
    ]
)


def topics_now(changes: DataFrame) -> DataFrame:
    """topic_id and `topic`, its name: of several topics of one name the newest.

    The dump has folders of that one; what happened to one that was deleted did not happen to it.
    """
    named = changes.filter(F.col("event") == "topic")
    newest = named.groupBy(F.col("name").alias("topic")).agg(
        F.max_by("topic_id", "at_ms").alias("topic_id")
    )
    return newest.select("topic_id", "topic")


def seen(placed: DataFrame, changes: DataFrame, known: Known) -> list[Seen]:
    """What the changes tell of each place of incidents of CONCERNED.

    `placed`: see `jobs.incidents.assign`, kept; `changes`: rows of METADATA_CHANGE, kept.
    """
    index = known.info.select("partition_index", *PLACE)
    found = (
        placed.filter(F.col("incident").isNotNull() & F.col("kind").isin(*CONCERNED))
        .filter(F.col("verdict") == VIOLATION)
        .select("incident", "label", "at", "completed", "offset_first", "offset_last", *PLACE)
        .join(small(index), on=[*PLACE], how="left")
        .drop("broker")
    )
    leaving = changes.filter(F.col("event").isin(*OF_LEAVING)).select("event", "at_ms", "broker")
    partitions = found.select("topic", "partition").distinct()
    of_leaders = changes.filter(F.col("event").isin(*OF_LEADERS))
    of_topics = inner(of_leaders, small(topics_now(changes)), on="topic_id")
    leading = inner(of_topics, small(partitions), on=["topic", "partition"]).select(
        "event", "at_ms", "broker", "topic", "partition"
    )
    both = found.unionByName(leaving, True).unionByName(leading, True).coalesce(1)
    told = [Seen(*row) for row in both.mapInArrow(judged, SEEN).collect()]
    return _without_survivors(told, known)


def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow`: findings at their places and changes in, rows of SEEN out."""
    changes: dict[tuple[str, int], list[Change]] = {}
    left: dict[int, set[int]] = {}
    found: dict[tuple[int, int | None, str, int], list[Found]] = {}
    earliest: dict[int, int] = {}
    for row in _rows(batches):
        where = (row["topic"], row["partition"])
        if row["incident"] is not None:
            place = (row["incident"], row["partition_index"], *where)
            last = row["offset_first"] if row["offset_last"] is None else row["offset_last"]
            found.setdefault(place, []).append(
                Found(row["label"], row["at"], row["completed"], last)
            )
            if row["at"] is not None:
                earliest[place[0]] = min(row["at"], earliest.get(place[0], row["at"]))
        elif row["event"] in OF_LEADERS:
            change = Change(row["at_ms"], row["event"], row["broker"])
            changes.setdefault(where, []).append(change)
        else:
            left.setdefault(row["at_ms"], set()).add(row["broker"])
    told = []
    for place, those in found.items():
        # What nothing dates is as old as the first of its incident.
        dated = [one._replace(at=earliest.get(place[0])) if one.at is None else one
                 for one in those]  # fmt: skip
        told.append(seen_at(place, dated, changes.get(place[2:], []), left)._asdict())
    if told:
        yield pa.RecordBatch.from_pylist(told, schema=OF_SEEN)


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _without_survivors(told: list[Seen], known: Known) -> list[Seen]:
    """The same, without the cuts that cannot have taken what is concerned: see `survived`."""
    ranges = {
        one.partition_index: Between(one.begin, transactional=True)
        for one in told
        if one.partition_index is not None and one.begin is not None and one.since_ms is not None
    }
    if not ranges:
        return told
    first: dict[int | None, list[int]] = {}
    for row in known.between(ranges).select("partition_index", "since_ms").collect():
        first.setdefault(row.partition_index, []).append(row.since_ms)
    return [
        one._replace(whole=False, cut_ms=None, cut_broker=None)
        if any(survived(one, at) for at in first.get(one.partition_index, ()))
        else one
        for one in told
    ]
