"""What a split of `__cluster_metadata`, log or snapshot, says of the cluster."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas import log_row
from schemas.topics import METADATA_TOPIC
from udfs.arrow.batches import DecodedBatches, DecodeOptions, decode_batches
from udfs.arrow.broker_moments import moment_columns
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import Frames, FrameWalker
from udfs.arrow.rows import RowBuilder, Rows
from udfs.arrow.sections import readable, sections
from udfs.rules.extent import MAX_OFFSET
from udfs.rules.producer_ids import overlaps_block_before
from udfs.wire.batches.batch_headers import BatchHeaders, Bools
from udfs.wire.batches.records import OFFSET_DELTA, SECTION, VALUE_LENGTH, VALUE_START
from udfs.wire.metadata.metadata_log import (
    API_KEYS,
    BROKER_RESOURCE,
    FRAME_VERSION,
    PARTITION_CHANGE,
    REPLICAS,
    TOPIC_RESOURCE,
    Begun,
    Configured,
    CreatedPartition,
    CreatedTopic,
    Ended,
    Fact,
    Migrated,
    ProducerIds,
    Reassigned,
    RegisteredBroker,
    RemovedTopic,
    Undecodable,
    decode,
)

METADATA_LOG = "metadata_log"
# Options that say something of data; the others are of no interest here.
OPTIONS = {
    TOPIC_RESOURCE: ("cleanup.policy",),
    BROKER_RESOURCE: ("producer.id.expiration.ms",),
}


class Led(NamedTuple):
    """From here on the batches of a log are of this epoch of its leader."""

    leader_epoch: int


class Assigned(NamedTuple):
    """The newest replicas in a split of partitions of a topic: `0=1,2 1=2,3`, brokers by number."""

    topic_id: str
    replicas: str


# The column of each field, in the order of the fields; a row of a partition has no replicas.
COLUMNS: dict[type, tuple[str, ...]] = {
    RegisteredBroker: ("number",),
    CreatedTopic: ("name", "topic_id"),
    RemovedTopic: ("topic_id",),
    CreatedPartition: ("topic_id", "number"),
    Assigned: ("topic_id", "value"),
    Led: ("number",),
    Configured: ("number", "name", "option", "value"),
    ProducerIds: ("number",),
    Migrated: ("number",),
    Begun: (),
    Ended: (),
    Undecodable: ("option",),
}
# A fact and where it stands: offset, position and length of its batch.
Placed = tuple[Fact | Assigned | Led, dict[str, int]]
# Bytes of a PartitionChangeRecord before the number of its tags: frame version, api key, version,
# partition, and the id of the topic.
BEFORE_TAGS = 3 + 4 + 16
ONE_BYTE_VARINT = 0x7F
# One is enough to know that something is missing.
MAX_UNDECODABLE = 100
MAX_REGRESSIONS = 1_000
# In one split; the driver holds them all, and no cluster has as many.
MAX_TOPICS = 200_000
MAX_LEADERS = 10_000
# The control record at the end of a snapshot, since 3.0 (`ControlRecordType.SNAPSHOT_FOOTER`).
SNAPSHOT_FOOTER = 4


def metadata_rows(
    source: ByteRange, split: dict[str, Any], options: DecodeOptions
) -> Iterator[Rows]:
    """Rows of `log_row.METADATA_TYPE` and the summary of one split of a log or snapshot.

    Of the partitions of a topic the highest is a row, and all with replicas are one, Assigned; of
    the registrations of a broker the first; and of the blocks of producer ids the first, the last,
    and those that do not follow the one before. Damage, missing offsets and the missing end of a
    snapshot are Undecodable facts; a log of KRaft is never compacted.
    """
    frames = FrameWalker(source, options.max_batch_bytes, 0, MAX_OFFSET).walk()
    # Its records are read at any depth, so those that cannot be must be known.
    with_records = replace(options, with_records=True)
    decoded = decode_batches(source, frames.positions, METADATA_TOPIC, with_records)
    headers = decoded.headers
    in_log = split["kind"] == METADATA_LOG
    facts = [
        *_losses(source, frames, headers, in_log),
        *([] if in_log else _lost_end(source, decoded)),
        *_facts(source, decoded, options.max_decompressed_bytes),
    ]
    facts.sort(key=lambda fact_and_place: fact_and_place[1]["offset"])
    led = _leaders(source, headers) if in_log else []
    rows = [_row(fact, place) for fact, place in [*led, *_worth_a_row(facts)]]
    builder = RowBuilder(split)
    if rows:
        yield builder.nested(log_row.METADATA, "metadata", rows)
    summary: dict[str, Any] = {
        "length": source.length,
        "digests": source.digests(),
        "shrank": source.shrank,
        "first_found": None if frames.first is None else frames.first + source.start,
        "end": None if frames.end is None else frames.end + source.start,
    }
    if headers.base_offset.size:
        summary |= moment_columns(headers.max_timestamp, headers.max_timestamp)
        # Offsets inside a snapshot are its own.
        if in_log:
            summary["first_offset"] = int(headers.base_offset[0])
            summary["last_offset"] = int(headers.last_offset[-1])
    yield builder.nested(log_row.SUMMARY, "summary", [summary])


def _leaders(source: ByteRange, headers: BatchHeaders) -> list[Placed]:
    """Where another leader goes on, and the leader of the first batch."""
    epochs = headers.partition_leader_epoch
    begins = np.flatnonzero(np.concatenate(([True], epochs[1:] != epochs[:-1]))[: epochs.size])
    return [(Led(int(epochs[i])), _place(source, headers, int(i))) for i in begins[:MAX_LEADERS]]


def _place(
    source: ByteRange, headers: BatchHeaders, i: int, offset_delta: int = 0
) -> dict[str, int]:
    """Where a batch, or a record of it, stands."""
    return {
        "position": int(headers.position[i]) + source.start,
        "length": int(headers.length[i]),
        "offset": int(headers.base_offset[i]) + offset_delta,
    }


def _losses(source: ByteRange, frames: Frames, headers: BatchHeaders, in_log: bool) -> list[Placed]:
    """Damage, and offsets of a log that no batch has.

    Each has the offset of the batch behind it, and a position in front of that.
    """
    ends = [*headers.base_offset.tolist(), int(headers.last_offset.max(initial=-1)) + 1]
    behind = np.searchsorted(headers.position, [one.first for one in frames.damages]).tolist()
    jumps = np.flatnonzero(headers.base_offset[1:] != headers.last_offset[:-1] + 1) + 1
    lost = [
        (damage.reason, at, damage.first)
        for damage, at in zip(frames.damages, behind, strict=True)
        # A copy of a live log ends anywhere; a snapshot has its name only when it is complete.
        if damage.end is not None or source.length < source.file_left or not in_log
    ]
    lost += [
        ("offsets_missing", at, int(headers.position[at - 1]))
        for at in jumps.tolist()
        if in_log and at not in behind
    ]
    return [
        (
            Undecodable(reason),
            {"position": position + source.start, "length": 0, "offset": ends[at]},
        )
        for reason, at, position in lost
    ]


def _lost_end(source: ByteRange, decoded: DecodedBatches) -> list[Placed]:
    """That a snapshot ends without its footer, so that some of its records are lost.

    A broker renames it when the footer is written (`RecordsSnapshotWriter.freeze`).
    """
    if source.length < source.file_left:
        return []
    headers = decoded.headers
    if headers.control[-1:].any() and decoded.control_type[-1] == SNAPSHOT_FOOTER:
        return []
    end = int(headers.last_offset.max(initial=-1)) + 1
    place = {"position": source.start + source.length, "length": 0, "offset": end}
    return [(Undecodable("snapshot_cut"), place)]


def _facts(source: ByteRange, decoded: DecodedBatches, limit: int) -> list[Placed]:
    """Each fact that a record or a batch tells, with its place."""
    headers = decoded.headers
    closed = ~headers.control & (headers.record_count > 0) & ~readable(decoded)
    found: list[Placed] = [
        (Undecodable("batch_unreadable"), _place(source, headers, int(i)))
        for i in np.flatnonzero(closed)
    ]
    for part in sections(source, decoded, limit):
        spans = part.find_spans(part.data, part.start, part.end, headers.record_count[part.batch])
        for k in np.flatnonzero(_may_tell(part.data, spans)):
            start = int(spans[VALUE_START, k])
            fact = decode(part.data[start : start + int(spans[VALUE_LENGTH, k])].tobytes())
            if fact is not None:
                batch = int(part.batch[spans[SECTION, k]])
                delta = int(spans[OFFSET_DELTA, k])
                found.append((fact, _place(source, headers, batch, delta)))
    return found


def _may_tell(data: NDArray[np.uint8], spans: NDArray[np.int64]) -> Bools:
    """Which values `decode` has something to say about; the log is mostly records without news."""
    start, length = spans[VALUE_START], spans[VALUE_LENGTH]
    there = length > 1
    frame_version, api_key = (
        np.where(there, data[np.where(there, start + i, 0)], 0) for i in (0, 1)
    )
    other_frame = frame_version != FRAME_VERSION
    result: Bools = (length > 0) & (~there | other_frame | np.isin(api_key, API_KEYS))
    # Nearly all of the log are changes of leaders and of what is in sync.
    changes = np.flatnonzero(result & there & ~other_frame & (api_key == PARTITION_CHANGE))
    result[changes] = _may_reassign(data, start[changes])
    return result


def _may_reassign(data: NDArray[np.uint8], start: NDArray[np.int64]) -> Bools:
    """Which PartitionChangeRecords have new replicas; `start`: of their values.

    Tags ascend. Behind one with a longer size than a byte holds, anything may be.
    """

    def byte(at: NDArray[np.int64]) -> NDArray[np.int64]:
        return data[np.minimum(at, data.size - 1)].astype(np.int64)

    number, at = byte(start + BEFORE_TAGS), start + BEFORE_TAGS + 1
    found = np.zeros(start.size, dtype=np.bool_)
    for i in range(REPLICAS + 1):
        tag, size = byte(at), byte(at + 1)
        found |= (number > i) & ((tag == REPLICAS) | (size > ONE_BYTE_VARINT))
        at = at + 2 + size
    return found


def _worth_a_row(facts: list[Placed]) -> list[Placed]:
    """The facts that are rows, in the order of the log but for the last two kinds."""
    kept: list[Placed] = []
    # Those of one list stand in the log without a begin or an abort between them.
    blocks: list[list[tuple[ProducerIds, dict[str, int]]]] = [[]]
    undecodable: list[Placed] = []
    highest: dict[str, tuple[CreatedPartition, dict[str, int]]] = {}
    replicas: dict[str, dict[int, tuple[int, ...]]] = defaultdict(dict)
    brokers: set[int] = set()
    for fact, place in facts:
        if isinstance(fact, CreatedPartition | Reassigned) and fact.replicas:
            replicas[fact.topic_id][fact.partition] = fact.replicas
        if isinstance(fact, Begun | Undecodable):
            blocks.append([])
        if isinstance(fact, RegisteredBroker):
            # A broker registers whenever it starts.
            if fact.broker not in brokers:
                kept.append((fact, place))
            brokers.add(fact.broker)
        elif isinstance(fact, CreatedPartition):
            known = highest.get(fact.topic_id)
            if known is None or known[0].partition < fact.partition:
                highest[fact.topic_id] = fact, place
        elif isinstance(fact, ProducerIds):
            blocks[-1].append((fact, place))
        elif isinstance(fact, Undecodable):
            undecodable.append((fact, place))
        elif isinstance(fact, Configured):
            if fact.option in OPTIONS.get(fact.resource_type, ()):
                kept.append((fact, place))
        elif not isinstance(fact, Reassigned):
            kept.append((fact, place))
    if len(kept) > MAX_TOPICS or len(highest) > MAX_TOPICS:
        undecodable.insert(0, (Undecodable("too_many"), facts[0][1]))
    return [
        *kept[:MAX_TOPICS],
        *list(highest.values())[:MAX_TOPICS],
        *[(_assigned(*one), facts[-1][1]) for one in islice(replicas.items(), MAX_TOPICS)],
        *chain.from_iterable(map(_block_rows, blocks)),
        *undecodable[:MAX_UNDECODABLE],
    ]


def _assigned(topic_id: str, replicas: dict[int, tuple[int, ...]]) -> Assigned:
    each = (f"{number}={','.join(map(str, brokers))}" for number, brokers in replicas.items())
    return Assigned(topic_id, " ".join(each))


def _block_rows(
    blocks: list[tuple[ProducerIds, dict[str, int]]],
) -> list[tuple[ProducerIds, dict[str, int]]]:
    """The first block, the last one, and each that overlaps the one before, with that."""
    numbers = np.array([fact.next_producer_id for fact, _ in blocks], dtype=np.int64)
    odd = np.flatnonzero(overlaps_block_before(numbers[:-1], numbers[1:]))[:MAX_REGRESSIONS]
    ends = (0, len(blocks) - 1) if blocks else ()
    return [blocks[i] for i in sorted({*ends, *odd.tolist(), *(odd + 1).tolist()})]


def _row(fact: Fact | Assigned | Led, place: dict[str, int]) -> dict[str, Any]:
    columns = COLUMNS[type(fact)]
    values = dict(zip(columns, fact[: len(columns)], strict=True))
    return {"fact": type(fact).__name__, **place, **values}
