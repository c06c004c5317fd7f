"""Kafka's log cleaner over the batches of one log, pass by pass.

A pass (`CleanerThread.cleanLog`, `Cleaner.doClean`) takes whole segments up to the last stable
offset, the active segment, or the first segment that is too young. A map of the dirty part tells
the newest offset of each key (`Cleaner.buildOffsetMap`). Then all segments from the first on are
written anew, in groups (`Cleaner.cleanSegments`): superseded records go, records of deleted keys
once the horizon has passed, data of aborted transactions, and markers of which no data were met,
again behind their horizon. A header stays of what tells the last sequence of a producer, or the
epoch of one that has no data.

Follows trunk of October 2024, and where `Pass.release` says so what came before (2.8, 2.3).

Left out:

- Magic 0 and 1; a key twice by its hash; the ratio of dirty bytes (`min.cleanable.ratio` is 0).
- The offset index: a segment is read from its start for the map, as if it had no entry
  (`OffsetIndex.lookup`). With entries the read may begin behind the ABORT of a transaction that
  the `.txnindex` tells, and the map then lacks what its producer wrote next.
- Groups bounded by the size of indexes, and segments of more than 2^31 offsets.
- Failures that leave `.cleaned` and `.swap` files; `LogSegmentOffsetOverflowException`.
- Before 2.2 each segment forgot the transactions of the segment before it, and up to 1.1 the epoch
  of a producer without data was not kept (`activeProducersWithLastSequence`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from laws.log_batches import LIMIT, Batch, batch_of

from cleaner.left_of_batch import emptied, fewer, horizon_of
from cleaner.transactions import Transactions
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.batches.records import Record
from udfs.wire.side_files.txn_index import AbortedTxnEntry

HORIZON_SINCE = (3, 1)
# KAFKA-17076.
RETAINS_ROUND_END_SINCE = (4, 0)
# delete.retention.ms: a configuration that lets passes follow one another within a dump's day.
DELETE_RETENTION_MS = 1_000
ANY_SIZE = 1 << 62
# Producer id -> (last offset of its data in this epoch or None, epoch).
LastRecords = dict[int, tuple[int | None, int]]


@dataclass
class Segment:
    """One segment (`LogSegment`), and the entries of its `.txnindex`."""

    base: int
    batches: list[Batch] = field(default_factory=list)
    aborted: list[AbortedTxnEntry] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(len(batch.content) for batch in self.batches)

    @property
    def next_offset(self) -> int:
        """`LogSegment.readNextOffset`."""
        return self.batches[-1].last_offset + 1 if self.batches else self.base


@dataclass
class Log:
    """One copy; `checkpoint`: its line of `cleaner-offset-checkpoint`, None without one."""

    segments: list[Segment]
    start: int
    checkpoint: int | None = None

    def floor(self, offset: int) -> int:
        """Number of the segment at that offset (`LogSegments.floorSegment`)."""
        return max(at for at, one in enumerate(self.segments) if one.base <= offset)

    def aborted(self, base: int, upper: int) -> list[AbortedTxnEntry]:
        """`UnifiedLog.collectAbortedTransactions`: none of which the ABORT is below the start."""
        found = []
        for segment in self.segments[self.floor(base) :]:
            for entry in segment.aborted:
                if entry.last_offset >= self.start and entry.first_offset < upper:
                    found.append(entry)
                if entry.last_stable_offset >= upper:
                    return found
        return found

    def first_dirty(self) -> int:
        """`LogCleanerManager.cleanableOffsets`."""
        return self.start if self.checkpoint is None else max(self.checkpoint, self.start)


class Pass(NamedTuple):
    """What a pass is given.

    - `now`: ms; `last`: `UnifiedLog.lastRecordsOfActiveProducers`;
    - `uncleanable`: the least of last stable offset, base of the active segment, and base of the
      first segment that is younger than `min.compaction.lag.ms`;
    - `segment_bytes`: the largest group; `slots`: how many keys the map takes;
    - `groups`: it is broken off after so many; `told`: and then writes its checkpoint, as on a
      shutdown (`ThreadShutdownException`), not on `LogCleaningAbortedException`;
    - `old_below`: before 3.1, segments below this base are older than the delete horizon.
    """

    release: tuple[int, ...]
    now: int
    uncleanable: int
    last: LastRecords
    delete_retention_ms: int = DELETE_RETENTION_MS
    segment_bytes: int = ANY_SIZE
    slots: int = ANY_SIZE
    groups: int | None = None
    told: bool = True
    old_below: int = 0


@dataclass
class OffsetMap:
    """Key -> its newest offset, and how far the log was read (`SkimpyOffsetMap`)."""

    slots: int
    newest: dict[bytes, int] = field(default_factory=dict)
    latest: int = -1

    def put(self, key: bytes, offset: int) -> bool:
        """Whether there was room. Each put moves `latest`, so a pass may end within a batch."""
        if len(self.newest) >= self.slots:
            return False
        self.newest[key] = self.latest = offset
        return True


def clean(log: Log, asked: Pass) -> Counter[str]:
    """One pass, if there is anything to clean; what it took."""
    took: Counter[str] = Counter()
    dirty = log.first_dirty()
    if log.checkpoint is not None:
        log.checkpoint = dirty
    # `LogCleanerManager.calculateCleanableBytes`.
    upper = log.segments[log.floor(max(dirty, asked.uncleanable))].base
    if dirty >= upper or not sum(one.size for one in _dirty_segments(log, dirty, upper)):
        return took
    keys = build_offset_map(log, dirty, upper, asked.slots)
    end = keys.latest + 1
    transactions = Transactions()
    grouped = groups([one for one in log.segments if one.base < end], asked.segment_bytes)
    swapped = grouped if asked.groups is None else grouped[: asked.groups]
    new = [_cleaned(log, one, transactions, keys, asked, upper, took) for one in swapped]
    log.segments[: sum(map(len, swapped))] = new
    took["passes"] += 1
    took["full maps"] += end < upper
    took["merged segments"] += sum(map(len, swapped)) - len(new)
    if len(swapped) == len(grouped):
        log.checkpoint = end
    else:
        took["broken off"] += 1
        if asked.told:
            log.checkpoint = dirty
    return took


def _dirty_segments(log: Log, dirty: int, upper: int) -> list[Segment]:
    return [one for one in log.segments[log.floor(dirty) :] if one.base < upper]


def build_offset_map(log: Log, dirty: int, upper: int, slots: int) -> OffsetMap:
    """`Cleaner.buildOffsetMap`: the dirty part, up to `upper` or until the map is full."""
    keys = OffsetMap(slots)
    transactions = Transactions(log.aborted(dirty, upper))
    inside = _dirty_segments(log, dirty, upper)
    for segment, following in zip(inside, [*(one.base for one in inside[1:]), upper], strict=True):
        for batch in segment.batches:
            aborted = transactions.read(batch)
            if not batch.control and not aborted and not _put_all(batch, dirty, keys):
                return keys
            if batch.last_offset >= dirty:
                keys.latest = batch.last_offset
        # Offsets may be missing at its end.
        keys.latest = following - 1
    return keys


def _put_all(batch: Batch, dirty: int, keys: OffsetMap) -> bool:
    return all(
        keys.put(record.key, offset)
        for record in records_of(batch)
        if record.key is not None and (offset := batch.base_offset + record.offset_delta) >= dirty
    )


def records_of(batch: Batch) -> list[Record]:
    return list(iter_batch(batch.content, LIMIT)) if batch.count else []


def groups(segments: Sequence[Segment], segment_bytes: int) -> list[list[Segment]]:
    """`Cleaner.groupSegmentsBySize`: neighbours that become one segment."""
    grouped: list[list[Segment]] = []
    for one in segments:
        if grouped and sum(other.size for other in grouped[-1]) + one.size <= segment_bytes:
            grouped[-1].append(one)
        else:
            grouped.append([one])
    return grouped


def _cleaned(
    log: Log,
    group: Sequence[Segment],
    transactions: Transactions,
    keys: OffsetMap,
    asked: Pass,
    upper: int,
    took: Counter[str],
) -> Segment:
    """`Cleaner.cleanSegments`: the segment that takes the place of a group."""
    new = Segment(group[0].base)
    transactions.kept = new.aborted
    for at, segment in enumerate(group):
        end = group[at + 1].base if at + 1 < len(group) else segment.next_offset
        transactions.add(log.aborted(segment.base, end))
        for batch in segment.batches:
            left = _left(batch, transactions.read(batch), keys, asked, upper, segment)
            _count(batch, left, took)
            if left is not None:
                new.batches.append(left)
    return new


def _count(old: Batch, new: Batch | None, took: Counter[str]) -> None:
    if not old.count:
        took["headers"] += new is None
    elif old.control:
        took["markers"] += new is None
        took["emptied markers"] += new is not None and not new.count
    else:
        took["records"] += old.count - (0 if new is None else new.count)
        took["emptied batches"] += new is not None and not new.count
    took["horizons"] += new is not None and new.has_horizon and not old.has_horizon


def _left(
    batch: Batch, may_go: bool, keys: OffsetMap, asked: Pass, upper: int, segment: Segment
) -> Batch | None:
    """What `RecordFilter.checkBatchRetention` and `MemoryRecords.filterTo` leave of a batch."""
    if asked.release >= HORIZON_SINCE:
        horizon = horizon_of(batch)
        aged = horizon is not None and horizon <= asked.now
    else:
        aged = segment.base < asked.old_below
    gone = may_go and (aged or not batch.control)
    kept = [] if gone else [one for one in records_of(batch) if _stays(one, batch, keys, aged)]
    if not kept:
        return batch_of(emptied(batch)) if _retains_header(batch, asked, upper) else None
    awaits = (may_go and batch.control) or any(one.value is None for one in kept)
    sets = awaits and not batch.has_horizon and asked.release >= HORIZON_SINCE
    if len(kept) == batch.count and not sets:
        return batch
    horizon = asked.now + asked.delete_retention_ms if sets else horizon_of(batch)
    return batch_of(fewer(batch, kept, horizon))


def _stays(record: Record, batch: Batch, keys: OffsetMap, aged: bool) -> bool:
    """`Cleaner.shouldRetainRecord`; the record of a marker that does not go stays as it is."""
    offset = batch.base_offset + record.offset_delta
    if batch.control or offset > keys.latest:
        return True
    if record.key is None or offset < keys.newest.get(record.key, -1):
        return False
    return record.value is not None or not aged


def _retains_header(batch: Batch, asked: Pass, upper: int) -> bool:
    """`BatchRetention.RETAIN_EMPTY`."""
    if batch.producer_id in asked.last:
        data, epoch = asked.last[batch.producer_id]
        marker = batch.control and batch.producer_epoch == epoch
        if marker if data is None else batch.last_offset == data:
            return True
    return asked.release >= RETAINS_ROUND_END_SINCE and batch.last_offset + 1 == upper
