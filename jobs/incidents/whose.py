"""To which incident of its producer a consequence belongs."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.spark.joins import small
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


def same_place(one: str, other: str) -> Column:
    """Whether rows of two frames, by their names, have one PLACE."""
    return (
        F.col(f"{one}.broker").eqNullSafe(F.col(f"{other}.broker"))
        & (F.col(f"{one}.topic") == F.col(f"{other}.topic"))
        & (F.col(f"{one}.partition") == F.col(f"{other}.partition"))
    )


def of_one_producer(one: str, other: str) -> Column:
    """Whether rows of two frames, by their names, have one PLACE and producer_id."""
    return same_place(one, other) & (F.col(f"{one}.producer_id") == F.col(f"{other}.producer_id"))


def about(row: str, found: str, offset: str) -> Column:
    """Whether an offset of data of a row lies in a range of its place and producer.

    `row`, `found`: see `of_one_producer`; the second one has from_offset and to_offset, inclusive.
    """
    inside = F.col(f"{row}.{offset}").between(
        F.col(f"{found}.from_offset"), F.col(f"{found}.to_offset")
    )
    return of_one_producer(row, found) & inside


def apart_from(rows: DataFrame, offset: str, found: DataFrame | None) -> DataFrame:
    """Rows whose data lie in none of the ranges; `found`: see `about`, None for none."""
    if found is None:
        return rows
    return rows.alias("r").join(small(found).alias("f"), about("r", "f", offset), "left_anti")
