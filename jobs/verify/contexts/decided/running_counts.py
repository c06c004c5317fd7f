"""How many decisions and markers there are up to each event of an epoch."""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.verify.contexts.decided.events import ALLOWED, CLOSES, MARKER, OF_EPOCH, OPENS, PREPARED
from udfs.rules.attribution import ANY_LEADER_EPOCH
from udfs.rules.logic import surely


def counted(events: DataFrame) -> DataFrame:
    """Adds the counts up to each event, and what is decided next.

    allowed_left, outcome_left, decided_left: decisions less markers that ended data; of both
    outcomes, and of the outcome of the event, a decision counting from ALLOWED on; and of that
    outcome, from PREPARED on. commits_before: COMMIT decisions, from ALLOWED on. next_commit,
    later_commit: whether the next decision commits, and the next one that is surely later.
    away_from_commits: no COMMIT decision may have its marker then.
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
