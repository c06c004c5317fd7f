"""Places of records and markers: a file and a byte position in it as one number.

Spark hashes aggregates of numbers and sorts those of structs, which takes twice as long, and the
least file and the least position taken apart may be of two batches.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.verify.contexts.context import with_paths

# The low bits of a place; a segment is smaller than 2 GiB.
POSITION_BITS = 31


def place_number(file_index: str, position: str) -> Column:
    """File index and byte position as one number, in the order of both."""
    return F.shiftleft(F.col(file_index).cast("long"), POSITION_BITS) + F.col(position)


def marker_told() -> Column:
    """What is told of a marker: offset, place, length, first and last of its data, epoch.

    epoch: of its coordinator; began: timestamp of the first batch of the data, ms.
    """
    return F.struct(
        F.col("marker_offset").alias("offset"),
        place_number("file_index", "marker_position").alias("place"),
        F.col("marker_length").alias("length"),
        F.col("first_offset").alias("first"),
        F.col("last_offset").alias("last"),
        F.col("coordinator_epoch").alias("epoch"),
        F.col("first_timestamp").alias("began"),
    )


def _file_of(place: str) -> Column:
    return F.shiftright(place, POSITION_BITS).cast("int")


def _position_of(place: str) -> Column:
    return F.col(place).bitwiseAND(F.lit((1 << POSITION_BITS) - 1))


def with_places(rows: DataFrame, files: DataFrame, *prefixes: str, **more: str) -> DataFrame:
    """Takes each `<prefix>_place` apart: adds `<prefix>_file` (path) and `<prefix>_position`.

    `more`: paths of further file indexes, as of `with_paths`.
    """
    located = rows.select(
        "*",
        *[_file_of(f"{prefix}_place").alias(f"{prefix}_file_index") for prefix in prefixes],
        *[_position_of(f"{prefix}_place").alias(f"{prefix}_position") for prefix in prefixes],
    )
    paths = {f"{prefix}_file": f"{prefix}_file_index" for prefix in prefixes}
    return with_paths(located, files, **more, **paths)
