"""Folds batches of one producer into runs, so that what is regular costs one row.

A run is a maximal stretch, within one split of a file, of data batches of one producer id with
one producer epoch, one transactional flag, contiguous sequences and no fault, together with the
marker that ends its transaction where that follows next. A marker without such a stretch is a
run of its own. A batch is a run of length one, so folding changes no rule. No run goes over the log
start, below which a broker may have forgotten what the file still holds.
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, int64, njit, types

from udfs.rules.attribution import may_end
from udfs.rules.producer_step import Batch, Known, is_contiguous, next_sequence
from udfs.wire.batches.batch_headers import Bools, Int64s

# Bits of what all batches of a run share.
TRANSACTIONAL, BELOW_LOG_START = 1, 2


class Batches(NamedTuple):
    """Arrays that are needed of the replayed batches, one element a batch, in file order."""

    producer_id: Int64s
    epoch: Int64s
    offset: Int64s
    first_sequence: Int64s
    last_sequence: Int64s
    timestamp: Int64s
    control: Bools
    transactional: Bools
    fault: Int64s
    commit: Bools
    coordinator_epoch: Int64s
    marker_timestamp: Int64s


class Runs(NamedTuple):
    """Runs as indices into the batch arrays given to `fold`; -1 where there is none.

    `first`, `last`: first and last data batch. `marker`: the control batch that ends the
    transaction.
    `batches`: number of data batches.
    """

    first: Int64s
    last: Int64s
    marker: Int64s
    batches: Int64s


@njit(
    int64(
        int64[::1], int64[::1], int64[::1], boolean[::1], int64[::1], int64[::1], boolean[::1],
        boolean[::1], int64, types.Array(int64, 2, "C")
    ),
    cache=True,
)  # fmt: skip
def _fold(  # type: ignore[no-untyped-def]
    order, producer_id, timestamp, control, sort, fault, goes_on, ends, expiration_ms, out
):  # fmt: skip
    runs = 0
    previous = -1
    open_run = False
    for k in range(order.shape[0]):
        i = order[k]
        if previous < 0 or producer_id[i] != producer_id[previous]:
            open_run = False
        if control[i]:
            if open_run and sort[previous] & TRANSACTIONAL and ends[k]:
                out[2, runs - 1] = i
            else:
                out[:, runs] = -1
                out[2, runs] = i
                out[3, runs] = 0
                runs += 1
            open_run = False
            previous = i
            continue
        if open_run:
            open_run = (
                goes_on[k]
                and sort[i] == sort[previous]
                and fault[i] == 0
                and fault[previous] == 0
                # Any 64 bits may stand for a moment: integers would overflow.
                and float(timestamp[i]) - float(timestamp[previous]) < expiration_ms
            )
        if open_run:
            out[1, runs - 1] = i
            out[3, runs - 1] += 1
        else:
            out[0, runs] = i
            out[1, runs] = i
            out[2, runs] = -1
            out[3, runs] = 1
            runs += 1
        open_run = True
        previous = i
    return runs


def _neighbours(batches: Batches, order: Int64s, sequenced: bool) -> tuple[Bools, Bools]:
    """Two flags a batch, in this order, by epochs and sequences.

    Whether it goes on where the batch before it ends; whether it can end that one as its marker.
    """
    epoch = batches.epoch[order]
    goes_on, ends = np.zeros(order.size, dtype=np.bool_), np.zeros(order.size, dtype=np.bool_)
    ends[1:] = may_end(epoch[1:], epoch[:-1])
    goes_on[1:] = epoch[1:] == epoch[:-1]
    if sequenced:
        batch = Batch(epoch[1:], batches.first_sequence[order[1:]])
        last = batches.last_sequence[order[:-1]]
        goes_on[1:] = is_contiguous(batch, Known(epoch[:-1], epoch[:-1], next_sequence(last)))
    return goes_on, ends


def fold(batches: Batches, sequenced: bool, expiration_ms: int, kept_from: int = 0) -> Runs:
    """Folds batches given in file order; the runs come by producer id, then by place.

    `sequenced` is False for coordinator topics, whose batches carry no meaningful sequence.
    `expiration_ms` cuts a run where the client's clock goes on by so much between two batches, and
    `kept_from` in front of the batch with that base offset: see `udfs.rules.memory`.
    """
    order = np.argsort(batches.producer_id, kind="stable").astype(np.int64)
    out = np.empty((4, order.size), dtype=np.int64)
    sort = TRANSACTIONAL * batches.transactional + BELOW_LOG_START * (batches.offset < kept_from)
    runs = _fold(
        order, batches.producer_id, batches.timestamp, batches.control, sort.astype(np.int64),
        batches.fault, *_neighbours(batches, order, sequenced), expiration_ms, out,
    )  # fmt: skip
    return Runs(*(np.ascontiguousarray(row[:runs]) for row in out))
