"""What an incident did to readers: decisions of the coordinator beside what the logs have."""

from collections.abc import Collection
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE, VIOLATION
from jobs.incidents.known import Known, shaped
from jobs.incidents.lost import lost
from jobs.incidents.misdecided import misdecided
from jobs.incidents.signature import DIVERGED, LOST
from jobs.incidents.whose import nearest, whose
from jobs.spark.joins import small
from jobs.spark.kept import Kept

TWICE = "duplicate_batch"
CUT = frozenset({LOST, DIVERGED})
WENT_BACK = frozenset({"offset_commit_regression", "offset_commit_outcome_mismatch"})


def consequences(placed: DataFrame, labels: Collection[str], known: Known, kept: Kept) -> DataFrame:
    """Rows of CONSEQUENCE without audit_id.

    `placed`: see `jobs.incidents.assign`; `labels`: of all findings of incidents. Of what no
    finding speaks nothing is asked.
    """
    mine = placed.filter(F.col("incident").isNotNull())
    frames = [_blocked(mine, known.states)]
    if known.decisions is not None:
        frames += misdecided(mine, known.decisions, known)
    if not CUT.isdisjoint(labels):
        frames += lost(mine, known, kept)
    if TWICE in labels:
        frames.append(_twice(mine))
    if not WENT_BACK.isdisjoint(labels):
        frames.append(_went_back(mine))
    return reduce(DataFrame.unionByName, frames)


def _blocked(placed: DataFrame, states: DataFrame) -> DataFrame:
    """Offsets behind a last stable offset that a transaction of the incident holds."""
    held = whose(placed, "offset_first").alias("w")
    end = F.coalesce("high_watermark", "log_end_offset")
    waiting = states.filter(
        F.col("lso_producer_id").isNotNull() & (F.col("last_stable_offset") < end)
    ).alias("s")
    rows = waiting.join(
        small(held),
        F.col("s.broker").eqNullSafe(F.col("w.broker"))
        & (F.col("s.topic") == F.col("w.topic"))
        & (F.col("s.partition") == F.col("w.partition"))
        & (F.col("s.lso_producer_id") == F.col("w.producer_id")),
    ).select("s.*", nearest("s.first_unstable_offset").alias("incident"))
    return shaped(
        rows,
        F.lit("records_blocked"),
        first_offset=F.col("last_stable_offset"),
        last_offset=end - 1,
        since_ms=F.col("lso_since_ms"),
        provable=F.lit(True),
    )


def _twice(placed: DataFrame) -> DataFrame:
    """Batches that are stored a second time."""
    rows = placed.filter((F.col("label") == TWICE) & (F.col("verdict") == VIOLATION))
    size = F.sum(F.col("offset_last") - F.col("offset_first") + 1)
    return shaped(
        _spanned(rows, size.alias("records")),
        F.lit("records_stored_twice"),
        provable=F.lit(True),
    )


def _went_back(placed: DataFrame) -> DataFrame:
    """Commits of offsets that went back, or that do not share the fate of their output."""
    rows = placed.filter(F.col("label").isin(*WENT_BACK))
    number = F.count("*").alias("records")
    proven = F.max(F.col("verdict") == VIOLATION).alias("proven")
    return shaped(
        _spanned(rows, number, proven), F.lit("offsets_went_back"), provable=F.col("proven")
    )


def _spanned(rows: DataFrame, *more: Column) -> DataFrame:
    return rows.groupBy("incident", *PLACE).agg(
        F.min("offset_first").alias("first_offset"),
        F.max("offset_last").alias("last_offset"),
        *more,
    )
