"""Which of several decisions of one producer epoch has no marker, and where it would stand.

Markers of one id in one partition stand in the order of its decisions: the Complete record of a
decision waits for its markers, and the next decision follows it
(`TransactionMarkerChannelManager.maybeWriteTxnCompletion`). So the decisions in front of the one
without a marker have the markers in front of its place, and those behind it have the others: two
rows side by side, with one gap. Each gap is tried, and what speaks against its pairs is compared,
proofs first.

That a marker is missing is proven elsewhere (`udfs.rules.attribution`), for one of several
decisions in a row. Here the most probable one of them is chosen; no verdict rests on it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]
# Of data that have no timestamp; the earliest and the latest moment.
NO_MOMENT, LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Decisions(NamedTuple):
    """The decisions of an epoch that list the partition, in the order of their offsets.

    `prepared`, `completed`: ms, the coordinator's clock; completed is prepared where no Complete
    record is there. `start`: of the transaction, ms. `from_leader`, `to_leader`: leader epochs of
    the Prepare and the Complete record.
    """

    commit: Bools
    prepared: Int64s
    completed: Int64s
    start: Int64s
    from_leader: Int64s
    to_leader: Int64s


class MarkersThere(NamedTuple):
    """The markers of the epoch in the partition, in the order of their offsets.

    `moment`: ms, the clock of the partition's leader; `ended`: it ended data; `began`: timestamp of
    the first batch of these, ms, the client's clock; NO_MOMENT for none. `coordinator`: epoch.
    """

    commit: Bools
    moment: Int64s
    ended: Bools
    began: Int64s
    coordinator: Int64s


class Gap(NamedTuple):
    """The decision without a marker, and how many markers of the epoch stand in front of its."""

    decision: int
    markers: int


def marker_gap(
    decisions: Decisions,
    markers: MarkersThere,
    first: int,
    last: int,
    before: int,
    is_open: bool,
    apart_ms: int,
) -> Gap:
    """Where a marker is missing of one of the decisions with the outcome of `last`.

    `first`, `last`: numbers of decisions, from 0; one of those from first to last has none.
    `before`: markers of the outcome in front of all that these have. `is_open`: data lie behind the
    markers of the epoch, and no transaction that runs, or was fenced, explains them. `apart_ms`:
    by how much the clocks of coordinator and partition may differ; 0 for one clock.
    """
    alike = _Alike.of(decisions, markers, first, last, before)
    decision, places = alike.same[alike.asked], _places(decisions, markers, alike)
    best = 0
    if decision.size > 1 and alike.there.size:
        straight, shifted = (_pairs(decisions, markers, alike, by) for by in (0, 1))
        at = np.searchsorted(alike.compared, decision)
        at_end = places == markers.commit.size
        ended = np.append(markers.ended, False)[places]
        merged = _merged(decisions, markers, decision, places)
        # From what proves most on. Of equal ones the last: the others may have the markers.
        against = (
            _sum(straight.absent, shifted.absent, at),
            _changes(straight.epochs, shifted.epochs, at),
            _changes(alike.others(0), alike.others(1), alike.asked),
            _sum(straight.late > apart_ms, shifted.late > apart_ms, at),
            _changes(straight.apart, shifted.apart, at),
            # Where its data are: open behind all markers, or ended by the next marker.
            ~np.where(is_open, at_end, merged) * 1,
            _sum(straight.late > 0, shifted.late > 0, at),
            ~np.where(is_open, at_end, ended) * 1,
            _sum(straight.late, shifted.late, at),
            -at,
        )
        best = int(np.lexsort(against[::-1])[0])
    return Gap(int(decision[best]), int(places[best]))


class _Span(NamedTuple):
    """From `low` to `high`, of each pair and both ends. One `of` another is not compared."""

    low: Int64s
    high: Int64s
    of: Int64s


class _Alike(NamedTuple):
    """Decisions and markers of one outcome.

    `same`, `there`: their numbers; `decided`, `marked`: these with both ends, in front of all and
    behind all. `asked`: elements of `same`, one of which has no marker; `begin`: elements of
    `there` in front of all that these have. `owned`: of each decision with the other outcome its
    marker; `compared`: decisions: all, if those of the other outcome have as many markers.
    """

    same: Int64s
    there: Int64s
    decided: Int64s
    marked: Int64s
    asked: Int64s
    begin: int
    owned: Int64s
    compared: Int64s

    @classmethod
    def of(
        cls, decisions: Decisions, markers: MarkersThere, first: int, last: int, before: int
    ) -> "_Alike":
        alike = decisions.commit == decisions.commit[last]
        of_outcome = markers.commit == decisions.commit[last]
        same, there, others = (np.flatnonzero(one) for one in (alike, of_outcome, ~of_outcome))
        decided, marked = (np.r_[-1, np.flatnonzero(one), one.size] for one in (alike, of_outcome))
        asked = np.flatnonzero((same >= first) & (same <= last))
        owned, compared = np.full(alike.size, -1), same
        if others.size == alike.size - same.size:
            owned[~alike], compared = others, np.arange(alike.size)
        begin = min(before, there.size)
        return cls(same, there, decided, marked, asked, begin, owned, compared)

    def numbers(self, ranks: Int64s, by: int) -> Int64s:
        """Which element of `there` a decision has; `by`: 1 behind the gap."""
        return self.begin + ranks - int(self.asked[0]) - by

    def others(self, by: int) -> _Span:
        """How many markers of the other outcome are in front of a marker, less such decisions."""
        ranks = np.arange(-1, self.same.size + 1)
        number = self.numbers(ranks, by)
        inside = np.clip(number, -1, self.there.size)
        more = self.marked[inside + 1] - inside - (self.decided - ranks)
        return _span(more, more, inside == number, np.zeros_like(more))


def _span(low: Int64s, high: Int64s, known: Bools, of: Int64s) -> _Span:
    """What is not known may be anything."""
    return _Span(np.where(known, low, NO_MOMENT), np.where(known, high, LATEST), of)


def _places(decisions: Decisions, markers: MarkersThere, alike: _Alike) -> Int64s:
    """How many markers stand in front of that of each of those asked, if it is the missing one.

    All of its outcome that the decisions before it have. Of the other outcome those count that the
    decisions since then have; and those in front of the next marker of its outcome that further
    decisions do not have. Where these numbers differ, some markers are gone with the head of the
    log, or an operator wrote further ones: there, between the two, moments tell.
    """
    number = np.minimum(alike.numbers(alike.asked, 0), alike.there.size)
    begin, between = alike.marked[number] + 1, np.diff(alike.marked)[number] - 1
    decided = np.diff(alike.decided) - 1
    in_front, behind = decided[alike.asked], decided[alike.asked + 1]
    ends = np.sort(np.clip([in_front, between - behind], 0, between), axis=0)
    decision = alike.same[alike.asked]
    reached = np.maximum.accumulate(np.append(NO_MOMENT, decisions.completed))[decision]
    moment = np.maximum(decisions.prepared[decision], reached)
    # Markers up to each place, the highest moment of all in front of it.
    newest = np.maximum.accumulate(np.append(NO_MOMENT, markers.moment))
    earlier = np.searchsorted(newest, moment, side="left") - 1
    places: Int64s = np.clip(earlier, begin + ends[0], begin + ends[1])
    return places


class _Pairs(NamedTuple):
    """Each decision that is compared, with the marker that would be its own.

    `absent`: there is none; `epochs`: what that of the marker's coordinator is above those of the
    decision, at the ends nothing; `apart`: what the clocks differ by, ms, of one coordinator;
    `late`: how much of it is necessary.
    """

    absent: Bools
    epochs: _Span
    apart: _Span
    late: Int64s


def _pairs(decisions: Decisions, markers: MarkersThere, alike: _Alike, by: int) -> _Pairs:
    number = alike.numbers(np.arange(alike.same.size), by)
    inside = (number >= 0) & (number < alike.there.size)
    marker = alike.owned.copy()
    marker[alike.same] = np.where(inside, alike.there[np.where(inside, number, 0)], -1)
    marker, decision = marker[alike.compared], alike.compared
    there = marker >= 0
    sent, moment = markers.coordinator[marker], markers.moment[marker]
    moments = np.sort([decisions.prepared[decision], decisions.completed[decision]], axis=0)
    low, high = moment - moments[1], moment - moments[0]
    below, above = sent - decisions.to_leader[decision], sent - decisions.from_leader[decision]
    # The clocks are not compared with an end.
    known, absent = np.pad(there, 1), np.pad(~there, 1)
    leaders = np.pad(decisions.from_leader[decision], 1)
    return _Pairs(
        ~there,
        _span(np.pad(below, 1), np.pad(above, 1), ~absent, np.zeros_like(leaders)),
        _span(np.pad(low, 1), np.pad(high, 1), known, leaders),
        np.where(there, np.maximum(np.maximum(low, -high), 0), 0),
    )


def _sum(straight: Bools | Int64s, shifted: Bools | Int64s, at: Int64s) -> Int64s:
    """The sum in front of each of `at` of the one, and behind it of the other."""
    in_front = np.append(0, np.cumsum(straight))
    behind = np.append(np.cumsum(shifted[::-1])[::-1], 0)
    total: Int64s = in_front[at] + behind[at + 1]
    return total


def _changes(straight: _Span, shifted: _Span, at: Int64s) -> Int64s:
    """How often what is compared changes from one pair to the next, without each of `at`."""

    def change(one: _Span, other: _Span, step: int) -> Bools:
        apart = (one.high[:-step] < other.low[step:]) | (other.high[step:] < one.low[:-step])
        changed: Bools = apart & (one.of[:-step] == other.of[step:])
        return changed

    # Of each pair and the one before it, with an end at both ends.
    each = _sum(change(straight, straight, 1), change(shifted, shifted, 1)[1:], at)
    total: Int64s = each + change(straight, shifted, 2)[at]
    return total


def _merged(decisions: Decisions, markers: MarkersThere, decision: Int64s, places: Int64s) -> Bools:
    """Whether the marker behind a gap ended what began rather with `decision` than with the next.

    By the client's clock, which differs from the coordinator's as it does beside the gap.
    """
    nothing = [np.nan, np.nan]
    starts = np.append(decisions.start.astype(float), nothing)
    leaders = np.append(decisions.from_leader, [-2, -2])
    began = np.append(np.where(markers.began == NO_MOMENT, np.nan, markers.began), nothing)

    def start(by: int) -> NDArray[np.float64]:
        """Of the decision further on by so many, if its coordinator has the same clock."""
        same: Bools = leaders[decision + by] == leaders[decision]
        return np.where(same, starts[decision + by], np.nan)

    in_front, behind = began[places - 1] - start(-1), began[places + 1] - start(2)
    by_start = began[places] - np.where(np.isnan(in_front), behind, in_front)
    merged: Bools = 2 * by_start < start(0) + start(1)
    return merged
