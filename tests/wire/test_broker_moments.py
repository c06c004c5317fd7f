"""Moments of a broker's clock in a split: the latest, the last, and where it was set back."""

from typing import Any

import numpy as np
import pytest

from udfs.arrow.broker_moments import MOST_SET_BACKS, moment_columns

# One more than these is too many.
HOURS = [hour * 3_600_000 for hour in range(1, MOST_SET_BACKS + 1)]


def told(moments: list[int], below: int) -> dict[str, Any]:
    """The clock of a split whose first `below` moments are replicated."""
    stamped = np.array(moments, dtype=np.int64)
    columns = moment_columns(stamped, stamped[:below])
    return columns | columns.pop("clock")


@pytest.mark.parametrize(
    ("moments", "set_backs"),
    [
        ([10_000, 10_500, 12_000], []),
        ([10_000, 9_000, 12_000], []),
        ([10_000, 8_999, 12_000], [(10_000, 8_999)]),
        ([10_000, 8_000, 5_000, 9_500, 12_000], [(10_000, 5_000)]),
        ([500_000, 120_000, 127_000, 600_000, 90_000], [(500_000, 120_000), (600_000, 90_000)]),
        ([one for top in range(9, 9 + MOST_SET_BACKS + 1) for one in (top * 9_000, top * 8_000)],
         [((9 + MOST_SET_BACKS) * 9_000, 72_000)]),
        ([one for at in [*HOURS, HOURS[-1] + 9_000] for one in (at + 2_000, at)],
         [*[(at + 2_000, at) for at in HOURS[:-1]], (HOURS[-1] + 11_000, HOURS[-1])]),
    ],
    ids=[
        "goes on", "an adjustment", "set back by more than that", "in steps", "twice", "in turns",
        "too often",
    ],
)  # fmt: skip
def test_a_clock_was_set_back_between_two_moments(
    moments: list[int], set_backs: list[tuple[int, int]]
) -> None:
    found = told(moments, len(moments))["set_backs"]
    assert [(one["from_ms"], one["to_ms"]) for one in found] == set_backs


def test_the_last_moment_is_not_the_latest() -> None:
    assert told([3_000, 500_000, 2_000, 127_000], 3) == {
        "broker_timestamp": 500_000,
        "replicated_timestamp": 500_000,
        "lowest": 2_000,
        "last": 127_000,
        "last_replicated": 2_000,
        "set_backs": [{"from_ms": 500_000, "to_ms": 2_000}],
    }


def test_what_is_not_replicated_tells_nothing_of_that() -> None:
    clock = told([3_000], 0)
    assert (clock["replicated_timestamp"], clock["last_replicated"]) == (None, None)
