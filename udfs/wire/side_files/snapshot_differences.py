"""What a producer snapshot says beside what the log before it says (`ProducerStateManager`)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.rules.memory import may_be_gone_with_the_head, may_have_expired
from udfs.rules.producer_step import SEQUENCES
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
for _name in (*COMPARED, "data_timestamp", "marker_offset"):
    NOTHING[_name] = NONE


class Differences(NamedTuple):
    """Producers about which snapshot and log differ; one element each, by kind.

    `log` and `snapshot`: pairs of states, producer_id -1 where that side has none. `foreign`: of
    producers that only the snapshot has. `forgotten`: what a broker that has forgotten the
    producer would have written. `lacks_head`: the snapshot is as of a log that starts later.
    """

    log: States
    snapshot: States
    foreign: Bools
    forgotten: Bools
    lacks_head: Bools


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
    # As far as an old broker wrote it.
    has_data = entries["last_sequence"] != NONE
    states["data_timestamp"] = np.where(has_data, entries["timestamp"], NONE)
    states["file_index"] = file_index
    states["position"] = HEADER_SIZE + np.arange(entries.size) * ENTRY.size
    states["length"] = ENTRY.size
    ordered: States = states[np.argsort(states["producer_id"], kind="stable")]
    return ordered


def that_tell(states: States) -> States:
    """The states but those that tell nothing of their producer.

    A broker that replays a cleaned log, or follows a leader that has one, takes nothing from a
    marker that the cleaner has emptied, and keeps an entry for its producer all the same
    (`ProducerAppendInfo.append`, `ProducerStateEntry.empty`).
    """
    tells = (states["offset_delta"] != 0) | ~np.isin(states["timestamp"], (NONE, UNTOLD))
    for name in COMPARED:
        if name not in ("offset_delta", "timestamp"):
            tells |= states[name] != NONE
    told: States = states[tells]
    return told


def _paired(*sides: States) -> list[States]:
    """All sides for every producer that one of them has, by producer id."""
    ids = np.unique(np.concatenate([one["producer_id"] for one in sides]))
    paired = []
    for one in sides:
        side = np.repeat(NOTHING, ids.size)
        side[np.searchsorted(ids, one["producer_id"])] = one
        paired.append(side)
    return paired


def _same(log: Int64s, snapshot: Int64s) -> Bools:
    """Whether values are equal, as far as both are known."""
    same: Bools = (log == snapshot) | (log == UNTOLD) | (snapshot == UNTOLD)
    return same


def _same_timestamp(log: States, snapshot: States) -> Bools:
    """The same of the timestamp, to which markers add nothing from 1.0.0 to 2.4.0 (KAFKA-9144).

    It is that of the newest data then, or none for a producer without data of its epoch.
    """
    old: Bools = snapshot["timestamp"] == log["data_timestamp"]
    old |= (snapshot["timestamp"] == NONE) & (log["last_sequence"] == NONE)
    return _same(log["timestamp"], snapshot["timestamp"]) | old


def _same_in(name: str, log: States, snapshot: States) -> Bools:
    """The same of one field.

    From 1.0 to 2.0 a batch is as long as its last sequence is above its first one, also where the
    sequences begin anew in it (`ProducerAppendInfo.append`): its size, and the first offset of the
    transaction that begins with it, are wrong by 2^31 then.
    """
    if name == "timestamp":
        return _same_timestamp(log, snapshot)
    same = _same(log[name], snapshot[name])
    if name == "offset_delta":
        same |= log[name] - snapshot[name] == SEQUENCES
    if name == "txn_first_offset":
        same |= (log[name] >= 0) & (snapshot[name] - log[name] == SEQUENCES)
    return same


def _at_a_marker(log: States, snapshot: States) -> Bools:
    """Whether the snapshot has a marker behind the newest data in their place, as 0.11 does.

    Brokers from 1.0 on keep such a place, which they read from a snapshot of 0.11, and store
    nothing of the markers behind (`ProducerStateManager.readSnapshot`).
    """
    place = snapshot["last_offset"]
    at_marker: Bools = (place > log["last_offset"]) & (place <= log["marker_offset"])
    at_marker &= snapshot["offset_delta"] == 0
    return at_marker


def _of_markers_alone(snapshot: States) -> Bools:
    """Whether the snapshot has a producer of which no data came since it was forgotten."""
    alone = snapshot["offset_delta"] == 0
    for name in ("last_offset", "last_sequence", "txn_first_offset"):
        alone &= snapshot[name] == NONE
    result: Bools = alone
    return result


def _equal(log: States, snapshot: States) -> Bools:
    """Equal in all that a snapshot stores, or as Kafka 0.11 stores it.

    Kafka 0.11 takes a marker for the last offset of its producer until there are data behind it,
    also of one that it had forgotten before: then without a sequence.
    """
    equal = np.ones(log.size, dtype=np.bool_)
    place = np.ones(log.size, dtype=np.bool_)
    sequence = _same(log["last_sequence"], snapshot["last_sequence"])
    for name in COMPARED:
        if name in ("last_offset", "offset_delta"):
            place &= _same_in(name, log, snapshot)
        elif name != "last_sequence":
            equal &= _same_in(name, log, snapshot)
    at_marker = _at_a_marker(log, snapshot)
    no_sequence = snapshot["last_sequence"] == NONE
    both: Bools = equal & ((sequence & place) | (at_marker & (sequence | no_sequence)))
    return both


def _without_the_head(log: States, kept: States, snapshot: States, log_start: int) -> Bools:
    """Whether the broker may have lost only what lies below the log start (`udfs.rules.memory`).

    `kept`: states replayed from the log start on. The start may have moved in steps, so a
    transaction may begin anywhere between the two. Up to 2.3 a producer goes that has no data at
    or above the start, whatever its markers are.
    """
    fits = np.ones(log.size, dtype=np.bool_)
    for name in COMPARED:
        same = _same_in(name, log, snapshot) | _same_in(name, kept, snapshot)
        if name == "txn_first_offset":
            end = np.where(kept[name] == NONE, log_start - 1, kept[name])
            later = (snapshot[name] > log[name]) & (snapshot[name] <= end)
            same |= (log[name] >= 0) & later
        fits &= same
    absent = (snapshot["producer_id"] == NONE) & (kept["txn_first_offset"] == NONE)
    gone = may_be_gone_with_the_head(log["last_offset"], log_start)
    without_head: Bools = fits | (absent & gone)
    return without_head & (log["producer_id"] >= 0) & (log_start > 0)


def _lacks_head(log: States, snapshot: States) -> Bools:
    """`_without_the_head` for a log start that is unknown: whether any would explain the snapshot.

    What the newest batch says stays the same; the transaction begins later, and no marker is known
    where all of them lie below (`UnifiedLog.rebuildProducerState`).
    """
    fits = np.ones(log.size, dtype=np.bool_)
    for name in COMPARED:
        same = log[name] == snapshot[name]
        if name == "txn_first_offset":
            same |= (log[name] >= 0) & (snapshot[name] > log[name])
        elif name == "coordinator_epoch":
            same |= snapshot[name] == NONE
        fits &= same
    lacks: Bools = fits | (snapshot["producer_id"] == NONE)
    return lacks


def _forgotten(log: States, snapshot: States) -> Bools:
    """Whether the broker may have forgotten the producer before its newest batch or after it.

    Only a producer without an open transaction is forgotten: then nothing is left of it, or its
    next batch begins anew, without a marker or data before. It has no data where that batch is a
    marker, and none came behind: data are always stored (`ProducerAppendInfo.appendDataBatch`).
    """
    absent = (snapshot["producer_id"] == NONE) & (log["txn_first_offset"] == NONE)
    anew = (log["producer_id"] == snapshot["producer_id"]) & (log["producer_id"] >= 0)
    for name in ("epoch", "txn_first_offset"):
        anew &= _same_in(name, log, snapshot)
    # From 1.0.0 to 2.4.0 a marker gives a producer without data no timestamp (KAFKA-9144).
    untimed = _of_markers_alone(snapshot) & (snapshot["timestamp"] == NONE)
    anew &= _same_timestamp(log, snapshot) | untimed
    anew &= (snapshot["coordinator_epoch"] == NONE) | (
        snapshot["coordinator_epoch"] == log["coordinator_epoch"]
    )
    no_data = (snapshot["last_offset"] == NONE) & (snapshot["last_sequence"] == NONE)
    no_data &= (snapshot["offset_delta"] == 0) & (log["marker_offset"] > log["last_offset"])
    same_data = np.ones(log.size, dtype=np.bool_)
    for name in ("last_sequence", "last_offset", "offset_delta"):
        same_data &= snapshot[name] == log[name]
    forgotten: Bools = absent | (anew & (no_data | same_data))
    return forgotten


def _outdated(log: States, snapshot: States) -> Bools:
    """Whether the snapshot lacks what the log still has; the cleaner only takes from the log."""
    both = (log["producer_id"] == snapshot["producer_id"]) & (log["producer_id"] >= 0)
    same_epoch = snapshot["epoch"] == log["epoch"]
    older = same_epoch & (snapshot["last_offset"] < log["last_offset"])
    outdated: Bools = both & ((snapshot["epoch"] < log["epoch"]) | older)
    return outdated


def _contradicts(log: States, snapshot: States) -> Bools:
    """Whether the snapshot contradicts what is there, whatever the cleaner took beside it.

    A marker ends what its producer has open. And a batch keeps its sequences and its last offset,
    if only a part of its records is left, or none (`MemoryRecords.buildRetainedRecordsInto`).
    """
    begun = snapshot["txn_first_offset"]
    ended: Bools = (begun >= 0) & (begun < log["marker_offset"])
    one_batch = (log["last_offset"] >= 0) & (log["last_offset"] == snapshot["last_offset"])
    one_batch &= log["epoch"] == snapshot["epoch"]
    sequences = (log["last_sequence"] >= 0) & (snapshot["last_sequence"] >= 0)
    other_sequence = sequences & (log["last_sequence"] != snapshot["last_sequence"])
    contradicts: Bools = ended | (one_batch & other_sequence)
    return contradicts


class Unread(NamedTuple):
    """Offsets of a range of which nobody knows what was there; one element a stretch of them.

    `first` to `end` (exclusive). `owner`: the producer whose it was, -1 where it may be anybody's;
    `epoch`: the producer epoch that it gave, -1 where nobody knows. Of a marker that the cleaner
    emptied both are known.
    """

    first: Int64s
    end: Int64s
    owner: Int64s
    epoch: Int64s

    def ends(self, producers: Int64s) -> Int64s:
        """From which offset on nothing of these producers is unread; -1: all of it is read."""
        of_all = self.end[self.owner == NONE].max(initial=NONE)
        ends = np.full(producers.size, of_all, dtype=np.int64)
        order = np.argsort(producers, kind="stable")
        known = np.isin(self.owner, producers) & (self.owner != NONE)
        at = order[np.searchsorted(producers, self.owner[known], sorter=order)]
        np.maximum.at(ends, at, self.end[known])
        return ends

    def covers(self, offset: int, producer: int) -> bool:
        """Whether a batch of the producer may have been at this offset."""
        its = (self.owner == NONE) | (self.owner == producer)
        return bool(np.any(its & (self.first <= offset) & (offset < self.end)))

    def may_have_given(self, producers: Int64s, epochs: Int64s) -> Bools:
        """Whether something unread may have left each of the producers in an epoch."""
        untold = np.unique(self.owner[self.epoch == NONE])
        may: Bools = np.isin(producers, untold) | (NONE in untold)
        told = set(zip(self.owner.tolist(), self.epoch.tolist(), strict=True))
        for i in np.flatnonzero(np.isin(producers, self.owner) & ~may):
            may[i] = (int(producers[i]), int(epochs[i])) in told
        return may


NOTHING_UNREAD = Unread(*(np.empty(0, dtype=np.int64) for _ in Unread._fields))


class Replayed(NamedTuple):
    """States replayed up to the offset of a snapshot.

    `states`: from all that is there; `kept`: from the log start on, as a broker rebuilds it, and
    equal to `states` where nothing lies below. `log_start`: that offset. `whole`: nothing but what
    is `unread` is missing, neither from the log nor from the state at its beginning. `latest`: the
    snapshot was written at no later moment, ms. `start`: the offset from which batches were
    replayed. `unread`: what is missing from there on; None where it may be anywhere. `lists_all`:
    all entries of the snapshot are known, of which a text may lack some.
    """

    states: States
    kept: States
    log_start: int
    whole: bool
    latest: int
    start: int = 0
    unread: Unread | None = NOTHING_UNREAD
    lists_all: bool = True


def _wrong_data(log: States, snapshot: States) -> Bools:
    """Whether a snapshot is wrong about the newest data of the epoch, behind which all is read.

    Kafka 0.11 has a marker behind them in their place, and a broker that had forgotten the producer
    when the marker came has none.
    """
    data, marker = log["last_offset"], log["marker_offset"]
    sequence = _same(log["last_sequence"], snapshot["last_sequence"])
    no_sequence = snapshot["last_sequence"] == NONE
    same = sequence & (snapshot["last_offset"] == data)
    same &= _same_in("offset_delta", log, snapshot)
    at_marker = _at_a_marker(log, snapshot) & (sequence | no_sequence)
    forgotten = (snapshot["last_offset"] == NONE) & no_sequence
    behind = (marker > data) & (snapshot["offset_delta"] == 0)
    wrong: Bools = ~(same | (behind & (at_marker | forgotten)))
    return wrong


def _begins_too_early(log: Replayed, states: States, snapshot: States) -> Bools:
    """Whether the open transaction begins where another batch is, or none of the producer."""
    begun = snapshot["txn_first_offset"]
    early = (begun >= max(log.start, 0)) & (begun < states["txn_first_offset"])
    if log.unread is not None:
        for i in np.flatnonzero(early):
            early[i] = not log.unread.covers(int(begun[i]), int(states["producer_id"][i]))
    result: Bools = early
    return result


def _all_read_behind(log: Replayed, states: States, offset: Int64s) -> Bools:
    """Whether nothing that may be of the producers is unread behind an offset of each."""
    if log.unread is None:
        return np.zeros(states.size, dtype=np.bool_)
    unread_to = log.unread.ends(states["producer_id"])
    behind: Bools = np.maximum(offset, log.start - 1) + 1 >= unread_to
    return behind


class Contradicted(NamedTuple):
    """By producer: whether the newest batches contradict the snapshot.

    `at_all`: they do. `by_the_head`: they do, and a log that starts later would not.
    """

    at_all: Bools
    by_the_head: Bools


def _contradicted_by_newest(
    log: Replayed, states: States, kept: States, snapshot: States
) -> Contradicted:
    """What the newest batches of a producer say needs no past, where nothing is missing behind.

    A batch gives its epoch, data their last sequence and offset, a marker the coordinator epoch and
    the end of the transaction (`ProducerAppendInfo.append`). Transactional data leave one open that
    begins with them or before, in front of what is missing (`kept`: a broker may have read no data
    below the log start). Timestamps are not asked, since the cleaner gives a batch those of the
    records that it leaves (`MemoryRecords.buildRetainedRecordsInto`).
    """
    none = np.zeros(states.size, dtype=np.bool_)
    if log.unread is None:
        return Contradicted(none, none)

    def all_read_behind(offset: Int64s) -> Bools:
        return _all_read_behind(log, states, offset)

    data, marker = states["last_offset"], states["marker_offset"]
    both = (states["producer_id"] == snapshot["producer_id"]) & (states["producer_id"] >= 0)
    newest = both & all_read_behind(np.maximum(data, marker))
    wrong = newest & (states["epoch"] != snapshot["epoch"])
    wrong |= both & (data >= 0) & all_read_behind(data) & _wrong_data(states, snapshot)
    coordinator = _same(states["coordinator_epoch"], snapshot["coordinator_epoch"])
    # Forgotten between the marker and the data behind it.
    coordinator |= (snapshot["coordinator_epoch"] == NONE) & (data > marker)
    wrong |= both & (marker >= 0) & all_read_behind(marker) & ~coordinator
    begun = snapshot["txn_first_offset"]
    wrong |= newest & (states["txn_first_offset"] == NONE) & (begun != NONE)
    wrong |= both & _begins_too_early(log, states, snapshot)
    is_open = (kept["txn_first_offset"] >= 0) & all_read_behind(kept["txn_first_offset"])
    wrong |= both & is_open & (begun == NONE)
    late = both & (begun > kept["txn_first_offset"])
    late &= ~_same_in("txn_first_offset", kept, snapshot)
    absent = (snapshot["producer_id"] == NONE) & log.lists_all
    of_head = is_open & (late | absent)
    return Contradicted(wrong | of_head, of_head & ~wrong)


def _whole(log: Replayed, states: States, snapshot: States) -> Bools:
    """Whether a state can be only that of the log: nothing unread gave the producer its epoch."""
    if log.unread is None:
        return np.full(states.size, log.whole)
    producers = np.where(
        states["producer_id"] == NONE, snapshot["producer_id"], states["producer_id"]
    )
    whole: Bools = log.whole & ~log.unread.may_have_given(producers, snapshot["epoch"])
    return whole


def compare(log: Replayed, snapshot: States, expiration_ms: int) -> Differences:
    """What differs. Where the log is not whole, only what the snapshot lacks or contradicts.

    That is asked of each producer by itself: what is missing in front of its newest batch, or of
    the begin of its transaction, does not matter. A snapshot may be older than the emptying of a
    marker: then it has the epoch of that.

    `expiration_ms`: after so long a producer without an open transaction may be absent.
    """
    sides = _paired(log.states, log.kept, snapshot)
    unequal = ~_equal(sides[0], sides[-1])
    replayed, kept, stored = (side[unequal] for side in sides)
    differs = ~_without_the_head(replayed, kept, stored, log.log_start)
    absent = stored["producer_id"] == NONE
    is_open = replayed["txn_first_offset"] != NONE
    latest = np.int64(log.latest)
    differs &= ~(absent & may_have_expired(replayed["timestamp"], latest, is_open, expiration_ms))
    forgotten = _forgotten(replayed, stored)
    lacks_head = _lacks_head(replayed, stored)
    whole = _whole(log, replayed, stored)
    if not whole.all():
        newest = _contradicted_by_newest(log, replayed, kept, stored)
        # The marker that came since the producer was forgotten may be what is missing.
        read = _all_read_behind(log, replayed, replayed["last_offset"])
        outdated = _outdated(replayed, stored) & ~(_of_markers_alone(stored) & ~read)
        lacks = (outdated | newest.at_all) & ~forgotten
        differs &= whole | lacks | _contradicts(replayed, stored)
        lacks_head |= newest.by_the_head
    chosen = np.flatnonzero(differs)
    return Differences(
        replayed[chosen],
        stored[chosen],
        (replayed["producer_id"] == NONE)[chosen],
        forgotten[chosen],
        lacks_head[chosen],
    )
