"""What a split of `__cluster_metadata`, log or snapshot, tells of the cluster."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from schemas import log_row
from schemas.topics import METADATA_TOPIC
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import FrameWalker
from udfs.arrow.rows import RowBuilder
from udfs.wire.batch_headers import BatchHeaders
from udfs.wire.batch_layout import MAX_OFFSET_SPAN
from udfs.wire.batch_records import iter_batch
from udfs.wire.errors import WireError
from udfs.wire.metadata_log import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    Configured,
    CreatedPartition,
    CreatedTopic,
    Fact,
    Migrated,
    ProducerIds,
    RegisteredBroker,
    Undecodable,
    decode,
)

METADATA_LOG = "metadata_log"
# Options that say something of data; the others are of no interest here.
OPTIONS = {
    TOPIC_RESOURCE: ("cleanup.policy",),
    BROKER_RESOURCE: ("producer.id.expiration.ms",),
}
# The column of each field, in the order of the fields.
COLUMNS: dict[type, tuple[str, ...]] = {
    CreatedTopic: ("name", "topic_id"),
    CreatedPartition: ("topic_id", "number"),
    Configured: ("number", "name", "option", "value"),
    ProducerIds: ("number",),
    Migrated: ("number",),
    Undecodable: ("option",),
}
# One is enough to know that something is missing.
MAX_UNDECODABLE = 100
MAX_REGRESSIONS = 1_000


def metadata_rows(
    source: ByteRange, split: dict[str, Any], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """Rows of `log_row.METADATA_TYPE` and the summary of one split of a log or snapshot.

    Of the partitions of a topic the highest is told, and of the blocks of producer ids the first,
    the last, and those that do not follow the one before. Damage is an Undecodable fact.
    """
    frames = FrameWalker(source, options.max_batch_bytes, 0, MAX_OFFSET_SPAN).walk()
    headers = decode_batches(source, frames.positions, METADATA_TOPIC, options).headers
    told = list(_facts(source, headers, options.max_decompressed_bytes))
    damaged = [
        (Undecodable(damage.reason), {"position": damage.first + source.start, "length": 0})
        for damage in frames.damages
        # A copy of a live log ends anywhere.
        if damage.end is not None or source.length < source.file_left
    ]
    rows = [_row(fact, place) for fact, place in [*_worth_a_row(told), *damaged[:MAX_UNDECODABLE]]]
    builder = RowBuilder(split)
    if rows:
        yield builder.nested(log_row.METADATA, "metadata", rows)
    brokers = {fact.broker for fact, _ in told if isinstance(fact, RegisteredBroker)}
    summary: dict[str, Any] = {
        "length": source.length,
        "digests": source.digests(),
        "shrank": source.shrank,
        "first_found": None if frames.first is None else frames.first + source.start,
        "end": None if frames.end is None else frames.end + source.start,
        "registered_brokers": sorted(brokers),
    }
    if headers.base_offset.size:
        summary["broker_timestamp"] = int(headers.max_timestamp.max())
        # Offsets inside a snapshot are its own.
        if split["kind"] == METADATA_LOG:
            summary["first_offset"] = int(headers.base_offset[0])
            summary["last_offset"] = int(headers.last_offset[-1])
    yield builder.nested(log_row.SUMMARY, "summary", [summary])


def _facts(
    source: ByteRange, headers: BatchHeaders, limit: int
) -> Iterator[tuple[Fact, dict[str, int]]]:
    """Each fact in the order of the log, and where it stands: offset, position, length."""
    for i in np.flatnonzero(~headers.control):
        position, length = int(headers.position[i]), int(headers.length[i])
        place = {"position": position + source.start, "length": length}
        base = int(headers.base_offset[i])
        try:
            for record in iter_batch(source.data[position : position + length].tobytes(), limit):
                fact = decode(record.value)
                if fact is not None:
                    yield fact, place | {"offset": base + record.offset_delta}
        except WireError as error:
            yield Undecodable(error.reason), place | {"offset": base}


def _worth_a_row(told: list[tuple[Fact, dict[str, int]]]) -> list[tuple[Fact, dict[str, int]]]:
    """The facts that are rows, in the order of the log but for the last two kinds."""
    kept: list[tuple[Fact, dict[str, int]]] = []
    blocks: list[tuple[ProducerIds, dict[str, int]]] = []
    undecodable: list[tuple[Fact, dict[str, int]]] = []
    highest: dict[str, tuple[CreatedPartition, dict[str, int]]] = {}
    for fact, place in told:
        if isinstance(fact, CreatedPartition):
            known = highest.get(fact.topic_id)
            if known is None or known[0].partition < fact.partition:
                highest[fact.topic_id] = fact, place
        elif isinstance(fact, ProducerIds):
            blocks.append((fact, place))
        elif isinstance(fact, Undecodable):
            undecodable.append((fact, place))
        elif isinstance(fact, Configured):
            if fact.option in OPTIONS.get(fact.resource_type, ()):
                kept.append((fact, place))
        elif not isinstance(fact, RegisteredBroker):
            kept.append((fact, place))
    return [*kept, *highest.values(), *_told_blocks(blocks), *undecodable[:MAX_UNDECODABLE]]


def _told_blocks(
    blocks: list[tuple[ProducerIds, dict[str, int]]],
) -> list[tuple[ProducerIds, dict[str, int]]]:
    """The first block, the last one, and each that does not follow the one before, with that."""
    numbers = np.array([fact.next_producer_id for fact, _ in blocks], dtype=np.int64)
    odd = np.flatnonzero(np.diff(numbers) <= 0)[:MAX_REGRESSIONS]
    ends = (0, len(blocks) - 1) if blocks else ()
    return [blocks[i] for i in sorted({*ends, *odd.tolist(), *(odd + 1).tolist()})]


def _row(fact: Fact, place: dict[str, int]) -> dict[str, Any]:
    values = dict(zip(COLUMNS[type(fact)], fact, strict=True))
    return {"what": type(fact).__name__, **place, **values}
