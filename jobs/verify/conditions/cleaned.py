"""Conditions: what a cleaner explains."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.verdict import (
    CLEANED_RANGE,
    CONFIG_UNKNOWN,
    Excuse,
    explained,
    inconclusive,
)
from schemas.dump_partition import CLEANED, CLEANING_UNKNOWN
from udfs.rules.absence import within_reach


def cleaned_between(first: Column) -> Column:
    """Whether the cleaner has passed the offsets from `first` on, and may have removed records."""
    passed: Column = within_reach(first, F.col("cleaned_below"))
    return (F.col("cleaning") == CLEANED) & passed


def cleaned_between_files(first: Column) -> Column:
    """The same of offsets that lie in no file."""
    passed: Column = within_reach(first, F.col("files_cleaned_below"))
    return (F.col("cleaning") == CLEANED) & passed


def cleaning_excuses() -> tuple[Excuse, ...]:
    """For traces that only the cleaner leaves: explained in its range, else inconclusive."""
    return (
        explained(
            CLEANED_RANGE,
            lambda: cleaned_between(F.col("offset_first")),
        ),
        inconclusive(CLEANED_RANGE, lambda: F.col("cleaning") == CLEANED),
        inconclusive(CONFIG_UNKNOWN, lambda: F.col("cleaning") == CLEANING_UNKNOWN),
    )
