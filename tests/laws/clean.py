"""The law of compaction: a log as the cleaner leaves it (`Cleaner`, `MemoryRecords.filterTo`).

Whole segments below the newest one and below the first unstable offset are cleaned: of each key
the newest record stays, of keys that are deleted nothing once the horizon has passed; records
without a key go; data of aborted transactions go; a marker goes when nothing of its transaction
was met and its horizon has passed. An empty batch stays for the last sequence of a producer that
is still known (or the last marker of one that has no data), and since 4.1 at the end of what was
cleaned. From 3.1 on the first pass writes the horizon into the batch and the next one drops it;
before, the age of the segment decides. The `.txnindex` of a segment is made anew with the aborted
transactions of which data were still met. Any topic may be compacted; an operator decides.
"""

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import NamedTuple

from laws import head, logs
from laws.dump_files import CLEANER, METADATA, Directory, Dump, Partition
from laws.log_batches import LIMIT, Batch, batches, sound
from tests.wire_writer import batches as writer
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.batches.records import Record
from udfs.wire.side_files.txn_index import AbortedTxnEntry

HORIZON_SINCE = (3, 1)
RETAINS_ROUND_END_SINCE = (4, 1)
# delete.retention.ms: a configuration that lets passes follow one another within a dump's day.
DELETE_RETENTION_MS = 1_000


class Pass(NamedTuple):
    """One pass of a cleaner: `now` in ms; `upper`: first offset not cleaned."""

    release: tuple[int, ...]
    now: int
    old_markers_go: bool
    upper: int
    last_of_producers: dict[int, tuple[int | None, int]]


class Transactions:
    """What the cleaner knows of transactions while it walks (`CleanedTransactionMetadata`)."""

    def __init__(self, entries: list[AbortedTxnEntry]) -> None:
        self._ahead = sorted(entries, key=lambda one: one.first_offset, reverse=True)
        self._aborting: dict[int, tuple[AbortedTxnEntry, bool]] = {}
        self._committing: set[int] = set()

    def _reach(self, offset: int) -> None:
        while self._ahead and self._ahead[-1].first_offset <= offset:
            entry = self._ahead.pop()
            self._aborting.setdefault(entry.producer_id, (entry, False))

    def aborted_data(self, batch: Batch) -> bool:
        self._reach(batch.last_offset)
        if not batch.transactional:
            return False
        known = self._aborting.get(batch.producer_id)
        if known is None:
            self._committing.add(batch.producer_id)
            return False
        self._aborting[batch.producer_id] = (known[0], True)
        return True

    def ended(self, batch: Batch) -> tuple[bool, AbortedTxnEntry | None]:
        """Of a marker: whether it may go, and the entry that its index keeps."""
        self._reach(batch.last_offset)
        if batch.commit is None:
            return True, None
        if batch.commit:
            there = batch.producer_id in self._committing
            self._committing.discard(batch.producer_id)
            return not there, None
        entry, met = self._aborting.pop(batch.producer_id, (None, False))
        return (False, entry) if entry is not None and met else (True, None)


def _last_of_producers(one: Partition) -> dict[int, tuple[int | None, int]]:
    """Producer id -> (last offset of its data at this epoch or None, epoch) at the log end."""
    last: dict[int, tuple[int | None, int]] = {}
    for batch in logs.all_batches(one):
        if batch.magic < 2 or batch.producer_id < 0:
            continue
        known = last.get(batch.producer_id)
        if not batch.control:
            last[batch.producer_id] = (batch.last_offset, batch.producer_epoch)
        elif known is None or known[1] != batch.producer_epoch:
            last[batch.producer_id] = (None, batch.producer_epoch)
    return last


def _newest(one: Partition, upper: int) -> dict[bytes, int]:
    """Key -> offset of its newest record that is not aborted, below `upper`."""
    transactions = Transactions([e for base in one.bases() for e in logs.aborted(one, base)])
    newest: dict[bytes, int] = {}
    for batch in logs.all_batches(one):
        if batch.last_offset >= upper:
            break
        if batch.control:
            transactions.ended(batch)
        elif not transactions.aborted_data(batch):
            for record in iter_batch(batch.content, LIMIT):
                if record.key is not None:
                    newest[record.key] = batch.base_offset + record.offset_delta
    return newest


def _horizon(batch: Batch) -> int | None:
    return batch.base_timestamp if batch.has_horizon else None


def _rewritten(batch: Batch, kept: list[Record], horizon: int | None) -> bytes:
    """A batch of fewer records, or with a horizon in place of its base timestamp."""
    times = [batch.base_timestamp + record.timestamp_delta for record in kept]
    log_append = bool(batch.attributes & layout.TIMESTAMP_TYPE_MASK)
    if log_append:
        times = [batch.max_timestamp] * len(kept)
    first = times[0] if horizon is None else horizon
    records = [
        writer.record(record.offset_delta, time - first, record.key, record.value, record.headers)
        for record, time in zip(kept, times, strict=True)
    ]
    return writer.batch(
        batch.base_offset,
        records,
        base_timestamp=first,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.transactional,
        control=batch.control,
        max_timestamp=max(times),
        partition_leader_epoch=batch.leader_epoch,
        codec=batch.attributes & layout.CODEC_MASK,
        last_offset_delta=batch.last_offset - batch.base_offset,
        timestamp_type=int(log_append),
        delete_horizon=horizon,
    )


def _empty(batch: Batch) -> bytes:
    return writer.empty_batch(
        batch.base_offset,
        batch.last_offset,
        max_timestamp=batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        transactional=batch.transactional,
        control=batch.control,
        partition_leader_epoch=batch.leader_epoch,
        timestamp_type=int(bool(batch.attributes & layout.TIMESTAMP_TYPE_MASK)),
    )


def _retains_empty(batch: Batch, asked: Pass) -> bool:
    data, epoch = asked.last_of_producers.get(batch.producer_id, (None, None))
    if batch.producer_id >= 0 and epoch is not None:
        mine = batch.last_offset == data
        if data is None:
            mine = batch.control and batch.producer_epoch == epoch
        if mine:
            return True
    return asked.release >= RETAINS_ROUND_END_SINCE and batch.last_offset + 1 == asked.upper


def _left_of(batch: Batch, discard: bool, keys: dict[bytes, int], asked: Pass) -> list[Record]:
    """Records of a batch that stay."""
    if discard:
        return []
    records = list(iter_batch(batch.content, LIMIT)) if batch.count else []
    if batch.control:
        return records
    horizon = _horizon(batch)
    tombstones_go = (
        horizon is not None and asked.now >= horizon
        if asked.release >= HORIZON_SINCE
        else asked.old_markers_go
    )
    return [
        record
        for record in records
        if record.key is not None
        and batch.base_offset + record.offset_delta >= keys.get(record.key, -1)
        and (record.value is not None or not tombstones_go)
    ]


def _cleaned(
    batch: Batch, transactions: Transactions, keys: dict[bytes, int], asked: Pass
) -> tuple[bytes, AbortedTxnEntry | None]:
    """What is left of a batch, and an entry for the index of its segment."""
    entry = None
    if batch.control:
        may_go, entry = transactions.ended(batch)
        horizon = _horizon(batch)
        aged = horizon is not None and horizon <= asked.now
        discard = may_go and (aged if asked.release >= HORIZON_SINCE else asked.old_markers_go)
    else:
        may_go = discard = transactions.aborted_data(batch)
    kept = _left_of(batch, discard, keys, asked)
    if not kept:
        return (_empty(batch) if _retains_empty(batch, asked) else b""), entry
    deletes = any(record.value is None for record in kept) or (may_go and batch.control)
    sets_horizon = deletes and not batch.has_horizon and asked.release >= HORIZON_SINCE
    if len(kept) == batch.count and not sets_horizon:
        return batch.content, entry
    horizon = asked.now + DELETE_RETENTION_MS if sets_horizon else _horizon(batch)
    return _rewritten(batch, kept, horizon), entry


def one_pass(one: Partition, asked: Pass) -> None:
    """Cleans all segments below `upper`, each for itself."""
    keys = _newest(one, asked.upper)
    transactions = Transactions([e for base in one.bases() for e in logs.aborted(one, base)])
    for base in [base for base in one.bases() if base < asked.upper]:
        parts, entries = [], []
        for batch in batches(one.segment(base)):
            left, entry = _cleaned(batch, transactions, keys, asked)
            parts.append(left)
            if entry is not None:
                entries.append(entry)
        one.drop(base, (".index", ".timeindex"))
        one.files[f"{base:020}.log"] = b"".join(parts)
        logs.set_aborted(one, base, entries)


def _merge(one: Partition, upper: int, rng: Random) -> None:
    """Segments of a group become one, named as the first; the snapshots of the others go."""
    bases = [base for base in one.bases() if base < upper]
    for first, second in pairwise(bases):
        into = max(base for base in one.bases() if base <= first)
        if rng.random() < 0.6:
            one.files[f"{into:020}.log"] += one.segment(second)
            entries = [*logs.aborted(one, into), *logs.aborted(one, second)]
            one.drop(second)
            logs.set_aborted(one, into, entries)


def _uniform(one: Partition) -> Iterator[bool]:
    """Whether each segment can be walked to its end, all of magic 2 and free of damage."""
    for base in one.bases():
        content = one.segment(base)
        yield all(batch.magic == 2 for batch in batches(content))
        yield sound(content)


def clean(
    dump: Dump,
    directory: Directory,
    one: Partition,
    rng: Random,
    release: tuple[int, ...],
    moment: int,
) -> bool:
    """Cleans a copy once or several times, up to where a cleaner may; `moment`: of the last, ms."""
    if one.topic == METADATA or not all(list(_uniform(one))):
        return False
    head.roll(directory, one, rng)
    upper = one.bases()[-1]
    start, watermark = logs.log_start(directory, one), logs.high_watermark(directory, one)
    unstable = logs.unstable_from(one, start)
    bound = min(watermark, watermark if unstable is None else unstable)
    upper = max((base for base in one.bases() if base <= min(upper, bound)), default=0)
    if upper <= start:
        return False
    known = _last_of_producers(one)
    forgotten = rng.choice((0.0, 0.0, 0.5, 1.0))
    known = {pid: last for pid, last in known.items() if rng.random() >= forgotten}
    passes = rng.choice((1, 1, 2, 3))
    for number in range(passes):
        now = moment - (passes - number) * 2 * DELETE_RETENTION_MS
        one_pass(one, Pass(release, now, number > 0 or rng.random() < 0.5, upper, known))
    _merge(one, upper, rng)
    directory.put(CLEANER, one.place, upper)
    return True
