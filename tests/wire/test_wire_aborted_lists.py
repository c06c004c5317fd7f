"""Segments and their indexes, matched in packed blocks as an executor does."""

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas import log_row
from udfs.arrow.aborted_lists import ABORT, AGREED, BLOCK_ROWS, ENTRY, SEGMENT, match_segments
from udfs.arrow.blocks import pack_block, unpack_blocks
from udfs.wire.side_files.aborted_list import LongTransactions, long_transactions

Row = dict[str, Any]
PARTITION, LOG, INDEX = 3, 11, 12


def abort(producer: int, first: int, marker: int) -> Row:
    nothing: Row = dict.fromkeys(log_row.REGULAR_ABORT.names)
    told = {"producer_id": producer, "first_offset": first, "marker_offset": marker}
    return nothing | told | {"producer_epoch": 0, "marker_epoch": 1, "marker_commit": False}


def entry(producer: int, first: int, last: int, stable: int, previous: int | None) -> Row:
    return {
        "version": 0, "producer_id": producer, "first_offset": first, "last_offset": last,
        "last_stable_offset": stable, "position": 0, "length": 34, "previous_last": previous,
    }  # fmt: skip


def cell(rows: list[Row], of_index: bool) -> Row:
    kind = log_row.ABORTED_ENTRY if of_index else log_row.REGULAR_ABORT
    block = pa.RecordBatch.from_pylist(rows, schema=to_arrow_schema(kind))
    file_index = INDEX if of_index else LOG
    return {"file_index": file_index, "of_index": of_index, "rows": pack_block(block)}


def matched(
    cells: list[Row], next_base: int | None, long_ones: dict[int, LongTransactions] | None = None
) -> tuple[dict[str, list[Row]], dict[str, int]]:
    """What is in the blocks of each kind, and how many of them are outside of the segment."""
    segment = {
        "partition_index": PARTITION, "base_offset": 0, "next_base_offset": next_base,
        "cells": cells,
    }  # fmt: skip
    batch = pa.RecordBatch.from_pylist([segment], schema=to_arrow_schema(SEGMENT))
    rows: dict[str, list[Row]] = {ABORT: [], ENTRY: [], AGREED: []}
    outside = {}
    for found in match_segments(iter([batch]), long_ones or {}):
        blocks = found.select(["partition_index", "rows"])
        what = found.column("matched_as")[0].as_py()
        outside[what] = found.column("outside")[0].as_py()
        unpacked = [row for one in unpack_blocks(iter([blocks])) for row in one.to_pylist()]
        assert found.column("number")[0].as_py() == len(unpacked)
        rows[what] += unpacked
    return rows, outside


def test_pairs_that_agree_are_the_aborted_list_and_the_rest_stays_as_it_was() -> None:
    rows, outside = matched(
        [
            cell([abort(7, 0, 2)], False),
            cell([abort(8, 5, 9), abort(9, 14, 16)], False),
            cell([entry(7, 0, 2, 3, None), entry(8, 5, 9, 6, 2), entry(9, 14, 16, 17, 9)], True),
        ],
        next_base=None,
    )
    assert [one["marker_offset"] for one in rows[AGREED]] == [2, 16]
    assert [one["last_stable_offset"] for one in rows[AGREED]] == [3, 17]
    assert {one["partition_index"] for one in rows[AGREED]} == {PARTITION}
    # The index says that offset 6 was open, and nothing in the log does.
    assert [(one["marker_offset"], one["file_index"]) for one in rows[ABORT]] == [(9, LOG)]
    assert [(one["last_offset"], one["file_index"]) for one in rows[ENTRY]] == [(9, INDEX)]
    assert rows[ENTRY][0]["previous_last"] == 2
    assert set(outside.values()) == {0}


def test_a_transaction_that_is_not_regular_holds_the_last_stable_offset_back() -> None:
    cells = [cell([abort(8, 5, 9)], False), cell([entry(8, 5, 9, 3, None)], True)]
    rows, _ = matched(cells, None, {PARTITION: long_transactions(np.array([12]), np.array([3]))})
    assert [one["last_stable_offset"] for one in rows[AGREED]] == [3]
    rows, _ = matched(cells, None, {PARTITION: long_transactions(np.array([7]), np.array([3]))})
    assert rows[AGREED] == []
    rows, _ = matched(cells, None, {4: long_transactions(np.array([12]), np.array([3]))})
    assert rows[AGREED] == []


def test_what_does_not_belong_into_the_segment_is_counted_though_it_agrees() -> None:
    cells = [cell([abort(8, 5, 9)], False), cell([entry(8, 5, 9, 10, None)], True)]
    assert matched(cells, next_base=10)[1] == {AGREED: 0}
    rows, outside = matched(cells, next_base=9)
    assert len(rows[AGREED]) == 1
    assert outside == {AGREED: 0, ABORT: 1, ENTRY: 1}


def test_a_segment_without_index_and_an_index_without_segment() -> None:
    rows, _ = matched([cell([abort(8, 5, 9)], False)], None)
    assert [len(rows[what]) for what in (AGREED, ABORT, ENTRY)] == [0, 1, 0]
    rows, _ = matched([cell([entry(8, 5, 9, 10, None)], True)], None)
    assert [len(rows[what]) for what in (AGREED, ABORT, ENTRY)] == [0, 0, 1]


def test_many_are_several_blocks() -> None:
    aborts = [abort(8, 2 * at, 2 * at + 1) for at in range(BLOCK_ROWS + 5)]
    rows, _ = matched([cell(aborts, False)], None)
    assert [one["first_offset"] for one in rows[ABORT]] == [one["first_offset"] for one in aborts]
