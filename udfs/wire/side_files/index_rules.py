"""What an `.index` and a `.timeindex` guarantee to readers, compared with the batches of a split.

A reader that asks for an offset begins at the position of the last entry at or below it; one that
asks for a time begins at the offset of the last entry at or below it. So both columns rise, a
position is that of a batch, and nothing that is asked for lies in front of where the reader is
sent. Nothing else is guaranteed: which offset of an append is noted differs between leaders,
followers, the cleaner and the releases.
"""

from typing import NamedTuple

import numpy as np

from udfs.wire.batches.batch_headers import Bools, Int64s
from udfs.wire.side_files.sparse_index import SparseIndex

# What is wrong with an entry.
ORDER = "order"
OUTSIDE = "outside"
BEHIND_END = "behind_end"
NO_BATCH = "no_batch"
OFFSET_BELOW_BATCH = "offset_below_batch"
OFFSET_ABOVE_BATCHES = "offset_above_batches"
NOT_OF_BATCH = "not_of_batch"
LATER_THAN_PROMISED = "later_than_promised"


class Batches(NamedTuple):
    """Batches of one split in file order; positions from the start of the file, ms, offsets.

    `first`, `end`: bytes that the chain of batches covers, but for `damaged` (pairs of first byte
    and end, exclusive). `file_end`: size of the file where the split is its last, else None.
    `opened`: whether the base offset is known, which it is not in an old wrapper that cannot be
    read.
    """

    position: Int64s
    base_offset: Int64s
    last_offset: Int64s
    max_timestamp: Int64s
    opened: Bools
    first: int
    end: int
    damaged: list[tuple[int, int]]
    file_end: int | None


class Fault(NamedTuple):
    """What is wrong with entry `ordinal`, and the batch that shows it; None for no batch."""

    what: str
    ordinal: int
    batch: int | None


def _faults(what: str, ordinals: Int64s, batches: Int64s | None = None) -> list[Fault]:
    if batches is None:
        return [Fault(what, int(ordinal), None) for ordinal in ordinals]
    return [Fault(what, int(one), int(batch)) for one, batch in zip(ordinals, batches, strict=True)]


def _not_rising(index: SparseIndex, times: bool) -> Int64s:
    """Ordinals of entries that do not follow; an offset of a time index may stand twice."""
    before, offsets = index.offsets[:-1], index.offsets[1:]
    wrong = (index.values[1:] <= index.values[:-1]) | (
        offsets < before if times else offsets <= before
    )
    return np.flatnonzero(wrong) + 1


def faults_alone(
    index: SparseIndex, base_offset: int, next_base: int | None, times: bool
) -> list[Fault]:
    """What follows from the entries and the names of the segments, without the log."""
    outside = index.offsets < base_offset
    if next_base is not None:
        outside |= index.offsets >= next_base
    return _faults(ORDER, _not_rising(index, times)) + _faults(OUTSIDE, np.flatnonzero(outside))


def _searchable(index: SparseIndex, times: bool) -> SparseIndex:
    """The entries in front of the first that does not follow."""
    wrong = _not_rising(index, times)
    return index.head(int(wrong[0])) if wrong.size else index


def offset_index_faults(index: SparseIndex, log: Batches) -> list[Fault]:
    """Entries of an `.index` that send a reader elsewhere than to the batch it asks for."""
    index = _searchable(index, times=False)
    found = []
    if log.file_end is not None:
        found += _faults(BEHIND_END, np.flatnonzero(index.values >= log.file_end))
    covered = (index.values >= log.first) & (index.values < log.end)
    for first, end in log.damaged:
        covered &= (index.values < first) | (index.values >= end)
    ordinals = np.flatnonzero(covered)
    if not ordinals.size or not log.position.size:
        return found
    batch = np.searchsorted(log.position, index.values[ordinals], side="right") - 1
    hit = log.position[batch] == index.values[ordinals]
    found += _faults(NO_BATCH, ordinals[~hit], batch[~hit])
    ordinals, batch = ordinals[hit], batch[hit]
    known = log.opened[batch]
    ordinals, batch = ordinals[known], batch[known]
    base = log.base_offset[batch]
    below = index.offsets[ordinals] < base
    found += _faults(OFFSET_BELOW_BATCH, ordinals[below], batch[below])
    # All that the entry before was written for lies in front of this batch.
    before = ordinals - 1
    above = (before >= 0) & (index.offsets[before] >= base)
    return found + _faults(OFFSET_ABOVE_BATCHES, before[above], batch[above])


def time_index_faults(index: SparseIndex, log: Batches) -> list[Fault]:
    """Entries of a `.timeindex` that send a reader past the records it asks for."""
    index = _searchable(index, times=True)
    if not index.offsets.size or not log.position.size:
        return []
    last = np.maximum.accumulate(log.last_offset)
    # The batch that holds the offset of an entry has the timestamp of the entry.
    batch = np.minimum(np.searchsorted(last, index.offsets), last.size - 1)
    held = log.opened[batch] & (index.offsets <= log.last_offset[batch])
    held &= index.offsets >= log.base_offset[batch]
    other = np.flatnonzero(held & (log.max_timestamp[batch] != index.values))
    found = _faults(NOT_OF_BATCH, other, batch[other])
    # No batch in front of an entry has a later timestamp.
    entry = np.searchsorted(index.offsets, log.last_offset, side="right")
    in_front = np.flatnonzero(entry < index.offsets.size)
    later = in_front[log.max_timestamp[in_front] > index.values[entry[in_front]]]
    ordinals, first = np.unique(entry[later], return_index=True)
    return found + _faults(LATER_THAN_PROMISED, ordinals, later[first])
