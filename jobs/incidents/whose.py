"""To which incident of its producer a consequence belongs."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from schemas.verdicts import VIOLATION
from udfs.rules.logic import surely


def whose(placed: DataFrame, name: str) -> DataFrame:
    """One row a place and producer: its incidents, and by the values of a column (`name`)."""
    known = placed.filter(F.col("producer_id").isNotNull())
    return known.groupBy(*PLACE, "producer_id").agg(
        F.min("incident").alias("any_incident"),
        F.collect_set(
            F.struct(
                F.col(name).alias("value"),
                "incident",
                (F.col("verdict") == VIOLATION).alias("proven"),
            )
        ).alias("by_value"),
    )


def nearest(value: str) -> Column:
    """The incident of that value, of a row of `whose` named w; else the first of its producer."""
    mine = F.filter("w.by_value", lambda one: one["value"] == F.col(value))
    exact = F.array_min(F.transform(mine, lambda one: one["incident"]))
    return F.coalesce(exact, F.col("w.any_incident"))


def is_proven(value: str) -> Column:
    """Whether a violation, of a row of `whose` named w, is about that value."""
    about = F.exists("w.by_value", lambda one: surely(one["value"] == F.col(value)) & one["proven"])
    return surely(about)
