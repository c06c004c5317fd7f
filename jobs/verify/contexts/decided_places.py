"""Places of records and markers as numbers, so that aggregates stay numbers: hashed, not sorted."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.verify.contexts.context import with_paths

# A file and a position in it as one number.
POSITION_BITS = 31


def place_number(file_index: str, position: str) -> Column:
    """File index and byte position as one number."""
    return F.shiftleft(F.col(file_index).cast("long"), POSITION_BITS) + F.col(position)


def _file_of(place: str) -> Column:
    return F.shiftright(place, POSITION_BITS).cast("int")


def _position_of(place: str) -> Column:
    return F.col(place).bitwiseAND(F.lit((1 << POSITION_BITS) - 1))


def with_places(rows: DataFrame, files: DataFrame, *prefixes: str, **more: str) -> DataFrame:
    """Takes `<prefix>_place` apart: adds `<prefix>_file` (path) and `<prefix>_position` of each.

    `more`: paths of further file indexes, as of `with_paths`.
    """
    located = rows.select(
        "*",
        *[_file_of(f"{prefix}_place").alias(f"{prefix}_file_index") for prefix in prefixes],
        *[_position_of(f"{prefix}_place").alias(f"{prefix}_position") for prefix in prefixes],
    )
    paths = {f"{prefix}_file": f"{prefix}_file_index" for prefix in prefixes}
    return with_paths(located, files, **more, **paths)
