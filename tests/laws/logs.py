"""What a law asks of one copy of a partition: where its log starts and ends, what is cleaned."""

from laws.dump_files import CLEANER, HIGH_WATERMARK, INTERNAL, LOG_START, Directory, Dump, Partition
from laws.log_batches import Batch, batches
from tests.wire_writer import txn_index as index_writer
from udfs.wire.side_files import txn_index


def all_batches(one: Partition) -> list[Batch]:
    return [batch for base in one.bases() for batch in batches(one.segment(base))]


def log_end(one: Partition) -> int:
    """Next offset to be written."""
    bases = one.bases()
    ends = [batch.last_offset + 1 for batch in batches(one.segment(bases[-1]))]
    if not ends and len(bases) > 1:
        ends = [batch.last_offset + 1 for base in bases for batch in batches(one.segment(base))]
    return max([bases[-1], *ends])


def log_start(directory: Directory, one: Partition) -> int:
    return max(one.bases()[0], directory.checkpoint(LOG_START).get(one.place, 0))


def high_watermark(directory: Directory, one: Partition) -> int:
    """The checkpoint, at most the log end; the log start where nothing is told."""
    told = directory.checkpoint(HIGH_WATERMARK).get(one.place)
    return log_start(directory, one) if told is None else min(told, log_end(one))


def cleaned_below(dump: Dump, one: Partition) -> int:
    """Offset below which some copy was cleaned, so that later records decided what is left.

    Such a log below it is no log of an earlier moment. A follower that fetched cleaned batches and
    a pass under way tell nothing; there and in internal topics only the newest segment counts.
    """
    ends = [0]
    for directory, other in dump.copies():
        if other.place != one.place:
            continue
        ends.append(directory.checkpoint(CLEANER).get(one.place, 0))
        expected = None
        for batch in all_batches(other):
            if batch.has_horizon or (expected is not None and batch.base_offset > expected):
                ends.append(batch.last_offset + 1)
            if batch.magic == 2 and batch.count != batch.last_offset - batch.base_offset + 1:
                ends.append(batch.last_offset + 1)
            expected = batch.last_offset + 1
    if max(ends) > 0 or one.topic in INTERNAL:
        ends.append(one.bases()[-1])
    return max(ends)


def aborted(one: Partition, base: int) -> list[txn_index.AbortedTxnEntry]:
    """Entries of the `.txnindex` of a segment."""
    content = one.files.get(f"{base:020}.txnindex", b"")
    return [txn_index.AbortedTxnEntry(*entry) for entry in txn_index.decode(content)[0].tolist()]


def set_aborted(one: Partition, base: int, entries: list[txn_index.AbortedTxnEntry]) -> None:
    """Writes the `.txnindex` of a segment; none where no entry is left."""
    one.files.pop(f"{base:020}.txnindex", None)
    if entries:
        one.files[f"{base:020}.txnindex"] = index_writer.encode(entries)


def unstable_from(one: Partition, start: int) -> int | None:
    """First offset of the oldest open transaction of the log from `start` on."""
    still_open: dict[int, int] = {}
    for batch in all_batches(one):
        if batch.last_offset < start or batch.magic < 2 or batch.producer_id < 0:
            continue
        if batch.control:
            still_open.pop(batch.producer_id, None)
        elif batch.transactional:
            still_open.setdefault(batch.producer_id, batch.base_offset)
    return min(still_open.values(), default=None)
