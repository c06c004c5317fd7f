"""Arrow record batches of rows of `schemas.log_row.LOG_ROW`, as decoders of one file make them.

A batch of a `RowBuilder` has rows of one kind, and of the columns only those that this kind fills.
`whole_rows` makes whole ones of many: in a small file a batch has a row or two, and most of what it
costs is columns without a value. Whatever a file said, no offset and no timestamp in whole rows is
outside of `udfs.wire.bounds`.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.log_row import LOG_ROW
from udfs.arrow.bounded import bounded

ARROW_SCHEMA: pa.Schema = to_arrow_schema(LOG_ROW)
# What all rows have, and says where they come from.
PLACE = ("kind", "partition_index", "file_index", "split_start")
PLACE_TYPES = tuple(ARROW_SCHEMA.field(name).type for name in PLACE)


def typed_column(
    values: NDArray[Any], nulls: NDArray[np.bool_] | None, kind: pa.DataType
) -> pa.Array:
    """The values as a column of that type; `nulls`: mask of the nulls or None."""
    return pa.array(values.astype(kind.to_pandas_dtype(), copy=False), type=kind, mask=nulls)


class RowBuilder:
    """Builds batches whose rows belong to one split of one file."""

    def __init__(self, split: dict[str, Any]) -> None:
        """Remembers what is the same in all rows of the split."""
        self._place = split["partition_index"], split["file_index"], split["start"]

    def _batch(self, kind: int, size: int, columns: dict[str, pa.Array]) -> pa.RecordBatch:
        constants = [
            pa.nulls(size, of) if value is None else pa.repeat(pa.scalar(value, of), size)
            for value, of in zip((kind, *self._place), PLACE_TYPES, strict=True)
        ]
        return pa.RecordBatch.from_arrays([*constants, *columns.values()], [*PLACE, *columns])

    def nested(self, kind: int, column: str, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        """Rows that fill one struct column; keys that a row lacks are null."""
        field = ARROW_SCHEMA.field(column)
        return self._batch(kind, len(rows), {column: pa.array(rows, type=field.type)})

    def struct(self, kind: int, column: str, rows: pa.StructArray) -> pa.RecordBatch:
        """Rows that fill one struct column, given as it is."""
        return self._batch(kind, len(rows), {column: rows})

    def flat(
        self,
        kind: int,
        columns: dict[str, tuple[NDArray[Any], NDArray[np.bool_] | None]],
        made: dict[str, pa.Array] | None = None,
    ) -> pa.RecordBatch:
        """Rows from arrays: column -> (values, mask of the nulls or None); `made`: as they are."""
        size = len(next(iter(columns.values()))[0])
        arrays = {
            name: typed_column(values, nulls, ARROW_SCHEMA.field(name).type)
            for name, (values, nulls) in columns.items()
        }
        return self._batch(kind, size, arrays | (made or {}))


def whole_rows(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """All rows of one batch or more with all columns; those that fill the same lie together."""
    alike: dict[tuple[str, ...], list[pa.RecordBatch]] = defaultdict(list)
    for batch in batches:
        alike[tuple(batch.schema.names)].append(batch)
    return pa.concat_batches([_widened(pa.concat_batches(of)) for of in alike.values()])


def _widened(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows with all columns; those that they lack have nulls."""
    given = dict(zip(rows.schema.names, rows.columns, strict=True))
    arrays = [
        bounded(given[field.name], field.name)
        if field.name in given
        else pa.nulls(rows.num_rows, field.type)
        for field in ARROW_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)
