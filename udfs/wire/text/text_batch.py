"""One batch of a text of kafka-dump-log, as far as its lines tell it.

Positions and lengths are line numbers and lines of the text, not bytes. What no line prints: base
timestamps (that of the first record stands for it), attribute bits without a name, and the first
offset of a wrapper of magic 0 or 1 where no records are printed. What a marker says without its
record, its checksum shows (`udfs.wire.batches.marker_checksum`).
"""

import re
from dataclasses import dataclass

from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults
from udfs.wire.batches.marker_checksum import Header, marker_of
from udfs.wire.batches.records import ABORT, COMMIT, NO_TIMESTAMP
from udfs.wire.text import text_dump
from udfs.wire.text import text_shapes as shapes

UNKNOWN_CODEC = 5
NOTHING = -1
SMALLEST_KEY, SMALLEST_VALUE = 4, 6
# One more than the largest numbers of 64, 32 and 16 bits.
LONG, INT, SHORT = 1 << 63, 1 << 31, 1 << 15


@dataclass(slots=True)
class Batch:
    """One batch while its lines are read; names as in BatchHeaders.

    `stored_at`, `stored_size`: where it lies in the segment, bytes, -1 where unknown. `announced`:
    records that its line prints, -1 where it prints none. `doubtful`: lines are missing in front
    of it. `counted`: record lines that followed.
    `first_offset`: of its first record line, `final_offset` of the newest.
    """

    line: int
    lines: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    magic: int
    announced: int
    stored_at: int
    stored_size: int
    stored_crc: int
    valid: bool
    alone: bool = False
    doubtful: bool = False
    counted: int = 0
    first_timestamp: int = NO_TIMESTAMP
    largest_timestamp: int = NO_TIMESTAMP
    final_offset: int = NOTHING
    tombstones: int = 0
    fault: int = 0
    control_type: int = NOTHING
    coordinator_epoch: int = NOTHING


def _flag(text: bytes | None) -> bool:
    return text == b"true"


def _attributes(codec: bytes, kind: bytes, transactional: bool, control: bool) -> int:
    bits = shapes.CODECS.get(codec.lower(), UNKNOWN_CODEC)
    bits |= layout.TIMESTAMP_TYPE_MASK * (kind == b"LogAppendTime")
    bits |= layout.TRANSACTIONAL_MASK * transactional
    return bits | layout.CONTROL_MASK * control


def batch_of(item: text_dump.Item, match: re.Match[bytes]) -> Batch:
    """The batch of a line of magic 2."""
    transactional, sequence = _flag(match[shapes.TRANSACTIONAL]), int(match[shapes.BASE_SEQUENCE])
    producer_id, stamp = int(match[shapes.PRODUCER_ID]), int(match[shapes.TIMESTAMP])
    control = _flag(match[shapes.CONTROL])
    if match[shapes.CONTROL] is None:
        # 0.11 does not say. Data of a transaction has sequences, its markers have none.
        control = transactional and producer_id >= 0 and sequence < 0
    attributes = _attributes(
        match[shapes.CODEC], match[shapes.TIMESTAMP_TYPE], transactional, control
    )
    horizon, count = match[shapes.DELETE_HORIZON], match[shapes.COUNT]
    if horizon is not None:
        attributes |= layout.DELETE_HORIZON_MASK
    return Batch(
        line=item.line,
        lines=1,
        base_offset=int(match[shapes.BASE_OFFSET]),
        last_offset=int(match[shapes.LAST_OFFSET]),
        leader_epoch=int(match[shapes.LEADER_EPOCH]),
        attributes=attributes,
        base_timestamp=NO_TIMESTAMP if horizon is None else int(horizon),
        max_timestamp=stamp,
        producer_id=producer_id,
        producer_epoch=int(match[shapes.PRODUCER_EPOCH]),
        base_sequence=sequence,
        magic=int(match[shapes.MAGIC]),
        announced=NOTHING if count is None else int(count),
        stored_at=int(match[shapes.POSITION]),
        stored_size=int(match[shapes.SIZE]),
        stored_crc=int(match[shapes.CRC]),
        valid=_flag(match[shapes.VALID] or match[shapes.VALID_BEFORE]),
    )


def old_batch_of(item: text_dump.Item, match: re.Match[bytes]) -> Batch:
    """The batch of a line of a message of magic 0 or 1; its first offset is not there."""
    offset = int(match[shapes.OLD_OFFSET])
    return Batch(
        line=item.line,
        lines=1,
        base_offset=offset,
        last_offset=offset,
        leader_epoch=NOTHING,
        attributes=_attributes(match[shapes.OLD_CODEC], match[shapes.OLD_TYPE], False, False),
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=int(match[shapes.OLD_TIMESTAMP]),
        producer_id=NOTHING,
        producer_epoch=NOTHING,
        base_sequence=NOTHING,
        magic=int(match[shapes.OLD_MAGIC]),
        announced=NOTHING,
        stored_at=int(match[shapes.OLD_POSITION]),
        stored_size=int(match[shapes.OLD_SIZE]),
        stored_crc=NOTHING,
        valid=_flag(match[shapes.OLD_VALID] or match[shapes.OLD_VALID_BEFORE]),
    )


def lone_batch_of(item: text_dump.Item, match: re.Match[bytes]) -> Batch:
    """A batch of which only record lines are printed (0.11 to 2.1), opened by the first of them."""
    offset, stamp = int(match[shapes.LONE_OFFSET]), int(match[shapes.LONE_TIMESTAMP])
    transactional = _flag(match[shapes.LONE_TRANSACTIONAL])
    sequence = int(match[shapes.LONE_SEQUENCE] or NOTHING)
    producer_id = int(match[shapes.LONE_PRODUCER_ID] or NOTHING)
    tail = item.tail
    # Key and value of a marker, and what only a marker is; a header key may imitate the rest.
    control = tail is not None and (
        tail.control_type is not None
        or (tail.marker is not None and transactional and producer_id >= 0 and sequence < 0)
    )
    codec, kind = match[shapes.LONE_CODEC], match[shapes.LONE_TYPE]
    return Batch(
        line=item.line,
        lines=0,
        base_offset=offset,
        last_offset=offset,
        leader_epoch=NOTHING,
        attributes=_attributes(codec, kind, transactional, control),
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=stamp,
        producer_id=producer_id,
        producer_epoch=int(match[shapes.LONE_PRODUCER_EPOCH] or NOTHING),
        base_sequence=sequence,
        magic=int(match[shapes.LONE_MAGIC]),
        announced=NOTHING,
        stored_at=int(match[shapes.LONE_POSITION]),
        stored_size=NOTHING,
        stored_crc=NOTHING,
        valid=_flag(match[shapes.LONE_VALID]),
        alone=True,
    )


def is_possible(batch: Batch) -> bool:
    """Whether its numbers are of the sizes in which they are stored: the tool prints no others."""
    longs = (batch.base_offset, batch.last_offset, batch.base_timestamp, batch.max_timestamp,
             batch.producer_id, batch.last_offset - batch.base_offset)  # fmt: skip
    ints = (batch.leader_epoch, batch.base_sequence, batch.announced, batch.stored_size)
    return (
        all(-LONG <= number < LONG for number in longs)
        and all(-INT <= number < INT for number in ints)
        and -SHORT <= batch.producer_epoch < SHORT
        and 0 <= batch.stored_at < LONG
    )


def read_checksum(batch: Batch) -> bool:
    """Fills in what a marker without record lines says; false where that cannot be known.

    The cleaner may have emptied it: then it says nothing. Nor does one that is compressed.
    """
    if batch.announced == 0 or batch.stored_size == layout.HEADER_SIZE:
        return True
    if batch.attributes & layout.CODEC_MASK:
        return True
    base = batch.max_timestamp if batch.base_timestamp == NO_TIMESTAMP else batch.base_timestamp
    marker = marker_of(
        Header(
            checksum=batch.stored_crc,
            size=batch.stored_size,
            attributes=batch.attributes,
            base=base,
            written=batch.max_timestamp,
            largest=batch.max_timestamp,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
        )
    )
    if marker is not None:
        batch.control_type, batch.coordinator_epoch = marker
    return marker is not None


def read_marker(batch: Batch, tail: text_dump.Tail, key_size: int, value_size: int) -> None:
    """Fills in what the record line of a marker says; sizes of its key and value in bytes."""
    if tail.marker is not None:
        commit, batch.coordinator_epoch = tail.marker
        batch.control_type = COMMIT if commit else ABORT
        if key_size < SMALLEST_KEY or value_size < SMALLEST_VALUE:
            batch.fault |= faults.CONTROL_MALFORMED
    elif tail.control_type is not None:
        batch.control_type = tail.control_type
        batch.fault |= faults.CONTROL_TYPE_UNKNOWN


def columns_of(batch: Batch) -> tuple[int, ...]:
    """The fields of BatchHeaders in their order."""
    base = batch.base_timestamp
    if base == NO_TIMESTAMP:
        base = batch.first_timestamp if batch.counted else batch.max_timestamp
    count = batch.announced
    if count < 0:
        count = batch.counted or batch.last_offset - batch.base_offset + 1
    return (
        batch.line,
        batch.lines,
        batch.base_offset,
        batch.leader_epoch,
        batch.attributes,
        batch.last_offset - batch.base_offset,
        base,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        count,
        batch.magic,
        batch.stored_crc & 0xFFFFFFFF if batch.stored_crc >= 0 else NOTHING,
    )
