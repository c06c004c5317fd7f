"""Records of `__transaction_state` one by one (`TransactionLog`).

What usual batches hold is read many at once (`udfs/arrow/txn_log_columns.py`); here is the rest.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from udfs.arrow.byte_range import ByteRange
from udfs.arrow.rows import ARROW_SCHEMA
from udfs.wire.batches.batch_headers import BatchHeaders, Bools, Int64s
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.batches.records import Record
from udfs.wire.coordinator import txn_log
from udfs.wire.errors import WireError

RECORD = ARROW_SCHEMA.field("txn_log_record").type
ROWS_AT_ONCE = 16_384
# An id is hashed once, not for each of its records.
placing_hash = lru_cache(1 << 14)(txn_log.placing_hash)


def _stored_long(value: int) -> int:
    """A sum of stored numbers, which hostile bytes may drive out of the range of a column."""
    return max(-(1 << 63), min(value, (1 << 63) - 1))


def _state(record: Record) -> dict[str, Any]:
    """Columns decoded from key and value; `error` says what could not be."""
    row: dict[str, Any] = {"tombstone": record.value is None}
    try:
        row["transactional_id"] = txn_log.decode_key(record.key or b"").transactional_id
        row["id_hash"] = placing_hash(row["transactional_id"])
        if record.value is None:
            return row
        value = txn_log.decode_value(record.value)
    except WireError as error:
        return row | {"error": f"{error.reason}: {error.detail}"}
    listed = value.partitions
    return row | {
        "producer_id": value.producer_id,
        "producer_epoch": value.producer_epoch,
        "timeout_ms": value.timeout_ms,
        "status": value.status,
        "partitions": None if listed is None else txn_log.partition_names(listed),
        "last_update_ms": value.last_update_ms,
        "start_ms": value.start_ms,
        "next_producer_id": value.next_producer_id,
        "client_transaction_version": value.told_transaction_version(),
        "unknown_tag": min(value.unknown_tags, default=None),
    }


def unusual_shape(
    codec: int, transactional: bool, producer_id: int, records: int, states: int
) -> str | None:
    """What no coordinator writes: a state is stored plain, in a batch of its own."""
    unusual = [
        f"compressed with codec {codec}" if codec else "",
        "transactional" if transactional else "",
        f"of producer {producer_id}" if producer_id >= 0 else "",
        f"{records} records with {states} states" if states and records > 1 else "",
    ]
    return ", ".join(filter(None, unusual)) or None


class _Batch(NamedTuple):
    """What the records of one batch need to know of it; positions are those in the file."""

    position: int
    length: int
    leader_epoch: int
    base_offset: int
    base_timestamp: int
    append_timestamp: int | None
    producer_id: int
    transactional: bool
    codec: int

    def txn_log_records(self, source: ByteRange, limit: int) -> Iterator[dict[str, Any]]:
        """A row for each record."""
        where = {
            "position": self.position,
            "length": self.length,
            "leader_epoch": self.leader_epoch,
        }
        try:
            start = self.position - source.start
            stored = source.data[start : start + self.length].tobytes()
            records = list(iter_batch(stored, limit))
        except WireError as error:
            yield where | {"offset": self.base_offset, "error": f"{error.reason}: {error.detail}"}
            return
        shape = unusual_shape(
            codec=self.codec,
            transactional=self.transactional,
            producer_id=self.producer_id,
            records=len(records),
            states=sum(record.value is not None for record in records),
        )
        for record in records:
            written = self.base_timestamp + record.timestamp_delta
            yield {
                **where,
                "offset": _stored_long(self.base_offset + record.offset_delta),
                "timestamp": _stored_long(
                    written if self.append_timestamp is None else self.append_timestamp
                ),
                "batch_shape": shape,
                **_state(record),
            }
            shape = None


def _batches(source: ByteRange, headers: BatchHeaders, done: Bools) -> Iterator[tuple[int, _Batch]]:
    """The batches that hold records of the coordinator, numbered, without those that are `done`."""
    # Each of these goes over all batches, so they are asked for once.
    transactional, codec = headers.transactional, headers.codec
    log_append_time = headers.log_append_time
    for i in np.flatnonzero(~headers.control & (headers.record_count > 0) & ~done).tolist():
        yield (
            i,
            _Batch(
                position=int(headers.position[i]) + source.start,
                length=int(headers.length[i]),
                leader_epoch=int(headers.partition_leader_epoch[i]),
                base_offset=int(headers.base_offset[i]),
                base_timestamp=int(headers.base_timestamp[i]),
                append_timestamp=int(headers.max_timestamp[i]) if log_append_time[i] else None,
                producer_id=int(headers.producer_id[i]),
                transactional=bool(transactional[i]),
                codec=int(codec[i]),
            ),
        )


class Unusual(NamedTuple):
    """Records of batches that are read one by one: their rows, and the batch of each."""

    rows: pa.StructArray
    batch: Int64s


def unusual_records(
    source: ByteRange, headers: BatchHeaders, done: Bools, limit: int
) -> Iterator[Unusual]:
    """All records of the data batches of a split that are not `done`, some at a time.

    Records that cannot be decoded become rows with an error.
    """
    rows: list[dict[str, Any]] = []
    of_batch: list[int] = []
    for number, batch in _batches(source, headers, done):
        rows.extend(batch.txn_log_records(source, limit))
        of_batch.extend([number] * (len(rows) - len(of_batch)))
        if len(rows) >= ROWS_AT_ONCE:
            yield Unusual(pa.array(rows, RECORD), np.array(of_batch, dtype=np.int64))
            rows, of_batch = [], []
    if rows:
        yield Unusual(pa.array(rows, RECORD), np.array(of_batch, dtype=np.int64))
