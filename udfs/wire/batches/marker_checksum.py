"""Type and coordinator epoch of a marker, found by the checksum of its batch.

A text without record lines prints everything of a marker's batch but its type and the coordinator's
epoch. Brokers write markers in one way (`EndTransactionMarker`), so a checksum leaves one epoch of
32 bits for each of the types. The true one is a small number; the other is as small once in 65,536
times, and then neither is known.

On a topic with LogAppendTime the text lacks the base timestamp too: it is when the marker was made,
which is the moment of the append or a little before. There the nearest moment that fits is taken,
and an epoch must be smaller.
"""

import struct
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.records import ABORT, COMMIT
from udfs.wire.batches.walk import CRC32C_TABLE, checksum
from udfs.wire.varint import encode_varint, encode_varlong

# attributes, lastOffsetDelta, baseTimestamp, maxTimestamp, producerId, producerEpoch,
# baseSequence, recordsCount: with the record, what the checksum covers.
CHECKED = struct.Struct(">hiqqqhii")
# Offset delta, size of the key, key (version, type), size of the value, value (version, epoch),
# number of headers.
CONTENT = struct.Struct(">bbhhbhib")
EPOCH_BITS = 16
# Of markers with LogAppendTime: more than a thousand changes of the coordinator, or an append that
# waited longer, ms, and the marker stays unknown.
HIGHEST_EPOCH_APPENDED = 1 << 10
LONGEST_APPEND = 128


class Header(NamedTuple):
    """What a text prints of a marker's batch; timestamps in ms, `size` in bytes.

    `base`: base timestamp or delete horizon; `written`: timestamp of the record; `largest`: the
    largest timestamp.
    """

    checksum: int
    size: int
    attributes: int
    base: int
    written: int
    largest: int
    producer_id: int
    producer_epoch: int


def _checked(header: Header, control_type: int, coordinator_epoch: int) -> bytes:
    """The bytes of a marker's batch that its checksum covers."""
    content = CONTENT.pack(0, 2 * 4, 0, control_type, 2 * 6, 0, coordinator_epoch, 0)
    body = b"\x00" + encode_varlong(header.written - header.base) + content
    head = CHECKED.pack(
        header.attributes, 0, header.base, header.largest, header.producer_id,
        header.producer_epoch, -1, 1,
    )  # fmt: skip
    return head + encode_varint(len(body)) + body


def _checksum(checked: bytes) -> int:
    return int(checksum(np.frombuffer(checked, dtype=np.uint8), 0, len(checked), CRC32C_TABLE))


@lru_cache(maxsize=1)
def _epochs() -> dict[int, int]:
    """How a coordinator epoch changes the checksum that epoch 0 gives -> the epoch.

    Checksums are linear: an epoch changes it by the changes of its bits together.
    """
    header = Header(0, 0, 0, 0, 0, 0, 0, 0)
    plain = _checksum(_checked(header, COMMIT, 0))
    changes: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    for bit in range(EPOCH_BITS):
        change = plain ^ _checksum(_checked(header, COMMIT, 1 << bit))
        changes = np.concatenate((changes, changes ^ change))
    return {change: epoch for epoch, change in enumerate(changes.tolist())}


def _fitting(header: Header) -> list[tuple[int, int]]:
    """Types and epochs that give the stored checksum and size."""
    found = []
    for control_type in (ABORT, COMMIT):
        checked = _checked(header, control_type, 0)
        epoch = _epochs().get(_checksum(checked) ^ header.checksum)
        if epoch is not None and layout.ATTRIBUTES + len(checked) == header.size:
            found.append((control_type, epoch))
    return found


def marker_of(header: Header) -> tuple[int, int] | None:
    """(control type, coordinator epoch) of a marker; None if its checksum fits none or several."""
    appended = header.attributes & layout.TIMESTAMP_TYPE_MASK
    if not appended or header.attributes & layout.DELETE_HORIZON_MASK:
        found = _fitting(header)
        return found[0] if len(found) == 1 else None
    for made in range(header.largest, header.largest - LONGEST_APPEND, -1):
        fitting = _fitting(header._replace(base=made, written=made))
        found = [one for one in fitting if one[1] < HIGHEST_EPOCH_APPENDED]
        if found:
            return found[0] if len(found) == 1 else None
    return None
