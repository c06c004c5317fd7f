"""Packed aborted transactions and packed entries of indexes, matched segment by segment.

In a healthy log each aborted transaction has its entry, and neither need become a row that Spark
meets one by one.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas import log_row
from schemas.columns import array, binary, boolean, integer, long, string, table
from udfs.arrow.blocks import pack_block, unpack_blocks
from udfs.rules.aborted_list import is_misplaced
from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.side_files.aborted_list import (
    NEVER,
    NONE_LONG,
    LongTransactions,
    agreeing,
    last_stable_offsets,
)

AGREED, ABORT, ENTRY = "agreed", "abort", "entry"
BLOCK_ROWS = 65_536

CELL = table(
    integer("file_index", "the file"),
    boolean("of_index", "entries of a .txnindex; else aborted transactions of a segment"),
    binary("rows", "Arrow stream of log_row.ABORTED_ENTRY or REGULAR_ABORT rows"),
)

SEGMENT = table(
    integer("partition_index", "the partition"),
    long("base_offset", "base offset of the segment"),
    long("next_base_offset", "that of the next one; null for the newest"),
    array("cells", CELL, "what lies in it and in its index"),
)

MATCHED = table(
    integer("partition_index", "the partition"),
    string("matched_as", "agreed, abort (without its entry) or entry (without its abort)"),
    long("number", "how many rows"),
    long("outside", "how many of them do not belong into their segment by their offset"),
    binary("rows", "Arrow stream of AGREED_ROW, log_row.REGULAR_ABORT or ABORTED_ENTRY rows, the "
           "latter two with the file_index in front"),
)  # fmt: skip

AGREED_ROW = table(
    long("producer_id", "producer id"),
    long("first_offset", "base offset of the first data batch, inclusive"),
    long("marker_offset", "offset of the ABORT marker"),
    long("last_stable_offset", "last stable offset when it was aborted"),
)

_MATCHED: pa.Schema = to_arrow_schema(MATCHED)
_AGREED: pa.Schema = to_arrow_schema(AGREED_ROW)
_FILE = pa.field("file_index", pa.int32())
_ABORT = pa.schema([_FILE, *to_arrow_schema(log_row.REGULAR_ABORT)])
_ENTRY = pa.schema([_FILE, *to_arrow_schema(log_row.ABORTED_ENTRY)])
# What stands for a null, where numbers are needed.
_NULLS = {"oldest_other": NEVER, "previous_last": -1}

LongOnes = Mapping[int, LongTransactions]


def match_segments(
    batches: Iterator[pa.RecordBatch], long_ones: LongOnes
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of SEGMENT: rows of MATCHED.

    `long_ones`: partition_index -> its transactions that are not regular.
    """
    for batch in batches:
        for row in range(batch.num_rows):
            yield from _match(batch.slice(row, 1), long_ones)


def _match(segment: pa.RecordBatch, long_ones: LongOnes) -> Iterator[pa.RecordBatch]:
    partition = segment.column("partition_index")[0].as_py()
    base = segment.column("base_offset")[0].as_py()
    following = segment.column("next_base_offset")[0].as_py()
    next_base = NEVER if following is None else following
    cells = segment.column("cells")[0].values
    aborts, entries = _rows(cells, False, _ABORT), _rows(cells, True, _ENTRY)
    numbers, entry_numbers = _numbers(aborts), _numbers(entries)
    numbers["last_stable_offset"] = last_stable_offsets(
        numbers["marker_offset"], numbers["oldest_other"], long_ones.get(partition, NONE_LONG)
    )
    mine, theirs = agreeing(numbers, entry_numbers)
    agreed = pa.table([numbers[name][mine] for name in _AGREED.names], schema=_AGREED)
    outside = {
        ABORT: is_misplaced(numbers["marker_offset"], base, next_base),
        ENTRY: is_misplaced(entry_numbers["last_offset"], base, next_base),
        AGREED: np.zeros(mine.size, bool),
    }
    left = {ABORT: _without(aborts, mine), ENTRY: _without(entries, theirs), AGREED: agreed}
    for matched_as, rows in left.items():
        strange = int(np.count_nonzero(outside[matched_as]))
        for at in range(0, max(rows.num_rows, min(strange, 1)), BLOCK_ROWS):
            block = rows.slice(at, BLOCK_ROWS).combine_chunks()
            yield pa.record_batch(
                [[partition], [matched_as], [block.num_rows], [strange], [_packed(block)]],
                schema=_MATCHED,
            )


def _packed(block: pa.Table) -> bytes:
    batches = block.to_batches() or [pa.RecordBatch.from_pylist([], schema=block.schema)]
    return pack_block(batches[0])


def _rows(cells: pa.StructArray, of_index: bool, schema: pa.Schema) -> pa.Table:
    """The rows of all cells of one kind, in the order of the files and of what lies in them."""
    chosen = pa.RecordBatch.from_struct_array(cells).filter(
        pa.array([flag == of_index for flag in cells.field("of_index").to_pylist()])
    )
    packed = chosen.select(["file_index", "rows"])
    unpacked = [batch.cast(schema) for batch in unpack_blocks(iter([packed]))]
    return pa.Table.from_batches(unpacked, schema=schema)


def _numbers(rows: pa.Table) -> dict[str, Int64s]:
    return {
        name: rows.column(name).cast(pa.int64()).fill_null(_NULLS.get(name, -1)).to_numpy()
        for name in rows.schema.names
        if not pa.types.is_boolean(rows.schema.field(name).type)
    }


def _without(rows: pa.Table, settled: Int64s) -> pa.Table:
    left = np.ones(rows.num_rows, bool)
    left[settled] = False
    return rows.filter(pa.array(left))
