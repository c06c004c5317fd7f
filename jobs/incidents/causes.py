"""Which signature takes which finding, and which findings have one cause: over all at once.

Pure: NumPy arrays in and out. Every row is a finding at one of its places.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.incidents.catalogue import SIGNATURES
from jobs.incidents.signature import (
    BROKER,
    LOST,
    MOMENT,
    ONE,
    PARTS,
    PRODUCER,
    UNEXPLAINED,
)

# What happened nearer to each other has one cause, as far as the dump tells, ms.
GAP_MS = 300_000
# What is dated later counts as of this moment, ms.
LATEST_MS = 1 << 52
# So many incidents of a signature are told apart; the rest, smallest first, is one more.
MOST_OF_A_KIND = 40
NO_INCIDENT = 0
# Behind every offset.
NOWHERE = np.iinfo(np.int64).max
KINDS = (*[one.name for one in SIGNATURES], UNEXPLAINED)
KEYS = (*[one.key for one in SIGNATURES], ONE)
Booleans = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Findings:
    """Findings by number, from 0. `label`: code or LOST; `weighty`: a violation or suspect.

    `producer`, `broker`: numbers, -1 for none; `at`: when its transaction was decided or began,
    ms, -1 for unknown. Of each row: `row_finding`, `row_place` (numbers of the finding and of the
    topic partition), and `row_offset` and `row_last`, the first and the last offset there.
    """

    label: NDArray[Any]
    violation: Booleans
    weighty: Booleans
    producer: Numbers
    broker: Numbers
    at: Numbers
    row_finding: Numbers
    row_place: Numbers
    row_offset: Numbers
    row_last: Numbers


class ArrayTraits:
    """`Traits` of all findings: every answer is one boolean a finding."""

    def __init__(self, findings: Findings) -> None:
        """Labels are compared once each, not once a finding."""
        self._findings = findings
        self._labels, self._label = np.unique(findings.label, return_inverse=True)
        self._ids, self._id = np.unique(findings.producer, return_inverse=True)
        ends = np.stack([findings.row_place, findings.row_last])
        _, end = np.unique(ends, axis=1, return_inverse=True)
        # Of each row: the number of its topic partition and last offset.
        self._end = end.reshape(-1)
        both = np.stack([findings.row_place, findings.producer[findings.row_finding]])
        _, mine = np.unique(both, axis=1, return_inverse=True)
        # Of each row: the number of its topic partition and producer.
        self._mine = mine.reshape(-1)

    def one_of(self, *codes: str) -> Booleans:
        """See `Traits`."""
        wanted = (*codes, *(part for code, part in PARTS.items() if code in codes))
        found: Booleans = np.isin(self._labels, wanted)[self._label]
        return found

    def beside(self, *codes: str) -> Booleans:
        """See `Traits`."""
        place = self._findings.row_place
        return self._of_finding(_alike(place, self._weighty_rows(*codes)))

    def behind(self, *codes: str) -> Booleans:
        """See `Traits`."""
        findings, chosen = self._findings, self._weighty_rows(*codes)
        first = np.full(int(findings.row_place.max(initial=-1)) + 1, NOWHERE)
        np.minimum.at(first, findings.row_place[chosen], findings.row_offset[chosen])
        return self._of_finding(findings.row_last >= first[findings.row_place])

    def at_marker(self, *codes: str) -> Booleans:
        """See `Traits`. A finding without a last offset is about no marker."""
        known = self._findings.row_last >= 0
        return self._of_finding(_alike(self._end, self._weighty_rows(*codes) & known) & known)

    def beside_without(self, code: str, others: tuple[str, ...]) -> Booleans:
        """See `Traits`."""
        alone = self._weighty_rows(code) & ~_alike(self._end, self._weighty_rows(*others))
        return self._of_finding(_alike(self._findings.row_place, alone))

    def _weighty_rows(self, *codes: str) -> Booleans:
        rows: Booleans = (self.one_of(*codes) & self._findings.weighty)[self._findings.row_finding]
        return rows

    def _of_finding(self, rows: Booleans) -> Booleans:
        """Whether a finding has one of the rows."""
        found = np.zeros(self._label.size, dtype=bool)
        found[self._findings.row_finding[rows]] = True
        return found

    def of_producer(self, *codes: str) -> Booleans:
        """See `Traits`."""
        return self.same_producer(self.one_of(*codes))

    def of_both(self, *codes: str) -> Booleans:
        """See `Traits`."""
        known = self._findings.producer[self._findings.row_finding] >= 0
        return self._of_finding(_alike(self._mine, self._weighty_rows(*codes) & known) & known)

    def contains(self, *codes: str) -> Booleans:
        """See `Traits`."""
        findings = self._findings
        chosen = np.flatnonzero(self._weighty_rows(*codes))
        offsets, rank = np.unique(findings.row_offset[chosen], return_inverse=True)
        # Of a topic partition and producer, and within it by offset.
        begun = np.sort(self._mine[chosen] * (offsets.size + 1) + rank.reshape(-1))
        base = self._mine * (offsets.size + 1)
        first = base + np.searchsorted(offsets, findings.row_offset)
        behind = base + np.searchsorted(offsets, findings.row_last, side="right")
        known = findings.producer[findings.row_finding] >= 0
        inside = np.searchsorted(begun, first) < np.searchsorted(begun, behind)
        return self._of_finding(inside & known)

    def of_moment(self, *codes: str) -> Booleans:
        """See `Traits`."""
        at = self._findings.at
        chosen = self.one_of(*codes) & self._findings.weighty & (self._findings.producer >= 0)
        # A moment lies in a span; two that are near lie in one, or in neighbours.
        span = np.clip(at, 0, LATEST_MS) // GAP_MS
        spans = LATEST_MS // GAP_MS + 2
        key = self._id * spans + span + 1
        there = np.concatenate([key[chosen] + step for step in (-1, 0, 1)])
        undated = np.isin(self._id, self._id[chosen & (at < 0)])
        near = np.isin(key, there) | (at < 0) | undated
        return self.same_producer(chosen) & near

    def same_producer(self, chosen: Booleans) -> Booleans:
        """See `Traits`."""
        mine = np.zeros(self._ids.size, dtype=bool)
        mine[self._id[chosen & self._findings.weighty]] = True
        mine[self._ids < 0] = False
        return mine[self._id]


def _alike(group: Numbers, chosen: Booleans) -> Booleans:
    """Rows of a group that has a chosen row."""
    has = np.zeros(int(group.max(initial=-1)) + 1, dtype=bool)
    has[group[chosen]] = True
    found: Booleans = has[group]
    return found


def kinds(findings: Findings) -> Numbers:
    """The signature that takes each finding, its place in KINDS: the first of the catalogue."""
    traits = ArrayTraits(findings)
    kind = np.full(findings.label.size, len(SIGNATURES), dtype=np.int64)
    for number in reversed(range(len(SIGNATURES))):
        kind[SIGNATURES[number].explains(traits)] = number
    return kind


def incidents(findings: Findings, kind: Numbers) -> Numbers:
    """The number of the incident of each finding, from 1; NO_INCIDENT where nothing is proven.

    The one with most violations is first, of two the one that shows in more places; what nothing
    explains is last.
    """
    cause = np.zeros(kind.size, dtype=np.int64)
    for number in np.unique(kind):
        mine = np.flatnonzero(kind == number)
        cause[mine] = _bounded(OF_KEY[KEYS[number]](findings, mine), findings.violation[mine])
    both, index = np.unique(np.stack([kind, cause]), axis=1, return_inverse=True)
    index = index.reshape(-1)
    violations = np.bincount(index, weights=findings.violation, minlength=both.shape[1])
    names = np.array([KINDS[number] for number in both[0]])
    rows = findings.row_finding[findings.violation[findings.row_finding]]
    places = np.bincount(index[rows], minlength=both.shape[1])
    order = np.lexsort((both[1], names, -places, -violations, names == UNEXPLAINED))
    order = order[violations[order] > 0]
    numbers = np.full(both.shape[1], NO_INCIDENT, dtype=np.int64)
    numbers[order] = np.arange(1, order.size + 1)
    return numbers[index]


def _bounded(cause: Numbers, violation: Booleans) -> Numbers:
    """Causes by number; those beyond MOST_OF_A_KIND, by violations, are one."""
    names, index = np.unique(cause, return_inverse=True)
    if names.size <= MOST_OF_A_KIND:
        return index.astype(np.int64)
    heavy = np.argsort(-np.bincount(index, weights=violation), kind="stable")[: MOST_OF_A_KIND - 1]
    numbers = np.full(names.size, MOST_OF_A_KIND, dtype=np.int64)
    numbers[heavy] = heavy.argsort().argsort()
    return numbers[index]


def _by_moment(findings: Findings, mine: Numbers) -> Numbers:
    """Findings whose moments follow each other closely; an undated one goes with its neighbour.

    That is the nearest dated one of its topic partition, or the first of its producer; what has
    neither goes with most. Of two that are equally near the earlier one.
    """
    at = findings.at[mine]
    dated = at >= 0
    if not dated.any():
        return np.zeros(mine.size, dtype=np.int64)
    order = np.flatnonzero(dated)[np.argsort(at[dated], kind="stable")]
    cause = np.full(mine.size, -1, dtype=np.int64)
    cause[order] = np.cumsum(np.diff(at[order], prepend=at[order[0]]) > GAP_MS)
    _of_one_cut(findings, mine, cause)
    if dated.all():
        return cause
    _next_to_dated(findings, mine, cause)
    # Of each producer the last one that is put there stays.
    newest_first = order[::-1]
    of_producer = dict(zip(findings.producer[mine[newest_first]], cause[newest_first], strict=True))
    most = np.bincount(cause[dated]).argmax()
    for left in np.flatnonzero(cause < 0):
        producer = findings.producer[mine[left]]
        cause[left] = of_producer.get(producer, most) if producer >= 0 else most
    return cause


def _whose(findings: Findings, mine: Numbers) -> Numbers:
    """Of each row the place of its finding in `mine`; -1 where it is none of these."""
    position = np.full(findings.label.size, -1, dtype=np.int64)
    position[mine] = np.arange(mine.size)
    of_row: Numbers = position[findings.row_finding]
    return of_row


def _of_one_cut(findings: Findings, mine: Numbers, cause: Numbers) -> None:
    """Gives what is lost from one offset on one cause: `at` is when it was decided, not lost."""
    whose = _whose(findings, mine)
    rows = np.flatnonzero((whose >= 0) & (findings.label[findings.row_finding] == LOST))
    rows = rows[cause[whose[rows]] >= 0]
    places = np.stack([findings.row_place[rows], findings.row_offset[rows]])
    _, cut = np.unique(places, axis=1, return_inverse=True)
    cut = cut.reshape(-1)
    # Each cause and each cut joins what it has; it ends where nothing is joined any more.
    while True:
        first = np.full(int(cut.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(first, cut, cause[whose[rows]])
        joined = np.arange(int(cause.max(initial=-1)) + 1)
        np.minimum.at(joined, cause[whose[rows]], first[cut])
        dated = cause >= 0
        if (joined[cause[dated]] == cause[dated]).all():
            return
        cause[dated] = joined[cause[dated]]


def _next_to_dated(findings: Findings, mine: Numbers, cause: Numbers) -> None:
    """Gives undated findings the cause of the dated one with the nearest offset of a partition."""
    of_row = _whose(findings, mine)
    rows = np.flatnonzero(of_row >= 0)
    rows = rows[np.lexsort((findings.row_offset[rows], findings.row_place[rows]))]
    whose = of_row[rows]
    known = cause.copy()
    nearest: dict[int, tuple[int, int]] = {}
    for way in (1, -1):
        place, offset, last = -1, 0, -1
        for row, one in zip(rows[::way], whose[::way], strict=True):
            if findings.row_place[row] != place:
                place, last = int(findings.row_place[row]), -1
            at = int(findings.row_offset[row])
            if known[one] >= 0:
                same = last >= 0 and at == offset
                last, offset = min(last, int(known[one])) if same else int(known[one]), at
            elif last >= 0:
                here = (abs(at - offset), last)
                nearest[int(one)] = min(nearest.get(int(one), here), here)
    for one, (_, taken) in nearest.items():
        cause[one] = taken


OF_KEY: dict[str, Callable[[Findings, Numbers], Numbers]] = {
    ONE: lambda _, mine: np.zeros(mine.size, dtype=np.int64),
    BROKER: lambda findings, mine: findings.broker[mine],
    PRODUCER: lambda findings, mine: findings.producer[mine],
    MOMENT: _by_moment,
}
