"""Ranges of offsets between snapshots, as a task gets them: in batches that cut them anywhere."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

from udfs.arrow.producer_states import pack_states
from udfs.arrow.snapshot_ranges import RANGE, compare_ranges
from udfs.wire.side_files.snapshot_differences import NOTHING

DAY_MS = 86_400_000
SCHEMA = to_arrow_schema(RANGE).append(pa.field("states", pa.binary()))


def _states(sequence: int) -> bytes:
    one = NOTHING.copy()
    one["producer_id"], one["epoch"], one["timestamp"] = 7, 0, 1000
    one["last_sequence"] = one["last_offset"] = sequence
    one["offset_delta"] = 0
    return pack_states(one)


def _row(start: int, end: int, states: bytes, **given: Any) -> dict[str, Any]:
    return {
        "partition_index": 0, "start_offset": start, "end_offset": end, "of_snapshot": False,
        "of_log_start": False, "whole": True, "in_text": False, "legacy": False, "unread": None,
        "file_index": end, "segment_base": start, "split_start": 0, "left_out": 0,
        "below_log_start": False, "log_start_offset": 0, "doubted": None, "states": states,
    } | given  # fmt: skip


def _range(start: int, last_sequence: int, stored: int) -> list[dict[str, Any]]:
    """One of ten offsets: the snapshot before, a change, and the snapshot that is judged."""
    held = {"of_snapshot": True}
    return [
        _row(start, start + 10, _states(0), segment_base=start, **held),
        _row(start, start + 10, _states(last_sequence)),
        _row(start, start + 10, _states(stored), segment_base=start + 10, unread=[], **held),
    ]


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_a_range_that_batches_cut_is_compared_whole(size: int) -> None:
    rows = [*_range(10, 5, 5), *_range(20, 6, 4), *_range(30, 7, 7), *_range(40, 8, 9)]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    found = compare_ranges(DAY_MS, None)(iter(table.to_batches(max_chunksize=size)))
    told = [row for batch in found for row in batch.to_pylist()]
    assert [(row["fault"], row["snapshot_offset"]) for row in told] == [
        ("differs", 30),
        ("differs", 50),
    ]
    assert [row["found"] for row in told] == [
        "last sequence 4, last offset 4",
        "last sequence 9, last offset 9",
    ]
