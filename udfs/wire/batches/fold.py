"""The folding contract: what the decoder may leave out of the rows, and what readers may rely on.

Batches become runs here, runs become rows of `schemas.log_row.RUN_COLUMNS`
(udfs/arrow/run_rows.py), and regular transactions become blocks instead
(udfs/wire/batches/regular.py). The code refers to these points by number.

What a run is:

1. A run is a stretch, within one split, of data batches of one producer id, with nothing of that
   producer between them: one epoch, one transactional flag, contiguous sequences, no pause of the
   client's clock as long as the expiry of a producer, and all below the log start or none. A batch
   with a fault is a run alone. So a rule can object only to the first batch, by what stands before
   it, and what stands after the run needs only its last batch and its counts.
2. The marker that comes next belongs to the run if the data are transactional and it may end their
   epoch (`udfs.rules.attribution.may_end`). Any other marker is a run of its own, without data.
3. Each batch that is replayed is in exactly one run, and a batch or marker alone is a run, too. So
   where a file is split changes no finding, only where `previous` begins and how many batches it
   has.

What is folded away, into blocks of `schemas.log_row.REGULAR_TXN`:

4. A run is regular if it is a whole transaction (data and marker) and follows a whole transaction
   of its producer in the split as `udfs.rules.producer_step` and `udfs.rules.memory` allow, without
   a fault. Nothing about it may depend on more than the split: it is not below the log start, its
   marker is below the high watermark, no producer can have expired before it, and if it was
   aborted, it is not within the reach of the cleaner.
5. A regular run is folded away if the run after it is regular, too. So both neighbours of a folded
   transaction are whole transactions in the same split, no check can object to it, and the
   transactions at both ends of such a stretch remain rows.
6. The row after a stretch has `follows`. It was found regular with the stretch, so no check of the
   context `run` judges it. Epochs never step back within a stretch, so the state after that row is
   the state after all of it. What its own columns cannot say stands beside them: the newest chain
   of contiguous sequences that began in the stretch (`chain_*`) and the marker before it
   (`marker_epoch_before`).
7. A transaction that is open at an ABORT marker either began in the same split, then `oldest_other`
   of the marker (in a row or a block) knows it, or in an earlier one, then it is a row.

Readers: `jobs.replay.producers` (3, 6), `jobs.replay.transactions` (7), `jobs.model.transactions`
(4, 5: folded transactions and rows as one table), the contexts `run` (1, 6) and `transaction` (4).
The predicates of point 4 are the same functions there, over columns. Tests run all cases and random
histories with other splits and without the shortcut over regular rows (tests/checks/test_cases.py).
The records of the coordinator's log are folded by a rule of their own
(udfs/wire/coordinator/txn_log_chain.py).
"""

from typing import NamedTuple

import numpy as np
from numba import boolean, int64, njit, types

from udfs.rules.attribution import may_end
from udfs.rules.producer_step import Batch, ProducerState, is_contiguous, next_sequence
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
    transaction. `batches`: number of data batches, 0 for a marker alone.
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
        goes_on[1:] = is_contiguous(
            batch, ProducerState(epoch[:-1], epoch[:-1], next_sequence(last))
        )
    return goes_on, ends


def fold(batches: Batches, sequenced: bool, expiration_ms: int, kept_from: int = 0) -> Runs:
    """Folds batches given in file order (contract 1 to 3); runs by producer id, then by place.

    `sequenced` is False for coordinator topics, whose batches carry no meaningful sequence.
    `expiration_ms` cuts a run where the client's clock goes on by so much between two batches, and
    `kept_from` before the batch with that base offset: see `udfs.rules.memory`.
    """
    order = np.argsort(batches.producer_id, kind="stable").astype(np.int64)
    out = np.empty((4, order.size), dtype=np.int64)
    sort = TRANSACTIONAL * batches.transactional + BELOW_LOG_START * (batches.offset < kept_from)
    runs = _fold(
        order, batches.producer_id, batches.timestamp, batches.control, sort.astype(np.int64),
        batches.fault, *_neighbours(batches, order, sequenced), expiration_ms, out,
    )  # fmt: skip
    return Runs(*(np.ascontiguousarray(row[:runs]) for row in out))
