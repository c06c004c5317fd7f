"""Claims about data that no marker ended: how old they are, and whether their id runs them."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from jobs.report.recheck.cases import Case, data_proofs
from jobs.report.recheck.coordinator_logs import Entry, entries_of
from jobs.report.recheck.coordinator_records import (
    ONGOING,
    PREPARE_ABORT,
    PREPARED,
    State,
    state_of,
)
from jobs.report.recheck.copies import segment_base
from jobs.report.recheck.evidence import Proof
from jobs.report.recheck.internal_topics import OFFSETS, TXN_LOG
from jobs.report.recheck.results import HoldsError, MissingError, RefutedError
from jobs.report.recheck.snapshot_files import is_sound_snapshot, snapshot_of
from jobs.report.recheck.snapshots import snapshot_entry
from jobs.report.recheck.transactional_ids import newest_of_id, newest_state


class Open(NamedTuple):
    """Data that are open: by a batch, or where that is gone by the entry of a snapshot."""

    proof: Proof
    producer: int
    epoch: int
    base: int
    moment_ms: int


def open_data(case: Case, first: bool = False) -> Open:
    """The last data that are named, or the first; raises RefutedError where they are not open."""
    logs = data_proofs(case)
    if not logs:
        proof, entry = snapshot_entry(case)
        producer, epoch, _, last, _, moment, _, begun = entry
        if begun < 0 or producer != case.finding.get("producer_id"):
            raise RefutedError("the snapshot has no open transaction of the producer")
        return Open(proof, producer, epoch, last, moment)
    proof = logs[0 if first else -1]
    batch = proof.batch
    if not batch.of_client:
        raise RefutedError("the batch has no data of a transaction")
    return Open(proof, batch.producer, batch.epoch, batch.base, batch.newest)


def unended(case: Case) -> bool | None:
    """No marker of the producer follows its data in this copy."""
    data = open_data(case)
    copy = case.copy(data.proof)
    if any(one.ends and one.batch.base > data.base for one in copy.of(data.producer)):
        return False
    try:
        copy.require_complete(max(data.base, open_in_snapshots(copy.folder, data) - 1))
    except MissingError:
        # Of what it runs a coordinator has written no marker.
        if not runs_here(case):
            raise
    return True


def runs_here(case: Case) -> bool:
    """Whether the last record of the id is Ongoing with that producer, and lists the partition."""
    newest = newest_of_id(case)
    state = None if newest is None else newest.state
    return (
        state is not None
        and state.producer == case.finding.get("producer_id")
        and lists_open(case, state)
    )


def lists_open(case: Case, state: State) -> bool:
    """Whether a transaction runs there that lists the finding's partition."""
    return state.state == ONGOING and case.place in state.places


def open_in_snapshots(folder: Path, data: Open) -> int:
    """Up to which offset producer snapshots show the data open, exclusive; -1 for none.

    What is missing below it has no marker of the producer: its transaction would begin later.
    """
    shown = -1
    for path in folder.glob("[0-9]*.snapshot"):
        content = path.read_bytes()
        if not is_sound_snapshot(content):
            continue
        begun = snapshot_of(content).get(data.producer, (-1,))[-1]
        if 0 <= begun <= data.base < segment_base(path):
            shown = max(shown, segment_base(path))
    return shown


def too_old(case: Case) -> bool | None:
    """Data were older than every timeout at the moment of the audit.

    By the first moment of a broker's clock from their batch on; where there is none, by that of
    their client. Neither shows that they are young: a client may be days ahead. What is in
    `__consumer_offsets` the coordinator stamps itself. The limit, in minutes, is that of the
    finding.
    """
    if case.dump.as_of is None:
        raise HoldsError("no marker follows in this copy; its age needs the moment of the audit")
    told = f"{case.finding.get('expected')} {case.text}"
    minutes = [int(a) for a, b in pairwise(told.split()) if a.isdigit() and b.startswith("minute")]
    data = open_data(case, first=True)
    behind = [one.batch for one in case.copy(data.proof).heads if one.batch.base >= data.base]
    ours = data.proof.path.parent.name.rpartition("-")[0] == OFFSETS
    told_ms = (one.newest if ours else one.of_broker_ms for one in behind)
    by = next((one for one in told_ms if one is not None), data.moment_ms)
    age = (case.dump.as_of - by) // 60_000
    if age >= min(minutes, default=0):
        return True
    if not behind or (not ours and behind[0].of_broker_ms is None):
        raise HoldsError("no marker follows in this copy; when it was appended no broker tells")
    return False


def passed_by_cleaner(case: Case) -> bool | None:
    """The cleaner checkpoint lies above the last batch that is named."""
    name = "cleaner-offset-checkpoint"
    found = case.dump.checkpoint(case.log_directory(), name, case.place)
    if found is None:
        return False
    last = case.proofs[-1].batch
    return bool(found > (last.base if last.control else open_data(case, first=True).base))


def lost_its_marker(case: Case) -> bool | None:
    """The cleaner has passed the data, or the newest snapshot has their transaction ended."""
    return passed_by_cleaner(case) or ended_in_newest_snapshot(case)


def ended_in_newest_snapshot(case: Case) -> bool:
    """Behind the data, the newest sound snapshot of this log has no open transaction of them."""
    data = open_data(case)
    copy = case.copy(data.proof)
    told = [path for path in copy.folder.glob("[0-9]*.snapshot") if segment_base(path) <= copy.end]
    for path in sorted(told, key=segment_base, reverse=True):
        content = path.read_bytes()
        if is_sound_snapshot(content):
            begun = snapshot_of(content).get(data.producer, (-1,))[-1]
            return segment_base(path) > data.base and not 0 <= begun <= data.base
    return False


def not_run_here(case: Case) -> bool | None:
    """The last record of the id does not run a transaction that lists the partition.

    Without an id: no id has the producer.
    """
    name, producer = case.finding.get("transactional_id"), case.finding.get("producer_id")
    if name is not None:
        newest = case.dump.newest(name)
        if newest is None:
            raise HoldsError("no record of the transactional id is in the dump")
        state = newest.state
        if not any(one.state and one.state.producer == producer for one in case.of_id()):
            # The id never had the producer: whoever runs the data, it is not this one.
            return False
        runs = state is not None and state.state in (ONGOING, *PREPARED)
        return not (runs and state is not None and case.place in state.places)
    latest: dict[str, Entry] = {}
    for one in case.of_id():
        if one.offset >= latest.get(one.transactional_id, one).offset:
            latest[one.transactional_id] = one
    return not any(one.state and one.state.producer == producer for one in latest.values())


def not_run_here_then(case: Case) -> bool | None:
    """The same, or that transaction began after a broker's moment behind the batch."""
    if not_run_here(case):
        return True
    (_, state), data = newest_state(case), open_data(case)
    behind = (one.batch for one in case.copy(data.proof).heads if one.batch.base > data.base)
    moments = (one.of_broker_ms for one in behind)
    earlier = any(one is not None and one < state.start_ms for one in moments)
    return lists_open(case, state) and earlier


def overdue_here(case: Case) -> bool | None:
    """The last record of the id is Ongoing, lists the partition, and has outlived its timeout."""
    newest, state = newest_state(case)
    if not lists_open(case, state):
        return False
    until = max(case.dump.as_of or -1, entries_of(newest.folder)[1].newest_ms)
    if until <= state.start_ms + state.timeout_ms:
        raise HoldsError("the coordinator lists it; its age needs the moment of the audit")
    return True


def went_on(case: Case) -> bool | None:
    """The last record of the id has a higher epoch, or producer id, and decides other data."""
    (_, state), data = newest_state(case), open_data(case)
    above = state.producer != data.producer or state.epoch > data.epoch
    # A decision of version 2 raises the epoch of its data by two at most.
    later = state.client_version >= 2 and state.epoch - data.epoch > 2
    return above and (state.state not in PREPARED or later)


def unlisted(case: Case) -> bool | None:
    """No record of the producer's epoch lists the partition, in the copy that is named."""
    data, record = open_data(case, first=True), case.proofs[-1]
    if TXN_LOG not in record.path.parent.name:
        return None
    named_ = [state_of(one.value) for one in record.batch.records()]
    if not any(one and one.producer == data.producer for one in named_):
        return False
    found = [
        one.state
        for one in case.dump.entries([record.path.parent], case.finding.get("transactional_id"))
        if one.state and one.state.producer == data.producer and case.place in one.state.places
    ]
    if any(of_epoch(one, data.epoch) for one in found):
        return False
    if any(one.epoch in (data.epoch, data.epoch + 1) and may_fence(one) for one in found):
        raise HoldsError("an abort lists it, and may have raised the epoch: whose it is, is open")
    return True


def may_fence(state: State) -> bool:
    """Whether a decision may have raised the epoch without saying so."""
    return state.state == PREPARE_ABORT and state.client_version < 2


def of_epoch(state: State, epoch: int) -> bool:
    """Whether a running transaction has data of an epoch, as far as its record tells."""
    raised = state.state in PREPARED and state.client_version >= 2
    return not may_fence(state) and state.epoch == epoch + raised
