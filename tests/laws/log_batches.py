"""Batches of a segment as a law sees them: header fields, and the few that are rewritten."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import google_crc32c

from tests.wire_writer.batches import BATCH_CHECKED, BATCH_HEAD
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.batch_records import iter_batch

LIMIT = 1 << 28
LEGACY_OFFSET_SIZE = struct.Struct(">qi")
COMMIT_KEY, ABORT_KEY = bytes.fromhex("00000001"), bytes.fromhex("00000000")


class Batch(NamedTuple):
    """Header of a batch and its bytes; of magic 0 and 1 only offsets, magic and bytes tell."""

    base_offset: int
    last_offset: int
    magic: int
    leader_epoch: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int
    content: bytes

    @property
    def control(self) -> bool:
        return bool(self.attributes & layout.CONTROL_MASK)

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & layout.TRANSACTIONAL_MASK)

    @property
    def has_horizon(self) -> bool:
        return bool(self.attributes & layout.DELETE_HORIZON_MASK)

    @property
    def commit(self) -> bool | None:
        """Of a marker: whether it commits; None for everything else."""
        if not self.control or not self.count:
            return None
        key = next(iter_batch(self.content, LIMIT)).key
        return {COMMIT_KEY: True, ABORT_KEY: False}.get(key or b"")


def batch_of(content: bytes) -> Batch:
    """The view of the whole bytes of one batch."""
    base, _ = LEGACY_OFFSET_SIZE.unpack_from(content)
    magic = content[layout.MAGIC]
    if magic < 2:
        return Batch(base, base, magic, -1, 0, -1, -1, -1, -1, -1, 1, content)
    _, _, leader_epoch, _, _ = BATCH_HEAD.unpack_from(content)
    attributes, delta, first, highest, pid, epoch, sequence, count = BATCH_CHECKED.unpack_from(
        content, layout.ATTRIBUTES
    )
    return Batch(
        base, base + delta, magic, leader_epoch, attributes, first, highest, pid, epoch, sequence,
        count, content,
    )  # fmt: skip


def batches(segment: bytes) -> Iterator[Batch]:
    """The batches of a segment, up to where it is torn or zero."""
    at = 0
    while at + layout.HEADER_SIZE - 44 <= len(segment):
        (length,) = struct.unpack_from(">i", segment, at + layout.LENGTH)
        end = at + layout.LOG_OVERHEAD + length
        magic = segment[at + layout.MAGIC]
        minimum = layout.MIN_LENGTH_V2 if magic == 2 else layout.MIN_LENGTH_V0
        if length < minimum or end > len(segment) or magic > 2:
            return
        yield batch_of(segment[at:end])
        at = end


def rewritten(
    batch: Batch,
    *,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    producer_id: int | None = None,
) -> bytes:
    """The batch with other header fields and the checksum of these; magic 2 only."""
    values = list(BATCH_CHECKED.unpack_from(batch.content, layout.ATTRIBUTES))
    for index, value in ((2, base_timestamp), (3, max_timestamp), (4, producer_id)):
        if value is not None:
            values[index] = value
    checked = BATCH_CHECKED.pack(*values) + batch.content[layout.HEADER_SIZE :]
    return with_checksum(batch, checked)


def intact(batch: Batch) -> bool:
    """Whether a batch has the checksum that it tells; a torn one in front of zeros has not."""
    stored = int.from_bytes(batch.content[layout.CRC : layout.ATTRIBUTES], "big")
    return batch.magic < 2 or stored == google_crc32c.value(batch.content[layout.ATTRIBUTES :])


def sound(segment: bytes) -> bool:
    """Whether intact batches fill a segment."""
    inside = list(batches(segment))
    whole = sum(len(batch.content) for batch in inside) == len(segment)
    return whole and all(intact(batch) for batch in inside)


def with_checksum(batch: Batch, checked: bytes) -> bytes:
    """A batch around `checked`, the bytes that its checksum covers."""
    length = BATCH_HEAD.size + len(checked) - layout.LOG_OVERHEAD
    crc = google_crc32c.value(checked)
    return BATCH_HEAD.pack(batch.base_offset, length, batch.leader_epoch, 2, crc) + checked
