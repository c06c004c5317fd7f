"""Rows of `schemas.log_row.LOG_ROW`, as decoders of one file make them, and their record batches.

A file that is small gives a row or two of each kind, and a column of Arrow costs as much for a row
as for hundreds. So `Rows` of one split hold what their columns will be made of, and `whole_rows`
makes them for many splits at once. Whatever a file said, no offset and no timestamp in whole rows
is outside of `udfs.wire.bounds`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.log_row import LOG_ROW
from udfs.arrow.bounded import bounded

ARROW_SCHEMA: pa.Schema = to_arrow_schema(LOG_ROW)
# What all rows have, and says where they come from.
PLACE = ("kind", "partition_index", "file_index", "split_start")
# More dicts than these are a column at once: they take much more memory.
FEW_DICTS = 8
BYTES_OF_A_DICT = 1_000

# Values and the mask of their nulls, None for none.
Values = tuple[NDArray[Any], NDArray[np.bool_] | None]
# What a column will be made of: an array of Arrow, Values, or dicts for a struct.
Given: TypeAlias = Any


class Rows(NamedTuple):
    """Rows of one kind of one split, of the columns only that this kind fills.

    `place`: the values of PLACE, the same in all `size` rows; `columns`: all of one size.
    """

    place: tuple[int | None, ...]
    size: int
    columns: dict[str, Given]

    def held_bytes(self) -> int:
        """About how much memory they take."""
        return sum(_bytes(given) for given in self.columns.values())


class RowBuilder:
    """Builds rows that belong to one split of one file."""

    def __init__(self, split: dict[str, Any]) -> None:
        """Remembers what is the same in all rows of the split."""
        self._place = split["partition_index"], split["file_index"], split["start"]

    def _rows(self, kind: int, size: int, columns: dict[str, Given]) -> Rows:
        return Rows((kind, *self._place), size, columns)

    def nested(self, kind: int, column: str, rows: list[dict[str, Any]]) -> Rows:
        """Rows that fill one struct column; keys that a row lacks are null."""
        given = rows if len(rows) <= FEW_DICTS else pa.array(rows, ARROW_SCHEMA.field(column).type)
        return self._rows(kind, len(rows), {column: given})

    def struct(self, kind: int, column: str, rows: pa.StructArray) -> Rows:
        """Rows that fill one struct column, given as it is."""
        return self._rows(kind, len(rows), {column: rows})

    def flat(
        self, kind: int, columns: dict[str, Values], made: dict[str, pa.Array] | None = None
    ) -> Rows:
        """Rows from arrays; `made`: columns that are given as they are."""
        size = len(next(iter(columns.values()))[0])
        return self._rows(kind, size, columns | (made or {}))


def whole_rows(parts: Iterable[Rows]) -> pa.RecordBatch:
    """All rows of one part or more with all columns; those that fill the same lie together."""
    alike: dict[tuple[Any, ...], list[Rows]] = defaultdict(list)
    for part in parts:
        alike[part.place[0], *part.columns].append(part)
    return pa.concat_batches([_widened(of) for of in alike.values()])


def typed_column(
    values: NDArray[Any], nulls: NDArray[np.bool_] | None, kind: pa.DataType
) -> pa.Array:
    """The values as a column of that type; `nulls`: mask of the nulls or None."""
    return pa.array(values.astype(kind.to_pandas_dtype(), copy=False), type=kind, mask=nulls)


def _widened(parts: list[Rows]) -> pa.RecordBatch:
    """The rows of parts that fill the same columns, with all columns; the others have nulls."""
    sizes = [part.size for part in parts]
    of_row = np.repeat(np.arange(len(parts)), sizes)
    given = {
        name: pa.array([part.place[number] for part in parts], _type(name)).take(of_row)
        for number, name in enumerate(PLACE)
    }
    for name in parts[0].columns:
        given[name] = bounded(_column([part.columns[name] for part in parts], _type(name)), name)
    arrays = [
        given[field.name] if field.name in given else pa.nulls(of_row.size, field.type)
        for field in ARROW_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def _type(name: str) -> pa.DataType:
    return ARROW_SCHEMA.field(name).type


def _column(pieces: Sequence[Given], kind: pa.DataType) -> pa.Array:
    """One column of what several parts have of it, in their order."""
    if all(isinstance(piece, list) for piece in pieces):
        return pa.array(list(chain.from_iterable(pieces)), kind)
    if all(isinstance(piece, tuple) for piece in pieces):
        return _of_values(pieces, kind)
    return pa.concat_arrays([_array(piece, kind) for piece in pieces])


def _array(piece: Given, kind: pa.DataType) -> pa.Array:
    return piece if isinstance(piece, pa.Array) else _column([piece], kind)


def _of_values(pieces: Sequence[Values], kind: pa.DataType) -> pa.Array:
    # One type first: numpy makes floats of signed and unsigned integers.
    stored = kind.to_pandas_dtype()
    values = np.concatenate([values.astype(stored, copy=False) for values, _ in pieces])
    nulls = None
    if any(mask is not None for _, mask in pieces):
        nulls = np.concatenate(
            [np.zeros(len(of), np.bool_) if mask is None else mask for of, mask in pieces]
        )
    return typed_column(values, nulls, kind)


def _bytes(given: Given) -> int:
    if isinstance(given, pa.Array):
        return int(given.get_total_buffer_size())
    if isinstance(given, tuple):
        return int(given[0].nbytes)
    held = (value for row in given for value in row.values())
    blocks = sum(len(value) for value in held if isinstance(value, bytes))
    return len(given) * BYTES_OF_A_DICT + blocks
