"""Markers that came before a decision allowed them, or from the wrong coordinator."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.verify.contexts.decided.events import MARKER
from jobs.verify.contexts.decided.matching import (
    KEY,
)
from udfs.rules import attribution
from udfs.rules.logic import surely


def of_markers(counted: DataFrame) -> DataFrame:
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
        F.min(F.when(surely(premature), against(F.col("marker"), F.col("against"))))
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


def against(marker: Column, decision: Column) -> Column:
    """A marker and the decision that it contradicts."""
    return F.struct(
        *[marker[name].alias(name) for name in ("offset", "place", "first", "last")],
        decision["place"].alias("decided_place"),
        decision["length"].alias("decided_length"),
    )
