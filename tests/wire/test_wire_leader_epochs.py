"""Leader epochs of a log beside its leader-epoch-checkpoint: which stretches of batches differ."""

import numpy as np
import pytest

from tests.wire_writer import batches as writer
from udfs.wire.batches.batch_headers import read_headers
from udfs.wire.errors import WireError
from udfs.wire.side_files.leader_epochs import contradictions, decode, out_of_order


def stretches(epochs: list[int], entries: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Contradictions of batches at offsets 0, 2, 4, … with these leader epochs."""
    batches = [
        writer.batch(
            2 * i,
            [writer.record(0), writer.record(1)],
            base_timestamp=0,
            partition_leader_epoch=epoch,
        )
        for i, epoch in enumerate(epochs)
    ]
    at = np.cumsum([0, *(len(one) for one in batches)])[:-1].astype(np.int64)
    headers = read_headers(np.frombuffer(b"".join(batches), dtype=np.uint8), at)
    lines = ["0", str(len(entries)), *(f"{epoch} {start}" for epoch, start in entries)]
    return [tuple(one) for one in contradictions(decode("\n".join(lines)), headers)]


@pytest.mark.parametrize(
    ("epochs", "entries"),
    [
        ([1, 1, 3], [(1, 0), (3, 4)]),
        ([1, 1, 3], [(1, 0), (2, 4), (3, 4)]),
        ([1, 1, 3], [(3, 4)]),
        ([1, 1, 3], []),
        ([1, -1, 3], [(1, 0), (3, 4), (4, 6)]),
        ([3, 3], [(3, 0), (1, 2)]),
    ],
    ids=["fits", "an epoch without batches", "from the log start", "no entries", "-1", "order"],
)
def test_nothing_contradicts(epochs: list[int], entries: list[tuple[int, int]]) -> None:
    assert stretches(epochs, entries) == []


def test_a_stretch_ends_where_entry_or_epoch_change() -> None:
    assert stretches([2, 2, 3, 1, 2], [(1, 0), (5, 8)]) == [(0, 0, 1), (0, 2, 2), (1, 4, 4)]


def test_an_entry_inside_a_batch_holds_from_the_next_one_on() -> None:
    assert stretches([1, 1], [(1, 0), (2, 1)]) == [(1, 1, 1)]


def test_entries_that_do_not_rise() -> None:
    table = decode("0\n4\n1 0\n1 5\n2 5\n3 4\n")
    assert out_of_order(table) == [1, 3]


@pytest.mark.parametrize("text", ["0\n2\n1 0\n", "1\n0\n", "0\n1\n1 x\n"])
def test_what_a_broker_cannot_read_is_an_error(text: str) -> None:
    with pytest.raises(WireError):
        decode(text)
