"""Claims about the offsets of a segment, and about those between two batches."""

from jobs.report.recheck.batches import MAX_SEQUENCE
from jobs.report.recheck.cases import Case
from jobs.report.recheck.copies import next_segment, segment_base


def out_of_segment(case: Case) -> bool | None:
    """A batch has offsets that its segment, by its name and that of the next, cannot have."""
    proof = case.proofs[-1]
    begin = segment_base(proof.path)
    heads = [one.batch for one in case.copy(proof).heads if segment_base(one.path) == begin]
    if any(one.magic < 2 and one.codec for one in heads):
        return None
    lowest, highest = min(one.base for one in heads), max(one.last for one in heads)
    after = next_segment(case.copy(proof), begin)
    return bool(lowest < begin or highest >= after or highest - begin > MAX_SEQUENCE)


def gap_in_copy(case: Case) -> bool | None:
    """No batch lies between two, in the order of the files.

    What lies between in a segment that begins within the first one may have been replaced by that
    while the copy was made (`Cleaner.cleanSegments`): no bytes show it.
    """
    copy = case.copy(case.proofs[-1])
    first, second = (copy.heads.index(case.head(one)) for one in (case.proofs[0], case.proofs[-1]))
    between = [one for one in copy.heads[first + 1 : second] if one.whole]
    before = copy.heads[first]
    replaced = [
        one.path != before.path and segment_base(one.path) <= before.batch.last for one in between
    ]
    return None if between and all(replaced) else not between
