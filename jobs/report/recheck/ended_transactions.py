"""The data that a marker ended, and claims about markers without the coordinator's word."""

from jobs.report.recheck.batches import ABORT, COMMIT, Batch
from jobs.report.recheck.cases import Case
from jobs.report.recheck.copies import Copy, Head
from jobs.report.recheck.evidence import Proof
from jobs.report.recheck.results import HoldsError


def ended_data(copy: Copy, marker: Head, since: int = -1) -> list[Head]:
    """Data of its producer that a marker ended; raises HoldsError where they may be missing.

    `since`: the offset from which on they are asked; what lies in front of the copy does not matter
    if that is in the copy.
    """
    data: list[Head] = []
    before = -1
    for one in copy.of(marker.batch.producer):
        if one.batch.base >= marker.batch.base:
            break
        if one.ends:
            data, before = [], one.batch.base
        elif one.batch.of_client:
            data.append(one)
    if before < 0 < copy.begin and since < copy.begin:
        raise HoldsError(f"this copy begins at offset {copy.begin}: what was before it is gone")
    producer = marker.batch.producer
    copy.require_complete(max(before, copy.begin), marker.batch.base, producer)
    return [one for one in data if one.whole]


def nothing_between(case: Case) -> bool | None:
    """No data of the producer lie between two markers."""
    first, second = case.head(case.proofs[0]), case.head(case.proofs[-1])
    copy = case.copy(case.proofs[0])
    copy.require_complete(first.batch.base, second.batch.base, first.batch.producer)
    between = (
        one
        for one in copy.of(first.batch.producer)
        if first.batch.base < one.batch.base < second.batch.base
    )
    return not any(one.batch.of_client and one.whole for one in between)


def no_marker_between(case: Case) -> bool | None:
    """No marker of the producer lies between two batches."""
    first, second = case.proofs[0].batch, case.proofs[-1].batch
    copy = case.copy(case.proofs[0])
    copy.require_complete(first.base, second.base)
    mine = (one for one in copy.of(first.producer) if first.base < one.batch.base < second.base)
    return not any(one.ends for one in mine)


def without_data(case: Case) -> bool | None:
    """A marker ended no data of its producer in this copy."""
    marker = case.head(case.proofs[-1])
    return marker.ends and not ended_data(case.copy(case.proofs[-1]), marker)


def next_marker(case: Case, proof: Proof) -> Head | None:
    """The marker that ended data."""
    batch, copy = proof.batch, case.copy(proof)
    later = (one for one in copy.of(batch.producer) if one.ends and one.batch.base > batch.base)
    found = next(later, None)
    if found is not None:
        copy.require_complete(batch.base, found.batch.base, batch.producer)
    return found


def opposite_ends(case: Case) -> bool | None:
    """Data of one producer and epoch were committed in one partition and aborted in the other."""
    one, other = case.proofs[0], case.proofs[1]
    same = (one.batch.producer, one.batch.epoch) == (other.batch.producer, other.batch.epoch)
    if not same or not one.batch.of_client or not other.batch.of_client:
        return False
    ends = [next_marker(case, proof) for proof in (one, other)]
    kinds = {end.kind for end in ends if end is not None}
    return kinds == {ABORT, COMMIT}


def too_far_above(data: Batch, marker: Batch) -> bool:
    """Whether the epoch of a marker is above all that may end the data."""
    kind, _ = marker.marker()
    return marker.epoch > data.epoch + (1 if kind == COMMIT else 2)


def count_markers(case: Case, proof: Proof, epoch: int, kind: int) -> int:
    """Markers of a producer's epoch and outcome in the copy of the partition."""
    copy = case.copy(proof)
    copy.require_complete(copy.begin)
    producer = case.finding.get("producer_id")
    heads = copy.of(-1 if producer is None else int(producer))
    return sum(one.kind == kind and one.batch.epoch == epoch for one in heads)


def ended_by(copy: Copy, marker: Batch, kind: int, last: int | None = None) -> int:
    """How many markers like that one, up to offset `last`, ended data of their producer."""
    ended, open_ = 0, False
    for one in copy.of(marker.producer):
        if last is not None and one.batch.base > last:
            break
        if one.kind == kind and one.batch.epoch == marker.epoch:
            ended += open_
        open_ = one.batch.of_client or (open_ and not one.ends)
    return ended
