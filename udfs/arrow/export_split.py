"""The records of a split that a consumer would get, as rows of `schemas.record.RECORD_ROW`."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.record import RECORD_ROW
from udfs.arrow.batches import DecodedBatches, DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.read_again import split_again
from udfs.arrow.run_rows import replayable
from udfs.arrow.sections import Sections, sections
from udfs.arrow.segment import segment_frames
from udfs.wire.batches import records
from udfs.wire.batches.batch_headers import BatchHeaders, Bools, Int64s

ARROW_SCHEMA: pa.Schema = to_arrow_schema(RECORD_ROW)
ROWS_PER_BATCH = 8_192
# Values are copied into Arrow up to about this many bytes at a time.
BYTES_PER_BATCH = 1 << 23
TIMESTAMP_TYPES = np.array(["CreateTime", "LogAppendTime", "NoTimestampType"], dtype=object)
NO_TIMESTAMP_TYPE = 2
NO_HEADERS = b"\x00"


def as_told(decoded: DecodedBatches, skipped: Bools, told: Iterable[dict[str, int]]) -> Bools:
    """`skipped` (one element a batch), but of data whose marker the log has lost what is told.

    `told`: rows of OUTCOME_TOLD; of two about the same data the later counts.
    """
    headers = decoded.headers
    data = headers.transactional & ~headers.control
    for one in told:
        inside = (headers.base_offset >= one["first_offset"]) & (
            headers.base_offset < one["last_offset"]
        )
        mine = data & inside & (headers.producer_id == one["producer_id"])
        skipped = np.where(mine, not one["commit"], skipped)
    return skipped


def hidden(decoded: DecodedBatches, aborted_behind: dict[int, int]) -> Bools:
    """Which batches read_committed consumers skip, one element a batch (`CompletedFetch`).

    A transactional batch is decided by the next marker of its producer id. Where that lies after
    the split, `aborted_behind` tells: producer id -> first offset of the transaction.
    """
    given = replayable(decoded)
    batches = given.batches
    result = np.zeros(decoded.fault.size, dtype=np.bool_)
    order = np.argsort(batches.producer_id, kind="stable")
    if not order.size:
        return result
    producer, control = batches.producer_id[order], batches.control[order]
    last = order.size - 1
    # The next marker of any producer; after the last one, the last batch, which is none.
    following = np.minimum.accumulate(np.where(control, np.arange(order.size), last)[::-1])[::-1]
    decided = control[following] & (producer[following] == producer)
    aborted = decided & ~batches.commit[order][following]
    for at in np.flatnonzero(~decided & np.isin(producer, list(aborted_behind))).tolist():
        aborted[at] = batches.offset[order[at]] >= aborted_behind[int(producer[at])]
    result[given.batch[order]] = aborted & batches.transactional[order] & ~control
    return result


def _headers(data: bytes, start: int, end: int) -> list[dict[str, Any]] | None:
    # Messages of magic 0 and 1 have not even the number of their headers.
    if start == end or data[start : start + 1] == NO_HEADERS:
        return None
    found = records.read_record_headers(data, start, end)
    return [{"key": key, "value": value} for key, value in found]


def _cells(data: bytes, start: Int64s, length: Int64s) -> pa.Array:
    cells = [
        None if size < 0 else data[at : at + size]
        for at, size in zip(start.tolist(), length.tolist(), strict=True)
    ]
    return pa.array(cells, type=pa.binary())


def _rows(part: Sections, headers: BatchHeaders, split: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    """The records of some sections that lie in the range asked for."""
    counts = headers.record_count[part.batch]
    spans = part.find_spans(part.data, part.start, part.end, counts)
    offset = headers.base_offset[part.batch[spans[records.SECTION]]] + spans[records.OFFSET_DELTA]
    inside = (offset >= split["from_offset"]) & (offset < split["end_offset"])
    spans, offset = spans[:, inside], offset[inside]
    sizes = np.cumsum(spans[records.RECORD_END] - spans[records.KEY_START])
    first = 0
    while first < offset.size:
        done = sizes[first - 1] if first else 0
        last = int(np.searchsorted(sizes, done + BYTES_PER_BATCH, side="right"))
        last = min(max(last, first + 1), first + ROWS_PER_BATCH)
        yield _batch(part, headers, split, spans[:, first:last], offset[first:last])
        first = last


def _batch(
    part: Sections, headers: BatchHeaders, split: dict[str, Any], spans: Int64s, offset: Int64s
) -> pa.RecordBatch:
    batch = part.batch[spans[records.SECTION]]
    low, high = int(spans[records.KEY_START].min()), int(spans[records.RECORD_END].max())
    data = part.data[low:high].tobytes()
    appended = headers.log_append_time[batch]
    kind = np.where(headers.magic[batch] == 0, NO_TIMESTAMP_TYPE, appended)
    written = headers.base_timestamp[batch] + spans[records.TIMESTAMP_DELTA]
    plain = headers.producer_id[batch] < 0
    bounds = zip(
        (spans[records.HEADERS_START] - low).tolist(),
        (spans[records.RECORD_END] - low).tolist(),
        strict=True,
    )
    columns = {
        "partition_index": pa.repeat(pa.scalar(split["partition_index"], pa.int32()), offset.size),
        "offset": pa.array(offset),
        "timestamp": pa.array(np.where(appended, headers.max_timestamp[batch], written)),
        "timestamp_type": pa.array(TIMESTAMP_TYPES[kind]),
        "key": _cells(data, spans[records.KEY_START] - low, spans[records.KEY_LENGTH]),
        "value": _cells(data, spans[records.VALUE_START] - low, spans[records.VALUE_LENGTH]),
        "headers": pa.array([_headers(data, at, end) for at, end in bounds],
                            type=ARROW_SCHEMA.field("headers").type),
        "producer_id": pa.array(headers.producer_id[batch], mask=plain),
        "producer_epoch": pa.array(headers.producer_epoch[batch].astype(np.int32), mask=plain),
        "transactional": pa.array(headers.transactional[batch]),
    }  # fmt: skip
    arrays = [columns[field.name].cast(field.type) for field in ARROW_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def export_split(
    source: ByteRange, split: dict[str, Any], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """Rows of one split of a segment; `split` has the fields of `schemas.record.EXPORT_SPLIT`.

    Batches that cannot be read are left out; an audit reports them.
    """
    frames = segment_frames(source, split, options)
    decoded = decode_batches(source, frames.positions, split["topic"], options)
    headers = decoded.headers
    wanted = (
        ~headers.control
        & (headers.last_offset >= split["from_offset"])
        & (headers.base_offset < split["end_offset"])
    )
    if split["committed"]:
        ended_later = {
            row["producer_id"]: row["first_offset"] for row in split["aborted_behind"] or ()
        }
        skipped = hidden(decoded, ended_later)
        wanted &= ~as_told(decoded, skipped, split.get("outcomes_told") or ())
    for part in sections(source, decoded, options.max_decompressed_bytes, wanted):
        yield from _rows(part, decoded.stored, split)


def export_splits(
    batches: Iterator[pa.RecordBatch], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of EXPORT_SPLIT. Raises OSError where a file cannot be read."""
    for batch in batches:
        for split in batch.to_pylist():
            with split_again(split) as source:
                yield from export_split(source, split, options)
