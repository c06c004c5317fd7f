"""Regular transactions: those that no rule can object to, whatever came before them.

Points 4 to 7 of the folding contract (udfs/wire/batches/fold.py). What is folded away needs no
window function, and is most of a healthy log.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, int64, njit
from numpy.typing import NDArray

from udfs.rules import producer_step
from udfs.rules.extent import is_replicated
from udfs.rules.memory import at_least_later
from udfs.wire.batches.batch_headers import Bools, Int64s
from udfs.wire.batches.fold import Batches, Runs


class Bounds(NamedTuple):
    """`high_watermark`: offset (exclusive) up to which the log is replicated, None if unknown.

    `cleaned_below`: aborted transactions below this offset may have lost their data. `kept_from`:
    base offset of the first batch that does not lie below the log start.
    """

    sequenced: bool
    expiration_ms: int
    high_watermark: int | None
    cleaned_below: int
    kept_from: int = 0


class Folding(NamedTuple):
    """One element a run. `inner`: folded away. `follows`: the transaction before it was.

    `chain`: of a run that follows (contract 6), the run of the stretch, after its first one, in
    which the newest chain of contiguous sequences begins; -1 where none does.
    """

    inner: Bools
    follows: Bools
    chain: Int64s


def _at(values: NDArray[np.int64], index: Int64s) -> Int64s:
    picked: Int64s = values[np.maximum(index, 0)]
    return picked


def fold_regular(batches: Batches, runs: Runs, bounds: Bounds) -> Folding:
    """Which runs are folded away. Runs are in the order of `fold`: by producer, then by place."""
    size = runs.first.size
    nothing = np.zeros(size, dtype=np.bool_)
    if size < 3:
        return Folding(nothing, nothing.copy(), np.full(size, -1, dtype=np.int64))
    before = np.concatenate(([0], np.arange(size - 1)))
    batch = producer_step.Batch(
        _at(batches.epoch, runs.first), _at(batches.first_sequence, runs.first)
    )
    known = producer_step.ProducerState(
        _at(batches.epoch, runs.marker)[before],
        batch.epoch[before],
        producer_step.next_sequence(_at(batches.last_sequence, runs.last))[before],
    )
    regular = _regular(batches, runs, bounds, before, batch, known)
    goes_on = producer_step.is_contiguous(batch, known)
    inner = regular & np.concatenate((regular[1:], [False]))
    follows = regular & ~inner & inner[before]
    here = np.arange(size)
    begins = np.maximum.accumulate(np.where(regular & ~goes_on, here, -1))
    stretch = np.maximum.accumulate(np.where(regular, -1, here))
    chain = np.where(follows & (begins > stretch), begins, np.int64(-1))
    return Folding(inner, follows, chain)


def _regular(
    batches: Batches,
    runs: Runs,
    bounds: Bounds,
    before: Int64s,
    batch: producer_step.Batch,
    known: producer_step.ProducerState,
) -> Bools:
    """Whether each run is regular after the run before it (contract 4).

    Of a run without data or marker `batch` and `known` mean nothing.
    """
    marker_offset = _at(batches.offset, runs.marker)
    owner = _at(batches.producer_id, np.where(runs.first < 0, runs.marker, runs.first))
    whole = (runs.first >= 0) & (runs.marker >= 0)
    whole &= batches.transactional[np.maximum(runs.first, 0)]
    whole &= (_at(batches.fault, runs.first) == 0) & (batch.epoch < producer_step.LAST_EPOCH)
    marked = _at(batches.marker_timestamp, runs.marker)[before]
    paused = at_least_later(marked, _at(batches.timestamp, runs.first), bounds.expiration_ms)
    coordinator = _at(batches.coordinator_epoch, runs.marker)
    marker = producer_step.Marker(
        marker_offset,
        _at(batches.epoch, runs.marker),
        batches.commit[np.maximum(runs.marker, 0)],
        coordinator,
        coordinator[before],
    )
    regular: Bools = (
        whole
        & whole[before]
        & (owner == owner[before])
        & producer_step.follows(batch, known, np.bool_(not bounds.sequenced))
        & (_at(batches.offset, runs.first) > marker_offset[before])
        & ~paused
        & (_at(batches.offset, runs.first) >= bounds.kept_from)
        & producer_step.is_regular_end(marker, batch.epoch, bounds.cleaned_below)
    )
    if bounds.high_watermark is not None:
        regular &= is_replicated(marker_offset, bounds.high_watermark)
    regular[0] = False
    return regular


@njit(
    int64[::1](int64[::1], int64[::1], boolean[::1], boolean[::1], int64),
    cache=True,
)
def _oldest_open(  # type: ignore[no-untyped-def]
    producer, offset, control, transactional, producers
):  # fmt: skip
    size = producer.shape[0]
    oldest = np.full(size, -1, dtype=np.int64)
    opened = np.full(producers, -1, dtype=np.int64)
    queue = np.empty(size, dtype=np.int64)
    head = 0
    tail = 0
    rising = True
    for i in range(size):
        if i > 0 and offset[i] <= offset[i - 1]:
            rising = False
        p = producer[i]
        if not control[i]:
            if transactional[i] and opened[p] < 0:
                opened[p] = offset[i]
                queue[tail] = i
                tail += 1
            continue
        opened[p] = -1
        while head < tail and opened[producer[queue[head]]] != offset[queue[head]]:
            head += 1
        if head < tail:
            oldest[i] = offset[queue[head]]
            if not rising:
                # Offsets that go back: the queue is not in their order.
                for k in range(head, tail):
                    start = offset[queue[k]]
                    if opened[producer[queue[k]]] == start and start < oldest[i]:
                        oldest[i] = start
    return oldest


def oldest_open(batches: Batches) -> Int64s:
    """First offset of the oldest transaction still open after each marker; -1 for none.

    Only transactions that begin in these batches are known here. Other elements are -1.
    """
    known, dense = np.unique(batches.producer_id, return_inverse=True)
    oldest: Int64s = _oldest_open(
        np.ascontiguousarray(dense, dtype=np.int64),
        np.ascontiguousarray(batches.offset),
        np.ascontiguousarray(batches.control),
        np.ascontiguousarray(batches.transactional),
        known.size,
    )
    return oldest
