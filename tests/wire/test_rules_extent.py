"""How far a copy reaches, and which copy tells it."""

from itertools import product

import numpy as np

from udfs.rules.extent import is_one_moment, is_outlasted, manifest_counts, outlived


def test_a_copy_is_outlasted_by_one_that_is_longer_only() -> None:
    ends = np.array([3, 5])
    assert is_outlasted(ends, np.int64(5)).tolist() == [True, False]


def test_a_manifest_dates_the_longest_copy_of_a_dump_with_every_broker() -> None:
    ends = np.array([3, 5, 5])
    every = np.array([True, True, False])
    assert manifest_counts(every, ends, np.int64(5)).tolist() == [False, True, False]


def test_one_moment_needs_one_broker_alone_and_its_clean_stop() -> None:
    for given in product([np.bool_(False), np.bool_(True)], repeat=5):
        assert is_one_moment(*given) == all(given)


def test_a_transaction_is_outlived_once_the_limit_lies_between() -> None:
    copied = np.array([1_000, 1_201, 1_200])
    assert outlived(copied, np.int64(200), 1_000).tolist() == [False, True, False]


def test_a_lagging_follower_never_passes_for_complete() -> None:
    """A leader and a follower that is copied later: what it lacks is never said to be absent."""
    for lag, copied_later in product(range(4), range(4)):
        leader_end, leader_copied = 10, 100
        follower_end, follower_copied = leader_end - lag, leader_copied + copied_later
        earliest = min(leader_copied, follower_copied)
        counts = manifest_counts(np.bool_(True), np.int64(follower_end), np.int64(leader_end))
        # Where it counts the copy holds all that the leader had when the first copy was begun.
        assert not counts or (follower_end >= leader_end and earliest <= leader_copied)
