"""Which marker of a producer epoch lies in place of that of a decision with the other outcome.

Markers of one id in one partition stand in the order of its decisions
(`TransactionMarkerChannelManager.maybeWriteTxnCompletion`). Where they are as many as the decisions
of the epoch, one that has not the outcome of its decision was changed, or somebody else wrote it,
and the decided one is missing.

The numbers may be equal by chance: there is one marker more, which an operator wrote or a
coordinator sent again, and a decided one is not there, as the head of the log is gone or its end
not copied yet. Then the markers on one side of the further one stand at other moments than those of
the decisions with their number. So each marker must lie from the Prepare to the Complete record of
its decision, where no other decision was made, in a log that is older than the first of them. A
clock that is wrong moves all markers, and never those of a healthy epoch to another number.
"""

import numpy as np

from udfs.rules.clock import KEPT_IN_TIME_MS
from udfs.rules.marker_order import Bools, Decisions, Int64s, MarkersThere

NONE: Int64s = np.zeros(0, np.int64)


def contrary_markers(
    decisions: Decisions,
    markers: MarkersThere,
    reached: Bools,
    newer_there: bool,
) -> Int64s:
    """The numbers of markers in place of those of the decisions with the same numbers, from 0.

    `decisions`: all of the epoch. `reached`: the decision is complete, the log was there before it,
    and no clock came to its moments twice. `newer_there`: the log goes on with the next epoch, so
    nothing is behind the last marker.
    """
    size = decisions.commit.size
    if not size or markers.commit.size != size or _may_be_sent_again(markers):
        return NONE
    if not np.all(_in_time(decisions, markers) & reached):
        return NONE
    differs = decisions.commit != markers.commit
    alike = np.concatenate([[True], ~differs, [newer_there]])
    contrary = differs & alike[:-2] & alike[2:]
    # Side by side, too many differ.
    return np.flatnonzero(contrary) if np.array_equal(contrary, differs) else NONE


def _may_be_sent_again(markers: MarkersThere) -> bool:
    """Whether one of them ended nothing, and has the outcome of the one before."""
    alike = markers.commit[1:] == markers.commit[:-1]
    return bool(np.any(alike & ~markers.ended[1:]))


def _in_time(decisions: Decisions, markers: MarkersThere) -> Bools:
    """Of each decision whether its marker lies at its moments, which are those of no other one."""
    low, high = decisions.prepared - KEPT_IN_TIME_MS, decisions.completed + KEPT_IN_TIME_MS
    there = (low <= markers.moment) & (markers.moment <= high)
    # Behind all decisions that precede it, and in front of all that follow.
    latest_end = np.maximum.accumulate(high)
    earliest_begin = np.minimum.accumulate(low[::-1])[::-1]
    there[1:] &= low[1:] > latest_end[:-1]
    there[:-1] &= high[:-1] < earliest_begin[1:]
    return there
