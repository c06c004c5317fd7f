"""What the cleaner left of a split, packed so that copies cleaned at other times can be compared.

Three views, each spread over buckets so that one task holds little: every record by its offset,
what began and ended the transactions of each producer, and the newest record of each key.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas import log_row
from udfs.arrow.batches import DecodedBatches
from udfs.arrow.blocks import pack_block
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.replica_blocks import BLOCK_OFFSETS
from udfs.arrow.rows import RowBuilder, Rows
from udfs.arrow.sections import UNREADABLE, readable, sections
from udfs.rules.producer_step import sequence_at
from udfs.wire.batches import records
from udfs.wire.batches.batch_headers import Bools, Int64s
from udfs.wire.batches.fingerprints import joined_fingerprints, piece_fingerprints

RECORD, OUTCOME, KEY, UNREAD = "record", "outcome", "key", "unread"
# Events of a producer: the first data batch after a marker, a marker, one that was emptied.
DATA, COMMITTED, ABORTED, EMPTIED = range(4)
# States of a key, by its newest record: not known to be committed, without a value, with one.
UNDECIDED, TOMBSTONE, VALUE = range(3)
# Of more records in one split, which only hostile batches hold, none are compared.
MAX_RECORDS = 1 << 22

_OF_BATCH = [("position", "<i8"), ("length", "<i4")]
RETAINED_RECORD = np.dtype([("offset", "<i8"), ("fingerprint", "<i8"), *_OF_BATCH])
"""RECORD: a record or marker; byte position of its batch and its size, as in the other two."""
PRODUCER_EVENT = np.dtype([("producer_id", "<i8"), ("offset", "<i8"), ("event", "i1"), *_OF_BATCH])
"""OUTCOME: what began or ended a transaction of a producer."""
NEWEST_OF_KEY = np.dtype(
    [("key_fingerprint", "<i8"), ("offset", "<i8"), ("state", "i1"), *_OF_BATCH]
)
"""KEY: the newest record of a key in this split."""

VIEWS = {RECORD: RETAINED_RECORD, OUTCOME: PRODUCER_EVENT, KEY: NEWEST_OF_KEY}

View = NDArray[np.void]
"""Rows of one of VIEWS."""


def pack_view(view: View) -> bytes:
    """The rows as one cell."""
    names = list(view.dtype.names or ())
    columns = [pa.array(np.ascontiguousarray(view[name])) for name in names]
    return pack_block(pa.RecordBatch.from_arrays(columns, names=names))


def unpack_view(block: bytes, compared: str) -> View:
    """The rows of one cell; `compared`: one of VIEWS."""
    with pa.ipc.open_stream(block) as stream:
        table = stream.read_all()
    view = np.empty(table.num_rows, dtype=VIEWS[compared])
    for name in table.schema.names:
        view[name] = table.column(name).to_numpy()
    return view


class _Split:
    """The batches of a split that are compared, and how rows about them are made."""

    def __init__(self, decoded: DecodedBatches, start: int) -> None:
        self.decoded, self.start = decoded, start
        self.events = _events(decoded)
        self.outcome = _outcomes(decoded, *self.events)

    def rows(self, dtype: np.dtype[np.void], batch: Int64s, **columns: NDArray[np.integer]) -> View:
        """Rows of one of VIEWS: these columns, and the place of each batch."""
        made = np.empty(batch.size, dtype=dtype)
        for name, values in columns.items():
            made[name] = values
        made["position"] = self.decoded.headers.position[batch] + self.start
        made["length"] = self.decoded.headers.length[batch]
        return made


def _markers(decoded: DecodedBatches) -> Bools:
    """Control batches that are a COMMIT or ABORT."""
    known = (decoded.control_type == records.COMMIT) | (decoded.control_type == records.ABORT)
    markers: Bools = decoded.headers.control & (decoded.headers.record_count == 1) & known
    return markers


def _events(decoded: DecodedBatches) -> tuple[Int64s, Int64s]:
    """Batches of transactions that hold records, and control batches: (batch, its event).

    Sorted by producer and offset; only the first data batch after a marker.
    """
    headers = decoded.headers
    data = headers.transactional & readable(decoded)
    chosen = np.flatnonzero((headers.magic == 2) & (headers.producer_id >= 0)
                            & (data | headers.control))  # fmt: skip
    markers = _markers(decoded)[chosen]
    commit = decoded.control_type[chosen] == records.COMMIT
    event = np.where(commit, COMMITTED, ABORTED)
    event = np.where(headers.control[chosen], np.where(markers, event, EMPTIED), DATA)
    producer, offset = headers.producer_id[chosen], headers.base_offset[chosen]
    order = np.lexsort((offset, producer))
    chosen, event, producer = chosen[order], event[order], producer[order]
    repeated = np.zeros(chosen.size, dtype=np.bool_)
    repeated[1:] = (event[1:] == DATA) & (event[:-1] == DATA) & (producer[1:] == producer[:-1])
    return chosen[~repeated].astype(np.int64), event[~repeated].astype(np.int64)


def _outcomes(decoded: DecodedBatches, batch: Int64s, event: Int64s) -> Int64s:
    """For each batch COMMITTED, also without a transaction, ABORTED, or EMPTIED for not known.

    `batch`, `event`: see `_events`.
    """
    headers = decoded.headers
    outcome = np.full(headers.base_offset.size, COMMITTED, dtype=np.int64)
    inside = np.flatnonzero(headers.transactional & ~headers.control)
    outcome[inside] = EMPTIED
    ends = event != DATA
    markers = np.stack((headers.producer_id[batch[ends]], headers.base_offset[batch[ends]]))
    # The first marker of the same producer after each batch: both are sorted by the pair.
    both = np.concatenate(
        (markers, np.stack((headers.producer_id[inside], headers.base_offset[inside]))), axis=1
    )
    rank = np.empty(both.shape[1], dtype=np.int64)
    rank[np.lexsort((both[1], both[0]))] = np.arange(rank.size)
    count = markers.shape[1]
    following = np.searchsorted(rank[:count], rank[count:])
    known = following < count
    found = following[known]
    same = markers[0][found] == headers.producer_id[inside[known]]
    outcome[inside[known][same]] = event[ends][found[same]]
    return outcome


def _of_records(
    split: _Split, source: ByteRange, wanted: Bools, limit: int
) -> Iterator[tuple[View, View]]:
    """RETAINED_RECORD and NEWEST_OF_KEY of the data batches, some batches at a time."""
    headers, seen = split.decoded.headers, 0
    for part in sections(source, split.decoded, limit, wanted):
        spans = part.find_spans(part.data, part.start, part.end, headers.record_count[part.batch])
        seen += spans.shape[1]
        if seen > MAX_RECORDS:
            raise OverflowError(seen)
        batch = part.batch[spans[records.SECTION]]
        delta = spans[records.OFFSET_DELTA]
        offset = headers.base_offset[batch] + delta
        first = headers.base_sequence[batch]
        key, value = (
            piece_fingerprints(part.data, spans[start], spans[length])
            for start, length in (
                (records.KEY_START, records.KEY_LENGTH),
                (records.VALUE_START, records.VALUE_LENGTH),
            )
        )
        fingerprint = joined_fingerprints([
            headers.producer_id[batch], headers.producer_epoch[batch],
            np.where(first < 0, first, sequence_at(first, delta)),
            headers.partition_leader_epoch[batch], headers.transactional[batch], key, value,
        ])  # fmt: skip
        outcome = split.outcome[batch]
        state = np.where(spans[records.VALUE_LENGTH] < 0, TOMBSTONE, VALUE)
        state = np.where(outcome == COMMITTED, state, UNDECIDED)
        keyed = (spans[records.KEY_LENGTH] >= 0) & (outcome != ABORTED)
        yield (
            split.rows(RETAINED_RECORD, batch, offset=offset, fingerprint=fingerprint),
            newest(split.rows(NEWEST_OF_KEY, batch[keyed], offset=offset[keyed],
                              key_fingerprint=key[keyed], state=state[keyed])),
        )  # fmt: skip


def newest(keys: View) -> View:
    """The newest of each key, in the order of their fingerprints; rows of NEWEST_OF_KEY."""
    ordered = keys[np.lexsort((keys["offset"], keys["key_fingerprint"]))]
    last = np.ones(ordered.size, dtype=np.bool_)
    last[:-1] = ordered["key_fingerprint"][1:] != ordered["key_fingerprint"][:-1]
    return ordered[last]


def _of_markers(split: _Split, wanted: Bools) -> View:
    """RETAINED_RECORD of the markers."""
    decoded, headers = split.decoded, split.decoded.headers
    batch = np.flatnonzero(wanted & _markers(decoded))
    fingerprint = joined_fingerprints([
        headers.producer_id[batch], headers.producer_epoch[batch],
        decoded.control_type[batch], decoded.coordinator_epoch[batch],
        headers.partition_leader_epoch[batch],
    ])  # fmt: skip
    offset = headers.base_offset[batch]
    return split.rows(RETAINED_RECORD, batch, offset=offset, fingerprint=fingerprint)


def _of_producers(split: _Split) -> View:
    """PRODUCER_EVENT, of all offsets: a transaction may end above the reach of the cleaner."""
    headers = split.decoded.headers
    batch, event = split.events
    return split.rows(
        PRODUCER_EVENT, batch, producer_id=headers.producer_id[batch],
        offset=headers.base_offset[batch], event=event,
    )  # fmt: skip


def _cells(compared: str, view: View, bucket: Int64s) -> Iterator[dict[str, object]]:
    """Rows of RETAINED_RECORDS_TYPE, one a bucket."""
    if not view.size:
        return
    order = np.argsort(bucket, kind="stable")
    numbers, starts = np.unique(bucket[order], return_index=True)
    for number, chosen in zip(numbers, np.split(order, starts[1:]), strict=True):
        yield {
            "compared": compared,
            "bucket": int(number),
            "number": chosen.size,
            "retained_records": pack_view(view[chosen]),
        }


def _rows(
    split: _Split, source: ByteRange, reach: int, buckets: int, limit: int
) -> Iterator[dict[str, object]]:
    """Rows of RETAINED_RECORDS_TYPE of a split in which all could be read."""
    headers = split.decoded.headers
    wanted = headers.magic == 2
    cleaned = wanted & (headers.base_offset < reach)
    by_offset, by_key = [_of_markers(split, cleaned)], [np.empty(0, dtype=NEWEST_OF_KEY)]
    # What replaced a value may lie behind: a copy has what the cleaner of any broker left.
    for of_records, of_keys in _of_records(split, source, wanted, limit):
        by_offset.append(of_records[of_records["offset"] < reach])
        by_key.append(of_keys)
    held, events = np.concatenate(by_offset), _of_producers(split)
    keys = newest(np.concatenate(by_key))
    yield from _cells(RECORD, held, held["offset"] // BLOCK_OFFSETS)
    yield from _cells(KEY, keys, keys["key_fingerprint"] % buckets)
    yield from _cells(OUTCOME, events, events["producer_id"] % buckets)


def retained_record_rows(
    builder: RowBuilder,
    source: ByteRange,
    decoded: DecodedBatches,
    damages: int,
    reach: int,
    buckets: int,
    limit: int,
) -> Iterator[Rows]:
    """Rows of `log_row.RETAINED_RECORDS_TYPE` of a split with that many stretches of damage.

    `reach`: offset up to which the cleaner of any copy came, exclusive; `buckets`: over how many
    keys and producers are spread; `limit` bounds a decompressed batch, bytes.
    """
    headers = decoded.headers
    old = headers.magic < 2
    unread = damages + int(np.count_nonzero(((decoded.fault & UNREADABLE) != 0) | old))
    rows: list[dict[str, object]] = []
    try:
        rows += _rows(_Split(decoded, source.start), source, reach, buckets, limit)
    except OverflowError as error:
        rows, unread = [], int(error.args[0])
    if unread:
        rows.append({"compared": UNREAD, "bucket": 0, "number": unread})
    if rows:
        yield builder.nested(log_row.RETAINED_RECORDS, "retained_records", rows)
