"""Entries of a `.txnindex` as rows of LOG_ROW, many in one."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from schemas import log_row
from udfs.arrow.blocks import pack_block
from udfs.arrow.rows import RowBuilder, Rows, typed_column

SCHEMA: pa.Schema = to_arrow_schema(log_row.ABORTED_ENTRY)
# About 60 bytes each: a block stays far below the size of a Spark row that hurts.
BLOCK_ENTRIES = 65_536


def entry_rows(
    builder: RowBuilder, entries: NDArray[Any], position: NDArray[np.int64], length: int
) -> Iterator[Rows]:
    """Rows of kind ABORTED for entries (`txn_index.STORED`) of one file.

    `position`, `length`: where each lies, in bytes or, in a text, lines.
    """
    if not entries.size:
        return
    columns = {name: entries[name].astype(np.int64) for name in entries.dtype.names or ()}
    columns |= {
        "position": position,
        "length": np.full(entries.size, length),
        "previous_last": np.roll(columns["last_offset"], 1),
    }
    known = {"previous_last": np.arange(entries.size) == 0}
    rows = pa.RecordBatch.from_arrays(
        [typed_column(columns[field.name], known.get(field.name), field.type) for field in SCHEMA],
        schema=SCHEMA,
    )
    for at in range(0, rows.num_rows, BLOCK_ENTRIES):
        block = rows.slice(at, BLOCK_ENTRIES)
        newest = pc.max(block.column("last_offset")).as_py()
        row = {"number": block.num_rows, "newest": newest, "entries": pack_block(block)}
        yield builder.nested(log_row.ABORTED, "aborted", [row])
