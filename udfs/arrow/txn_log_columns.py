"""Records of `__transaction_state` as they usually are, many at once: a column at a time.

A coordinator appends each state in a plain batch of its own. A log of a busy cluster has millions
of them, so they never become Python objects one by one; all other batches take the long way
(`udfs/arrow/txn_log_unusual.py`).
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from udfs.arrow.byte_range import ByteRange
from udfs.wire import bounds
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import records
from udfs.wire.batches.batch_headers import BatchHeaders, Bools, Int64s
from udfs.wire.coordinator import txn_log
from udfs.wire.coordinator import txn_log_values as values
from udfs.wire.coordinator.txn_log_chain import States
from udfs.wire.distinct import Distinct, distinct_slices
from udfs.wire.fields import FieldReader

NO_HEADERS = 0

_Ids = Distinct[bytes, tuple[str, int]]
_Lists = Distinct[bytes, list[str] | tuple[()]]


class Usual(NamedTuple):
    """Batches of one plain record of a state, one array element each, in log order.

    `batch`: index of the batch; `spans`: columns of `records.find_spans`; `fields`: columns of
    `udfs.wire.coordinator.txn_log_values.read_values`.
    """

    batch: Int64s
    spans: Int64s
    fields: Int64s


def usual_records(source: ByteRange, headers: BatchHeaders) -> Usual:
    """The batches that can be read many at once."""
    codec = headers.attributes & ~np.int64(layout.TIMESTAMP_TYPE_MASK)
    alone = (codec == 0) & (headers.record_count == 1) & (headers.producer_id < 0)
    alone &= headers.magic == 2
    batch = np.flatnonzero(alone & (headers.last_offset_delta == 0)).astype(np.int64)
    start = headers.position[batch] + layout.HEADER_SIZE
    end = headers.position[batch] + headers.length[batch]
    spans = records.find_spans(source.data, start, end, headers.record_count[batch])
    batch, end = batch[spans[records.SECTION]], end[spans[records.SECTION]]
    last = spans[records.HEADERS_START]
    whole = (spans[records.RECORD_END] == end) & (last + 1 == end)
    whole &= source.data[np.minimum(last, source.data.size - 1)] == NO_HEADERS
    whole &= (spans[records.OFFSET_DELTA] == 0) & (spans[records.KEY_LENGTH] >= 0)
    batch, spans = batch[whole], spans[:, whole]
    fields, usual = values.read_values(
        source.data, spans[records.VALUE_START], spans[records.VALUE_LENGTH]
    )
    return Usual(batch[usual], spans[:, usual], fields[:, usual])


def _identity(stored: bytes) -> tuple[str, int]:
    name = txn_log.decode_key(stored).transactional_id
    return name, txn_log.placing_hash(name)


def _list_of(stored: bytes) -> list[str] | tuple[()]:
    """The partitions listed; () for null, which is no failure. The last byte is the version."""
    reader = FieldReader(stored[:-1])
    listed = txn_log.read_partitions(reader, bool(stored[-1]))
    reader.end()
    if listed is None:
        return ()
    return txn_log.partition_names(listed)


class UsualColumns:
    """Columns of the records of a split's usual batches, one array element a record, in log order.

    `batch`: index of its batch; `identity`, `listed`: number of its transactional id and of its
    list of partitions; `names`, `lists`: what those numbers stand for. `offset`, `timestamp` (ms).
    `readable`: one element a batch, whether it is among the records.
    """

    def __init__(self, source: ByteRange, headers: BatchHeaders) -> None:
        """Reads the values; texts are decoded as they are met, each distinct one once."""
        self._start, self._headers = source.start, headers
        txn_log_records = usual_records(source, headers)
        ids, lists = Distinct(_identity), Distinct(_list_of)
        identity, listed = _texts(source, txn_log_records, ids, lists)
        known = np.array([one is not None for one in ids.decoded], dtype=np.bool_)
        readable = np.array([one is not None for one in lists.decoded], dtype=np.bool_)
        kept: Bools = known[identity] & readable[listed]
        self.batch, self._fields = txn_log_records.batch[kept], txn_log_records.fields[:, kept]
        self.identity, self.listed = identity[kept], listed[kept]
        self.names = [one[0] if one else "" for one in ids.decoded]
        self.lists: list[list[str] | tuple[()]] = [one or () for one in lists.decoded]
        self._null_lists = [one is None or one == () for one in lists.decoded]
        self._hashes = np.array([one[1] if one else 0 for one in ids.decoded], dtype=np.int32)
        self._texts: tuple[pa.Array, pa.Array] | None = None
        self.offset: Int64s = headers.base_offset[self.batch]
        delta = bounds.timestamps(txn_log_records.spans[records.TIMESTAMP_DELTA, kept])
        written = bounds.timestamps(headers.base_timestamp[self.batch] + delta)
        appended = headers.log_append_time[self.batch]
        self.timestamp: Int64s = np.where(appended, headers.max_timestamp[self.batch], written)
        self.leader_epoch = headers.partition_leader_epoch[self.batch]
        self.readable = np.zeros(headers.record_count.size, dtype=np.bool_)
        self.readable[self.batch] = True

    def states(self) -> States:
        """What the steps between records of one id are judged by."""
        fields = self._fields
        return States(
            identity=self.identity,
            producer_id=fields[values.PRODUCER_ID],
            producer_epoch=fields[values.PRODUCER_EPOCH],
            timeout_ms=fields[values.TIMEOUT_MS],
            status=fields[values.STATUS],
            listed=self.listed,
            last_update_ms=fields[values.LAST_UPDATE_MS],
            start_ms=fields[values.START_MS],
            transaction_version=self.transaction_version(),
        )

    def hashes(self) -> Int64s:
        """Hash of each distinct transactional id of the records, which places it."""
        distinct: Int64s = self._hashes[np.unique(self.identity)].astype(np.int64)
        return distinct

    def transaction_version(self) -> Int64s:
        """Client transaction version of each record."""
        version: Int64s = self._fields[values.CLIENT_TRANSACTION_VERSION]
        return version

    def columns(self, some: Int64s) -> dict[str, pa.Array]:
        """Columns of `schemas.log_row.TXN_LOG_RECORD_TYPE` of the records `some`; others null."""
        headers, batch, fields = self._headers, self.batch[some], self._fields[:, some]
        names, lists = self._text_columns()
        arrays = {
            "id_hash": self._hashes[self.identity[some]],
            "offset": self.offset[some],
            "position": headers.position[batch] + self._start,
            "length": headers.length[batch],
            "timestamp": self.timestamp[some],
            "leader_epoch": self.leader_epoch[some],
            "producer_id": fields[values.PRODUCER_ID],
            "producer_epoch": fields[values.PRODUCER_EPOCH],
            "timeout_ms": fields[values.TIMEOUT_MS],
            "status": fields[values.STATUS],
            "last_update_ms": fields[values.LAST_UPDATE_MS],
            "start_ms": fields[values.START_MS],
            "next_producer_id": fields[values.NEXT_PRODUCER_ID],
            "client_transaction_version": fields[values.CLIENT_TRANSACTION_VERSION],
        }
        return {name: pa.array(column) for name, column in arrays.items()} | {
            "transactional_id": names.take(pa.array(self.identity[some])),
            "partitions": lists.take(pa.array(self.listed[some])),
            "tombstone": pa.repeat(pa.scalar(False), some.size),
        }

    def _text_columns(self) -> tuple[pa.Array, pa.Array]:
        if self._texts is None:
            nulls = np.array(self._null_lists, dtype=np.bool_)
            lists = pa.array(self.lists, type=pa.list_(pa.string()), mask=nulls)
            self._texts = pa.array(self.names, type=pa.string()), lists
        return self._texts


def _texts(
    source: ByteRange, txn_log_records: Usual, ids: _Ids, lists: _Lists
) -> tuple[Int64s, Int64s]:
    """Numbers of the id and of the list of each record."""
    spans, fields = txn_log_records.spans, txn_log_records.fields
    key = spans[records.KEY_START]
    identity, stored_ids = distinct_slices(source.data, key, key + spans[records.KEY_LENGTH])
    start, end = fields[values.LIST_START], fields[values.LIST_END]
    listed, stored_lists = distinct_slices(source.data, start, end)
    # The same bytes are another list in another version of the value.
    of_version, which = np.unique(listed * 2 + fields[values.FLEXIBLE], return_inverse=True)
    versions = (b"\x00", b"\x01")
    stored = (stored_lists[one // 2] + versions[one % 2] for one in of_version.tolist())
    return ids.numbers(stored_ids)[identity], lists.numbers(stored)[which]
