"""Decisions and markers that share an epoch (transaction.version 0 and 1), counted in their order.

Markers of one epoch and outcome look alike, so only their number up to a moment can be compared.
"""

from collections.abc import Callable
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import came_twice
from jobs.spark.joins import inner
from jobs.verify.contexts.decided.early_markers import of_markers
from jobs.verify.contexts.decided.events import OF_EPOCH, events, runs_from
from jobs.verify.contexts.decided.gaps import with_gaps
from jobs.verify.contexts.decided.matching import (
    KEY,
    at_other_moments,
    changes_coordinator,
    has_too_many,
    known_at_other_moments,
    lacks_known,
    lacks_markers,
    listed_decisions,
    of_known_decision,
)
from jobs.verify.contexts.decided.moments import (
    kept_apart,
    misleading,
)
from jobs.verify.contexts.decided.owed_markers import of_decisions
from jobs.verify.contexts.decided.running_counts import counted
from udfs.rules import attribution
from udfs.rules.logic import surely


def with_counts(
    rows: DataFrame,
    decided: DataFrame,
    markers: DataFrame,
    tolerance: Column,
    keep: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """Adds what counting shows of rows whose markers are fewer, more, or elsewhere than decided.

    misplaced: see `_misplaced`.

    stale_* (place, offset, first, last): the first marker that ended data when fewer transactions
    of the partition had been decided than ended, a decision counting as made earlier by the
    tolerance. Where there is none, but markers of the outcome ended more transactions than were
    decided with it: the first that was one too many.
    undecided_* (the same): the first marker that ended data when fewer transactions had been
    decided with its outcome than ended; of a COMMIT the first for which that holds although a
    decision counts as made earlier by the tolerance, if only that one is never_committed.
    never_committed, of a COMMIT among those: the next decision is no commit, and no transaction
    runs that it may have cut; or no earlier commit could have left a delayed marker.
    short_* (place, length, complete, start): the first decision that has no marker of its own,
    complete being an offset and start ms; short_prepared, short_completed: between these moments,
    ms, one of the decisions that are counted up to this one has none; short_number: see
    `of_decisions`; short_next, short_behind, short_told, newest_gap: see `with_gaps`.
    short_as_read: nothing proves it but moments as they were read, though a clock was set back.
    opposing, of the decisions of the row: the first marker of the other outcome that lies where a
    decision has none of its own, and at no moment of its own outcome (`_opposing`); contrary,
    contrary_complete: see `with_gaps`; premature: the first COMMIT marker where an abort was
    decided, before any COMMIT of the epoch was decided here.
    odd_* (place, offset, first, epoch, lowest, highest): the first marker with the epoch of a
    coordinator that decided none of the transactions it may be of.

    `keep`: computes a frame that is read more than once; mostly there is nothing to count.
    """
    rows = (
        rows.join(keep(_out_of_order(rows, decided, markers)), on=OF_EPOCH, how="left")
        .withColumn("misplaced", _misplaced(tolerance))
        .withColumn("beside", _shown_beside())
        .drop("out_of_order")
    )
    misplaced = F.col("misplaced")
    # Where neither marker nor data are there, all is lost, and an order shows nothing.
    here = F.col("markers").isNotNull() | F.col("data_run").isNotNull()
    shown = (lacks_markers() & here) | misplaced
    beside = F.col("beside")
    wanted = shown | beside | has_too_many() | changes_coordinator()
    keys = _keys(rows.filter(wanted), shown, tolerance)
    all_events = keep(events(keys, decided, markers, tolerance))
    numbered = keep(counted(all_events))
    short = keep(of_decisions(numbered, tolerance))
    found = of_markers(numbered).join(short, on=KEY, how="full")
    # A row gets only what it was counted for: the other outcome of its epoch may be regular.
    asked = {
        "short": lacks_markers() | misplaced | beside,
        "newest_gap": lacks_markers(),
        "opposing": misplaced | beside,
        "contrary": lacks_markers() | misplaced | beside,
        "premature": misplaced,
        "odd": changes_coordinator(),
        "stale": has_too_many() | F.col("prepares").isNull(),
    }
    with_found = rows.join(found, on=KEY, how="left").withColumns(_surplus())
    joined = with_gaps(with_found, all_events, short)
    return joined.withColumns(
        {
            name: F.when(next(asked[one] for one in asked if name.startswith(one)), F.col(name))
            for name in joined.columns
            if name.startswith(tuple(asked)) and name not in rows.columns
        }
    ).drop("beside")


def _keys(rows: DataFrame, shown: Column, tolerance: Column) -> DataFrame:
    """One row an epoch of a partition that is counted; `shown`: its number or moments accuse it.

    commits_*, aborts_* (whole_from, whole_from_as_read, shown, lacking, fewer): what the row of
    this outcome says; lacking: its number. all_decided: the coordinator's log has all decisions of
    the epoch; newer_there: replicated data of a higher epoch are there. kept_apart, misleading: the
    set_backs that keep the order of what lies outside of them, and the others
    (`udfs.rules.clock.keeps_order`).
    """
    too_many = has_too_many() & (F.col("with_transaction_version_2") == 0)
    return (
        rows.groupBy(*OF_EPOCH, "listed")
        .agg(
            *_of_either(F.min, F.col("whole_from"), "whole_from"),
            *_of_either(F.min, F.col("whole_from_as_read"), "whole_from_as_read"),
            *_of_either(F.max, shown, "shown"),
            *_of_either(F.max, _lacks_any_markers(), "lacking"),
            *_of_either(F.max, lacks_known(), "fewer"),
            F.max("whole_to").alias("whole_to"),
            F.max("earlier_end").alias("earlier_end"),
            F.max("apart_ms").alias("apart_ms"),
            F.first("set_backs").alias("set_backs"),
            F.first("alone_in_cluster").alias("alone_in_cluster"),
            F.max(too_many).alias("too_many"),
            F.max(runs_from()).alias("runs_from"),
            F.max(F.col("open_run").isNotNull() & runs_from().isNull()).alias("is_open"),
            surely(F.max(F.col("decidable") == 1)).alias("all_decided"),
            F.max("goes_on").alias("newer_there"),
        )
        .withColumns({"kept_apart": kept_apart(tolerance), "misleading": misleading(tolerance)})
    )


def _lacks_any_markers() -> Column:
    """`lacks_markers`, and those that ended nothing do not make up for them."""
    lacks: Column = lacks_markers() & surely(F.col("markers") < F.col("completes"))
    return lacks


def _of_either(how: Callable[[Column], Column], value: Column, name: str) -> list[Column]:
    """commits_NAME and aborts_NAME."""
    outcomes = (("commits", F.col("commit")), ("aborts", ~F.col("commit")))
    return [how(F.when(one, value)).alias(f"{prefix}_{name}") for prefix, one in outcomes]


def _out_of_order(rows: DataFrame, decided: DataFrame, markers: DataFrame) -> DataFrame:
    """One row an epoch of a partition with markers at other moments: OF_EPOCH, out_of_order.

    Whether its markers, as many at least, do not have the outcomes of its completed decisions in
    their order, whatever lies between them. Of one id they do, where nothing is wrong
    (`udfs.rules.attribution`). Those of the time that the coordinator's log shows.
    """
    asked = rows.filter(at_other_moments() | lacks_known() | known_at_other_moments())
    keys = asked.select(*OF_EPOCH, "listed", "known_from_ms", "known_to_ms").distinct()

    def in_order(found: DataFrame, offset: str, commit: str, name: str) -> DataFrame:
        one = F.struct(F.col(offset).alias("at"), F.col(commit).alias("commit"))
        return found.groupBy(*OF_EPOCH).agg(F.array_sort(F.collect_list(one)).alias(name))

    completed = listed_decisions(decided.filter(F.col("complete_offset").isNotNull()))
    of_decisions = inner(completed, keys, on=["producer_id", "marker_epoch", "listed"])
    of_markers = inner(markers, keys, on=OF_EPOCH).filter(
        F.col("known_from_ms").isNull() | of_known_decision()
    )
    both = inner(
        in_order(of_decisions, "prepare_offset", "commit", "decisions"),
        in_order(of_markers, "marker_offset", "marker_commit", "there"),
        on=OF_EPOCH,
    )
    # How many decisions, from the first on, have a marker behind that of the one before.
    met = F.aggregate(
        "there",
        F.lit(0),
        lambda number, marker: (
            number
            + (F.get("decisions", number)["commit"] == marker["commit"])
            .eqNullSafe(True)
            .cast("int")
        ),
    )
    # Where markers are fewer, some went with the head, or are behind the end of the copy.
    whole = F.size("there") >= F.size("decisions")
    return both.select(*OF_EPOCH, (whole & (met < F.size("decisions"))).alias("out_of_order"))


def _misplaced(tolerance: Column) -> Column:
    """Whether markers lie at other moments than they were decided, and no wrong clock explains it.

    A clock that is wrong by more than the tolerance moves all markers of the epoch the same way:
    told by the first and the last of each outcome. One clock that is set right within the epoch, by
    less than that, does not: then the order of the markers must be another one, too. Transactions
    of several ids have no order, and neither have moments to which a clock came twice.
    """
    both = Window.partitionBy(*OF_EPOCH)
    asked, apart = at_other_moments(), F.col("apart_ms")
    of_first = F.col("earliest_marker") - F.col("earliest_prepare")
    of_last = F.col("latest_marker") - F.col("latest_prepare")
    in_time = F.least(F.abs(of_first), F.abs(of_last)) <= apart
    earlier, later = F.least(of_first, of_last) < -apart, F.greatest(of_first, of_last) > apart
    one_in_time, one_earlier, one_later = (
        F.max(asked & moved).over(both) for moved in (in_time, earlier, later)
    )
    of_one_id = ~surely(F.col("several_ids"))
    ends = ("earliest_prepare", "complete_timestamp", "earliest_marker", "latest_marker")
    twice = reduce(or_, [came_twice(F.col(name), tolerance) for name in ends])
    one_clock = of_one_id & ~F.max(twice).over(both)
    moved = one_in_time | (one_earlier & one_later)
    far = F.greatest(F.abs(of_first), F.abs(of_last)) > tolerance
    shown = F.max(asked & far).over(both) | F.col("out_of_order")
    return surely(asked & one_clock & moved & shown)


def _shown_beside() -> Column:
    """Whether a marker may be missing that surplus ones hide, which only those around it show.

    There are more markers than decisions, as an operator aborted; or of those that the log has a
    decision of, some are missing or in another order. Moments alone show nothing: a clock may have
    been set back for the time of one marker. Transactions of several ids have no order.
    """
    asked = has_too_many() | lacks_known() | F.col("out_of_order")
    shown: Column = surely(asked & F.col("markers").isNotNull() & ~surely(F.col("several_ids")))
    return shown


def _surplus() -> dict[str, Column]:
    """stale_* of rows with a marker too many that no moment shows, counting both outcomes.

    The decision of a transaction with the other outcome, which the marker ended, counts, too, and
    hides it.
    """
    surplus = (
        has_too_many()
        & (F.coalesce("with_transaction_version_2", F.lit(0)) == 0)
        & attribution.ended_too_many(F.col("closing"), F.col("prepares"))
        & F.col("stale_offset").isNull()
    )
    return {
        f"stale_{name}": F.when(surplus, F.col(f"undecided_{name}")).otherwise(
            F.col(f"stale_{name}")
        )
        for name in ("place", "offset", "first", "last")
    }
