"""Rows of a Delta table as Parquet files, written by the tasks that have the rows."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.data_file import DATA_FILE
from udfs.arrow.blocks import Unpack

SCHEMA: pa.Schema = to_arrow_schema(DATA_FILE)
# Enough to pack well; a task has so many in memory.
ROWS_OF_GROUP = 1 << 18
BYTES_OF_GROUP = 1 << 26


def parquet_files(folder: str, skipped_by: Sequence[str], rows: Unpack) -> Unpack:
    """For `mapInArrow`: one file of what `rows` makes of a task's batches; a row of DATA_FILE each.

    `folder`: of the table, on a disk of this machine; `skipped_by`: columns with statistics. A file
    is part of the table when it is committed. A task without rows writes none. Raises OSError.
    """

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        path = Path(folder, f"part-{uuid4()}.zstd.parquet")
        told: list[pq.FileMetaData] = []
        writer = None
        for group in _groups(rows(batches)):
            if writer is None:
                writer = _opened(path, group.schema, skipped_by, told)
            writer.write_table(group)
        if writer is None:
            return
        writer.close()
        found = {"path": path.name, "size": path.stat().st_size, "stats": _stats(told[0])}
        yield pa.RecordBatch.from_pylist([found], schema=SCHEMA)

    return write


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows of many batches at a time, of which each becomes a row group."""
    held: list[pa.RecordBatch] = []
    number = size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            number += batch.num_rows
            size += batch.nbytes
        if number >= ROWS_OF_GROUP or size >= BYTES_OF_GROUP:
            yield pa.Table.from_batches(held)
            held, number, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def _opened(
    path: Path, schema: pa.Schema, skipped_by: Sequence[str], told: list[pq.FileMetaData]
) -> pq.ParquetWriter:
    """Neighbours in a log have similar numbers, so differences take few bits and little time."""
    numbers = [field.name for field in schema if pa.types.is_integer(field.type)]
    return pq.ParquetWriter(
        path, schema, compression="zstd", store_schema=False, metadata_collector=told,
        use_dictionary=[name for name in schema.names if name not in numbers],
        column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED"),
        write_statistics=[name for name in skipped_by if name in schema.names],
    )  # fmt: skip


def _stats(file: pq.FileMetaData) -> str:
    """Number of rows, and of each column with statistics the extremes and the number of nulls."""
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for number in range(file.num_row_groups):
        group = file.row_group(number)
        for column in map(group.column, range(group.num_columns)):
            name, found = column.path_in_schema, column.statistics
            if found is None:
                continue
            nulls[name] = nulls.get(name, 0) + found.null_count
            if found.has_min_max:
                least[name] = min(least.get(name, found.min), found.min)
                most[name] = max(most.get(name, found.max), found.max)
    return json.dumps(
        {"numRecords": file.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls}
    )
