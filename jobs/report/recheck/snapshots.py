"""Claims about producer snapshots: what a broker must know of a producer behind its batches."""

from jobs.report.recheck.cases import Case
from jobs.report.recheck.copies import Copy, Head, segment_base
from jobs.report.recheck.evidence import Proof
from jobs.report.recheck.results import HoldsError
from jobs.report.recheck.snapshot_files import (
    SNAPSHOT_ENTRY,
    SNAPSHOT_HEAD,
    is_sound_snapshot,
    snapshots_before,
    told_in_snapshot,
)


def corrupt_snapshot(case: Case) -> bool | None:
    """A snapshot with another version, checksum or length, or a producer twice."""
    data = case.proofs[-1].data
    return len(data) == case.proofs[-1].size and not is_sound_snapshot(data)


def snapshot_entry(case: Case) -> tuple[Proof, tuple[int, ...]]:
    """The entry of a snapshot."""
    proof = case.proofs[0]
    if len(proof.data) != SNAPSHOT_ENTRY.size:
        raise HoldsError("no whole entry is named")
    return proof, SNAPSHOT_ENTRY.unpack(proof.data)


def without_origin(case: Case) -> bool | None:
    """A producer of a snapshot is neither in the one before nor in the batches between."""
    proof, (producer, *_) = snapshot_entry(case)
    before, copy = snapshots_before(proof.path), case.copy(proof)
    begin, end = segment_base(before[0]) if before else 0, segment_base(proof.path)
    if before and producer in told_in_snapshot(before[0]):
        return False
    copy.require_complete(begin, end)
    if copy.begin > begin:
        raise HoldsError(f"this copy begins at offset {copy.begin}")
    return not any(begin <= o.batch.base < end and o.whole for o in copy.of(producer))


def replayed(heads: list[Head]) -> tuple[int, int, int, int, int, int, int]:
    """What a broker knows of a producer behind its batches.

    Epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, and the first
    offset of the transaction that is open; -1 where nothing is known.
    """
    epoch = sequence = offset = coordinator = begun = -1
    moment = delta = 0
    for one in heads:
        batch = one.batch
        moment = batch.newest
        if batch.epoch != epoch:
            epoch, sequence, offset, delta = batch.epoch, -1, -1, 0
        if batch.control:
            coordinator, begun = (one.coordinator, -1) if one.ends else (coordinator, begun)
            continue
        sequence, offset, delta = batch.last_sequence, batch.last, batch.delta
        if batch.transactional and begun < 0:
            begun = batch.base
    return epoch, sequence, offset, delta, moment, coordinator, begun


def absent_from_snapshot(case: Case) -> bool | None:
    """A snapshot has nothing of a producer that has a batch before it."""
    proof, producer = case.proofs[0], int(case.finding.get("producer_id") or 0)
    case.dump.beside(f"all of {proof.path.name}")
    before = [o for o in case.proofs[1:] if o.batch.base < segment_base(proof.path)]
    known = told_in_snapshot(proof.path)
    return producer not in known and any(one.batch.producer == producer for one in before)


def contradicted(entry: tuple[int, ...], heads: list[Head]) -> bool:
    """Whether an entry of a snapshot is wrong whatever is missing beside these batches.

    Its transaction is open behind a marker, or it has another sequence of the same batch.
    """
    _, epoch, sequence, last, *_, begun = entry
    ended = begun >= 0 and any(one.ends and one.batch.base > begun for one in heads)
    return ended or any(
        not batch.control
        and (batch.epoch, batch.last) == (epoch, last)
        and batch.last_sequence >= 0 <= sequence != batch.last_sequence
        for batch in (one.batch for one in heads)
    )


def denied_by_newest(entry: tuple[int, ...], heads: list[Head], copy: Copy, end: int) -> bool:
    """Whether the newest batch of a producer, or its open transaction, denies an entry.

    What lies in front of them may be missing, and nothing behind; else raises HoldsError.
    """
    _, epoch, sequence, last, delta, _, coordinator, begun = entry
    newest = heads[-1]
    copy.require_complete(newest.batch.base, end)
    if newest.batch.epoch != epoch:
        return True
    if newest.batch.control:
        return newest.ends and (begun >= 0 or coordinator != newest.coordinator)
    batch = newest.batch
    if (sequence, last, delta) != (batch.last_sequence, batch.last, batch.delta):
        return True
    after = 1 + max((i for i, one in enumerate(heads) if one.ends), default=-1)
    opened = next((one.batch.base for one in heads[after:] if one.batch.transactional), -1)
    if opened < 0:
        return begun >= 0
    copy.require_complete(opened, end)
    return begun < 0 or begun > opened


def other_state(case: Case) -> bool | None:
    """An entry of a snapshot is not the state that the batches before it lead to."""
    if len(case.proofs[0].data) == SNAPSHOT_HEAD.size:
        return absent_from_snapshot(case)
    proof, entry = snapshot_entry(case)
    producer, end, copy = entry[0], segment_base(proof.path), case.copy(proof)
    heads = [one for one in copy.of(producer) if one.batch.base < end]
    if not heads:
        return None
    if contradicted(entry, heads) or denied_by_newest(entry, heads, copy, end):
        return True
    copy.require_complete(heads[0].batch.base, end)
    epoch, sequence, offset, delta, moment, coordinator, begun = replayed(heads)
    _, its_epoch, its_sequence, its_offset, its_delta, its_moment, its_coordinator, its_begun = (
        entry
    )
    told = (its_epoch, its_sequence, its_offset, its_delta, its_moment)
    if told != (epoch, sequence, offset, delta, moment):
        return True
    if any(one.ends for one in heads) and its_coordinator != coordinator:
        return True
    return its_begun != begun if its_begun < 0 or its_begun >= copy.begin else None
