"""What producers read and wrote, as tasks sum it up: plain Arrow, without Spark."""

from typing import Any

import pyarrow as pa

from udfs.arrow.blocks import pack_block
from udfs.arrow.input_commits import COMMIT, first_reads
from udfs.arrow.written import ANY_EPOCH, Since, written_since

NAMES = ("partition_index", "producer_id", "producer_epoch", "marker_commit", "marker_timestamp",
         "first_offset", "last_offset", "records")  # fmt: skip


def transactions(*rows: tuple[Any, ...]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    types = (pa.int32(), pa.int64(), pa.int32(), pa.bool_(), *[pa.int64()] * 4)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(NAMES))


def written(asked: list[Since], rows: pa.RecordBatch) -> list[dict[str, Any]]:
    (plain,) = [b.to_pylist() for b in written_since(asked, packed=False)(iter([rows]))] or [[]]
    block = pack_block(rows.drop_columns(["partition_index"]))
    cells = pa.RecordBatch.from_arrays(
        [rows.column("partition_index")[:1], pa.array([block], pa.binary())],
        names=["partition_index", "transactions"],
    )
    one_partition = len(set(rows.column("partition_index").to_pylist())) == 1
    if one_partition:
        packed = [b.to_pylist() for b in written_since(asked, packed=True)(iter([cells]))]
        assert packed == ([plain] if plain else [])
    return plain


ROWS = transactions(
    (0, 7, 3, True, 100, 0, 4, 5),
    (0, 7, 4, True, 200, 6, 6, 1),
    # Aborted: no consumer gets it.
    (0, 7, 5, False, 300, 8, 8, 1),
    (0, 7, 5, True, 400, 10, 12, 3),
    (0, 8, 9, True, 500, 14, 14, 1),
)


def test_what_was_written_from_an_epoch_on_is_summed() -> None:
    (one,) = written([Since(1, 7, 4, 10**15)], ROWS)
    # The epoch itself is shared with what was written before the commit, so the marker decides.
    assert (one["first_offset"], one["transactions"], one["records"]) == (10, 1, 3)
    (one,) = written([Since(1, 7, 4, 200)], ROWS)
    assert one == {
        "incident": 1, "partition_index": 0, "producer_id": 7, "first_offset": 6,
        "last_offset": 12, "transactions": 2, "records": 4,
    }  # fmt: skip


def test_other_producers_and_what_nobody_asked_for_are_left_out() -> None:
    assert written([Since(1, 6, -1, 0)], ROWS) == []
    assert written([Since(1, 7, 6, 0)], ROWS) == []
    # Of any epoch the marker decides.
    (one,) = written([Since(1, 7, ANY_EPOCH, 200)], ROWS)
    assert (one["first_offset"], one["transactions"]) == (6, 2)
    (one,) = written([Since(1, 8, -1, 0), Since(1, 6, -1, 0)], ROWS)
    assert (one["producer_id"], one["records"]) == (8, 1)


def test_partitions_and_incidents_are_apart() -> None:
    rows = transactions((0, 7, 0, True, 1, 0, 0, 1), (1, 7, 0, True, 1, 5, 5, 2))
    found = written([Since(1, 7, 0, 0)], rows)
    assert [(one["partition_index"], one["records"]) for one in found] == [(0, 1), (1, 2)]
    sums = written_since([Since(1, 7, 0, 0), Since(2, 7, 0, 0)], packed=False)
    assert {b.column("incident")[0].as_py() for b in sums(iter([rows]))} == {1, 2}


def reads(first_offset: int) -> list[dict[str, Any]]:
    commits = pa.RecordBatch.from_pylist(
        [
            {"record_offset": n, "committed_offset": 10 * n, "producer_epoch": n, "timestamp": n}
            for n in range(1, 5)
        ],
        schema=COMMIT,
    )
    row = {
        "group": "g", "topic": "t", "partition": 0, "producer_id": 7, "incident": 1,
        "first_offset": first_offset, "whole": True, "commits": pack_block(commits),
    }  # fmt: skip
    return [
        one for b in first_reads(iter([pa.RecordBatch.from_pylist([row])])) for one in b.to_pylist()
    ]


def test_the_first_commit_beyond_an_offset_is_found() -> None:
    # A committed offset is the next one to be read: at the affected one nothing of it is read yet.
    assert [one["producer_epoch"] for one in reads(20)] == [3]
    assert [one["producer_epoch"] for one in reads(19)] == [2]
    assert reads(40) == []
