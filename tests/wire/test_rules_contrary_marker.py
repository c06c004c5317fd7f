"""Rules of `udfs.rules.contrary_marker`: a marker was changed, lost or written by an operator."""

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from udfs.rules.clock import KEPT_IN_TIME_MS
from udfs.rules.contrary_marker import contrary_markers
from udfs.rules.marker_order import NO_MOMENT, Decisions, MarkersThere

# From a Prepare record to its marker, and to its Complete record, ms.
MARKED_MS, COMPLETE_MS = 5, 10
ANY_SPANS = st.lists(st.integers(100, 5_000), min_size=1, max_size=8)
EQUAL_SPANS = st.builds(lambda span, number: [span] * number, st.integers(100, 5_000),
                        st.integers(1, 8))  # fmt: skip
SPANS = st.one_of(ANY_SPANS, EQUAL_SPANS)
OUTCOMES = st.lists(st.booleans(), min_size=8, max_size=8)


class Marker(NamedTuple):
    moment: int
    commit: bool


class History(NamedTuple):
    """The transactions of an epoch, and all of their markers in one partition."""

    decisions: Decisions
    markers: list[Marker]


def history(spans: list[int], outcomes: list[bool], shift_ms: int = 0) -> History:
    """`spans`: ms from one Prepare record to the next; `shift_ms`: of the leader's clock."""
    prepared = np.cumsum(spans, dtype=np.int64)
    commit = np.array(outcomes[: prepared.size])
    nothing = np.zeros(prepared.size, np.int64)
    decisions = Decisions(commit, prepared, prepared + COMPLETE_MS, prepared, nothing, nothing)
    moments = (prepared + MARKED_MS + shift_ms).tolist()
    return History(decisions, [Marker(*one) for one in zip(moments, commit.tolist(), strict=True)])


def contrary(one: History, newer: bool = True, unreached: int = -1, empty: int = -1) -> list[int]:
    """`unreached`: a decision that tells nothing; `empty`: a marker that ended nothing."""
    commit = np.array([marker.commit for marker in one.markers], np.bool_)
    moment = np.array([marker.moment for marker in one.markers], np.int64)
    ended = np.arange(moment.size) != empty
    nothing = np.zeros(moment.size, np.int64)
    there = MarkersThere(commit, moment, ended, np.full(moment.size, NO_MOMENT), nothing)
    reached = np.arange(one.decisions.commit.size) != unreached
    found: list[int] = contrary_markers(one.decisions, there, reached, newer).tolist()
    return found


def changed(one: History, number: int) -> History:
    """One marker has the other outcome."""
    markers = list(one.markers)
    markers[number] = markers[number]._replace(commit=not markers[number].commit)
    return one._replace(markers=markers)


@given(SPANS, OUTCOMES, st.integers(-60_000, 60_000))
def test_no_marker_of_a_healthy_epoch_is_contrary_whatever_the_clock_says(
    spans: list[int], outcomes: list[bool], shift_ms: int
) -> None:
    assert contrary(history(spans, outcomes, shift_ms)) == []


@given(SPANS, OUTCOMES, st.integers(-KEPT_IN_TIME_MS, KEPT_IN_TIME_MS), st.data())
def test_a_changed_marker_is_contrary(
    spans: list[int], outcomes: list[bool], shift_ms: int, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, len(spans) - 1))
    assert contrary(changed(history(spans, outcomes, shift_ms), number)) == [number]


@given(SPANS, OUTCOMES, st.integers(-1_000, 1_000), st.data())
def test_an_operators_abort_and_a_marker_that_is_not_copied_yet_are_not(
    spans: list[int], outcomes: list[bool], shift_ms: int, data: st.DataObject
) -> None:
    """Their number is that of the decisions; the last decided marker is not there."""
    one = history([10_000, *spans], [True, *outcomes], shift_ms)
    at = data.draw(st.integers(1, len(spans)))
    before, behind = one.markers[at - 1].moment, one.markers[at].moment
    moment = data.draw(st.integers(before, behind))
    markers = [*one.markers[:at], Marker(moment, commit=False), *one.markers[at:-1]]
    assert contrary(one._replace(markers=markers), newer=False) == []


def test_the_last_one_needs_what_lies_behind_the_epoch() -> None:
    one = changed(history([1_000] * 3, [True, False, True]), 2)
    assert (contrary(one, newer=True), contrary(one, newer=False)) == ([2], [])


def test_an_operators_abort_in_front_of_the_decided_marker_replaces_nothing() -> None:
    one = history([1_000] * 3, [True, True, True])
    one.markers.insert(1, Marker(2_002, commit=False))
    assert contrary(one) == []


def test_each_decision_must_be_told_to_have_its_marker() -> None:
    one = changed(history([1_000] * 3, [True, False, True]), 1)
    assert [contrary(one, unreached=number) for number in range(3)] == [[]] * 3


def test_one_that_may_be_sent_again_is_no_decisions_own() -> None:
    one = changed(history([1_000] * 4, [True, True, False, True]), 2)
    assert [contrary(one, empty=number) for number in range(4)] == [[2], [], [], []]


def test_decisions_that_follow_each_other_too_closely_tell_nothing() -> None:
    apart = COMPLETE_MS + 2 * KEPT_IN_TIME_MS
    closely, just = (
        changed(history([1_000, apart + by, 1_000], [True, False, True]), 1) for by in (0, 1)
    )
    assert (contrary(closely), contrary(just)) == ([], [1])
