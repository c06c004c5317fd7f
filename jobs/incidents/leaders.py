"""Who led what an incident is about, by all changes that the metadata log has of it.

The table incident_event shows some of them; what is concluded needs each.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from jobs.incidents.assign import PLACE
from jobs.incidents.evidence import (
    CONCERNED,
    OF_LEADERS,
    UNCLEAN,
    Change,
    Found,
    Seen,
    seen_at,
)
from jobs.incidents.known import Known
from jobs.spark.joins import inner, small
from schemas.lineage import SEEN
from schemas.verdicts import VIOLATION
from udfs.arrow.survivors import Asked

OF_SEEN = to_arrow_schema(SEEN)


def topics_now(changes: DataFrame) -> DataFrame:
    """topic_id and `topic`, its name: of several topics of one name the newest.

    The dump has folders of that one; what happened to one that was deleted did not happen to it.
    """
    named = changes.filter(F.col("event") == "topic")
    newest = named.groupBy(F.col("name").alias("topic")).agg(
        F.max_by("topic_id", "at_ms").alias("topic_id")
    )
    return newest.select("topic_id", "topic")


def judged_elections(changes: DataFrame) -> DataFrame:
    """Changes of leaders with `cut`: the new leader may lack what the one before it had.

    It was neither in sync nor an eligible leader replica by the records before its own
    (`PartitionRegistration.merge`). Such an election is told as unclean, also where its record does
    not say so: the record of one of a partition that is RECOVERING does not, and those before
    metadata.version 3.2 do not (`PartitionChangeBuilder.tryElection`). A broker that was the last
    one in sync has its own log still, however it is elected. An election without any record before
    it shows nothing. `changes`: rows of METADATA_CHANGE.
    """
    before = (
        Window.partitionBy("topic_id", "partition")
        .orderBy("offset")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    told = changes.withColumns(
        {
            "was_in_sync": F.last("in_sync", ignorenulls=True).over(before),
            "was_eligible": F.last("eligible", ignorenulls=True).over(before),
            "is_first": F.count("*").over(before) == 0,
        }
    )
    held = F.array_contains("was_in_sync", F.col("broker")) | F.coalesce(
        F.array_contains("was_eligible", F.col("broker")), F.lit(False)
    )
    said = (F.col("event") == UNCLEAN) & ~F.col("is_first")
    shown = F.col("alone") & F.col("was_in_sync").isNotNull()
    cut = F.coalesce((said | shown) & ~F.coalesce(held, F.lit(False)), F.lit(False))
    event = F.when(cut, F.lit(UNCLEAN)).otherwise(F.col("event"))
    return (
        told.withColumns({"cut": cut, "event": event})
        .filter(F.col("event").isNotNull())
        .drop("in_sync", "eligible", "alone", "was_in_sync", "was_eligible", "is_first")
    )


def seen(placed: DataFrame, changes: DataFrame, known: Known) -> list[Seen]:
    """What the changes tell of each place of incidents of CONCERNED.

    `placed`: see `jobs.incidents.assign`, kept; `changes`: see `judged_elections`, kept.
    """
    index = known.info.select("partition_index", *PLACE)
    found = (
        placed.filter(F.col("incident").isNotNull() & F.col("kind").isin(*CONCERNED))
        .filter(F.col("verdict") == VIOLATION)
        .select("incident", "kind", "label", "at", "completed", "decided_commit", "offset_first",
                "offset_last", *PLACE)
        .join(small(index), on=[*PLACE], how="left")
        .drop("broker")
    )  # fmt: skip
    partitions = found.select("topic", "partition").distinct()
    of_leaders = changes.filter(F.col("event").isin(*OF_LEADERS))
    of_topics = inner(of_leaders, small(topics_now(changes)), on="topic_id")
    leading = inner(of_topics, small(partitions), on=["topic", "partition"]).select(
        "event", "at_ms", "offset", "broker", "cut", "topic", "partition"
    )
    both = found.unionByName(leading, True).coalesce(1)
    rows = [row.asDict() for row in both.mapInArrow(judged, SEEN).collect()]
    told = [Seen(**row | {"asked": [Asked(*one) for one in row["asked"]]}) for row in rows]
    return _without_survivors(told, known)


def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow`: findings at their places and changes in, rows of SEEN out."""
    changes: dict[tuple[str, int], list[tuple[int, Change]]] = {}
    found: dict[tuple[int, int | None, str, int], list[Found]] = {}
    kinds: dict[int, str] = {}
    earliest: dict[int, int] = {}
    for row in _rows(batches):
        where = (row["topic"], row["partition"])
        if row["incident"] is None:
            change = Change(row["at_ms"], row["event"], row["broker"], row["cut"])
            changes.setdefault(where, []).append((row["offset"], change))
            continue
        place = (row["incident"], row["partition_index"], *where)
        last = row["offset_first"] if row["offset_last"] is None else row["offset_last"]
        one = Found(row["label"], row["at"], row["completed"], last, bool(row["decided_commit"]))
        found.setdefault(place, []).append(one)
        kinds[place[0]] = row["kind"]
        if one.at is not None:
            earliest[place[0]] = min(one.at, earliest.get(place[0], one.at))
    told = []
    for place, those in found.items():
        # What nothing dates is as old as the first of its incident.
        dated = [one._replace(at=earliest.get(place[0])) if one.at is None else one
                 for one in those]  # fmt: skip
        ordered = [change for _, change in sorted(changes.get(place[2:], []), key=itemgetter(0))]
        here = seen_at(place, kinds[place[0]], dated, ordered)
        if here is not None:
            told.append(here._asdict() | {"asked": [asked._asdict() for asked in here.asked]})
    if told:
        yield pa.RecordBatch.from_pylist(told, schema=OF_SEEN)


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _without_survivors(told: list[Seen], known: Known) -> list[Seen]:
    """The same, without the cuts that cannot have taken what is concerned: see `Asked`."""
    asked: dict[int, list[tuple[int, Asked]]] = {}
    for number, one in enumerate(told):
        if one.partition_index is not None:
            mine = [(number, what) for what in one.asked]
            asked.setdefault(one.partition_index, []).extend(mine)
    asked = {index: those for index, those in asked.items() if those}
    if not asked:
        return told
    refuted = {row.number for row in known.survivors(asked).collect()}
    return [
        one._replace(cut_ms=None, cut_broker=None) if number in refuted else one
        for number, one in enumerate(told)
    ]
