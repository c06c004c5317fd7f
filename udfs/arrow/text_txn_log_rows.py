"""Records of `__transaction_state` in a text of kafka-dump-log, as rows."""

from collections.abc import Generator, Iterator
from io import BytesIO
from itertools import groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa

from udfs.arrow.byte_range import ByteRange
from udfs.arrow.rows import RowBuilder, Rows
from udfs.arrow.txn_log_columns import UsualColumns
from udfs.arrow.txn_log_rows import record_rows
from udfs.arrow.txn_log_unusual import (
    RECORD,
    ROWS_AT_ONCE,
    Unusual,
    placing_hash,
    unusual_shape,
)
from udfs.wire.batches.batch_headers import BatchHeaders
from udfs.wire.coordinator.txn_log import partition_names
from udfs.wire.errors import WireError
from udfs.wire.text.text_batches import PrintedRecord
from udfs.wire.text.text_txn_log import read_state

NOT_PRINTED = "text_unreadable: key and value are not printed"
LONG, INT, SHORT = 1 << 63, 1 << 31, 1 << 15


def _state(record: PrintedRecord) -> dict[str, Any]:
    """Columns of key and value; `error` says what could not be read."""
    row: dict[str, Any] = {"tombstone": record.value_size < 0}
    if record.printed is None:
        return row | {"error": NOT_PRINTED}
    try:
        name, state = read_state(record.printed, record.key_size, record.value_size)
    except WireError as error:
        return row | {"error": f"{error.reason}: {error.detail}"}
    row |= {"transactional_id": name, "id_hash": placing_hash(name), "tombstone": state is None}
    if state is None:
        return row
    columns = state._asdict()
    bounds = {"producer_epoch": SHORT, "timeout_ms": INT, "status": 1 << 7,
              "client_transaction_version": SHORT}  # fmt: skip
    for field, value in columns.items():
        bound = bounds.get(field, LONG)
        if isinstance(value, int) and not -bound <= value < bound:
            return row | {"error": f"text_unreadable: {field} {value} is no number of its size"}
    listed = columns.pop("partitions")
    if listed is not None:
        listed = partition_names(listed)
    return row | columns | {"partitions": listed}


def _records(
    headers: BatchHeaders, start: int, printed: list[PrintedRecord]
) -> Iterator[dict[str, Any]]:
    """A row for each record."""
    codec, transactional = headers.codec, headers.transactional
    for batch, of_batch in groupby(printed, key=lambda record: record.batch):
        records = list(of_batch)
        shape = unusual_shape(
            codec=int(codec[batch]),
            transactional=bool(transactional[batch]),
            producer_id=int(headers.producer_id[batch]),
            records=len(records),
            states=sum(record.value_size >= 0 for record in records),
        )
        for record in records:
            yield {
                "position": int(headers.position[batch]) + start,
                "length": int(headers.length[batch]),
                "leader_epoch": int(headers.partition_leader_epoch[batch]),
                "offset": record.offset,
                "timestamp": record.timestamp,
                "batch_shape": shape,
                **_state(record),
            }
            shape = None


def text_txn_log_rows(
    builder: RowBuilder, headers: BatchHeaders, split: dict[str, Any], printed: list[PrintedRecord]
) -> Generator[Rows, None, dict[str, Any]]:
    """Entry rows of the data batches of a stretch of a text that begins at line `start` of `split`.

    Returns its summary. None of them is folded away.
    """
    batch = np.array([record.batch for record in printed], dtype=np.int64)
    rows, others = _records(headers, split["start"], printed), []
    for at in range(0, batch.size, ROWS_AT_ONCE):
        some = list(islice(rows, ROWS_AT_ONCE))
        others.append(Unusual(pa.array(some, RECORD), batch[at : at + ROWS_AT_ONCE]))
    none = BatchHeaders(*(column[:0] for column in headers))
    usual = UsualColumns(ByteRange(BytesIO(), 0, 0, 0), none)
    place = split["partition"], split.get("coordinator_partitions")
    return (yield from record_rows(builder, usual, others, False, place))
