"""Producer state snapshots, `<offset>.snapshot` (`ProducerStateManager`, version 1).

A header with a CRC-32C of all that follows it, then 46 bytes a producer. The file holds the
newest batch of each producer only; the order of entries has no meaning.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

import google_crc32c

from udfs.wire.errors import WireError

VERSION = 1

# version, crc.
CHECKED_HEAD = struct.Struct(">hI")
COUNT = struct.Struct(">i")
HEADER_SIZE = CHECKED_HEAD.size + COUNT.size
# producerId, producerEpoch, lastSequence, lastOffset, offsetDelta, timestamp, coordinatorEpoch,
# currentTxnFirstOffset.
ENTRY = struct.Struct(">qhiqiqiq")


class ProducerSnapshotEntry(NamedTuple):
    """State of one producer; -1 where nothing is known."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


def decode(data: bytes) -> list[ProducerSnapshotEntry]:
    """Entries of a snapshot file; the file must be exactly as long as its count says."""
    if len(data) < HEADER_SIZE:
        raise WireError("length_out_of_bounds", f"{len(data)} bytes, expected {HEADER_SIZE}")
    version, stored_crc = CHECKED_HEAD.unpack_from(data)
    if version != VERSION:
        raise WireError("unknown_version", f"snapshot version {version}, expected {VERSION}")
    (count,) = COUNT.unpack_from(data, CHECKED_HEAD.size)
    expected_size = HEADER_SIZE + count * ENTRY.size
    if count < 0 or len(data) < expected_size:
        raise WireError("length_out_of_bounds", f"{count} entries in {len(data)} bytes")
    if len(data) > expected_size:
        raise WireError("bytes_left_over", f"{len(data)} bytes, expected {expected_size}")
    crc = google_crc32c.value(data[CHECKED_HEAD.size :])
    if crc != stored_crc:
        raise WireError("crc_mismatch", f"stored {stored_crc:#010x}, computed {crc:#010x}")
    body = memoryview(data)[HEADER_SIZE:]
    return [ProducerSnapshotEntry(*fields) for fields in ENTRY.iter_unpack(body)]


def encode(entries: Iterable[ProducerSnapshotEntry]) -> bytes:
    """Bytes of a snapshot file with a valid checksum."""
    packed = [ENTRY.pack(*entry) for entry in entries]
    body = COUNT.pack(len(packed)) + b"".join(packed)
    return CHECKED_HEAD.pack(VERSION, google_crc32c.value(body)) + body
