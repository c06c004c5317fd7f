"""Claims about entries of a segment's indexes: of transactions, of offsets, of times."""

import struct
from pathlib import Path

from jobs.report.recheck.batches import ABORT
from jobs.report.recheck.cases import Case
from jobs.report.recheck.copies import Copy, Head, next_segment, segment_base
from jobs.report.recheck.ended_transactions import ended_data
from jobs.report.recheck.evidence import Proof, is_log
from jobs.report.recheck.results import HoldsError, RefutedError
from jobs.report.recheck.snapshot_files import snapshot_of

TXNINDEX = struct.Struct(">hqqqq")
OFFSET_ENTRY, TIME_ENTRY = struct.Struct(">ii"), struct.Struct(">qi")


def index_entry(case: Case) -> tuple[Proof, int, int, int, int]:
    """An entry of a transaction index: producer, first and last offset, last stable offset."""
    proof = next((one for one in case.proofs if ".txnindex" in one.file), None)
    if proof is None or len(proof.data) != TXNINDEX.size:
        raise HoldsError("no whole entry is named")
    _, producer, first, last, stable = TXNINDEX.unpack(proof.data)
    if case.finding.get("producer_id") not in (None, producer):
        raise RefutedError(f"the entry is of producer {producer}")
    return proof, producer, first, last, stable


def marker_at(case: Case, proof: Proof, producer: int, offset: int) -> Head | None:
    """The ABORT marker of a producer at an offset; raises HoldsError where no batch has it."""
    copy = case.copy(proof)
    head = copy.covering(offset)
    if head is None:
        copy.require_complete(copy.begin)
        if offset < copy.begin:
            raise HoldsError(f"this copy begins at offset {copy.begin}")
        return None
    own = head.kind == ABORT and head.batch.producer == producer and head.batch.last == offset
    return head if own else None


def entry_without_marker(case: Case) -> bool | None:
    """No ABORT marker of the producer is at the last offset of an entry."""
    proof, producer, _, last, _ = index_entry(case)
    return marker_at(case, proof, producer, last) is None


def entry_of_nothing(case: Case) -> bool | None:
    """An entry of a marker that ended no data."""
    proof, producer, first, last, _ = index_entry(case)
    return first == last and marker_at(case, proof, producer, last) is not None


def entry_begins_elsewhere(case: Case) -> bool | None:
    """The transaction that the marker of an entry ended begins at another offset."""
    proof, producer, first, last, _ = index_entry(case)
    marker = marker_at(case, proof, producer, last)
    if marker is None:
        return None
    data = ended_data(case.copy(proof), marker, since=first)
    return not data or data[0].batch.base != first


def entry_stable_elsewhere(case: Case) -> bool | None:
    """The last stable offset of an entry is not that of the log at its marker."""
    proof, producer, _, last, stable = index_entry(case)
    marker = marker_at(case, proof, producer, last)
    if marker is None:
        return None
    copy = case.copy(proof)
    copy.require_complete(copy.begin, last)
    try:
        begun, unknown = open_at_begin(copy), None
    except HoldsError as error:
        begun, unknown = {}, error
    for one in copy.heads:
        if one.batch.base >= last:
            break
        if one.ends:
            begun.pop(one.batch.producer, None)
        elif one.batch.of_client:
            begun.setdefault(one.batch.producer, one.batch.base)
    begun.pop(producer, None)
    there = min(begun.values(), default=last + 1)
    # What was open in front of the copy makes it a lower one.
    if unknown is not None and stable <= there:
        raise unknown
    return stable != there


def open_at_begin(copy: Copy) -> dict[int, int]:
    """First offsets of transactions that are open where a copy begins, by producer.

    Only a snapshot at that offset tells; raises HoldsError where none does.
    """
    if copy.begin == 0:
        return {}
    path = copy.folder / f"{copy.begin:020}.snapshot"
    if not path.is_file():
        raise HoldsError(f"this copy begins at offset {copy.begin}: what was open is not known")
    entries = snapshot_of(path.read_bytes())
    return {producer: one[7] for producer, one in entries.items() if one[7] >= 0}


def entry_malformed(case: Case) -> bool | None:
    """An entry that breaks the format, does not rise, or is of another segment."""
    proof, _, first, last, _ = index_entry(case)
    if int.from_bytes(proof.data[:2], "big") != 0 or first > last:
        return True
    before = entries_in(proof.path, TXNINDEX)
    number = proof.position // TXNINDEX.size
    if number > 0 and before[number - 1][3] >= last:
        return True
    begin = segment_base(proof.path)
    return last < begin or last >= next_segment(case.copy(proof), begin)


def entries_in(path: Path, form: struct.Struct) -> list[tuple[int, ...]]:
    """The whole entries of an index."""
    data = path.read_bytes()
    return list(form.iter_unpack(data[: len(data) // form.size * form.size]))


def entry_missing(case: Case) -> bool | None:
    """An ABORT marker that ended data has no entry in the index of its segment."""
    proof = case.proofs[-1]
    if proof.batch.marker()[0] != ABORT:
        return False
    path = proof.path.with_suffix(".txnindex")
    case.dump.beside(path.name)
    entries = entries_in(path, TXNINDEX) if path.is_file() else []
    if any((one[1], one[3]) == (proof.batch.producer, proof.batch.last) for one in entries):
        return False
    return bool(ended_data(case.copy(proof), case.head(proof)))


def heads_of_segment(case: Case, entry: Proof) -> list[Head]:
    """The batches of the segment of an index."""
    begin = segment_base(entry.path)
    return [one for one in case.copy(entry).heads if segment_base(one.path) == begin]


def offset_entry_invalid(case: Case) -> bool | None:
    """An entry of an offset index that no reader may follow."""
    entry = next(one for one in case.proofs if not is_log(one.file))
    if len(entry.data) != OFFSET_ENTRY.size:
        return None
    begin = segment_base(entry.path)
    relative, position = OFFSET_ENTRY.unpack(entry.data)
    offset, heads = begin + relative, heads_of_segment(case, entry)
    at = next((one for one in heads if one.position == position), None)
    if at is None or offset < at.batch.base or offset >= next_segment(case.copy(entry), begin):
        return True
    entries = entries_in(entry.path, OFFSET_ENTRY)
    number = entry.position // OFFSET_ENTRY.size
    if number > 0 and (entries[number - 1][0] >= relative or entries[number - 1][1] >= position):
        return True
    following_ = entries[number + 1][1] if number + 1 < len(entries) else None
    behind = next((one for one in heads if one.position == following_), None)
    if following_ and behind is not None and offset >= behind.batch.base:
        return True
    last = max(one.batch.last for one in heads)
    return bool(offset > last or relative < 0)


def time_entry_invalid(case: Case) -> bool | None:
    """An entry of a time index that is of no batch, or has a later one before it."""
    entry = next(one for one in case.proofs if not is_log(one.file))
    if len(entry.data) != TIME_ENTRY.size:
        return None
    begin = segment_base(entry.path)
    moment, relative = TIME_ENTRY.unpack(entry.data)
    heads = heads_of_segment(case, entry)
    of_offset = [o for o in heads if o.batch.base <= begin + relative <= o.batch.last]
    if not of_offset or of_offset[0].batch.newest != moment:
        return True
    before = [o.batch.newest for o in heads if o.batch.base < of_offset[0].batch.base]
    if max(before, default=-1) > moment:
        return True
    entries = entries_in(entry.path, TIME_ENTRY)
    number = entry.position // TIME_ENTRY.size
    return number > 0 and not (
        entries[number - 1][0] < moment and entries[number - 1][1] <= relative
    )
