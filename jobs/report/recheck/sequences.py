"""Claims about the sequences, epochs and timestamps of a producer's batches."""

from jobs.report.recheck.batches import MAX_SEQUENCE, Batch
from jobs.report.recheck.cases import Case, of_producer


def ahead(a: Batch, b: Batch) -> bool:
    """Whether the sequence of b lies above the one that follows a."""
    expected = (a.last_sequence + 1) % (MAX_SEQUENCE + 1)
    return (b.sequence - expected) % (MAX_SEQUENCE + 1) < 1 << 30 and b.sequence != expected


def skips_forward(case: Case) -> bool | None:
    """The sequence is above the one that must follow: 0 behind a marker of another epoch."""
    before, batch = case.proofs[0].batch, case.proofs[-1].batch
    between = (
        one
        for one in case.copy(case.proofs[-1]).of(batch.producer)
        if one.ends and before.base < one.batch.base < batch.base
    )
    if any(one.batch.epoch != before.epoch for one in between):
        return batch.sequence > 0
    return ahead(before, batch)


def next_of_producer(case: Case) -> bool | None:
    """No data of the producer lie between two batches."""
    before, after = case.proofs[0].batch, case.proofs[-1]
    copy = case.copy(after)
    copy.require_readable(before.base, after.batch.base)
    between = (o for o in copy.of(before.producer) if before.base < o.batch.base < after.batch.base)
    return not any(not o.batch.control and o.batch.sequence >= 0 and o.whole for o in between)


def repeated(case: Case) -> bool | None:
    """Sequences of a batch are in an earlier one of its producer and epoch."""
    proof = case.proofs[-1]
    batch = proof.batch

    def has(a: Batch) -> bool:
        same = not a.control and (a.producer, a.epoch) == (batch.producer, batch.epoch)
        return same and (batch.sequence - a.sequence) % (MAX_SEQUENCE + 1) <= a.delta

    if batch.producer < 0 or batch.control or batch.sequence < 0:
        return False
    if has(case.proofs[0].batch) and case.proofs[0].batch.base < batch.base:
        return True
    before = (one.batch for one in case.copy(proof).of(batch.producer))
    return any(has(one) for one in before if one.base < batch.base)


def begins_late(case: Case) -> bool | None:
    """The first batch of an epoch does not begin with sequence 0."""
    proof = case.proofs[-1]
    batch = proof.batch
    if len(case.proofs) > 1:
        says = of_producer(lambda a, b: b.epoch > a.epoch and b.sequence > 0)(case)
        if not says:
            return says
    same = (
        one
        for one in case.copy(proof).of(batch.producer)
        if one.batch.epoch == batch.epoch and not one.batch.control
    )
    return batch.sequence > 0 and not any(o.batch.base < batch.base and o.whole for o in same)


def with_these_timestamps(case: Case) -> bool | None:
    """The two timestamps of the finding: of the batch, and of one before it or a marker between."""
    before, batch = case.proofs[0].batch, case.proofs[-1].batch
    told = [int(word) for word in case.text.replace(",", "").split() if word.lstrip("-").isdigit()]
    if before.producer != batch.producer or before.base >= batch.base or len(told) != 2:
        return False
    mine_ = (one.batch for one in case.copy(case.proofs[-1]).of(batch.producer))
    # The batch before may be the entry of a snapshot.
    newest = [before.newest, *(o.newest for o in mine_ if before.base <= o.base < batch.base)]
    return told[0] in newest and told[1] == batch.newest


def first_of_producer(case: Case) -> bool | None:
    """No batch of the producer lies before."""
    proof = case.proofs[-1]
    copy = case.copy(proof)
    before = (o for o in copy.of(proof.batch.producer) if o.batch.base < proof.batch.base)
    return not any(one.batch.sequence >= 0 and one.whole for one in before)
