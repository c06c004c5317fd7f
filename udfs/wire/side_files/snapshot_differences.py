"""What a producer snapshot says beside what the log before it says (`ProducerStateManager`)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.wire import bounds
from udfs.wire.batches.batch_headers import Bools, Int64s
from udfs.wire.side_files.producer_snapshot import ENTRY, HEADER_SIZE
from udfs.wire.side_files.producer_state import NONE, STATE, UNTOLD, States

COMPARED = (
    "epoch",
    "last_sequence",
    "last_offset",
    "offset_delta",
    "timestamp",
    "coordinator_epoch",
    "txn_first_offset",
)
STORED_NAMES = {"epoch": "producer_epoch", "txn_first_offset": "current_txn_first_offset"}
NOTHING = np.zeros(1, dtype=STATE)
NOTHING["producer_id"] = NONE
for _name in COMPARED:
    NOTHING[_name] = NONE


class Differences(NamedTuple):
    """Producers about which snapshot and log differ; one element each, by kind.

    `log` and `snapshot`: pairs of states, producer_id -1 where that side has none. `foreign`: of
    producers that only the snapshot has. `forgotten`: what a broker that has forgotten the
    producer would have written.
    """

    log: States
    snapshot: States
    foreign: Bools
    forgotten: Bools


def stored_states(entries: NDArray[np.void], file_index: int) -> States:
    """The entries of a snapshot (`producer_snapshot.STORED`) as `STATE`, by producer id."""
    states = np.zeros(entries.size, dtype=STATE)
    for name in COMPARED:
        states[name] = entries[STORED_NAMES.get(name, name)]
    for name in ("last_offset", "txn_first_offset"):
        states[name] = bounds.offsets(states[name])
    states["timestamp"] = bounds.timestamps(states["timestamp"])
    states["producer_id"] = entries["producer_id"]
    states["marker_offset"] = NONE
    states["file_index"] = file_index
    states["position"] = HEADER_SIZE + np.arange(entries.size) * ENTRY.size
    states["length"] = ENTRY.size
    ordered: States = states[np.argsort(states["producer_id"], kind="stable")]
    return ordered


def _paired(log: States, snapshot: States) -> tuple[States, States]:
    """Both sides for every producer that one of them has, by producer id."""
    ids = np.union1d(log["producer_id"], snapshot["producer_id"])
    sides = []
    for one in (log, snapshot):
        side = np.repeat(NOTHING, ids.size)
        side[np.searchsorted(ids, one["producer_id"])] = one
        sides.append(side)
    return sides[0], sides[1]


def _same(log: Int64s, snapshot: Int64s) -> Bools:
    """Whether values are equal, as far as both are told."""
    same: Bools = (log == snapshot) | (log == UNTOLD) | (snapshot == UNTOLD)
    return same


def _equal(log: States, snapshot: States) -> Bools:
    """Equal in all that a snapshot stores, or as Kafka 0.11 stores it.

    Kafka 0.11 takes a marker for the last offset of its producer.
    """
    equal = np.ones(log.size, dtype=np.bool_)
    place = np.ones(log.size, dtype=np.bool_)
    for name in COMPARED:
        same = _same(log[name], snapshot[name])
        if name in ("last_offset", "offset_delta"):
            place &= same
        else:
            equal &= same
    at_marker = (snapshot["last_offset"] == log["marker_offset"]) & (snapshot["offset_delta"] == 0)
    both: Bools = equal & (place | (at_marker & (log["marker_offset"] >= 0)))
    return both


def _forgotten(log: States, snapshot: States) -> Bools:
    """Whether the broker may have forgotten the producer before its newest batch or after it.

    Only a producer without an open transaction is forgotten: then nothing is left of it, or its
    next batch begins anew, without a marker or data before.
    """
    absent = (snapshot["producer_id"] == NONE) & (log["txn_first_offset"] == NONE)
    anew = (log["producer_id"] == snapshot["producer_id"]) & (log["producer_id"] >= 0)
    for name in ("epoch", "timestamp", "txn_first_offset"):
        anew &= _same(log[name], snapshot[name])
    anew &= (snapshot["coordinator_epoch"] == NONE) | (
        snapshot["coordinator_epoch"] == log["coordinator_epoch"]
    )
    no_data = (snapshot["last_offset"] == NONE) & (snapshot["last_sequence"] == NONE)
    no_data &= snapshot["offset_delta"] == 0
    same_data = np.ones(log.size, dtype=np.bool_)
    for name in ("last_sequence", "last_offset", "offset_delta"):
        same_data &= snapshot[name] == log[name]
    forgotten: Bools = absent | (anew & (no_data | same_data))
    return forgotten


def _behind(log: States, snapshot: States) -> Bools:
    """Whether the snapshot lacks what the log still has; the cleaner only takes from the log."""
    both = (log["producer_id"] == snapshot["producer_id"]) & (log["producer_id"] >= 0)
    same_epoch = snapshot["epoch"] == log["epoch"]
    older = same_epoch & (snapshot["last_offset"] < log["last_offset"])
    behind: Bools = both & ((snapshot["epoch"] < log["epoch"]) | older)
    return behind


def compare(log: States, snapshot: States, whole: bool, expired_before: int) -> Differences:
    """What differs. `log`: states replayed up to the offset of the snapshot.

    `whole`: nothing was taken from the log; else only what the snapshot lacks is told. A producer
    without an open transaction whose newest timestamp is below `expired_before` (ms) may be absent.
    """
    replayed, stored = _paired(log, snapshot)
    differs = ~_equal(replayed, stored)
    absent = stored["producer_id"] == NONE
    expired = absent & (replayed["txn_first_offset"] == NONE)
    differs &= ~(expired & (replayed["timestamp"] < expired_before))
    forgotten = _forgotten(replayed, stored)
    if not whole:
        differs &= _behind(replayed, stored) & ~forgotten
    chosen = np.flatnonzero(differs)
    return Differences(
        replayed[chosen],
        stored[chosen],
        (replayed["producer_id"] == NONE)[chosen],
        forgotten[chosen],
    )
