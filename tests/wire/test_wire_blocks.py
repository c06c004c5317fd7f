"""Rows that are chosen where a block is unpacked."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.arrow.blocks import epoch_keys, pack_block, unpack_epochs, unpack_raised

Epoch = tuple[int, int]

# Few, so that many are stored and wanted at once.
USUAL = st.tuples(st.integers(0, 4) | st.just(2**48 - 1), st.integers(0, 3) | st.just(32_767))
HOSTILE = st.tuples(st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 2), st.integers(-1, 3))


def columns(epochs: list[Epoch]) -> dict[str, pa.Array]:
    return {
        "producer_id": pa.array([epoch[0] for epoch in epochs], pa.int64()),
        "producer_epoch": pa.array([epoch[1] for epoch in epochs], pa.int32()),
    }


def chosen(
    stored: list[tuple[Epoch, bool]], wanted: list[Epoch], commit: bool = True
) -> list[Epoch]:
    """The epochs of the rows that are unpacked."""
    commits = pa.array([commit for _, commit in stored])
    rows = pa.record_batch(columns([epoch for epoch, _ in stored]) | {"marker_commit": commits})
    keys = np.unique(epoch_keys(*columns(wanted).values()))
    packed = pa.record_batch({"file_index": [7], "block": [pack_block(rows)]})
    found = [
        row for batch in unpack_epochs(keys, commit)(iter([packed])) for row in batch.to_pylist()
    ]
    assert all(row["marker_commit"] == commit and row["file_index"] == 7 for row in found)
    return [(row["producer_id"], row["producer_epoch"]) for row in found]


def owed(stored: list[tuple[Epoch, bool]], wanted: list[Epoch]) -> list[Epoch]:
    return [epoch for epoch, commit in stored if commit and epoch in wanted]


@settings(deadline=None)
@given(st.lists(st.tuples(USUAL, st.booleans()), min_size=1), st.lists(USUAL, min_size=1))
def test_the_commits_of_the_wanted_epochs_are_chosen(
    stored: list[tuple[Epoch, bool]], wanted: list[Epoch]
) -> None:
    assert chosen(stored, wanted) == owed(stored, wanted)
    inverted = [(epoch, not commit) for epoch, commit in stored]
    assert chosen(inverted, wanted, commit=False) == owed(stored, wanted)


@settings(deadline=None)
@given(st.lists(st.tuples(HOSTILE, st.booleans()), min_size=1), st.lists(HOSTILE, min_size=1))
def test_none_is_left_out_whatever_the_producer_id(
    stored: list[tuple[Epoch, bool]], wanted: list[Epoch]
) -> None:
    wanted = [*wanted, stored[0][0]]
    found = chosen(stored, wanted)
    assert [epoch for epoch in found if epoch in wanted] == owed(stored, wanted)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 1)), min_size=1),
    st.dictionaries(st.integers(0, 4), st.integers(-1, 4)),
)
def test_epochs_that_were_raised_are_told_unless_they_are_decided(
    stored: list[tuple[int, int, int]], known: dict[int, int]
) -> None:
    markers = pa.array([epoch + step for _, epoch, step in stored], pa.int32())
    rows = pa.record_batch(
        columns([(producer, epoch) for producer, epoch, _ in stored]) | {"marker_epoch": markers}
    )
    producers = np.array(sorted(known), dtype=np.int64)
    above = np.array([known[producer] for producer in sorted(known)], dtype=np.int32)
    newest = np.full(above.size, 4, dtype=np.int32)
    packed = pa.record_batch({"file_index": [7], "block": [pack_block(rows)]})
    cells = [
        cell
        for batch in unpack_raised(above, producers, newest)(iter([packed]))
        for cell in batch.column("keys").to_pylist()
    ]
    owed = {
        (producer, epoch)
        for producer, epoch, step in stored
        if step == 1 and not known.get(producer, 9) < epoch + 1 < 4
    }
    keys = np.unique(epoch_keys(*columns(sorted(owed)).values())).tobytes()
    assert b"".join(cells) == keys
