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
    unled_spans,
)
from jobs.incidents.known import Known
from jobs.incidents.whose import same_place
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
    one in sync has its own log still, however it is elected. An election without a record before it
    of who led or was in sync shows nothing. `changes`: rows of METADATA_CHANGE.
    """
    before = (
        Window.partitionBy("topic_id", "partition")
        .orderBy("offset")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    tells = F.col("event").isNotNull() | F.col("in_sync").isNotNull()
    told = changes.withColumns(
        {
            "was_in_sync": F.last("in_sync", ignorenulls=True).over(before),
            "was_eligible": F.last("eligible", ignorenulls=True).over(before),
            "any_before": F.max(tells).over(before),
        }
    )
    held = F.array_contains("was_in_sync", F.col("broker")) | F.coalesce(
        F.array_contains("was_eligible", F.col("broker")), F.lit(False)
    )
    said = (F.col("event") == UNCLEAN) & F.col("any_before")
    shown = F.col("alone") & F.col("was_in_sync").isNotNull()
    cut = F.coalesce((said | shown) & ~F.coalesce(held, F.lit(False)), F.lit(False))
    event = F.when(cut, F.lit(UNCLEAN)).otherwise(F.col("event"))
    return (
        told.withColumns({"cut": cut, "event": event})
        .filter(F.col("event").isNotNull())
        .drop("in_sync", "eligible", "alone", "was_in_sync", "was_eligible", "any_before")
    )


def seen(placed: DataFrame, changes: DataFrame, known: Known) -> list[Seen]:
    """What the changes tell of each place of incidents of CONCERNED.

    `placed`: see `jobs.incidents.assign`, kept; `changes`: see `judged_elections`, kept.
    """
    index = known.info.select("partition_index", *PLACE).alias("i")
    found = (
        placed.filter(F.col("incident").isNotNull() & F.col("kind").isin(*CONCERNED))
        .filter(F.col("verdict") == VIOLATION)
        .select("incident", "kind", "label", "at", "completed", "decided_commit", "offset_first",
                "offset_last", "producer_id", "decided_offset", *PLACE)
        .alias("f")
        .join(small(index), same_place("f", "i"), "left")
        .select("f.*", "partition_index")
        .drop("broker")
    )  # fmt: skip
    if known.decisions is not None:
        listed = known.decisions.select(
            "producer_id",
            F.col("prepare_offset").alias("decided_offset"),
            F.col("partitions").alias("listed"),
        )
        found = found.join(small(listed), on=["producer_id", "decided_offset"], how="left")
    else:
        found = found.withColumn("listed", F.lit(None).cast("array<string>"))
    own = F.array(F.concat_ws("-", "topic", "partition"))
    all_of = F.array_union(F.coalesce("listed", own), own)
    partitions = found.select(F.explode(all_of).alias("name")).distinct()
    of_leaders = changes.filter(F.col("event").isin(*OF_LEADERS))
    of_topics = inner(of_leaders, small(topics_now(changes)), on="topic_id")
    named = of_topics.withColumn("name", F.concat_ws("-", "topic", "partition"))
    leading = inner(named, small(partitions), on="name").select(
        "event", "at_ms", "offset", "broker", "cut", "name"
    )
    both = found.unionByName(leading, True).coalesce(1)
    rows = [row.asDict() for row in both.mapInArrow(judged, SEEN).collect()]
    told = [Seen(**row | {"asked": [Asked(*one) for one in row["asked"]]}) for row in rows]
    return _without_survivors(told, known)


def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow`: findings at their places and changes in, rows of SEEN out."""
    changes: dict[str, list[tuple[int, Change]]] = {}
    found: dict[tuple[int, int | None, str, int], list[Found]] = {}
    kinds: dict[int, str] = {}
    earliest: dict[int, int] = {}
    for row in _rows(batches):
        if row["incident"] is None:
            change = Change(row["at_ms"], row["event"], row["broker"], row["cut"])
            changes.setdefault(row["name"], []).append((row["offset"], change))
            continue
        place = (row["incident"], row["partition_index"], row["topic"], row["partition"])
        last = row["offset_first"] if row["offset_last"] is None else row["offset_last"]
        one = Found(row["label"], row["at"], row["completed"], last, bool(row["decided_commit"]),
                    row["listed"] or ())  # fmt: skip
        found.setdefault(place, []).append(one)
        kinds[place[0]] = row["kind"]
        if one.at is not None:
            earliest[place[0]] = min(one.at, earliest.get(place[0], one.at))
    ordered = {name: [change for _, change in sorted(those, key=itemgetter(0))]
               for name, those in changes.items()}  # fmt: skip
    unled = {name: unled_spans(those) for name, those in ordered.items()}
    told = []
    for place, those in found.items():
        # What nothing dates is as old as the first of its incident.
        dated = [one._replace(at=earliest.get(place[0])) if one.at is None else one
                 for one in those]  # fmt: skip
        here = seen_at(place, kinds[place[0]], dated, ordered, unled)
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
