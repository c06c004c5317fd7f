"""Arrow record batches of the shape of `schemas.log_row.LOG_ROW`, one kind of row a batch.

Whatever a file said, no offset and no timestamp in them is outside of `udfs.wire.bounds`.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.log_row import LOG_ROW
from udfs.arrow.bounded import bounded

ARROW_SCHEMA: pa.Schema = to_arrow_schema(LOG_ROW)


def _constant(name: str, value: int | None, size: int) -> pa.Array:
    kind = ARROW_SCHEMA.field(name).type
    return pa.nulls(size, kind) if value is None else pa.repeat(pa.scalar(value, kind), size)


@lru_cache(maxsize=1024)
def _nulls(name: str, size: int) -> pa.Array:
    """A column of nulls: most are, and the batches of a small split are made of little else."""
    return pa.nulls(size, ARROW_SCHEMA.field(name).type)


def typed_column(
    values: NDArray[Any], nulls: NDArray[np.bool_] | None, kind: pa.DataType
) -> pa.Array:
    """The values as a column of that type; `nulls`: mask of the nulls or None."""
    return pa.array(values.astype(kind.to_pandas_dtype(), copy=False), type=kind, mask=nulls)


class RowBuilder:
    """Builds batches whose rows belong to one split of one file."""

    def __init__(self, split: dict[str, Any]) -> None:
        """Remembers what is the same in all rows of the split."""
        self._constants = {
            "partition_index": split["partition_index"],
            "file_index": split["file_index"],
            "split_start": split["start"],
        }

    def _batch(self, kind: int, size: int, columns: dict[str, pa.Array]) -> pa.RecordBatch:
        constants = {"kind": kind, **self._constants}
        arrays = [
            _constant(field.name, constants[field.name], size)
            if field.name in constants
            else bounded(columns[field.name], field.name)
            if field.name in columns
            else _nulls(field.name, size)
            for field in ARROW_SCHEMA
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)

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
