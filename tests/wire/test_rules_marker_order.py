"""Rules of `udfs.rules.marker_order`: histories with one lost marker, and clocks that differ."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from udfs.rules.marker_order import NO_MOMENT, Decisions, Gap, MarkersThere, marker_gap

TOLERANCE_MS = 60_000


class History(NamedTuple):
    """Transactions of an epoch; of one of them (`lost`) the marker is gone."""

    decisions: Decisions
    markers: MarkersThere
    lost: int
    is_open: bool
    one_clock: bool = False


def history(
    commit: list[bool],
    spans: list[int],
    lost: int,
    shift_ms: int,
    set_back_ms: int = 0,
    client_ms: int = 0,
) -> History:
    """`spans`: ms from one start to the next; `shift_ms`: of the leader's clock.

    `set_back_ms`: by so much all clocks are set back in front of the transaction `lost`.
    `client_ms`: by so much the client's clock is ahead.
    """
    start = np.concatenate([[0], np.cumsum(spans)]).astype(np.int64)[: len(commit)]
    start[lost:] -= set_back_ms
    outcome = np.array(commit)
    # Data at once, Prepare halfway, the marker 5 ms later, Complete 10 ms later.
    prepared = start + np.array(spans)[: start.size] // 2
    leader = np.zeros(start.size, np.int64)
    decisions = Decisions(outcome, prepared, prepared + 10, start, leader, leader)
    began = start + 1 + client_ms
    there = np.delete(np.arange(start.size), lost)
    if lost + 1 < start.size:
        # The next marker ends what the lost one left open.
        began = began.copy()
        began[lost + 1] = began[lost]
    markers = MarkersThere(
        outcome[there],
        (prepared + 5 + shift_ms)[there],
        np.ones(there.size, bool),
        began[there],
        leader[there],
    )
    return History(decisions, markers, lost, is_open=lost + 1 == start.size)


def gap_of(one: History) -> Gap:
    alike = np.flatnonzero(one.decisions.commit == one.decisions.commit[one.lost])
    first, last = int(alike[0]), int(alike[-1])
    return asked(one, first, last)


def asked(one: History, first: int, last: int, before: int = 0) -> Gap:
    apart_ms = 0 if one.one_clock else TOLERANCE_MS
    return marker_gap(one.decisions, one.markers, first, last, before, one.is_open, apart_ms)


def moved(one: History, shift_ms: int, at: int) -> History:
    """The same, but from the decision `at` on another coordinator decides.

    `shift_ms`: its clock, of the moments in the coordinator's log.
    """
    size = one.decisions.commit.size
    leader = np.where(np.arange(size) >= at, 1, 0)
    shift = leader * shift_ms
    commit, prepared, completed, start, *_ = one.decisions
    decisions = Decisions(
        commit, prepared + shift, completed + shift, start + shift, leader, leader
    )
    markers = one.markers._replace(coordinator=np.delete(leader, one.lost))
    return one._replace(decisions=decisions, markers=markers)


@st.composite
def histories(draw: st.DrawFn) -> History:
    size = draw(st.integers(2, 12))
    commit = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    spans = draw(st.lists(st.integers(100, 5_000), min_size=size, max_size=size))
    shift = draw(st.integers(-TOLERANCE_MS, TOLERANCE_MS))
    one = history(commit, spans, draw(st.integers(0, size - 1)), shift)
    assume(shift in range(-5, 6) or not is_misleading(one))
    return one


def is_misleading(one: History) -> bool:
    """Whether the other clock gives a marker the moment of another decision of its outcome."""
    decisions, markers = one.decisions, one.markers
    moment = markers.moment[:, np.newaxis]
    inside = (moment >= decisions.prepared) & (moment <= decisions.completed)
    return bool(np.any(inside & (markers.commit[:, np.newaxis] == decisions.commit)))


# By how much a client's clock is ahead, ms: nothing bounds it.
CLIENTS = st.sampled_from([0, -60, -600, -3_600_000, 3_600_000])


@given(histories(), CLIENTS)
def test_one_clock_of_a_broker_tells_more_than_that_of_a_client(one: History, ahead: int) -> None:
    moments = one.decisions.prepared + 5
    markers = one.markers._replace(
        moment=np.delete(moments, one.lost), began=one.markers.began + ahead
    )
    told = one._replace(markers=markers, one_clock=True)
    assert gap_of(told) == Gap(one.lost, one.lost)


@given(st.data(), CLIENTS, st.integers(-30_000, 30_000))
def test_no_clock_of_a_client_moves_the_place(data: st.DataObject, ahead: int, by: int) -> None:
    size = data.draw(st.integers(2, 8))
    lost = data.draw(st.integers(0, size - 1))
    one = history([True] * size, [1_000] * size, lost, by, client_ms=ahead)
    assume(by in range(-5, 6) or not is_misleading(one))
    assert gap_of(one) == Gap(lost, lost)


@pytest.mark.parametrize("by", [-30_000, -2_000, -500, 500, 2_000, 30_000])
@pytest.mark.parametrize("lost", range(6))
def test_coordinator_epochs_tell_whose_markers_they_are(lost: int, by: int) -> None:
    """Another coordinator, with another clock: by moments alone the last one was lost."""
    one = moved(history([True] * 6, [2_000] * 6, lost, 0), by, at=3)
    assert gap_of(one) == Gap(lost, lost)


def test_a_leader_epoch_that_rose_alone_misleads_nothing() -> None:
    """As under ZooKeeper: the coordinator goes on, and its markers have the epoch before."""
    for lost in range(4):
        one = moved(history([True] * 4, [1_000] * 4, lost, 0), 0, at=2)
        same = one.markers._replace(coordinator=np.zeros(3, np.int64))
        assert gap_of(one._replace(markers=same)) == Gap(lost, lost)


@given(histories())
def test_the_lost_marker_is_found_whatever_the_clocks_differ_by(one: History) -> None:
    assert gap_of(one) == Gap(one.lost, one.lost)


@pytest.mark.parametrize("by", [200, 2_000, 400_000])
@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_clock_that_was_set_back_moves_no_place(lost: int, by: int) -> None:
    one = history([True] * 4, [1_000] * 4, lost, shift_ms=0, set_back_ms=by)
    assert gap_of(one) == Gap(lost, lost)


def test_all_that_lies_behind_the_last_marker_may_be_lost() -> None:
    one = history([True] * 3, [1_000] * 3, 2, shift_ms=0)
    assert gap_of(one._replace(is_open=False)) == Gap(2, 2)


def test_of_one_decision_the_other_outcome_tells_the_place() -> None:
    """An abort between two commits: by the clock of the leader the first came behind it."""
    one = history([True, False, True], [200] * 3, 1, shift_ms=500)
    assert asked(one, 1, 1) == Gap(1, 1)


def test_markers_of_decisions_that_are_compacted_away_stand_in_front() -> None:
    one = history([True] * 4, [1_000] * 4, 2, shift_ms=300)
    known = Decisions._make(values[1:] for values in one.decisions)
    assert asked(one._replace(decisions=known), 0, 2, before=1) == Gap(1, 2)


def test_where_numbers_tell_nothing_the_first_marker_behind_all_decisions_counts() -> None:
    """An operator's further ABORT; the clock was set back in front of the commit without marker."""
    nothing, outcomes = np.zeros(2, np.int64), np.array([False, True])
    prepared, start = np.array([0, -500]), np.array([-5, -505])
    decisions = Decisions(outcomes, prepared, prepared + 10, start, nothing, nothing)
    aborts, ended = np.zeros(2, bool), np.ones(2, bool)
    markers = MarkersThere(aborts, np.array([5, 90]), ended, np.array([-4, 80]), nothing)
    assert asked(History(decisions, markers, 1, is_open=False), 1, 1) == Gap(1, 1)


def test_markers_without_data_have_no_moment_of_data() -> None:
    one = history([True] * 3, [1_000] * 3, 1, shift_ms=0)
    empty = one.markers._replace(ended=np.zeros(2, bool), began=np.full(2, NO_MOMENT))
    assert gap_of(one._replace(markers=empty)) == Gap(1, 1)
