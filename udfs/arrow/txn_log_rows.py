"""Records of `__transaction_state` as rows (kafka-reference 3.2, `TransactionLog`)."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from schemas import log_row
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.rows import RowBuilder
from udfs.wire import batch_layout as layout
from udfs.wire import codecs, txn_log
from udfs.wire.batch_headers import BatchHeaders
from udfs.wire.errors import WireError
from udfs.wire.records import Record, iter_records

ROWS_PER_BATCH = 16_384


def _state(record: Record) -> dict[str, Any]:
    """Columns decoded from key and value; `error` says what could not be."""
    row: dict[str, Any] = {"tombstone": record.value is None}
    try:
        row["transactional_id"] = txn_log.decode_key(record.key or b"").transactional_id
        if record.value is None:
            return row
        value = txn_log.decode_value(record.value)
    except WireError as error:
        return row | {"error": f"{error.reason}: {error.detail}"}
    partitions = None
    if value.partitions is not None:
        partitions = [f"{topic}-{number}" for topic, group in value.partitions for number in group]
    return row | {
        "producer_id": value.producer_id,
        "producer_epoch": value.producer_epoch,
        "timeout_ms": value.timeout_ms,
        "status": value.status,
        "partitions": partitions,
        "last_update_ms": value.last_update_ms,
        "start_ms": value.start_ms,
        "client_transaction_version": value.client_transaction_version,
    }


def plain_section(source: ByteRange, headers: BatchHeaders, i: int, limit: int) -> bytes:
    """The records section of a batch, decompressed up to `limit` bytes; raises WireError."""
    position, length = int(headers.position[i]), int(headers.length[i])
    section = source.data[position + layout.HEADER_SIZE : position + length].tobytes()
    codec = int(headers.codec[i])
    return codecs.decompress(codec, section, limit) if codec else section


def _batch_entries(
    source: ByteRange, headers: BatchHeaders, i: int, limit: int
) -> Iterator[dict[str, Any]]:
    position, length = int(headers.position[i]), int(headers.length[i])
    where = {
        "position": position + source.start,
        "length": length,
        "leader_epoch": int(headers.partition_leader_epoch[i]),
    }
    try:
        plain = plain_section(source, headers, i, limit)
        for record in iter_records(plain, int(headers.record_count[i])):
            timestamp = (
                headers.max_timestamp[i]
                if headers.log_append_time[i]
                else headers.base_timestamp[i] + record.timestamp_delta
            )
            offset = int(headers.base_offset[i]) + record.offset_delta
            yield where | {"offset": offset, "timestamp": int(timestamp)} | _state(record)
    except WireError as error:
        text = f"{error.reason}: {error.detail}"
        yield where | {"offset": int(headers.base_offset[i]), "error": text}


def txn_log_rows(
    builder: RowBuilder, source: ByteRange, headers: BatchHeaders, limit: int
) -> Iterator[pa.RecordBatch]:
    """Entry rows of all data batches of a split; undecodable records become rows with an error."""
    rows: list[dict[str, Any]] = []
    for i in range(headers.record_count.size):
        if headers.control[i] or headers.record_count[i] < 1:
            continue
        rows.extend(_batch_entries(source, headers, i, limit))
        if len(rows) >= ROWS_PER_BATCH:
            yield builder.nested(log_row.ENTRY, "entry", rows)
            rows = []
    if rows:
        yield builder.nested(log_row.ENTRY, "entry", rows)
