"""Decisions and markers that share an epoch (transaction.version 0 and 1), counted in their order.

Markers of one epoch and outcome look alike, so only their number up to a moment can be compared.
"""

from collections.abc import Callable
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import came_twice, came_twice_within, earliest, latest
from jobs.verify.contexts.decided_anchors import clipped
from jobs.verify.contexts.decided_matching import (
    ANY_LEADER_EPOCH,
    KEY,
    at_other_moments,
    changes_coordinator,
    has_too_many,
    in_effect,
    known_at_other_moments,
    lacks_known,
    lacks_markers,
    listed_decisions,
    of_known_decision,
)
from jobs.verify.contexts.decided_moments import (
    kept_apart,
    misleading,
    outer_moments,
    sure_moments,
)
from jobs.verify.contexts.decided_places import marker_told, place_number
from udfs.rules import attribution
from udfs.rules.logic import surely

OF_EPOCH = ["partition_index", "producer_id", "marker_epoch"]
# Events, in their order within one moment: what a decision allows from then on comes first. Its
# marker is written between OPENS and CLOSES, as far as the clocks of the brokers agree. ALLOWED is
# earlier, by the tolerance: for findings that rest on nothing but the order of two clocks. EARLIEST
# and LATEST are there for OPENS and CLOSES where a clock came to a moment between them twice.
ALLOWED, OPENS, EARLIEST, PREPARED, MARKER, CLOSES, LATEST = range(7)
# What each event of a decision has, or all events of its epoch.
OF_OWED = (
    "due", "due_as_read", "all_markers", "shown", "lacking", "fewer", "undated", "all_misled",
)  # fmt: skip


def with_counts(
    rows: DataFrame, decided: DataFrame, markers: DataFrame, tolerance: Column
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
    ms, one of the decisions that are counted up to this one has none;
    short_next: the marker that comes next; short_behind: offset of the one before. short_as_read:
    nothing proves it but moments as they were read, though a clock was set back.
    opposing, of the decisions of the row: the first marker of the other outcome that lies where a
    decision has none of its own, and at no moment of its own outcome (`_opposing`); premature: the
    first COMMIT marker where an abort was decided, before any COMMIT of the epoch was decided here.
    odd_* (place, offset, first, epoch, lowest, highest): the first marker with the epoch of a
    coordinator that decided none of the transactions it may be of.
    """
    rows = (
        rows.join(_out_of_order(rows, decided, markers), on=OF_EPOCH, how="left")
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
    counted = _counted(_events(keys, decided, markers, tolerance))
    found = _of_markers(counted).join(_of_decisions(counted, tolerance), on=KEY, how="full")
    # A row gets only what it was counted for: the other outcome of its epoch may be regular. Where
    # it has no marker, its number proves nothing further, but the next marker is of use.
    marked = F.col("markers").isNotNull()
    asked = {
        "short_next": lacks_markers() | misplaced | beside,
        "short": (lacks_markers() & marked) | misplaced | beside,
        "opposing": misplaced | beside,
        "premature": misplaced,
        "odd": changes_coordinator(),
        "stale": has_too_many() | F.col("prepares").isNull(),
    }
    joined = rows.join(found, on=KEY, how="left").withColumns(_surplus())
    return joined.withColumns(
        {
            name: F.when(next(asked[one] for one in asked if name.startswith(one)), F.col(name))
            for name in found.columns
            if name.startswith(tuple(asked))
        }
    ).drop("beside")


def _keys(rows: DataFrame, shown: Column, tolerance: Column) -> DataFrame:
    """One row an epoch of a partition that is counted; `shown`: its number or moments accuse it.

    commits_*, aborts_* (whole_from, whole_from_as_read, shown, lacking, fewer): what the row of
    this outcome says; lacking: its number. kept_apart, misleading: the set_backs that keep the
    order of what lies outside of them, and the others (`udfs.rules.clock.keeps_order`).
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
        )
        .withColumns({"kept_apart": kept_apart(tolerance), "misleading": misleading(tolerance)})
    )


def _lacks_any_markers() -> Column:
    """`lacks_markers`, and those that ended nothing do not make up for them."""
    lacks: Column = lacks_markers() & surely(F.col("markers") < F.col("completes"))
    return lacks


def runs_from() -> Column:
    """Since when its id runs a transaction of the epoch that lists the partition, ms.

    Of the coordinator's clock; negative where no record tells it, null where none runs.
    """
    running = (F.col("running_epoch") == F.col("marker_epoch")) & F.array_contains(
        "running_partitions", F.col("listed")
    )
    return F.when(running, clipped("running_start_ms"))


def _of_either(how: Callable[[Column], Column], value: Column, name: str) -> list[Column]:
    """commits_NAME and aborts_NAME."""
    outcomes = (("commits", F.col("commit")), ("aborts", ~F.col("commit")))
    return [how(F.when(one, value)).alias(f"{prefix}_{name}") for prefix, one in outcomes]


def _of_outcome(name: str) -> Column:
    """That of the two which has the outcome of the row."""
    return F.when(F.col("commit"), F.col(f"commits_{name}")).otherwise(F.col(f"aborts_{name}"))


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
    of_decisions = completed.join(keys, on=["producer_id", "marker_epoch", "listed"])
    of_markers = markers.join(keys, on=OF_EPOCH).filter(
        F.col("known_from_ms").isNull() | of_known_decision()
    )
    both = in_order(of_decisions, "prepare_offset", "commit", "decisions").join(
        in_order(of_markers, "marker_offset", "marker_commit", "there"), on=OF_EPOCH
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


def _events(
    keys: DataFrame, decided: DataFrame, markers: DataFrame, tolerance: Column
) -> DataFrame:
    """Events of each key: time (ms), kind, at (offset of the decision or marker in its log)."""
    return _decision_events(keys, decided, tolerance).unionByName(
        _marker_events(keys, markers, tolerance), allowMissingColumns=True
    )


def _decision_events(keys: DataFrame, decided: DataFrame, tolerance: Column) -> DataFrame:
    """ALLOWED to LATEST of each decision.

    own: the markers of the decision have the epoch of the key; due, due_as_read: see `is_due`;
    surely_from, surely_to: see `sure_moments`.
    """
    prepared, completed = F.col("prepare_timestamp"), F.col("complete_timestamp")
    lower, higher = outer_moments(prepared, completed)
    opens, closes = lower - F.col("apart_ms"), higher + F.col("apart_ms")
    surely_from, surely_to = sure_moments(prepared, completed, tolerance, "kept_apart")
    # A window that ends within moments that came twice has all of these.
    first = earliest(surely_from - F.col("apart_ms"), tolerance, "kept_apart")
    last = latest(surely_to + F.col("apart_ms"), tolerance, "kept_apart")
    # What is older than the first decision of one outcome may be later than those of the other.
    whole_from, as_read = _of_outcome("whole_from"), _of_outcome("whole_from_as_read")
    due = is_due(surely_from, surely_to, whole_from)
    due &= ~came_twice_within(opens, closes, tolerance, "misleading")
    due_as_read = is_due(prepared, completed, as_read)
    due_as_read &= surely(attribution.clock_went_on(prepared, completed))
    of_decision = F.struct(
        "complete_offset",
        place_number("record_file_index", "record_position").alias("place"),
        F.col("record_length").alias("length"),
        F.col("start_ms").alias("start"),
        prepared.alias("prepared"),
        completed.alias("completed"),
        surely_from.alias("surely_from"),
        surely_to.alias("surely_to"),
        F.col("leader_epoch").alias("from_leader"),
        F.col("complete_leader_epoch").alias("to_leader"),
    )
    # A fence raises the epoch of the data: its markers have another one, its data may be here.
    own = F.col("decided_epoch") == F.col("marker_epoch")
    moments = F.array(
        *[
            F.struct(F.lit(kind).alias("kind"), time.alias("time"))
            for kind, time in (
                (ALLOWED, F.when(own, lower - tolerance)),
                (OPENS, F.when(own, opens)),
                (EARLIEST, F.when(own & (first < opens), first)),
                (PREPARED, prepared),
                (CLOSES, F.when(own, closes)),
                (LATEST, F.when(own & (last > closes), last)),
            )
        ]
    )
    return (
        keys.join(
            listed_decisions(decided.filter(in_effect()))
            .withColumnRenamed("marker_epoch", "decided_epoch")
            .withColumn("marker_epoch", F.explode(F.array_distinct(F.array("decided_epoch",
                                                                           "data_epoch")))),
            on=["producer_id", "marker_epoch", "listed"],
        )
        .filter(own | (F.col("data_epoch") == F.col("marker_epoch")))
        .select(*OF_EPOCH, "commit", F.col("prepare_offset").alias("at"), own.alias("own"),
                due.alias("due"), due_as_read.alias("due_as_read"),
                of_decision.alias("decision"), "set_backs",
                *[_of_outcome(name).alias(name) for name in ("shown", "lacking", "fewer")],
                F.explode(moments).alias("moment"))
        .select("*", "moment.*")
        .drop("moment")
        .filter("time is not null")
    )  # fmt: skip


def is_due(prepared: Column, completed: Column, whole_from: Column) -> Column:
    """Whether the marker of a decision must be in the copy, as that is whole around it.

    `prepared`, `completed`: it was made and completed between these moments, ms.
    """
    copied_later = (completed + F.col("apart_ms") <= F.col("whole_to")) | (
        F.col("complete_offset") < F.col("earlier_end")
    )
    due: Column = surely(
        attribution.surely_before(whole_from, prepared, F.col("apart_ms"))
        & copied_later
        & F.col("complete_offset").isNotNull()
    )
    return due


def _marker_events(keys: DataFrame, markers: DataFrame, tolerance: Column) -> DataFrame:
    """MARKER of each marker.

    may_cut: it may have ended data of the transaction that runs; twice: a clock came to its moment
    twice; misled: and that set-back is misleading.
    """
    marked, begun = F.col("marker_timestamp"), F.col("runs_from")
    twice = came_twice(marked, tolerance)
    in_front = attribution.surely_before(marked, begun, F.col("apart_ms")) & ~twice
    in_front &= ~came_twice(begun, tolerance)
    return markers.join(keys, on=OF_EPOCH, how="inner").select(
        *OF_EPOCH,
        F.col("marker_commit").alias("commit"),
        F.col("marker_offset").alias("at"),
        F.lit(MARKER).alias("kind"),
        F.col("marker_timestamp").alias("time"),
        "too_many",
        (begun.isNotNull() & ~surely(in_front)).alias("may_cut"),
        twice.alias("twice"),
        came_twice(marked, tolerance, "misleading").alias("misled"),
        marker_told().alias("marker"),
    )


def _counted(events: DataFrame) -> DataFrame:
    """Adds the counts up to each event, and what comes next.

    allowed_left, outcome_left, decided_left: decisions less markers that ended data; of both
    outcomes, and of the outcome of the event, a decision counting from ALLOWED on; and of that
    outcome, from PREPARED on. commits_before: COMMIT decisions, from ALLOWED on. next_commit,
    later_commit: whether the next decision commits, and the next one that is surely later.
    away_from_commits: no COMMIT decision may have its marker then. behind: offset of the last one.
    markers_so_far: markers of the outcome of the event; any_so_far, all_markers: of both, and all
    of the epoch. undated, misled: a clock came twice to the moment of one of these; and by so much
    that no number up to a moment shows anything.
    alone: it is a marker, and no moment of a decision with its outcome. foreign: the last such
    marker of the other outcome; against: the last decision of the other outcome that may have one.
    """
    epoch = Window.partitionBy(*OF_EPOCH)
    order = epoch.orderBy("time", "kind", "at")
    so_far = order.rowsBetween(Window.unboundedPreceding, 0)
    # From the end: Spark reads a frame that ends there anew for each of its rows.
    backwards = epoch.orderBy(F.desc("time"), F.desc("kind"), F.desc("at"))
    following = backwards.rowsBetween(Window.unboundedPreceding, -1)
    is_marker, commit = F.col("kind") == MARKER, F.col("commit")
    ended = is_marker & F.col("marker.first").isNotNull()
    allowed, opens = F.col("kind") == ALLOWED, F.col("kind") == OPENS
    decided = (F.col("kind") == PREPARED) & F.col("own")

    def number(added: Column, taken: Column) -> Column:
        return F.sum(F.when(added, 1).when(taken, -1).otherwise(0)).over(so_far)

    nothing = F.lit(False)
    # An ABORT too many may be an operator's, and takes no COMMIT its decision.
    commits, aborts = (number(allowed & one, ended & one) for one in (commit, ~commit))
    closes = F.col("kind") == CLOSES
    open_commits, open_aborts = (number(opens & one, closes & one) for one in (commit, ~commit))
    counted = events.select(
        "*",
        ended.alias("ended"),
        F.when(commit, commits + F.greatest(aborts, F.lit(0)))
        .otherwise(commits + aborts)
        .alias("allowed_left"),
        F.when(commit, number(decided & commit, ended & commit))
        .otherwise(number(decided & ~commit, ended & ~commit))
        .alias("decided_left"),
        F.when(commit, commits).otherwise(aborts).alias("outcome_left"),
        number(allowed & commit, nothing).alias("commits_before"),
        (number(allowed & commit, closes & commit) == 0).alias("away_from_commits"),
        F.when(commit, number(is_marker & commit, nothing))
        .otherwise(number(is_marker & ~commit, nothing))
        .alias("markers_so_far"),
        number(is_marker, nothing).alias("any_so_far"),
        F.sum(is_marker.cast("int")).over(epoch).alias("all_markers"),
        surely(F.max("twice").over(epoch)).alias("undated"),
        surely(F.max("misled").over(epoch)).alias("all_misled"),
        _next(F.when(F.col("kind") == PREPARED, commit), following).alias("next_commit"),
        _next(F.when(allowed, commit), following).alias("later_commit"),
        _next(F.when(is_marker, F.col("marker")), following).alias("next_marker"),
        F.last(F.when(is_marker, F.col("at")), ignorenulls=True).over(so_far).alias("behind"),
        _next(F.when(F.col("kind") == CLOSES, F.col("decision.from_leader")), following).alias(
            "from_leader"
        ),
        F.last(F.when(opens, F.coalesce("decision.to_leader", F.lit(ANY_LEADER_EPOCH))),
               ignorenulls=True).over(so_far).alias("to_leader"),
        (is_marker & (F.when(commit, open_commits).otherwise(open_aborts) == 0)).alias("alone"),
        F.when(commit, open_aborts).otherwise(open_commits).alias("open_otherwise"),
    )  # fmt: skip
    return counted.withColumns(
        {
            "foreign": _last_of_the_other(F.col("alone"), F.struct("time", "marker"), so_far),
            "against": _last_of_the_other(opens, F.col("decision"), so_far),
        }
    )


def _last_of_the_other(which: Column, value: Column, so_far: WindowSpec) -> Column:
    """The last value up to a row, of those events with the other outcome."""
    commit = F.col("commit")
    of_commit, of_abort = (
        F.last(F.when(which & one, value), ignorenulls=True).over(so_far)
        for one in (commit, ~commit)
    )
    return F.when(commit, of_abort).otherwise(of_commit)


def _next(value: Column, following: WindowSpec) -> Column:
    """The nearest value behind a row; `following`: what lies there, from the end on."""
    return F.last(value, ignorenulls=True).over(following)


def _of_markers(counted: DataFrame) -> DataFrame:
    """The first markers, in each row, that came too early or from the wrong coordinator."""
    stale = F.col("too_many") & F.col("ended") & (F.col("allowed_left") < 0)
    undecided = F.col("ended") & (F.col("decided_left") < 0)
    surplus = F.col("ended") & (F.col("outcome_left") < 0)
    epoch = F.col("marker.epoch")
    odd = (epoch < F.col("from_leader")) | (epoch > F.col("to_leader"))
    example = F.struct(
        "marker.*", "from_leader", "to_leader", "next_commit", "later_commit", "commits_before",
        "away_from_commits", "may_cut",
    )  # fmt: skip
    # Nobody but the coordinator commits, and it had not decided so yet.
    premature = (
        F.col("commit")
        & F.col("alone")
        & (F.col("open_otherwise") > 0)
        & (attribution.cannot_be_delayed(F.col("commits_before")))
    )
    found = (("stale", stale), ("early", undecided), ("surplus", surplus), ("odd", odd))
    first = counted.filter(F.col("kind") == MARKER).groupBy(*KEY).agg(
        *[F.min(F.when(surely(which), example)).alias(name) for name, which in found],
        F.min(F.when(surely(premature), _against(F.col("marker"), F.col("against"))))
        .alias("premature"),
    )  # fmt: skip
    early = _never_committed("early", "next_commit")
    # The markers before it may all be a little early, by the clock of their broker. At the moment
    # of a decision it is that one's marker, and an earlier one was delayed.
    late = _never_committed("surplus", "later_commit") & F.col("surplus.away_from_commits")
    by_either = first.withColumn(
        "undecided", F.when(~early & late, F.col("surplus")).otherwise(F.col("early"))
    )
    return by_either.select(
        *KEY,
        *[F.col(f"{prefix}.{name}").alias(f"{prefix}_{name}")
          for prefix in ("stale", "undecided") for name in ("place", "offset", "first", "last")],
        (early | late).alias("never_committed"),
        F.col("odd.place").alias("odd_place"),
        F.col("odd.offset").alias("odd_offset"),
        F.coalesce("odd.first", "odd.offset").alias("odd_first"),
        F.col("odd.epoch").alias("odd_epoch"),
        F.col("odd.from_leader").alias("odd_lowest"),
        F.col("odd.to_leader").alias("odd_highest"),
        "premature",
    )  # fmt: skip


def _never_committed(one: str, next_commit: str) -> Column:
    """Whether there is such a marker, and no decision behind it makes it a delayed one.

    A transaction that was then committed was cut in two, and not given another outcome. One that
    runs may be committed yet.
    """
    found = F.col(one)
    may_commit = surely(F.coalesce(found[next_commit], found["may_cut"]))
    never: Column = found.isNotNull() & (
        ~may_commit | attribution.cannot_be_delayed(found["commits_before"])
    )
    return never


def _against(marker: Column, decision: Column) -> Column:
    """A marker and the decision that it contradicts."""
    return F.struct(
        *[marker[name].alias(name) for name in ("offset", "place", "first", "last")],
        decision["place"].alias("decided_place"),
        decision["length"].alias("decided_length"),
    )


def _opposing() -> Column:
    """The marker of the other outcome in place of that of a decision; null for none.

    The copy has no marker with the outcome of the decision from its Prepare to its Complete record.
    One of the other outcome lies there, at no moment of a decision with that outcome.
    """
    unmarked = F.col("until") == F.col("before")
    inside = F.col("foreign.time") >= F.col("opened")
    return F.when(surely(unmarked & inside), _against(F.col("foreign.marker"), F.col("decision")))


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
    most = F.max(F.struct(room.alias("room"), "number", "prepared")).over(so_far)
    with_room = numbered.withColumn("most", most).withColumns(
        {"room": F.col("most.room"), "prepared": F.col("most.prepared")}
    )
    lacks = attribution.lacks_marker(F.col("most_until"), F.col("number"), F.col("room"))
    # What the count lacks further on may be what an earlier decision lacks, which nothing tells.
    alone = F.col("shown") | (F.col("until") == F.col("before"))
    return with_room.withColumn("lacks", surely(lacks & alone))


def _of_decisions(counted: DataFrame, tolerance: Column) -> DataFrame:
    """The first decision, in each row, that cannot have a marker of its own.

    In a row that neither the number of its markers nor their moments accuse, only one that is told
    (`_with_surroundings`). One that moments show as they were read (short_as_read) only where
    there is no other.
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
            at_event(PREPARED, "next_marker").alias("next_marker"),
            at_event(PREPARED, "behind").alias("behind"),
            F.max("decision").alias("decision"),
            *[F.max(name).alias(name) for name in OF_OWED],
            F.first("set_backs").alias("set_backs"),
        )
    )
    lacking = _with_lacks(_with_readings(_with_surroundings(owed, tolerance)))
    names = (
        "as_read", "at", "decision", "next_marker", "prepared", "completed", "opposing", "behind",
    )  # fmt: skip
    short = F.min(F.struct(*names)).alias("short")
    first = lacking.filter("told and lacks").groupBy(*KEY).agg(short)
    return first.select(
        *KEY,
        F.col("short.decision.place").alias("short_place"),
        F.col("short.decision.length").alias("short_length"),
        F.col("short.decision.complete_offset").alias("short_complete"),
        F.col("short.decision.start").alias("short_start"),
        F.col("short.prepared").alias("short_prepared"),
        F.col("short.completed").alias("short_completed"),
        F.col("short.next_marker").alias("short_next"),
        F.col("short.behind").alias("short_behind"),
        F.col("short.next_marker.place").alias("short_next_place"),
        F.col("short.opposing").alias("opposing"),
        F.col("short.as_read").alias("short_as_read"),
    )
