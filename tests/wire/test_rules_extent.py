"""How far a copy reaches, and which copy tells it."""

from itertools import product

import numpy as np

from udfs.rules.extent import (
    is_one_moment,
    is_outlasted,
    is_replicated,
    is_told_by_another,
    manifest_counts,
    outlived,
    reaches_copying,
)

EPOCH = np.int64(3)


def test_a_copy_is_outlasted_by_one_that_is_longer_or_of_a_later_leader() -> None:
    epochs, ends = np.array([3, 3, 2]), np.array([3, 5, 9])
    assert is_outlasted(epochs, ends, EPOCH, np.int64(5)).tolist() == [True, False, True]


def test_what_is_not_replicated_in_an_outlasted_copy_is_told_by_another() -> None:
    for replicated, outlasted, only_here in product([np.bool_(False), np.bool_(True)], repeat=3):
        told = is_told_by_another(replicated, outlasted, only_here)
        assert told == (outlasted and not replicated and not only_here)


def test_a_manifest_dates_the_longest_copy_of_a_dump_with_every_broker() -> None:
    outlasted = np.array([True, False, False, False])
    every = np.array([True, True, False, True])
    ends = np.array([3, 5, 5, 4])
    counts = manifest_counts(every, outlasted, ends, np.int64(5))
    assert counts.tolist() == [False, True, False, False]


def test_what_a_high_watermark_passed_is_replicated() -> None:
    assert is_replicated(np.array([3, 4, 5]), np.int64(5)).tolist() == [True, True, False]


def test_one_moment_needs_one_broker_alone_and_its_clean_stop() -> None:
    for given in product([np.bool_(False), np.bool_(True)], repeat=5):
        assert is_one_moment(*given) == all(given)


def test_a_copy_that_is_not_the_leaders_may_be_older_than_what_was_copied_first() -> None:
    for alone, fetched, counts in product([np.bool_(False), np.bool_(True)], repeat=3):
        assert reaches_copying(alone, fetched, counts) == (alone or fetched or counts)


def test_a_transaction_is_outlived_once_the_limit_lies_between() -> None:
    copied = np.array([1_000, 1_201, 1_200])
    assert outlived(copied, np.int64(200), 1_000).tolist() == [False, True, False]


def test_a_lagging_follower_never_passes_for_complete() -> None:
    """A leader and a follower that is copied later: what it lacks is never said to be absent."""
    for lag, copied_later in product(range(4), range(4)):
        leader_end, leader_copied = 10, 100
        follower_end, follower_copied = leader_end - lag, leader_copied + copied_later
        earliest = min(leader_copied, follower_copied)
        ends = np.int64(follower_end), EPOCH, np.int64(leader_end)
        counts = manifest_counts(
            np.bool_(True), is_outlasted(EPOCH, *ends), ends[0], np.int64(leader_end)
        )
        # Where it counts the copy holds all that the leader had when the first copy was begun.
        assert not counts or (follower_end >= leader_end and earliest <= leader_copied)
