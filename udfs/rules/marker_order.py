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
# What is compared of two decisions, from what tells least on; FOLLOWED is one of it.
RANKS, FOLLOWED = 7, 1
# So many ways to number the markers are compared, the most common ones.
MOST_TRIED = 16
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
    commit = decisions.commit[last]
    asked = np.flatnonzero(decisions.commit[first : last + 1] == commit) + first
    places = _places(decisions, markers, asked, before)
    if asked.size == 1:
        return _gap(asked, places, 0, markers)
    begin, end = max(first - 1, 0), min(last + 2, decisions.commit.size)
    numbers = np.arange(begin, end)
    ranks = np.zeros((RANKS, asked.size), np.int64)
    ahead, often = np.unique(places - asked, return_counts=True)
    tried = ahead[np.argsort(-often, kind="stable")[:MOST_TRIED]]
    for one in tried:
        mine = places - asked == one
        straight = _pairs(decisions, markers, numbers, numbers + one)
        shifted = _pairs(decisions, markers, numbers, numbers + one - 1)
        ranks[:-1, mine] = _ranks(straight, shifted, asked[mine] - begin)
    ranks[FOLLOWED] = _followed(markers, places, is_open)
    ranks[-1, ~np.isin(places - asked, tried)] = 1
    # Of equal ones the last: the others may have the markers that are there.
    best = int(np.lexsort((-asked, *ranks))[0])
    return _gap(asked, places, best, markers)


def _gap(asked: Int64s, places: Int64s, best: int, markers: MarkersThere) -> Gap:
    return Gap(int(asked[best]), min(max(int(places[best]), 0), markers.commit.size))


def _places(decisions: Decisions, markers: MarkersThere, asked: Int64s, before: int) -> Int64s:
    """How many markers stand in front of that of each of `asked`, if it is the one that is missing.

    `before`: of those with its outcome, in front of the first. Of the others those count that the
    decisions between it and the one with its outcome before, or behind, have.
    """
    commit = decisions.commit[asked[0]]
    alike = np.flatnonzero(markers.commit == commit)
    same = np.flatnonzero(decisions.commit == commit)
    size = markers.commit.size
    own = np.searchsorted(same, asked)
    earlier = np.minimum(before + np.arange(asked.size), alike.size)
    marked = np.concatenate([[-1], alike, [size]])
    last_alike, next_alike = marked[earlier], marked[earlier + 1]
    others = np.diff(np.concatenate([[-1], same, [decisions.commit.size]])) - 1
    by_last = np.minimum(last_alike + 1 + others[own], next_alike)
    by_next = np.maximum(next_alike - others[own + 1], last_alike + 1)
    numbered = size == alike.size + decisions.commit.size - same.size
    by_other = asked - own + earlier if numbered else _later(decisions, markers, int(asked[0]))
    has_next = (next_alike < size) & (own + 1 < same.size)
    places: Int64s = np.where(earlier > 0, by_last, np.where(has_next, by_next, by_other))
    return places


def _later(decisions: Decisions, markers: MarkersThere, number: int) -> int:
    """How many markers are earlier than a decision, or than what was decided before it.

    Where numbers tell nothing: some are gone with the head of a log, or an operator wrote further.
    """
    moment = decisions.completed[:number].max(initial=decisions.prepared[number])
    later = np.flatnonzero(markers.moment >= moment)
    return int(later[0]) if later.size else markers.commit.size


class _Pairs(NamedTuple):
    """Each decision with the marker that would be its own.

    `unlike`: there is none, or one of the other outcome; `late`: by how much it is later than the
    Complete record, ms, negative where it is earlier than the Prepare record; `early_data`: what it
    ended began rather when the transaction before began.
    """

    unlike: Int64s
    late: Int64s
    early_data: Int64s


def _pairs(decisions: Decisions, markers: MarkersThere, numbers: Int64s, places: Int64s) -> _Pairs:
    there = (places >= 0) & (places < markers.commit.size)
    if not there.any():
        nothing = np.zeros(numbers.size, np.int64)
        return _Pairs(nothing + 1, nothing, nothing)
    place = np.where(there, places, 0)
    moment, began = markers.moment[place], markers.began[place]
    lower = np.minimum(decisions.prepared, decisions.completed)[numbers]
    higher = np.maximum(decisions.prepared, decisions.completed)[numbers]
    late = np.maximum(moment - higher, 0) + np.minimum(moment - lower, 0)
    start = decisions.start[numbers]
    start_before = decisions.start[np.maximum(numbers - 1, 0)]
    early = (began < start) & (np.abs(began - start_before) < start - began)
    told = there & markers.ended[place] & (began != NO_MOMENT) & (numbers > 0)
    return _Pairs(
        (~there | (markers.commit[place] != decisions.commit[numbers])).astype(np.int64),
        np.where(there, late, 0),
        (told & early).astype(np.int64),
    )


def _ranks(straight: _Pairs, shifted: _Pairs, at: Int64s) -> Int64s:
    """What speaks against the marker of each of `at` being the one that is missing.

    The decisions in front of it are paired as in `straight`, those behind it as in `shifted`. Rows:
    RANKS but the last; that of FOLLOWED is 0.
    """
    straight_off, shifted_off = (one.late != 0 for one in (straight, shifted))
    # The marker behind the gap ended the data of two transactions.
    allowed = np.append(shifted.early_data, 0)[at + 1]
    return np.stack(
        (
            _both(np.abs(straight.late), np.abs(shifted.late), at),
            np.zeros_like(at),
            _both(straight_off.astype(np.int64), shifted_off.astype(np.int64), at),
            _unsteady(straight.late, shifted.late, at),
            _both(straight.early_data, shifted.early_data, at) - allowed,
            _both(straight.unlike, shifted.unlike, at),
        )
    )


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


def _followed(markers: MarkersThere, places: Int64s, is_open: bool) -> Int64s:
    """0 where a marker that would be missing at a place left its data to something that is there.

    A later marker ended them, or they lie open behind all. Else 1, as all of them would be lost; or
    nothing explains what lies open.
    """
    size = markers.commit.size
    at_end = places >= size
    ended = np.append(markers.ended, False)[np.clip(places, 0, size)]
    return np.where(at_end, not is_open, is_open | ~ended).astype(np.int64)
