"""Which of several decisions of one producer epoch has no marker, and where it would stand.

Markers of one id in one partition stand in the order of its decisions: the Complete record of a
decision waits for its markers, and the next decision follows it
(`TransactionMarkerChannelManager.maybeWriteTxnCompletion`). So the decisions in front of the one
without a marker have the markers in front of its place, and those behind it have the others.
Offsets tell this order. Moments do not: the clocks of the coordinator and of the partition's leader
differ, and a clock may be set back.

That a marker is missing is proven elsewhere (`udfs.rules.attribution`), for one of several
decisions in a row. Here the most probable one of them is chosen; no verdict rests on it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]
# Of data that have no timestamp.
NO_MOMENT = np.iinfo(np.int64).min


class Decisions(NamedTuple):
    """The decisions of an epoch that list the partition, in the order of their offsets.

    `prepared`, `completed`: ms, the coordinator's clock; completed is prepared where no Complete
    record is there. `start`: of the transaction, ms.
    """

    commit: Bools
    prepared: Int64s
    completed: Int64s
    start: Int64s


class MarkersThere(NamedTuple):
    """The markers of the epoch in the partition, in the order of their offsets.

    `moment`: ms, the clock of the partition's leader; `ended`: it ended data; `began`: timestamp of
    the first batch of these, ms, the client's clock; NO_MOMENT for none.
    """

    commit: Bools
    moment: Int64s
    ended: Bools
    began: Int64s


class Gap(NamedTuple):
    """The decision without a marker, and how many markers of the epoch stand in front of its."""

    decision: int
    markers: int


def marker_gap(
    decisions: Decisions, markers: MarkersThere, first: int, last: int, before: int, is_open: bool
) -> Gap:
    """Where a marker is missing of one of the decisions with the outcome of `last`.

    `first`, `last`: numbers of decisions, from 0; one of those from first to last has none.
    `before`: markers of the outcome in front of all that these have. `is_open`: data lie behind the
    markers of the epoch, and no transaction that runs, or was fenced, explains them.
    """
    alike = _Alike.of(decisions, markers, first, last, before)
    places = _places(decisions, markers, alike)
    best = 0
    if alike.asked.size > 1 and alike.there.size:
        begin, end = max(alike.asked[0] - 1, 0), min(alike.asked[-1] + 2, alike.same.size)
        ranks = np.arange(begin, end)
        straight = _pairs(decisions, markers, alike, ranks, alike.number(ranks))
        shifted = _pairs(decisions, markers, alike, ranks, alike.number(ranks) - 1)
        at = alike.asked - begin
        merged = _early_behind(decisions, markers, alike, places)
        # From what tells least on. Of equal ones the last: the others may have the markers.
        against = (
            -at,
            _both(np.abs(straight.late), np.abs(shifted.late), at),
            _followed(markers, places, is_open, merged),
            _both((straight.late != 0) * 1, (shifted.late != 0) * 1, at),
            _unsteady(straight.late, shifted.late, at),
            _both(straight.early_data, shifted.early_data, at) - merged,
            _out_of_order(alike, begin, at),
            _both(straight.absent, shifted.absent, at),
        )
        best = int(np.lexsort(against)[0])
    return Gap(int(alike.same[alike.asked[best]]), int(places[best]))


class _Alike(NamedTuple):
    """Decisions and markers of one outcome, and those of the other one between them.

    `same`, `there`: numbers of the decisions and the markers of the outcome; `asked`: elements of
    `same`, one of which has no marker; `begin`: elements of `there` in front of all that these
    have. `decided`, `marked`: how many of the other outcome lie in front of each and behind the one
    before it, and at the end behind all.
    """

    same: Int64s
    there: Int64s
    asked: Int64s
    begin: int
    decided: Int64s
    marked: Int64s

    @classmethod
    def of(
        cls, decisions: Decisions, markers: MarkersThere, first: int, last: int, before: int
    ) -> "_Alike":
        commit = decisions.commit[last]
        same = np.flatnonzero(decisions.commit == commit)
        there = np.flatnonzero(markers.commit == commit)
        asked = np.flatnonzero((same >= first) & (same <= last))
        decided = np.diff(np.concatenate([[-1], same, [decisions.commit.size]])) - 1
        marked = np.diff(np.concatenate([[-1], there, [markers.commit.size]])) - 1
        return cls(same, there, asked, min(before, there.size), decided, marked)

    def number(self, ranks: Int64s) -> Int64s:
        """Which element of `there` a decision has, if no marker in front of it is missing."""
        return self.begin + ranks - int(self.asked[0])


def _places(decisions: Decisions, markers: MarkersThere, alike: _Alike) -> Int64s:
    """How many markers stand in front of that of each of those asked, if it is the missing one.

    All of its outcome that the decisions before it have. Of the other outcome those count that the
    decisions since then have; and those in front of the next marker of its outcome that further
    decisions do not have. Where these numbers differ, some markers are gone with the head of the
    log, or an operator wrote further ones: there, between the two, moments tell.
    """
    number = np.clip(alike.number(alike.asked), 0, alike.there.size)
    begin = np.append(-1, alike.there)[number] + 1
    there = alike.marked[number]
    in_front, behind = alike.decided[alike.asked], alike.decided[alike.asked + 1]
    one, other = (np.clip(count, 0, there) for count in (in_front, there - behind))
    decision = alike.same[alike.asked]
    reached = np.maximum.accumulate(np.append(NO_MOMENT, decisions.completed))[decision]
    moment = np.maximum(decisions.prepared[decision], reached)
    # Markers up to each place, the highest moment of all in front of it.
    newest = np.maximum.accumulate(np.append(NO_MOMENT, markers.moment))
    earlier = np.searchsorted(newest, moment, side="left") - 1
    lowest, highest = begin + np.minimum(one, other), begin + np.maximum(one, other)
    places: Int64s = np.clip(earlier, lowest, highest)
    return places


class _Pairs(NamedTuple):
    """Each decision with the marker that would be its own.

    `absent`: there is none; `late`: by how much it is later than the Complete record, ms, negative
    where it is earlier than the Prepare record; `early_data`: what it ended began rather when the
    transaction before began.
    """

    absent: Int64s
    late: Int64s
    early_data: Int64s


def _pairs(
    decisions: Decisions, markers: MarkersThere, alike: _Alike, ranks: Int64s, numbers: Int64s
) -> _Pairs:
    absent = (numbers < 0) | (numbers >= alike.there.size)
    if absent.all():
        nothing = np.zeros(ranks.size, np.int64)
        return _Pairs(nothing + 1, nothing, nothing)
    decision, marker = alike.same[ranks], alike.there[np.where(absent, 0, numbers)]
    moment = markers.moment[marker]
    lower = np.minimum(decisions.prepared, decisions.completed)[decision]
    higher = np.maximum(decisions.prepared, decisions.completed)[decision]
    late = np.maximum(moment - higher, 0) + np.minimum(moment - lower, 0)
    early = _began_early(decisions, markers, decision, marker)
    return _Pairs(absent * 1, np.where(absent, 0, late), (early & ~absent) * 1)


def _began_early(
    decisions: Decisions, markers: MarkersThere, decision: Int64s, marker: Int64s
) -> Bools:
    """Whether the data of a marker began rather with the transaction before that of a decision."""
    began, start = markers.began[marker], decisions.start[decision]
    start_before = decisions.start[np.maximum(decision - 1, 0)]
    told = markers.ended[marker] & (began != NO_MOMENT) & (decision > 0)
    early: Bools = told & (began < start) & (np.abs(began - start_before) < start - began)
    return early


def _early_behind(
    decisions: Decisions, markers: MarkersThere, alike: _Alike, places: Int64s
) -> Int64s:
    """1 where the marker behind a gap has early data: it ended those of two transactions.

    So has one of the other outcome, which counts for all gaps but this one.
    """
    decision, size = alike.same[alike.asked], decisions.commit.size
    marker = np.minimum(places, markers.commit.size - 1)
    commit = decisions.commit[decision]
    # The next decision with the outcome of that marker.
    following = np.minimum(decision + 1, size - 1)
    next_same = np.append(alike.same, size)[alike.asked + 1]
    others = np.flatnonzero(decisions.commit != commit[0])
    next_other = np.append(others, size)[np.searchsorted(others, decision)]
    owner = np.where(markers.commit[marker] == commit, next_same, next_other)
    there = (places < markers.commit.size) & (owner < size)
    owner = np.where(there, owner, following)
    behind: Int64s = (there & _began_early(decisions, markers, owner, marker)) * 1
    return behind


def _out_of_order(alike: _Alike, begin: int, at: Int64s) -> Int64s:
    """How many markers of the other outcome are too few or too many between those of this one.

    Of each of `at`, counted from the decision `begin` of the outcome on.
    """
    ranks = np.arange(begin, begin + int(at[-1]) + 2)
    decided = np.append(alike.decided, 0)[np.minimum(ranks, alike.decided.size)]
    number = alike.number(ranks)

    def marked(numbers: Int64s) -> Int64s:
        inside = (numbers >= 0) & (numbers < alike.marked.size)
        return np.where(inside, alike.marked[np.where(inside, numbers, 0)], 0)

    straight, shifted = (np.abs(marked(one) - decided) for one in (number, number - 1))
    # Around a gap lies what was decided between the decisions beside it.
    around = np.abs(marked(number[at]) - decided[at] - decided[at + 1])
    total: Int64s = _both(straight, shifted, at) - shifted[at + 1] + around
    return total


def _both(straight: Int64s, shifted: Int64s, at: Int64s) -> Int64s:
    """The sum in front of each of `at` of the one, and behind it of the other."""
    in_front = np.append(0, np.cumsum(straight))
    behind = np.append(np.cumsum(shifted[::-1])[::-1], 0)
    total: Int64s = in_front[at] + behind[at + 1]
    return total


def _unsteady(straight: Int64s, shifted: Int64s, at: Int64s) -> Int64s:
    """How much the lateness of markers changes from one to the next, without that of each of `at`.

    Clocks that differ move all of them alike.
    """
    in_front = np.append([0, 0], np.cumsum(np.abs(np.diff(straight))))
    behind = np.append(np.cumsum(np.abs(np.diff(shifted))[::-1])[::-1], [0, 0])
    inside = (at > 0) & (at + 1 < shifted.size)
    over = np.abs(shifted[np.minimum(at + 1, shifted.size - 1)] - straight[np.maximum(at - 1, 0)])
    total: Int64s = in_front[at] + behind[at + 1] + np.where(inside, over, 0)
    return total


def _followed(markers: MarkersThere, places: Int64s, is_open: bool, merged: Int64s) -> Int64s:
    """0 where a marker that would be missing at a place left its data to something that is there.

    A later marker ended them (`merged`), or they lie open behind all. 1 where a later marker ended
    data, which need not be these. Else 2, as all of them would be lost; or nothing explains what
    lies open.
    """
    size = markers.commit.size
    ended = np.append(markers.ended, False)[places]
    before_marker = np.where(is_open | ~ended, 2, 1 - merged)
    followed: Int64s = np.where(places >= size, 0 if is_open else 2, before_marker)
    return followed
