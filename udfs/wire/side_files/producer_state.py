"""The state of producers after a stretch of a log, as a broker keeps it (`ProducerStateEntry`).

What a stretch changes follows from it alone: the newest epoch, batch and marker of each producer
that wrote in it. A known state and these changes give the next state, so that stretches can be read
apart from each other and in any order.
"""

import numpy as np
from numba import boolean, int64, njit, types
from numpy.typing import NDArray

from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.batches.fold import Batches

NONE = -1
# A timestamp that a text of a snapshot does not print.
UNTOLD = -2

STATE_FIELDS = (
    "producer_id",
    "epoch",
    "last_sequence",
    "last_offset",
    "offset_delta",
    "timestamp",
    # Of the newest data batch: from 1.0.0 to 2.4.0 a marker does not move it (KAFKA-9144).
    "data_timestamp",
    "coordinator_epoch",
    "txn_first_offset",
    # Offset of the newest marker.
    "marker_offset",
    # 1: the stretch has markers of one epoch only, so data of that epoch before it stays known.
    "keeps_data",
    # Where the newest batch lies, or the entry of a snapshot.
    "file_index",
    "position",
    "length",
)
STATE = np.dtype([(name, np.int64) for name in STATE_FIELDS])
(
    _, EPOCH, SEQUENCE, OFFSET, DELTA, TIMESTAMP, OF_DATA, COORDINATOR, OPEN, MARKER, KEEPS, NEWEST,
) = range(12)  # fmt: skip
# What the newest batch of an epoch sets, and a marker of that epoch leaves unchanged.
OF_NEWEST_DATA = ("last_sequence", "last_offset", "offset_delta")

States = NDArray[np.void]


@njit(
    types.Array(int64, 2, "C")(
        int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1],
        int64[::1], boolean[::1], boolean[::1], int64,
    ),
    cache=True,
)  # fmt: skip
def _changes(  # type: ignore[no-untyped-def]
    producer, epoch, offset, last_offset, last_sequence, timestamp, coordinator_epoch,
    marker_timestamp, control, transactional, producers
):  # fmt: skip
    out = np.full((12, producers), -1, dtype=np.int64)
    for i in range(producer.shape[0]):
        p = producer[i]
        if out[NEWEST, p] < 0:
            out[KEEPS, p] = 1
            out[DELTA, p] = 0
        elif epoch[i] != out[EPOCH, p]:
            out[KEEPS, p] = 0
            out[SEQUENCE, p] = -1
            out[OFFSET, p] = -1
            out[DELTA, p] = 0
        out[EPOCH, p] = epoch[i]
        out[NEWEST, p] = i
        if control[i]:
            out[TIMESTAMP, p] = marker_timestamp[i]
            out[COORDINATOR, p] = coordinator_epoch[i]
            out[MARKER, p] = offset[i]
            out[OPEN, p] = -1
            continue
        out[KEEPS, p] = 0
        out[SEQUENCE, p] = last_sequence[i]
        out[OFFSET, p] = last_offset[i]
        out[DELTA, p] = last_offset[i] - offset[i]
        out[TIMESTAMP, p] = timestamp[i]
        out[OF_DATA, p] = timestamp[i]
        if transactional[i] and out[OPEN, p] < 0:
            out[OPEN, p] = offset[i]
    return out


def changes(
    batches: Batches, last_offset: Int64s, position: Int64s, length: Int64s, file_index: int
) -> States:
    """What the batches of a stretch, in file order, change: `STATE`, one a producer, by its id.

    `txn_first_offset` is that of the transaction open after the stretch, as far as it is known.
    `position` and `length` are those of the batches in their file, bytes.
    """
    known, dense = np.unique(batches.producer_id, return_inverse=True)
    found = _changes(
        np.ascontiguousarray(dense, dtype=np.int64),
        np.ascontiguousarray(batches.epoch),
        np.ascontiguousarray(batches.offset),
        np.ascontiguousarray(last_offset),
        np.ascontiguousarray(batches.last_sequence),
        np.ascontiguousarray(batches.timestamp),
        np.ascontiguousarray(batches.coordinator_epoch),
        np.ascontiguousarray(batches.marker_timestamp),
        np.ascontiguousarray(batches.control),
        np.ascontiguousarray(batches.transactional),
        known.size,
    )
    states = np.empty(known.size, dtype=STATE)
    for number, name in enumerate(STATE_FIELDS[:NEWEST]):
        states[name] = found[number]
    states["producer_id"] = known
    states["file_index"] = file_index
    states["position"] = position[found[NEWEST]]
    states["length"] = length[found[NEWEST]]
    return states


def follow(states: States, changed: States) -> States:
    """The states after a stretch with these changes; both by producer id."""
    at = np.searchsorted(states["producer_id"], changed["producer_id"])
    at = np.minimum(at, max(states.size - 1, 0))
    known = np.zeros(changed.size, dtype=np.bool_)
    if states.size:
        known = states["producer_id"][at] == changed["producer_id"]
    updated = changed.copy()
    before = states[at[known]]
    own = changed[known]
    after = own.copy()
    kept = (own["keeps_data"] == 1) & (own["epoch"] == before["epoch"])
    for name in OF_NEWEST_DATA:
        after[name] = np.where(kept, before[name], own[name])
    after["keeps_data"] = np.where(kept, before["keeps_data"], 0)
    no_data = own["data_timestamp"] == NONE
    after["data_timestamp"] = np.where(no_data, before["data_timestamp"], own["data_timestamp"])
    no_marker = own["marker_offset"] < 0
    for name in ("coordinator_epoch", "marker_offset"):
        after[name] = np.where(no_marker, before[name], own[name])
    goes_on = no_marker & (before["txn_first_offset"] >= 0)
    after["txn_first_offset"] = np.where(
        goes_on, before["txn_first_offset"], own["txn_first_offset"]
    )
    updated[known] = after
    untouched = np.ones(states.size, dtype=np.bool_)
    untouched[at[known]] = False
    joined = np.concatenate((states[untouched], updated))
    ordered: States = joined[np.argsort(joined["producer_id"], kind="stable")]
    return ordered
