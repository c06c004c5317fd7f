"""Aborted transactions of a segment and the entries of its `.txnindex`, matched many at once."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.rules.aborted_list import Entry, agrees, is_malformed, stable_at_abort
from udfs.wire.batches.batch_headers import Int64s

# Larger than every number in a file, as MAX_OFFSET (`udfs.rules.extent`) need not be.
NEVER = np.iinfo(np.int64).max
# In the order of the rule.
ENTRY_COLUMNS = ("version", "first_offset", "last_offset", "last_stable_offset", "previous_last")

Columns = Mapping[str, NDArray[Any]]


class LongTransactions(NamedTuple):
    """Where the transactions of a partition end that are not regular, as far as it matters.

    `ends`: offsets of markers, ascending; `began`: the smallest first offset of all transactions
    that end there or after.
    """

    ends: Int64s
    began: Int64s


NONE_LONG = LongTransactions(np.empty(0, np.int64), np.empty(0, np.int64))


def long_transactions(ends: Int64s, began: Int64s) -> LongTransactions:
    """`ends`: offset of the marker, NEVER for an open one; `began`: first offset. In any order."""
    order = np.argsort(ends, kind="stable")
    lowest = np.minimum.accumulate(began[order][::-1])[::-1]
    # Of neighbours with the same value only the last one is kept.
    last_of_equal = np.append(lowest[1:] != lowest[:-1], True)[: lowest.size]
    return LongTransactions(ends[order][last_of_equal], lowest[last_of_equal])


def last_stable_offsets(
    markers: Int64s, oldest_other: Int64s, long_ones: LongTransactions
) -> Int64s:
    """The last stable offset that the broker wrote down at each ABORT marker.

    `oldest_other`: first offset of the oldest other transaction open there, of those that began in
    the split, as the decoder saw it, NEVER for none; one that is longer is open at the marker if it
    ends after.
    """
    following = np.searchsorted(long_ones.ends, markers, side="right")
    later_began = np.append(long_ones.began, NEVER)[following]
    stable: Int64s = stable_at_abort(markers, np.minimum(oldest_other, later_began))
    return stable


def agreeing(aborts: Columns, entries: Columns) -> tuple[Int64s, Int64s]:
    """Aborted transactions and entries that say the same, as positions in the two, pair by pair.

    `aborts`: producer_id, first_offset, marker_offset, last_stable_offset; `entries`: version,
    producer_id, first_offset, last_offset, last_stable_offset, previous_last (-1 for none). What
    occurs twice agrees with nothing: that is for the checks to judge.
    """
    abort, entry = _once(aborts["marker_offset"]), _once(entries["last_offset"])
    _, ours, theirs = np.intersect1d(
        aborts["marker_offset"][abort], entries["last_offset"][entry],
        assume_unique=True, return_indices=True,
    )  # fmt: skip
    abort, entry = abort[ours], entry[theirs]
    stored = Entry(*(entries[name][entry] for name in ENTRY_COLUMNS))
    agree = entries["producer_id"][entry] == aborts["producer_id"][abort]
    agree &= agrees(stored, aborts["first_offset"][abort], aborts["last_stable_offset"][abort])
    agree &= ~is_malformed(stored)
    return abort[agree], entry[agree]


def _once(values: Int64s) -> Int64s:
    """Positions of the values that occur once, in the order of the values."""
    _, first, number = np.unique(values, return_index=True, return_counts=True)
    once: Int64s = first[number == 1]
    return once
