"""Rules of `udfs.rules.attribution`, on arrays and against a search for every way to match."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from engines import check_in_both_engines
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from schemas.coordinator_states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from udfs.rules import attribution

# Below every moment that a record may hold.
NOT_TOLD = -2


@pytest.mark.parametrize(
    ("status", "follows", "effect"),
    [
        (PREPARE_COMMIT, COMPLETE_COMMIT, True),
        (PREPARE_ABORT, COMPLETE_ABORT, True),
        (PREPARE_COMMIT, PREPARE_COMMIT, False),
        (PREPARE_COMMIT, PREPARE_ABORT, False),
        (PREPARE_COMMIT, ONGOING, False),
        (PREPARE_ABORT, COMPLETE_COMMIT, False),
    ],
)
def test_a_decision_took_effect_if_its_complete_record_is_next(
    status: int, follows: int, effect: bool
) -> None:
    assert attribution.took_effect(np.int64(status), np.int64(follows)) == effect


@pytest.mark.parametrize(
    ("follows", "start", "unseen"),
    [
        (EMPTY, -1, True),
        (COMPLETE_ABORT, 9, True),
        (ONGOING, 9, True),
        (PREPARE_ABORT, 9, True),
        # A text that does not tell the start, a tombstone, and states that only newer brokers know.
        (ONGOING, NOT_TOLD, False),
        (NOT_TOLD, NOT_TOLD, False),
        (7, 9, False),
    ],
)
def test_a_decision_was_carried_out_unseen_by_the_record_behind_it(
    follows: int, start: int, unseen: bool
) -> None:
    def told(completed: bool, gave_way: bool) -> bool:
        state, begun, behind = np.int64(follows), np.int64(5), np.int64(start)
        known = np.bool_(completed), np.bool_(gave_way)
        return bool(attribution.carried_out_unseen(state, begun, behind, *known))

    assert told(completed=False, gave_way=False) is unseen
    assert not told(completed=True, gave_way=False)
    assert not told(completed=False, gave_way=True)


def test_the_epoch_of_a_marker_tells_its_protocol() -> None:
    marker, data = np.array([3, 3, 3]), np.array([2, 3, 1])
    assert attribution.raised(marker, data).tolist() == [True, False, True]
    assert attribution.has_epoch_of_data(marker, data).tolist() == [False, True, False]


def test_a_marker_has_the_epoch_of_its_data_or_the_next_one() -> None:
    marker, data = np.array([3, 3, 3, 3]), np.array([4, 3, 2, 1])
    assert attribution.raised_by_one(marker, data).tolist() == [False, False, True, False]
    assert attribution.may_end(marker, data).tolist() == [False, True, True, False]


def test_a_decision_is_known_between_what_was_cleaned_and_the_copy() -> None:
    marker = np.array([3, 4, 5, 6])
    known = attribution.is_decision_known(marker, 3, 6, np.False_)
    assert known.tolist() == [False, True, True, False]
    assert attribution.is_decision_known(marker, 3, 6, np.True_).tolist() == [
        False,
        True,
        True,
        True,
    ]


EPOCHS = [0, 1, 2, 3, None]
OF_TWO_EPOCHS = [
    attribution.raised,
    attribution.raised_by_one,
    attribution.has_epoch_of_data,
    attribution.may_end,
    attribution.is_recorded,
]


@pytest.mark.spark
@pytest.mark.parametrize("rule", OF_TWO_EPOCHS, ids=[rule.__name__ for rule in OF_TWO_EPOCHS])
def test_columns_say_what_arrays_say_of_two_epochs(
    spark: SparkSession, rule: Callable[..., Any]
) -> None:
    choices = {"marker": EPOCHS, "other": EPOCHS}
    check_in_both_engines(spark, lambda row: rule(row["marker"], row["other"]), choices)


@pytest.mark.spark
def test_columns_say_what_arrays_say_of_a_decision(spark: SparkSession) -> None:
    choices = {"marker": EPOCHS[:-1], "above": [-1, *EPOCHS], "newest": EPOCHS}
    choices["covered"] = [True, False, None]
    check_in_both_engines(
        spark, lambda row: attribution.is_decision_known(*[row[name] for name in choices]), choices
    )


def test_data_belong_to_the_last_decision_if_no_other_transaction_was_begun() -> None:
    newest, owner = np.array([9, 9, 9]), np.array([9, 12, 9])
    running = np.array([False, False, True])
    owns = attribution.owns_what_is_there(newest, owner, running)
    assert owns.tolist() == [True, False, False]


def test_a_moment_is_before_another_by_more_than_the_tolerance() -> None:
    earlier = np.array([10, 70, 69])
    assert attribution.surely_before(earlier, np.int64(100), 30).tolist() == [True, False, True]


def test_a_marker_from_before_the_first_transaction_of_its_epoch_is_of_a_lost_decision() -> None:
    begun = np.array([100, 70, -1])
    again = attribution.epoch_given_again(np.int64(39), begun, 60)
    assert again.tolist() == [True, False, False]


def test_a_marker_is_older_by_the_clocks_or_by_the_order_of_its_coordinator() -> None:
    marked = np.array([69, 70, 130, 131, 70])
    ended = np.array([False, True, True, True, False])
    whoever = attribution.marked_before(marked, np.int64(100), 30, ended & False, ended)
    assert whoever.tolist() == [True, False, False, False, False]
    coordinator = attribution.marked_before(marked, np.int64(100), 30, ended | True, ended)
    assert coordinator.tolist() == [True, True, True, False, False]


def test_a_clock_that_was_set_back_tells_no_moment_between() -> None:
    prepare, complete = np.array([10, 10, 10]), np.array([12, 10, 9])
    assert attribution.clock_went_on(prepare, complete).tolist() == [True, True, False]


def test_messages_of_an_old_format_explain_what_lies_behind_them() -> None:
    legacy, older = np.array([5, 3, 5]), np.array([3, 3, 3])
    of_version_2 = np.array([False, False, True])
    told = attribution.format_may_refuse(legacy, older, of_version_2)
    assert told.tolist() == [True, False, False]


def test_a_marker_contradicts_the_last_complete_record_if_it_raised_the_epoch() -> None:
    same, other, raised = np.array([1, 1, 1, 0]), np.array([1, 0, 1, 1]), np.array([1, 1, 0, 1])
    told = attribution.contradicts(same == 1, other == 1, raised == 1)
    assert told.tolist() == [True, False, False, False]


def test_the_first_commit_of_an_epoch_is_no_delayed_one() -> None:
    assert attribution.cannot_be_delayed(np.array([0, 1])).tolist() == [True, False]


Interval = tuple[int, int]


def lacking(decisions: list[Interval], markers: list[int]) -> bool:
    """The rule over decisions in order, as the context `decided_partition` feeds it."""
    if not decisions:
        return False
    moments = np.array(sorted(markers), dtype=np.int64)
    earliest, latest = np.array(decisions, dtype=np.int64).T
    earliest = np.minimum.accumulate(earliest[::-1])[::-1]
    latest = np.maximum.accumulate(latest)
    number = np.arange(len(decisions)) + 1
    room = attribution.room_before(np.searchsorted(moments, earliest, "left"), number)
    until = np.searchsorted(moments, latest, "right")
    return bool(attribution.lacks_marker(until, number, np.maximum.accumulate(room)).any())


def can_be_matched(decisions: list[Interval], markers: list[int]) -> bool:
    """Whether each decision can have a marker of its own, in any order, by trying."""
    if not decisions:
        return True
    (earliest, latest), rest = decisions[0], decisions[1:]
    return any(
        earliest <= moment <= latest and can_be_matched(rest, markers[:at] + markers[at + 1 :])
        for at, moment in enumerate(markers)
    )


moments = st.integers(0, 12)


@given(
    st.lists(st.tuples(moments, st.integers(0, 4)), max_size=5),
    st.lists(moments, max_size=5),
    st.integers(0, 3),
)
def test_decisions_lack_a_marker_if_no_way_to_match_them_is_left(
    made: list[tuple[int, int]], markers: list[int], tolerance: int
) -> None:
    ordered = sorted(made)
    ends = np.maximum.accumulate([start + took for start, took in ordered] or [0])
    decisions = [
        (start - tolerance, int(end) + tolerance)
        for (start, _), end in zip(ordered, ends, strict=False)
    ]
    assert lacking(decisions, markers) == (not can_be_matched(decisions, markers))


@given(
    st.lists(st.tuples(moments, st.integers(0, 4), st.integers(-2, 2)), max_size=6),
    st.lists(moments, max_size=3),
)
def test_whoever_has_its_markers_is_never_accused(
    made: list[tuple[int, int, int]], sent_again: list[int]
) -> None:
    """Clocks that go back between coordinators, and markers that come twice, change nothing."""
    decisions = [(start - 2, start + took + 2) for start, took, _ in made]
    markers = [start + min(took, max(0, skew)) + min(0, skew) for start, took, skew in made]
    assert not lacking(decisions, [*markers, *sent_again])


def test_markers_are_too_many_if_they_ended_more_than_was_decided_so() -> None:
    assert attribution.ended_too_many(np.array([2, 1]), np.array([1, 1])).tolist() == [
        True,
        False,
    ]


def test_data_are_left_for_a_marker_that_raises_their_epoch_unless_their_own_ended_them() -> None:
    last, ended = np.array([5, 5, 5]), np.array([-1, 3, 5])
    assert attribution.is_unended(last, ended).tolist() == [True, True, False]
