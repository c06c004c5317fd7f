"""Where the marker of a decision would stand among the others of its epoch in the partition."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructType

from jobs.verify.contexts.decided.early_markers import against
from jobs.verify.contexts.decided.events import MARKER, OF_EPOCH, PREPARED
from jobs.verify.contexts.decided.matching import KEY
from udfs.arrow.marker_gaps import ASKED, DECISION, OF_OTHER_EPOCH, THERE, gaps_of_epoch


def with_gaps(rows: DataFrame, events: DataFrame, short: DataFrame) -> DataFrame:
    """Adds what an outcome of an epoch lacks by the order of offsets.

    short_next: the marker that comes next; short_behind: offset of the one before; null for none.
    short_place, short_length, short_told: of the decision, the last the offset of its Complete
    record. newest_gap (next, behind, place, length): the same of the newest decision that is
    complete, of an outcome without a marker. contrary (`early_markers.against`), contrary_complete:
    the first marker in place of one of this outcome, the Complete record of the decision. `rows`:
    one a KEY, with what `owed_markers.of_decisions` tells; `events`: of `events`; `short`: the same
    of that function.
    """
    marker, decision = events.schema["marker"], events.schema["decision"]
    of_key = events.select(*KEY).schema
    gap = StructType().add("next", marker.dataType).add("behind", LongType())
    gap = gap.add("decision", decision.dataType)
    pair = StructType().add("marker", marker.dataType).add("decision", decision.dataType)
    told = StructType(of_key.fields).add("asked", gap).add("newest", gap).add("contrary", pair)
    asked = short.filter(F.col("short_last").isNotNull()).select(
        *KEY,
        F.lit(ASKED).alias("sort"),
        F.col("short_last").alias("at"),
        F.col("short_first").alias("first_at"),
        F.col("short_before").alias("before"),
    )
    gaps = (
        _of_epoch(events)
        .unionByName(asked, allowMissingColumns=True)
        .groupBy(*OF_EPOCH)
        .applyInArrow(gaps_of_epoch(OF_EPOCH, told), told)
    )
    shown = F.col("short_place").isNotNull()
    of_newest = F.struct(
        "newest.next", "newest.behind", "newest.decision.place", "newest.decision.length"
    )
    of_decision = {"place": "place", "length": "length", "told": "complete_offset"}
    return (
        rows.join(gaps, on=KEY, how="left")
        .withColumns(
            {
                "short_next": F.col("asked.next"),
                "short_behind": F.col("asked.behind"),
                **{
                    f"short_{name}": F.when(shown, F.col(f"asked.decision.{one}"))
                    for name, one in of_decision.items()
                },
                "newest_gap": F.when(F.col("newest").isNotNull(), of_newest),
                "contrary_complete": F.col("contrary.decision.complete_offset"),
                "contrary": F.when(
                    F.col("contrary").isNotNull(),
                    against(F.col("contrary.marker"), F.col("contrary.decision")),
                ),
            }
        )
        .drop("asked", "newest", "short_first", "short_last", "short_before")
    )


def _of_epoch(events: DataFrame) -> DataFrame:
    """Decisions and markers as `gaps_of_epoch` takes them."""
    is_marker = F.col("kind") == MARKER
    sort: Column = F.when(is_marker, THERE).when(F.col("own"), DECISION).otherwise(OF_OTHER_EPOCH)
    return events.filter(F.col("kind").isin(MARKER, PREPARED)).select(
        *KEY,
        sort.alias("sort"),
        "at",
        F.col("time").alias("moment"),
        F.col("decision.completed").alias("completed"),
        F.coalesce("decision.start", "decision.prepared").alias("start"),
        F.col("marker.first").isNotNull().alias("ended"),
        F.col("marker.began").alias("began"),
        F.col("marker.epoch").alias("coordinator"),
        F.col("decision.from_leader").alias("from_leader"),
        F.col("decision.to_leader").alias("to_leader"),
        F.col("clocks_apart_ms").alias("apart_ms"),
        "is_open",
        "newer_there",
        "reached",
        "marker",
        "decision",
    )
