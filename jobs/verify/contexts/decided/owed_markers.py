"""Decisions that cannot have a marker of their own."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import came_twice_within
from jobs.verify.contexts.decided.early_markers import against
from jobs.verify.contexts.decided.events import CLOSES, EARLIEST, LATEST, OF_EPOCH, OPENS
from jobs.verify.contexts.decided.matching import (
    KEY,
)
from udfs.rules import attribution
from udfs.rules.logic import surely

# What each event of a decision has, or all events of its epoch.
OF_OWED = (
    "due", "due_as_read", "all_markers", "shown", "lacking", "fewer", "undated", "all_misled",
)  # fmt: skip


def _opposing() -> Column:
    """The marker of the other outcome in place of that of a decision; null for none.

    The copy has no marker with the outcome of the decision from its Prepare to its Complete record.
    One of the other outcome lies there, at no moment of a decision with that outcome.
    """
    unmarked = F.col("until") == F.col("before")
    inside = F.col("foreign.time") >= F.col("opened")
    return F.when(surely(unmarked & inside), against(F.col("foreign.marker"), F.col("decision")))


def _with_surroundings(owed: DataFrame, tolerance: Column) -> DataFrame:
    """Adds told: the markers around a decision show that the clocks of its moment agree.

    A marker, of either outcome, lies where the decision before was made, and where the next one
    was; of the last decision, in its own place. And no marker of the epoch is later than the last
    decision, which has one; or none is earlier than the first. A clock that is wrong moves them
    all, or those of a time. No clock came twice to a moment of the epoch (once).
    """
    epoch = Window.partitionBy(*OF_EPOCH)
    order = epoch.orderBy("at")
    marked = F.col("any_until") > F.col("any_before")
    before, behind = F.lag(marked).over(order), F.lead(marked).over(order)
    around = F.coalesce(before, behind & F.col("fewer")) & F.coalesce(behind, marked)
    at_begin = before.isNull() & marked & (F.col("any_before") == 0)
    at_end = behind.isNull() & marked & (F.col("any_until") == F.col("all_markers"))
    placed = owed.select("*", around.alias("around"), (at_begin | at_end).alias("at_edge"))
    begin, end = F.min("opened").over(epoch), F.max("closed").over(epoch)
    once = ~F.col("undated") & ~came_twice_within(begin, end, tolerance)
    told = F.col("around") & F.max("at_edge").over(epoch) & once
    return placed.select("*", (F.col("shown") | surely(told)).alias("told"), once.alias("once"))


def _with_readings(owed: DataFrame) -> DataFrame:
    """Each decision that is due, with moments as they surely were (as_read: false), or were read.

    before, until: markers before the earliest moment of its own, and up to the latest one. Where a
    clock came to a moment twice, a marker that has it counts as later than a decision, and as
    earlier, and a decision that has it as made earlier, and as completed later. Then the markers up
    to the last of some decisions that are not in front of the first are still all that these can
    have (Hall's condition). Only numbers are compared so, and not where the clocks were apart by
    more than the tolerance. As they were read, a decision in front of an earlier one is not due:
    there a clock was set back, and what is older than it is not known. `owed`: of
    `_with_surroundings`.
    """
    onward = Window.partitionBy(*OF_EPOCH).orderBy(F.desc("at"))
    least_onward = F.min("decision.prepared").over(onward)
    owed = owed.withColumn("went_on", F.col("decision.prepared") <= least_onward)
    may_be_compared = F.when(F.col("lacking"), ~F.col("all_misled")).otherwise(~F.col("undated"))
    readings = F.array(
        F.struct(
            F.lit(False).alias("as_read"),
            (F.col("due") & may_be_compared).alias("due"),
            F.coalesce("before_earliest", "before").alias("before"),
            F.coalesce("until_latest", "until").alias("until"),
            F.col("decision.surely_from").alias("from"),
            F.col("decision.surely_to").alias("to"),
        ),
        F.struct(
            F.lit(True).alias("as_read"),
            (F.col("due_as_read") & F.col("lacking") & ~F.col("once") & F.col("went_on")).alias(
                "due"
            ),
            F.col("before"),
            F.col("until"),
            F.col("decision.prepared").alias("from"),
            F.col("decision.completed").alias("to"),
        ),
    )
    others = [name for name in owed.columns if name not in ("due", "before", "until")]
    read = owed.select(*others, F.explode(readings).alias("reading"))
    return read.select(*others, "reading.*").filter("due")


def _with_lacks(due: DataFrame) -> DataFrame:
    """Adds lacks, and prepared and completed, between which it is counted; and `_opposing`."""
    order = Window.partitionBy(*KEY, "as_read").orderBy("at")
    back = Window.partitionBy(*KEY, "as_read").orderBy(F.desc("at"))
    so_far, onward = (one.rowsBetween(Window.unboundedPreceding, 0) for one in (order, back))
    # Clocks may go back from one coordinator to the next, moments that fit do not.
    numbered = due.select(
        "*",
        _opposing().alias("opposing"),
        F.row_number().over(order).alias("number"),
        F.min("before").over(onward).alias("least_before"),
        F.max("until").over(so_far).alias("most_until"),
        F.min("from").over(onward).alias("prepared"),
        F.max("to").over(so_far).alias("completed"),
    )
    room = attribution.room_before(F.col("least_before"), F.col("number"))
    # What is counted begins with the decision that has most room before it.
    of_most = F.struct(room.alias("room"), "number", "prepared", "at", "least_before")
    most = F.max(of_most).over(so_far)
    with_room = numbered.withColumn("most", most).withColumns(
        {"room": F.col("most.room"), "prepared": F.col("most.prepared")}
    )
    lacks = attribution.lacks_marker(F.col("most_until"), F.col("number"), F.col("room"))
    # What the count lacks further on may be what an earlier decision lacks, which nothing tells.
    unmarked = F.col("until") == F.col("before")
    alone = F.col("shown") | unmarked
    # That one itself, where no marker lies at its moments; else one of those counted up to it.
    begin = F.when(unmarked, F.struct("at", "before")).otherwise(
        F.struct("most.at", F.col("most.least_before").alias("before"))
    )
    number = F.col("number") - F.col("most_until") + F.col("room")
    return with_room.withColumns(
        {"lacks": surely(lacks & alone), "begin": begin, "number_lacking": number}
    )


def of_decisions(counted: DataFrame, tolerance: Column) -> DataFrame:
    """The first decision, in each row, that cannot have a marker of its own.

    In a row that neither the number of its markers nor their moments accuse, only one that is told
    (`_with_surroundings`). One that moments show as they were read (short_as_read) only where
    there is no other. One of the decisions from short_first to short_last (offsets) has no marker,
    and short_before markers of the outcome are in front of all of theirs. short_number: so many
    decisions of the row have none, at least, as far as the copy is late enough to tell.
    """

    def at_event(kind: int, value: str) -> Column:
        return F.max(F.when(F.col("kind") == kind, F.col(value)))

    # Any of its events has the decision; F.max of a struct is that of equal ones.
    owed = (
        counted.filter("own")
        .groupBy(*KEY, "at")
        .agg(
            at_event(OPENS, "markers_so_far").alias("before"),
            at_event(CLOSES, "markers_so_far").alias("until"),
            at_event(EARLIEST, "markers_so_far").alias("before_earliest"),
            at_event(LATEST, "markers_so_far").alias("until_latest"),
            at_event(OPENS, "any_so_far").alias("any_before"),
            at_event(CLOSES, "any_so_far").alias("any_until"),
            at_event(OPENS, "time").alias("opened"),
            at_event(CLOSES, "time").alias("closed"),
            at_event(CLOSES, "foreign").alias("foreign"),
            F.max("decision").alias("decision"),
            *[F.max(name).alias(name) for name in OF_OWED],
            F.first("set_backs").alias("set_backs"),
        )
    )
    lacking = _with_lacks(_with_readings(_with_surroundings(owed, tolerance)))
    names = (
        "as_read", "at", "decision", "prepared", "completed", "opposing", "begin",
    )  # fmt: skip
    short = F.min(F.struct(*names)).alias("short")
    surely_lacking = F.max(F.when(~F.col("as_read"), F.col("number_lacking")))
    number = F.coalesce(surely_lacking, F.max("number_lacking")).alias("number")
    first = lacking.filter("told and lacks").groupBy(*KEY).agg(short, number)
    return first.select(
        *KEY,
        F.col("short.decision.place").alias("short_place"),
        F.col("short.decision.length").alias("short_length"),
        F.col("short.decision.complete_offset").alias("short_complete"),
        F.col("short.decision.start").alias("short_start"),
        F.col("short.prepared").alias("short_prepared"),
        F.col("short.completed").alias("short_completed"),
        F.col("short.at").alias("short_last"),
        F.col("short.begin.at").alias("short_first"),
        F.col("short.begin.before").alias("short_before"),
        F.col("short.opposing").alias("opposing"),
        F.col("short.as_read").alias("short_as_read"),
        F.col("number").alias("short_number"),
    )
