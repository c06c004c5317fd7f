"""The records in a copy of a partition of `__transaction_state`, and how far it reaches."""

import struct
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from jobs.report.recheck.batches import Batch, Record
from jobs.report.recheck.coordinator_records import State, identity, state_of
from jobs.report.recheck.copies import END_OF_OFFSETS, KEPT_COPIES, Copy
from jobs.report.recheck.results import HoldsError, MissingError, UndecidedError


class Entry(NamedTuple):
    """A record of `__transaction_state`, with the leader epoch and moment (ms) of its batch.

    `readable`: whether its key and value can be read; else `state` is None, as of a tombstone.
    """

    folder: Path
    transactional_id: str
    offset: int
    state: State | None
    leader: int
    moment_ms: int
    readable: bool


class Told(NamedTuple):
    """Of a copy: the producer ids of its records, and why not all can be read, None if they can."""

    producers: frozenset[int]
    unreadable: str | None


@lru_cache(KEPT_COPIES)
def entries_of(folder: Path) -> tuple[list[Entry], Copy]:
    """All records of a copy of `__transaction_state-N`, and the copy."""
    copy, entries = Copy(folder, whole=True, keep=True), []
    for one in copy.heads:
        batch = one.batch
        if batch.control:
            continue
        try:
            records = list(batch.records())
        except (ValueError, struct.error, HoldsError):
            copy.holes.append((0, f"{one.path.name} at byte {one.position}", None))
            break
        entries += [entry_of(folder, batch, record) for record in records]
    copy.heads.clear()
    return entries, copy


@cache
def told_by(folder: Path) -> Told:
    """What all records of a copy tell; kept of all copies, a number for each id."""
    entries, copy = entries_of(folder)
    producers = frozenset(one.state.producer for one in entries if one.state)
    try:
        copy.require_readable()
    except MissingError as error:
        return Told(producers, str(error))
    readable = all(one.readable for one in entries)
    return Told(producers, None if readable else f"{folder.name} has a record that cannot be read")


@cache
def reach_of(folder: Path) -> tuple[int, int]:
    """The newest leader epoch of a copy of `__transaction_state-N`, and the offset of its end."""
    entries, copy = entries_of(folder)
    return max((one.leader for one in entries), default=-1), copy.end


@cache
def first_of_later(folder: Path, leader: int) -> int:
    """The first offset that a copy has of a leader later than one, else none that a log has."""
    later = (e.offset for e in entries_of(folder)[0] if e.leader > leader and e.readable)
    return min(later, default=END_OF_OFFSETS)


def entry_of(folder: Path, batch: Batch, record: Record) -> Entry:
    """A record of the coordinator, also one that cannot be read."""
    name, state, readable = "", None, False
    try:
        name = identity(record.key)
        state, readable = state_of(record.value), True
    except (ValueError, struct.error, UndecidedError):
        pass
    return Entry(folder, name, record.offset, state, batch.leader, batch.newest, readable)
