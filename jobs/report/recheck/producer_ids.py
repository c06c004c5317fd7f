"""Claims about who has a producer id, and about the blocks in which brokers get them."""

import struct
from pathlib import Path

from jobs.report.recheck.batches import LAST_EPOCH, Record
from jobs.report.recheck.cases import Case
from jobs.report.recheck.coordinator_records import COMPLETE, EMPTY, PREPARED, State, state_of
from jobs.report.recheck.copies import Copy
from jobs.report.recheck.dump import may_be_of_one_cluster
from jobs.report.recheck.results import HoldsError, RefutedError
from jobs.report.recheck.transactional_ids import mine, named_states, states
from jobs.report.recheck.wire import unsigned

# So many a broker gets at once (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE, all releases).
BLOCK_OF_PRODUCER_IDS = 1_000
PRODUCER_IDS_RECORD = 15
BEGIN_TRANSACTION_RECORD, END_TRANSACTION_RECORD, ABORT_TRANSACTION_RECORD = 23, 24, 25


def other_producer(a: State, b: State) -> bool:
    """Whether it changes where none is given out, or stays where another one was announced."""
    initializes = b.state == EMPTY and a.epoch >= LAST_EPOCH - 1
    completes = b.state in COMPLETE and a.state in PREPARED and a.epoch >= LAST_EPOCH
    used_up = b.epoch == 0 and (initializes or completes)
    if a.producer != b.producer and used_up:
        raise HoldsError(
            "the bytes are there and whole; the epochs of the producer id were used up"
        )
    keeps = a.state in PREPARED and b.state in COMPLETE and b.client_version >= 2
    return a.producer != b.producer or (keeps and a.announced not in (-1, b.producer))


def former_producer(case: Case) -> bool | None:
    """The id had the producer id before, and another one or none since."""
    told, proof = states(case), case.proofs[-1]
    before, state = told[0], told[-1]
    if state is None or (before is not None and before.producer == state.producer):
        return None if state is None else False
    earlier = [e for e in mine(case, [proof.path.parent]) if e.offset < proof.batch.base]
    return any(one.state and one.state.producer == state.producer for one in earlier)


def shared_producer(case: Case) -> bool | None:
    """Records of two ids have one producer id."""
    (one, a), (other, b) = named_states(case)[0], named_states(case)[-1]
    return one != other and a is not None and b is not None and a.producer == b.producer


def metadata_kind(record: Record) -> tuple[int, int]:
    """Kind of a record of `__cluster_metadata`, and where its message begins; -1 for none."""
    if record.value is None:
        return -1, 0
    try:
        _, at = unsigned(record.value, 0)
        kind, at = unsigned(record.value, at)
        _, at = unsigned(record.value, at)
    except ValueError:
        return -1, 0
    return kind, at


def next_producer(record: Record) -> int | None:
    """The producer id behind a block that a record of `__cluster_metadata` gives out."""
    kind, at = metadata_kind(record)
    if record.value is None or kind != PRODUCER_IDS_RECORD or at + 20 > len(record.value):
        return None
    (behind,) = struct.unpack_from(">q", record.value, at + 12)
    return int(behind)


def aborted_before(folder: Path, earlier: int, later: int) -> bool:
    """Whether the metadata transaction of a record was aborted before a later record.

    Raises HoldsError where its abort may be among what is lost. An abort whose begin is lost takes
    back nothing from before that.
    """
    copy = Copy(folder, whole=True, keep=True)
    lost = {number for number, *_ in copy.holes}
    begun, is_open, behind = -1, False, -1
    for number, head in enumerate(copy.heads):
        if head.batch.base > later:
            break
        if number in lost or (number and head.batch.base > behind + 1):
            if is_open and begun <= earlier < head.batch.base:
                raise HoldsError("the abort of its transaction may be among what is lost")
            begun, is_open = head.batch.base, False
        behind = head.batch.last
        for record in [] if head.batch.control else head.batch.records():
            kind, _ = metadata_kind(record)
            if kind == ABORT_TRANSACTION_RECORD and begun <= earlier < record.offset < later:
                return True
            if kind in (BEGIN_TRANSACTION_RECORD, END_TRANSACTION_RECORD, ABORT_TRANSACTION_RECORD):
                begun, is_open = record.offset, kind == BEGIN_TRANSACTION_RECORD
    return False


def block_again(case: Case) -> bool | None:
    """A block of producer ids begins within the one before, or in front of that."""
    one, before = case.proofs[0], case.proofs[-1]
    if one.path.suffix == before.path.suffix == ".log" and aborted_before(
        one.path.parent, before.batch.base, one.batch.base
    ):
        raise RefutedError("the transaction of the block before was aborted")
    first = case.finding.get("offset_first")
    told = [
        [behind for o in proof.batch.records() if (behind := next_producer(o)) is not None]
        for proof in case.proofs
    ]
    here = [o for o in case.proofs[0].batch.records() if first in (None, o.offset)]
    behind = next((found for o in here if (found := next_producer(o)) is not None), None)
    if behind is None or not told[-1]:
        return None
    return behind < max(told[-1]) + BLOCK_OF_PRODUCER_IDS


def never_allocated(case: Case) -> bool | None:
    """The producer id lies above all blocks that `__cluster_metadata` of its cluster gave out."""
    here = case.log_directory()
    copies = [
        one
        for one in case.dump.copies_of("__cluster_metadata")
        if may_be_of_one_cluster(one.parent, here)
    ]
    case.dump.beside("all records of __cluster_metadata")
    given = [
        behind
        for folder in copies
        for head in Copy(folder, whole=True, keep=True).heads
        if not head.batch.control
        for record in head.batch.records()
        if (behind := next_producer(record)) is not None
    ]
    if not given:
        raise HoldsError("the bytes are there and whole; no block of producer ids is in the dump")
    return int(case.finding.get("producer_id") or 0) >= max(given)


def used_outside(case: Case) -> bool | None:
    """A batch without a transaction has the producer id of a transactional id."""
    batch, record = case.proofs[0].batch, case.proofs[-1].batch
    owners = [state_of(one.value) for one in record.records()]
    owned = any(one and one.producer == batch.producer for one in owners)
    return owned and not batch.transactional
