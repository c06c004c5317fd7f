"""Where the clocks of brokers were set back, and how far a copy is complete then.

The rules are those of `udfs.rules.clock`.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas.log_row import JOINED_SET_BACK, SET_BACK
from udfs.rules.clock import ADJUSTED_MS, comes_twice, comes_twice_within, covers
from udfs.rules.logic import surely

ROWS = f"array<{SET_BACK.simpleString()}>"
JOINED = f"array<{JOINED_SET_BACK.simpleString()}>"
# So many of a dump are told apart.
MOST_SET_BACKS = 1_000


def set_backs_of_split() -> Column:
    """ROWS of a split with `newest_before`: in it, and between it and the splits before."""
    lowest, before = F.col("clock.lowest"), F.col("newest_before")
    between = F.struct(lowest.alias("to_ms"), before.alias("from_ms"))
    seam = F.when(before - lowest > ADJUSTED_MS, F.array(between))
    nothing = F.array().cast(ROWS)
    return F.concat(F.coalesce("clock.set_backs", nothing), F.coalesce(seam, nothing))


def set_backs(splits: DataFrame, tolerance: int) -> DataFrame:
    """One row: set_backs (JOINED, from old on), where a clock of the dump was set back.

    Which broker's it was, a log does not tell for sure, nor does each copy tell its cluster.
    `splits`: summaries of segments; `tolerance`: how far brokers' clocks may be apart, ms.
    """
    shown = splits.select(set_backs_of_split().alias("own")).filter(F.size("own") > 0)
    together = shown.agg(F.flatten(F.collect_list("own")).alias("all"))
    return together.select(_joined(F.col("all"), tolerance).alias("set_backs"))


def _joined(spans: Column, tolerance: int) -> Column:
    """Those that overlap as one, clocks being apart by the tolerance; of too many the nearest."""
    each = F.transform(
        F.array_sort(spans),
        lambda one: F.struct(
            one["to_ms"].alias("to_ms"),
            one["from_ms"].alias("from_ms"),
            (one["from_ms"] - one["to_ms"]).alias("by_ms"),
        ),
    )
    found = _nearer_joined(each, F.lit(2 * tolerance))
    one_less = F.greatest(F.size(found) - 1, F.lit(0))
    between = F.zip_with(
        F.slice(found, F.lit(2), one_less),
        F.slice(found, F.lit(1), one_less),
        lambda later, earlier: later["to_ms"] - earlier["from_ms"],
    )
    # Fewer than MOST_SET_BACKS times between two are longer than this one.
    longest_joined = F.get(F.sort_array(between, asc=False), F.lit(MOST_SET_BACKS - 1))
    few = F.size(found) <= MOST_SET_BACKS
    return F.when(few, found).otherwise(_nearer_joined(found, longest_joined))


def _nearer_joined(spans: Column, between_ms: Column) -> Column:
    """Those with no more time between them as one; `spans`: in their order.

    Time between them, in which no clock was set back, adds nothing to by_ms; what several logs show
    adds once. `between_ms` goes along with what is found: inside of it, it would be computed anew
    for each span.
    """

    def beside(state: Column, one: Column) -> Column:
        found = state["found"]
        last = F.get(found, F.size(found) - 1)
        # Of spans that are joined already, what lies beside the others is all of the step.
        further = one["from_ms"] - F.greatest(last["from_ms"], one["to_ms"])
        step = F.least(one["by_ms"], F.greatest(further, F.lit(0)))
        longer = F.struct(
            last["to_ms"].alias("to_ms"),
            F.greatest(last["from_ms"], one["from_ms"]).alias("from_ms"),
            (last["by_ms"] + step).alias("by_ms"),
        )
        near = one["to_ms"] - last["from_ms"] <= state["between_ms"]
        together = F.concat(F.slice(found, 1, F.size(found) - 1), F.array(longer))
        joined = F.when(near, together).otherwise(F.concat(found, F.array(one)))
        return F.struct(joined.alias("found"), state["between_ms"].alias("between_ms"))

    nothing = F.struct(
        F.array().cast(JOINED).alias("found"), between_ms.cast("long").alias("between_ms")
    )
    return F.aggregate(spans, nothing, beside, lambda state: state["found"])


def came_twice(moment: Column, tolerance: Column, of: Column | str = "set_backs") -> Column:
    """Whether a clock of the dump came to a moment twice; false for no moment.

    `of`: JOINED, by default a column of the rows.
    """
    return came_twice_within(moment, moment, tolerance, of)


def came_twice_within(
    begin: Column, end: Column, tolerance: Column, of: Column | str = "set_backs"
) -> Column:
    """Whether a clock of the dump came to one of these moments twice, both ends inclusive."""
    twice: Column = surely(
        F.exists(
            of,
            lambda one: comes_twice_within(begin, end, one["from_ms"], one["to_ms"], tolerance),
        )
    )
    return twice


def once(moment: Column, tolerance: Column) -> Column:
    """A moment that orders something; null where a clock of the dump came to it twice."""
    ordering: Column = F.when(~came_twice(moment, tolerance), moment)
    return ordering


def covers_once(up_to_ms: Column, moment: Column, tolerance: Column) -> Column:
    """`covers` of a moment to which no clock of the dump came twice; null where one is.

    The second time may be later than all that is complete up to a later moment.
    """
    covered: Column = covers(up_to_ms, moment, tolerance) & ~came_twice(moment, tolerance)
    return covered


def latest_reading(moment: Column, tolerance: Column) -> Column:
    """The latest moment at which a clock may have stood before it came to `moment`, ms.

    That is another one where the clock was set back since.
    """
    since = F.filter(
        "set_backs", lambda one: comes_twice(moment, one["from_ms"], one["to_ms"], tolerance)
    )
    return F.greatest(moment, F.array_max(F.transform(since, lambda one: one["from_ms"])))


def earliest(moment: Column, tolerance: Column, of: Column | str) -> Column:
    """The earliest moment, ms, that is not known to be before `moment`: it may have come twice."""
    begins = F.transform(_around(moment, tolerance, of), lambda one: one["to_ms"] - tolerance)
    return F.least(moment, F.array_min(begins))


def latest(moment: Column, tolerance: Column, of: Column | str) -> Column:
    """The latest moment, ms, that is not known to be behind `moment`."""
    ends = F.transform(_around(moment, tolerance, of), lambda one: one["from_ms"] + tolerance)
    return F.greatest(moment, F.array_max(ends))


def _around(moment: Column, tolerance: Column, of: Column | str) -> Column:
    """The set-backs in which a clock came to a moment twice; apart, as those of a dump are."""
    return F.filter(
        of, lambda one: surely(comes_twice(moment, one["from_ms"], one["to_ms"], tolerance))
    )


def before_set_back(up_to_ms: Column, tolerance: Column) -> Column:
    """Up to which moment a copy is complete, if a clock may have been set back after its end, ms.

    What lies behind it may then have any moment from there on that the clock came back to. A copy
    that shows itself how far the clock went, and where it came back to, ends behind that.
    """

    def shown(one: Column) -> Column:
        return F.exists(
            "own_set_backs",
            lambda own: (
                (own["from_ms"] >= one["from_ms"] - tolerance)
                & (own["to_ms"] <= one["to_ms"] + tolerance)
            ),
        )

    later = F.filter(
        "set_backs",
        lambda one: comes_twice(up_to_ms, one["from_ms"], one["to_ms"], tolerance) & ~shown(one),
    )
    return F.least(up_to_ms, F.array_min(F.transform(later, lambda one: one["to_ms"])))
