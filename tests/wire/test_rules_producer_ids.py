"""Which block of producer ids may follow another."""

import numpy as np
import pytest

from udfs.rules.producer_ids import overlaps_block_before

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    ("previous", "following", "overlaps"),
    [
        (2_000, 3_000, False),
        (2_000, 2_999, True),
        (2_000, 2_000, True),
        (2_000, 1_000, True),
        (LOWEST, LOWEST + 5, True),
        (LOWEST, HIGHEST, False),
        (HIGHEST - 5, HIGHEST, True),
        (HIGHEST - 1_000, HIGHEST, False),
        (HIGHEST, LOWEST, True),
    ],
)
def test_a_block_begins_behind_the_one_before(
    previous: int, following: int, overlaps: bool
) -> None:
    both = np.array([previous]), np.array([following])
    assert overlaps_block_before(previous, following) == overlaps
    assert overlaps_block_before(*both).tolist() == [overlaps]
