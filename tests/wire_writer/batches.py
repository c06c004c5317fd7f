"""Builds batches of magic 2 and messages of magic 0 and 1 (`DefaultRecordBatch`, `LegacyRecord`).

For tests, cases and benchmarks. Headers are derived from the records unless given, so that a
wrong header is written by naming the one field that is wrong; checksums are right unless given.
"""

import gzip
import struct
import zlib
from collections.abc import Callable, Sequence

import google_crc32c
import pyarrow as pa

from udfs.wire.batches import batch_layout as layout
from udfs.wire.codecs import (
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    XERIAL_HEADER,
    XERIAL_MAGIC,
    XERIAL_VERSION,
    ZSTD,
)
from udfs.wire.lz4_frame import header_checksum
from udfs.wire.varint import decode_varint, decode_varlong, encode_varint, encode_varlong

# baseOffset, batchLength, partitionLeaderEpoch, magic, crc: written in front of the rest.
BATCH_HEAD = struct.Struct(">qiibI")
# attributes, lastOffsetDelta, baseTimestamp, maxTimestamp, producerId, producerEpoch,
# baseSequence, recordsCount: with the records, what the checksum covers.
BATCH_CHECKED = struct.Struct(">hiqqqhii")
# version, type.
CONTROL_KEY = struct.Struct(">hh")
# version, coordinatorEpoch.
MARKER_VALUE = struct.Struct(">hi")
CONTROL_VERSION = 0
SNAPSHOT_FOOTER = 4
CONTROL_ABORT, CONTROL_COMMIT = 0, 1

# offset, size.
LEGACY_HEAD = struct.Struct(">qi")
LEGACY_CRC = struct.Struct(">I")
# magic, attributes.
LEGACY_KIND = struct.Struct(">bb")
LEGACY_TIMESTAMP = struct.Struct(">q")
LEGACY_LENGTH = struct.Struct(">i")

LZ4_BLOCK = 1 << 16
LZ4_HEADER_SIZE = 7
LZ4_END_MARK = bytes(4)

XERIAL_CHUNK = 1 << 15
XERIAL_CHUNK_LENGTH = struct.Struct(">i")
NO_TIMESTAMP = -1

Headers = Sequence[tuple[str, bytes | None]]


def _nullable(content: bytes | None) -> bytes:
    return encode_varint(-1) if content is None else encode_varint(len(content)) + content


def record(
    offset_delta: int,
    timestamp_delta: int = 0,
    key: bytes | None = None,
    value: bytes | None = b"v",
    headers: Headers = (),
) -> bytes:
    """One record of a magic-2 batch."""
    parts = [b"\x00", encode_varlong(timestamp_delta), encode_varint(offset_delta)]
    parts += [_nullable(key), _nullable(value), encode_varint(len(headers))]
    for name, content in headers:
        parts += [_nullable(name.encode("utf-8")), _nullable(content)]
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def _deltas(one: bytes) -> tuple[int, int]:
    """(timestamp delta, offset delta) of a record built by `record`."""
    _, at = decode_varint(one, 0)
    timestamp_delta, at = decode_varlong(one, at + 1)
    offset_delta, _ = decode_varint(one, at)
    return timestamp_delta, offset_delta


def snappy_framed(data: bytes) -> bytes:
    """Snappy in the framing of xerial's Java streams."""
    parts = [XERIAL_HEADER.pack(XERIAL_MAGIC, XERIAL_VERSION, XERIAL_VERSION)]
    for at in range(0, len(data), XERIAL_CHUNK):
        chunk = snappy_raw(data[at : at + XERIAL_CHUNK])
        parts += [XERIAL_CHUNK_LENGTH.pack(len(chunk)), chunk]
    return b"".join(parts)


def snappy_raw(data: bytes) -> bytes:
    """One raw snappy block, as clients without xerial framing write it."""
    return bytes(pa.Codec("snappy").compress(data, asbytes=True))


def lz4_framed(data: bytes) -> bytes:
    """One LZ4 frame of independent 64 KiB blocks, as Java clients write it.

    pyarrow links the blocks of longer inputs, which Kafka refuses; a frame of one block is never
    linked, so the blocks are taken from such frames.
    """
    head = b""
    blocks = []
    for at in range(0, max(len(data), 1), LZ4_BLOCK):
        frame = bytes(pa.Codec("lz4").compress(data[at : at + LZ4_BLOCK], asbytes=True))
        head = frame[:LZ4_HEADER_SIZE]
        blocks.append(frame[LZ4_HEADER_SIZE : -len(LZ4_END_MARK)])
    return head + b"".join(blocks) + LZ4_END_MARK


def lz4_of_magic_0(data: bytes) -> bytes:
    """An LZ4 frame with the header checksum of old clients: over the frame's magic too."""
    frame = lz4_framed(data)
    checksum_at = LZ4_HEADER_SIZE - 1
    return (
        frame[:checksum_at]
        + bytes([header_checksum(frame[:checksum_at])])
        + frame[LZ4_HEADER_SIZE:]
    )


COMPRESSORS: dict[int, Callable[[bytes], bytes]] = {
    NONE: lambda data: data,
    GZIP: lambda data: gzip.compress(data, mtime=0),
    SNAPPY: snappy_framed,
    LZ4: lz4_framed,
    ZSTD: lambda data: bytes(pa.Codec("zstd").compress(data, asbytes=True)),
}


def compress(codec: int, data: bytes) -> bytes:
    """`data` in one of Kafka's codecs; snappy is framed."""
    return COMPRESSORS[codec](data)


def _attributes(
    codec: int, timestamp_type: int, transactional: bool, control: bool, has_horizon: bool
) -> int:
    return (
        codec
        | (layout.TIMESTAMP_TYPE_MASK if timestamp_type else 0)
        | (layout.TRANSACTIONAL_MASK if transactional else 0)
        | (layout.CONTROL_MASK if control else 0)
        | (layout.DELETE_HORIZON_MASK if has_horizon else 0)
    )


def _frame(base_offset: int, leader_epoch: int, checked: bytes, crc: int | None) -> bytes:
    """A batch around the bytes its checksum covers."""
    length = BATCH_HEAD.size + len(checked) - layout.LOG_OVERHEAD
    stored_crc = google_crc32c.value(checked) if crc is None else crc
    head = BATCH_HEAD.pack(base_offset, length, leader_epoch, 2, stored_crc)
    return head + checked


def batch(
    base_offset: int,
    records: Sequence[bytes],
    *,
    base_timestamp: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    max_timestamp: int | None = None,
    partition_leader_epoch: int = 0,
    codec: int = NONE,
    last_offset_delta: int | None = None,
    count: int | None = None,
    timestamp_type: int = 0,
    delete_horizon: int | None = None,
    attributes: int | None = None,
    crc: int | None = None,
    section: bytes | None = None,
) -> bytes:
    """A magic-2 batch of records built by `record`.

    `delete_horizon` takes the place of the base timestamp, so record deltas must be relative to
    it. `section` replaces the records as stored (raw snappy, damaged streams).
    """
    first = base_timestamp if delete_horizon is None else delete_horizon
    if attributes is None:
        has_horizon = delete_horizon is not None
        attributes = _attributes(codec, timestamp_type, transactional, control, has_horizon)
    if max_timestamp is None:
        max_timestamp = first + max((_deltas(one)[0] for one in records), default=0)
    if last_offset_delta is None:
        last_offset_delta = max((_deltas(one)[1] for one in records), default=0)
    stored = compress(codec, b"".join(records)) if section is None else section
    producer = (producer_id, producer_epoch, base_sequence)
    timestamps = (first, max_timestamp)
    total = len(records) if count is None else count
    head = BATCH_CHECKED.pack(attributes, last_offset_delta, *timestamps, *producer, total)
    return _frame(base_offset, partition_leader_epoch, head + stored, crc)


def marker(
    offset: int,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    coordinator_epoch: int,
    timestamp: int,
    *,
    partition_leader_epoch: int = 0,
    timestamp_type: int = 0,
    delete_horizon: int | None = None,
    key: bytes | None = None,
    value: bytes | None = None,
) -> bytes:
    """A transaction marker batch: 78 bytes as first written, longer with a delete horizon."""
    if key is None:
        key = CONTROL_KEY.pack(CONTROL_VERSION, CONTROL_COMMIT if commit else CONTROL_ABORT)
    if value is None:
        value = MARKER_VALUE.pack(CONTROL_VERSION, coordinator_epoch)
    delta = 0 if delete_horizon is None else timestamp - delete_horizon
    return batch(
        offset,
        [record(0, delta, key, value)],
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        partition_leader_epoch=partition_leader_epoch,
        timestamp_type=timestamp_type,
        delete_horizon=delete_horizon,
    )


def snapshot_footer(offset: int, timestamp: int) -> bytes:
    """The control batch at the end of a snapshot of `__cluster_metadata`."""
    footer = record(0, 0, CONTROL_KEY.pack(CONTROL_VERSION, SNAPSHOT_FOOTER), bytes(3))
    return batch(offset, [footer], base_timestamp=timestamp, control=True)


def empty_batch(
    base_offset: int,
    last_offset: int,
    *,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    transactional: bool = False,
    control: bool = False,
    partition_leader_epoch: int = 0,
    timestamp_type: int = 0,
) -> bytes:
    """The bare header that the cleaner keeps of a producer's last batch."""
    return batch(
        base_offset,
        [],
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
        control=control,
        partition_leader_epoch=partition_leader_epoch,
        timestamp_type=timestamp_type,
        last_offset_delta=last_offset - base_offset,
    )


def _legacy_bytes(content: bytes | None) -> bytes:
    if content is None:
        return LEGACY_LENGTH.pack(-1)
    return LEGACY_LENGTH.pack(len(content)) + content


def legacy_message(
    offset: int,
    key: bytes | None,
    value: bytes | None,
    *,
    magic: int,
    timestamp: int = NO_TIMESTAMP,
    attributes: int = 0,
    crc: int | None = None,
) -> bytes:
    """A message of magic 0 or 1.

    A wrapper has a null key, the codec in its attributes and compressed messages as value.
    """
    checked = LEGACY_KIND.pack(magic, attributes)
    if magic == 1:
        checked += LEGACY_TIMESTAMP.pack(timestamp)
    checked += _legacy_bytes(key) + _legacy_bytes(value)
    stored_crc = zlib.crc32(checked) if crc is None else crc
    size = LEGACY_CRC.size + len(checked)
    return LEGACY_HEAD.pack(offset, size) + LEGACY_CRC.pack(stored_crc) + checked
