"""Columns of the decoder within `udfs.wire.bounds`, whatever a file said."""

import re
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc

from udfs.wire import bounds

# Columns that hold a moment, and those that hold an offset; fingerprints and ids are kept whole.
TIMES = re.compile(r".*(timestamp|_ms)$|alive_ms|written")
OFFSETS = re.compile(r".*offset.*|previous_last|newest|oldest_other|entry_value|found|number")


@cache
def _limits(name: str) -> tuple[int, int] | None:
    """The least and the greatest value of a column of this name, both inclusive; None: any."""
    if TIMES.fullmatch(name):
        return -bounds.LATEST, bounds.LATEST
    if OFFSETS.fullmatch(name):
        return bounds.LOWEST, bounds.HIGHEST
    return None


def bounded(column: pa.Array, name: str) -> pa.Array:
    """The column, or one like it in which no number is outside; structs are looked into."""
    if pa.types.is_struct(column.type):
        return _bounded_struct(column)
    limits = _limits(name)
    if limits is None or not pa.types.is_int64(column.type) or not len(column):
        return column
    lowest, highest = limits
    seen = pc.min_max(column)
    if not seen["min"].is_valid or (
        seen["min"].as_py() >= lowest and seen["max"].as_py() <= highest
    ):
        return column
    floor, ceiling = pa.scalar(lowest, pa.int64()), pa.scalar(highest, pa.int64())
    raised = pc.max_element_wise(column, floor, skip_nulls=False)
    return pc.min_element_wise(raised, ceiling, skip_nulls=False)


def _bounded_struct(column: pa.StructArray) -> pa.StructArray:
    fields = list(column.type)
    given = [column.field(number) for number in range(len(fields))]
    within = [bounded(one, field.name) for one, field in zip(given, fields, strict=True)]
    if all(one is other for one, other in zip(given, within, strict=True)):
        return column
    return pa.StructArray.from_arrays(within, fields=fields, mask=column.is_null())


def bounded_rows(rows: pa.RecordBatch) -> pa.RecordBatch:
    """All columns of a record batch."""
    columns = [
        bounded(column, name) for column, name in zip(rows.columns, rows.schema.names, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
