"""What `__cluster_metadata` says of brokers and leaders, read for this alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.lineage import METADATA_CHANGE
from schemas.topics import METADATA_TOPIC
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import FrameWalker
from udfs.arrow.read_again import split_again
from udfs.arrow.sections import sections
from udfs.rules.extent import MAX_OFFSET
from udfs.wire.batches.records import OFFSET_DELTA, SECTION, VALUE_LENGTH, VALUE_START
from udfs.wire.metadata import changes, metadata_log
from udfs.wire.metadata.metadata_log import CreatedTopic

SCHEMA: pa.Schema = to_arrow_schema(METADATA_CHANGE)
LEADER_CHANGED, UNCLEAN, NO_LEADER, TOPIC = (
    "leader_elected", "leader_elected_uncleanly", "no_leader", "topic",
)  # fmt: skip
CREATED_TOPIC = 2
KEYS = [*changes.API_KEYS, CREATED_TOPIC]


def read_changes(
    batches: Iterator[pa.RecordBatch], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of SPLIT of logs and snapshots: rows of METADATA_CHANGE.

    Of a snapshot only topics are told: its other records are states, not changes.
    """
    for batch in batches:
        for split in batch.to_pylist():
            with split_again(split) as source:
                rows = list(_of_split(source, options))
            if split["kind"] != "metadata_log":
                rows = [row for row in rows if row["event"] == TOPIC]
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _of_split(source: ByteRange, options: DecodeOptions) -> Iterator[dict[str, Any]]:
    frames = FrameWalker(source, options.max_batch_bytes, 0, MAX_OFFSET).walk()
    decoded = decode_batches(source, frames.positions, METADATA_TOPIC, options)
    headers = decoded.headers
    for part in sections(source, decoded, options.max_decompressed_bytes):
        spans = part.find_spans(part.data, part.start, part.end, headers.record_count[part.batch])
        start, length = spans[VALUE_START], spans[VALUE_LENGTH]
        there = np.flatnonzero(length > 1)
        told = there[np.isin(part.data[start[there] + 1], KEYS)]
        for k in told.tolist():
            value = part.data[start[k] : start[k] + length[k]].tobytes()
            row = _row(value)
            if row is not None:
                batch = int(part.batch[spans[SECTION, k]])
                yield row | {
                    "at_ms": int(headers.max_timestamp[batch]),
                    "offset": int(headers.base_offset[batch] + spans[OFFSET_DELTA, k]),
                }


def _row(value: bytes) -> dict[str, Any] | None:
    change = changes.decode_change(value)
    if isinstance(change, changes.BrokerChange):
        return {"event": change.event, "broker": change.broker}
    if isinstance(change, changes.PartitionChange):
        none = change.leader == changes.NO_LEADER
        event = NO_LEADER if none else UNCLEAN if change.recovering else LEADER_CHANGED
        return {
            "event": None if change.leader is None else event,
            "broker": None if none else change.leader,
            "topic_id": change.topic_id,
            "partition": change.partition,
            "in_sync": change.in_sync,
            "eligible": change.eligible,
            "alone": change.alone,
        }
    fact = metadata_log.decode(value)
    if isinstance(fact, CreatedTopic):
        return {"event": TOPIC, "topic_id": fact.topic_id, "name": fact.name}
    return None
