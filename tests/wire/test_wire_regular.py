"""What is folded away is regular, and the oldest open transaction is that of a plain search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.wire.batches.fold import Batches, fold
from udfs.wire.batches.regular import Bounds, fold_regular, oldest_open

Row = dict[str, int]
DAY_MS = 86_400_000
BOUNDS = Bounds(sequenced=True, expiration_ms=DAY_MS, high_watermark=None, cleaned_below=0)


def batches(rows: list[Row]) -> Batches:
    """`rows`: pid, epoch, seq, marker (0 none, 1 COMMIT, 2 ABORT), offset, time, cepoch."""

    def of(name: str, default: int = 0) -> np.ndarray:  # type: ignore[type-arg]
        return np.array([row.get(name, default) for row in rows], dtype=np.int64)

    marker = of("marker")
    offset = np.array([row.get("offset", i) for i, row in enumerate(rows)], dtype=np.int64)
    return Batches(
        producer_id=of("pid"),
        epoch=of("epoch"),
        offset=offset,
        first_sequence=of("seq"),
        last_sequence=of("seq"),
        timestamp=of("time"),
        control=marker > 0,
        transactional=np.ones(len(rows), dtype=np.bool_),
        fault=of("fault"),
        commit=marker == 1,
        coordinator_epoch=of("cepoch"),
        marker_timestamp=of("time"),
    )


def transactions(number: int, bumps: bool) -> list[Row]:
    """Alternating data and marker of one producer; TV2 if the marker `bumps` the epoch."""
    rows: list[Row] = []
    for i in range(number):
        epoch = i if bumps else 0
        rows.append({"pid": 7, "epoch": epoch, "seq": 0 if bumps else i})
        rows.append({"pid": 7, "epoch": epoch + bumps, "marker": 1 + i % 2})
    return rows


def inner(rows: list[Row], bounds: Bounds = BOUNDS) -> list[int]:
    """Offsets of the data of the transactions that are folded away."""
    given = batches(rows)
    runs = fold(given, True, DAY_MS)
    return [int(given.offset[i]) for i in runs.first[fold_regular(given, runs, bounds).inner]]


@pytest.mark.parametrize("bumps", [True, False], ids=["TV2", "TV1"])
def test_all_but_the_first_and_the_last_of_a_stretch_are_folded_away(bumps: bool) -> None:
    rows = transactions(5, bumps)
    given = batches(rows)
    runs = fold(given, True, DAY_MS)
    folding = fold_regular(given, runs, BOUNDS)
    assert folding.inner.tolist() == [False, True, True, True, False]
    assert folding.follows.tolist() == [False, False, False, False, True]
    assert folding.chain.tolist() == [-1, -1, -1, -1, 4 if bumps else -1]


@pytest.mark.parametrize(
    ("change", "folded"),
    [
        ({"seq": 5}, [2, 8, 10]),
        ({"time": DAY_MS}, [2, 8, 10]),
        ({"fault": 1}, [2, 10]),
        ({"offset": 2}, [2, 8, 10]),
        # The marker cannot end what stands before it, so it is a row of its own.
        ({"epoch": 1}, [2, 10]),
        ({"epoch": 32767}, [2, 10]),
        ({"pid": 8}, [2, 10]),
    ],
    ids=str,
)
def test_a_transaction_that_does_not_follow_ends_the_stretch(
    change: Row, folded: list[int]
) -> None:
    rows = transactions(7, bumps=True)
    assert inner(rows) == [2, 4, 6, 8, 10]
    rows[6] |= change
    assert inner(rows) == folded


def test_a_coordinator_epoch_that_steps_back_ends_the_stretch() -> None:
    rows = transactions(6, bumps=True)
    for row in rows[:6]:
        row["cepoch"] = 1
    assert inner(rows) == [2, 8]


def test_what_is_not_replicated_or_was_cleaned_is_not_folded() -> None:
    rows = transactions(6, bumps=True)
    assert inner(rows, BOUNDS._replace(high_watermark=7)) == [2]
    # The aborted ones below the cleaned offset stay, those at 2 and 6 (markers 3 and 7).
    assert inner(rows, BOUNDS._replace(cleaned_below=8)) == [8]


EVENTS = st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=60)


@given(EVENTS, st.integers(0, 10))
def test_oldest_open_is_that_of_a_plain_search(events: list[tuple[int, bool]], step: int) -> None:
    offsets = [(i * 7) % 61 if step == 0 else i for i in range(len(events))]
    rows = [
        {"pid": pid, "marker": int(marker), "offset": offset}
        for (pid, marker), offset in zip(events, offsets, strict=True)
    ]
    found = oldest_open(batches(rows)).tolist() if rows else []
    opened: dict[int, int] = {}
    for row, oldest in zip(rows, found, strict=True):
        if row["marker"]:
            opened.pop(row["pid"], None)
            assert oldest == min(opened.values(), default=-1)
        else:
            opened.setdefault(row["pid"], row["offset"])
            assert oldest == -1
