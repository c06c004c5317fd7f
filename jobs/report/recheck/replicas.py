"""Claims that compare two copies of a partition."""

from jobs.report.recheck.batches import Batch
from jobs.report.recheck.cases import Case
from jobs.report.recheck.results import HoldsError
from jobs.report.recheck.transactional_ids import mine


def copies_differ(a: Batch, b: Batch) -> bool | None:
    """Whether two copies of the same offsets have other bytes; None where the offsets differ."""
    return None if (a.base, a.last) != (b.base, b.last) else a.data[12:] != b.data[12:]


def other_copy(case: Case) -> bool | None:
    """Two copies have other bytes at the same offsets, or one lacks the marker of its data."""
    if len(case.proofs) < 2:
        raise HoldsError(
            "the bytes are there and whole; which value of a key is newest is not read"
        )
    one, other = case.proofs[0], case.proofs[-1]
    marker = other.batch.control and other.batch.producer == one.batch.producer
    if one.batch.of_client and marker and other.batch.base > one.batch.base:
        there = case.copy(one).covering(other.batch.base)
        return there is None or not there.ends
    return copies_differ(one.batch, other.batch)


def lacks_range(case: Case) -> bool | None:
    """One copy has batches before and behind offsets that it lacks and the other one has."""
    behind, missing = case.proofs[0], case.proofs[-1].batch
    copy = case.copy(behind)
    copy.require_readable()
    between = copy.begin <= missing.base < behind.batch.base
    return between and copy.covering(missing.base) is None


def records_differ(case: Case) -> bool | None:
    """Two copies of the coordinator's log have different records at one offset."""
    first = case.finding.get("offset_first")
    told = [
        [
            (o.offset, proof.batch.leader, o.key, o.value)
            for o in proof.batch.records()
            if first in (None, o.offset)
        ]
        for proof in case.proofs
    ]
    if len(told) == 1:
        return lacks_last_record(case)
    return None if not told[0] or not told[-1] else told[0] != told[-1]


def lacks_last_record(case: Case) -> bool | None:
    """Another copy of the partition has no record of the id at or behind the offset."""
    proof = case.proofs[-1]
    others = [
        one
        for one in case.dump.folders(proof.path.parent.name)
        if one.resolve() != proof.path.parent.resolve()
    ]
    if not others:
        raise HoldsError(f"no other copy of {proof.path.parent.name} is in the dump")
    lacking = [not any(e.offset >= proof.batch.last for e in mine(case, [o])) for o in others]
    return any(lacking)
