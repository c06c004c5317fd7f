"""Records of `__transaction_state` as they usually are, many at once: a column at a time.

A coordinator appends each state in a plain batch of its own. A log of a busy cluster has millions
of them, so they never become Python objects one by one; all other batches take the long way
(`udfs/arrow/txn_log_rows.py`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.log_row import ENTRY_TYPE
from udfs.arrow.byte_range import ByteRange
from udfs.wire import batch_layout as layout
from udfs.wire import records, txn_log, txn_log_values
from udfs.wire.batch_headers import BatchHeaders, Bools, Int64s
from udfs.wire.distinct import Distinct
from udfs.wire.fields import FieldReader

ENTRY_SCHEMA: pa.Schema = to_arrow_schema(ENTRY_TYPE)
# At most so much of a log is held as text at a time.
ENTRIES_AT_ONCE = 65_536
NO_HEADERS = 0


class Usual(NamedTuple):
    """Batches of one plain record of a state, one array element each, in log order.

    `batch`: index of the batch; `spans`: columns of `records.find_spans`; `fields`: columns of
    `txn_log_values.read_values`.
    """

    batch: Int64s
    spans: Int64s
    fields: Int64s


def usual_entries(source: ByteRange, headers: BatchHeaders) -> Usual:
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
    fields, usual = txn_log_values.read_values(
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
    return [f"{topic}-{number}" for topic, group in listed for number in group]


def _slices(data: bytes, start: Int64s, end: Int64s) -> Iterator[bytes]:
    return (data[a:b] for a, b in zip(start.tolist(), end.tolist(), strict=True))


class UsualColumns:
    """Entry columns of a split's usual batches."""

    def __init__(self, source: ByteRange, headers: BatchHeaders) -> None:
        """Reads the values; texts are decoded as they are asked for, each distinct one once."""
        self._source, self._headers = source, headers
        self._entries = usual_entries(source, headers)
        self._ids, self._lists = Distinct(_identity), Distinct(_list_of)
        self.readable = np.zeros(headers.record_count.size, dtype=np.bool_)
        self._identity, self._listed = self._texts()
        known = np.array([one is not None for one in self._ids.decoded], dtype=np.bool_)
        listed = np.array([one is not None for one in self._lists.decoded], dtype=np.bool_)
        self._kept: Bools = known[self._identity] & listed[self._listed]
        self.readable[self._entries.batch[self._kept]] = True

    def _texts(self) -> tuple[Int64s, Int64s]:
        """Numbers of the id and of the list of each entry."""
        spans, fields = self._entries.spans, self._entries.fields
        data = self._source.data.tobytes()
        key = spans[records.KEY_START]
        ids = self._ids.numbers(_slices(data, key, key + spans[records.KEY_LENGTH]))
        start, end = fields[txn_log_values.LIST_START], fields[txn_log_values.LIST_END]
        version = (b"\x00", b"\x01")
        flexible = fields[txn_log_values.FLEXIBLE].tolist()
        stored = (
            part + version[own]
            for part, own in zip(_slices(data, start, end), flexible, strict=True)
        )
        return ids, self._lists.numbers(stored)

    def chunks(self) -> Iterator[pa.StructArray]:
        """The entries in log order, some at a time, of the type `schemas.log_row.ENTRY_TYPE`."""
        chosen = np.flatnonzero(self._kept)
        names = pa.array([one and one[0] for one in self._ids.decoded], type=pa.string())
        hashes = np.array([one[1] if one else 0 for one in self._ids.decoded], dtype=np.int32)
        lists = pa.array(
            [None if one == () else one for one in self._lists.decoded], type=pa.list_(pa.string())
        )
        for at in range(0, chosen.size, ENTRIES_AT_ONCE):
            some = chosen[at : at + ENTRIES_AT_ONCE]
            columns = self._numbers(some) | {
                "transactional_id": names.take(pa.array(self._identity[some])),
                "id_hash": pa.array(hashes[self._identity[some]]),
                "partitions": lists.take(pa.array(self._listed[some])),
            }
            arrays = [
                columns[field.name].cast(field.type)
                if field.name in columns
                else pa.nulls(some.size, field.type)
                for field in ENTRY_SCHEMA
            ]
            yield pa.StructArray.from_arrays(arrays, fields=list(ENTRY_SCHEMA))

    def _numbers(self, some: Int64s) -> dict[str, pa.Array]:
        headers, values = self._headers, txn_log_values
        batch, fields = self._entries.batch[some], self._entries.fields[:, some]
        written = headers.base_timestamp[batch] + self._entries.spans[records.TIMESTAMP_DELTA, some]
        appended = headers.log_append_time[batch]
        arrays = {
            "offset": headers.base_offset[batch],
            "position": headers.position[batch] + self._source.start,
            "length": headers.length[batch],
            "timestamp": np.where(appended, headers.max_timestamp[batch], written),
            "leader_epoch": headers.partition_leader_epoch[batch],
            "producer_id": fields[values.PRODUCER_ID],
            "producer_epoch": fields[values.PRODUCER_EPOCH],
            "timeout_ms": fields[values.TIMEOUT_MS],
            "status": fields[values.STATUS],
            "last_update_ms": fields[values.LAST_UPDATE_MS],
            "start_ms": fields[values.START_MS],
            "next_producer_id": fields[values.NEXT_PRODUCER_ID],
            "client_transaction_version": fields[values.CLIENT_TRANSACTION_VERSION],
        }
        columns = {name: pa.array(values) for name, values in arrays.items()}
        return columns | {"tombstone": pa.repeat(pa.scalar(False), some.size)}
