"""Numbers of any size: within the bounds nothing that is reckoned with them overflows."""

import struct

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wire_writer import batches as writer
from udfs.arrow.bounded import bounded, bounded_rows
from udfs.wire import bounds
from udfs.wire.batches import batch_headers

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
EDGES = st.sampled_from([-(1 << 63), (1 << 63) - 1, -1, 0, bounds.LOWEST, bounds.HIGHEST])
NUMBERS = INT64 | EDGES
WIDEST = (1 << 63) - 1


@given(st.lists(NUMBERS))
def test_offsets_can_be_reckoned_with(numbers: list[int]) -> None:
    within = bounds.offsets(np.array(numbers, dtype=np.int64)).tolist()
    assert all(one == number or not bounds.LOWEST <= number <= bounds.HIGHEST
               for one, number in zip(within, numbers, strict=True))  # fmt: skip
    # A batch may be 2^31 offsets long, and a few more may come on top.
    assert all(abs(a - b) + (1 << 40) <= WIDEST for a in within for b in within)


@given(st.lists(NUMBERS))
def test_timestamps_can_be_reckoned_with(numbers: list[int]) -> None:
    within = bounds.timestamps(np.array(numbers, dtype=np.int64)).tolist()
    assert all(abs(one) <= bounds.LATEST for one in within)
    assert sorted(within) == bounds.timestamps(np.array(sorted(numbers), dtype=np.int64)).tolist()


@settings(deadline=None)
@given(st.lists(st.none() | NUMBERS, min_size=1))
def test_columns(numbers: list[int | None]) -> None:
    kind = pa.struct([("marker_timestamp", pa.int64()), ("first_offset", pa.int64()),
                      ("producer_id", pa.int64())])  # fmt: skip
    rows = [
        None if one is None else dict.fromkeys((field.name for field in kind), one)
        for one in numbers
    ]
    column = pa.array(rows, kind)
    told = bounded(column, "run").to_pylist()
    for one, number in zip(told, numbers, strict=True):
        if number is None:
            assert one is None
            continue
        assert one["producer_id"] == number
        assert abs(one["marker_timestamp"]) <= bounds.LATEST
        assert bounds.LOWEST <= one["first_offset"] <= bounds.HIGHEST
    batch = pa.RecordBatch.from_arrays([column], names=["run"])
    assert bounded_rows(batch).column(0).to_pylist() == told


def test_what_is_within_is_not_copied() -> None:
    values = np.array([0, 5], dtype=np.int64)
    assert bounds.offsets(values) is bounds.timestamps(values) is values
    column = pa.array([0, None, 5], pa.int64())
    assert bounded(column, "first_offset") is column


@settings(deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS)
def test_headers(base_offset: int, base: int, largest: int) -> None:
    batch = bytearray(writer.batch(0, [writer.record(0)], base_timestamp=0))
    struct.pack_into(">q", batch, 0, base_offset)
    struct.pack_into(">qq", batch, 27, base, largest)
    positions = np.zeros(1, dtype=np.int64)
    read = batch_headers.read_headers(np.frombuffer(bytes(batch), dtype=np.uint8), positions)
    assert (read.base_offset[0], read.base_timestamp[0], read.max_timestamp[0]) == (
        base_offset, base, largest,
    )  # fmt: skip
    within = read.bounded()
    assert bounds.LOWEST <= within.base_offset[0] <= within.last_offset[0]
    assert abs(int(within.base_timestamp[0]) - int(within.max_timestamp[0])) <= 2 * bounds.LATEST
