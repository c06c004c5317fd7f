"""Producer state snapshots, `<offset>.snapshot` (`ProducerStateManager`, version 1).

A header with a CRC-32C of all that follows it, then 46 bytes a producer. The file holds the
newest batch of each producer only; the order of entries has no meaning.
"""

import struct
from typing import NamedTuple

import google_crc32c
import numpy as np
from numpy.typing import NDArray

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


# An entry as it is stored.
STORED = np.dtype(
    list(
        zip(
            ProducerSnapshotEntry._fields,
            (">i8", ">i2", ">i4", ">i8", ">i4", ">i8", ">i4", ">i8"),
            strict=True,
        )
    )
)


def read_entries(data: bytes) -> NDArray[np.void]:
    """Entries of a snapshot file as an array of `STORED`.

    Raises WireError where the version is unknown, the checksum is wrong, the file is not exactly
    as long as its count says, or a producer id occurs twice.
    """
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
    entries: NDArray[np.void] = np.frombuffer(data, dtype=STORED, offset=HEADER_SIZE)
    ids, times = np.unique(entries["producer_id"], return_counts=True)
    if ids.size < entries.size:
        raise WireError("producer_repeated", f"producer id {ids[times > 1][0]} occurs twice")
    return entries


def decode(data: bytes) -> list[ProducerSnapshotEntry]:
    """Entries of a snapshot file; errors as `read_entries`."""
    return [ProducerSnapshotEntry(*entry) for entry in read_entries(data).tolist()]
