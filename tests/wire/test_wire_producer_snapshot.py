"""Producer snapshots: vectors, checksum, one malformed case a field, truncation."""

import pytest
from wire.vectors import P0, P1, PARTITION_SNAPSHOT, T0

from tests.wire_writer.producer_snapshot import encode
from udfs.wire.errors import WireError
from udfs.wire.side_files.producer_snapshot import ProducerSnapshotEntry, decode

VECTORS = [
    (P0, []),
    (
        P1,
        [
            ProducerSnapshotEntry(4001, 3, 11, 101, 1, T0 + 20, 12, -1),
            ProducerSnapshotEntry(4002, 1, -1, -1, 0, T0 + 30, 13, -1),
            ProducerSnapshotEntry(5000, 0, 0, 302, 2, T0 + 72, -1, -1),
            ProducerSnapshotEntry(4004, 0, 4, 350, 4, T0 + 90, -1, 346),
        ],
    ),
    (
        PARTITION_SNAPSHOT,
        [
            ProducerSnapshotEntry(1, 1, -1, -1, 0, T0 + 6, 6, -1),
            ProducerSnapshotEntry(2, 0, 0, 2, 0, T0 + 5, 5, -1),
            ProducerSnapshotEntry(3, 0, 0, 3, 0, T0 + 2, -1, -1),
            ProducerSnapshotEntry(4, 0, 0, 9, 0, T0 + 8, -1, 9),
            ProducerSnapshotEntry(9, 0, -1, -1, 0, T0 + 9, 6, -1),
        ],
    ),
]

MALFORMED = [
    ("version 0", b"\x00\x00" + P1[2:], "unknown_version"),
    ("version 2", b"\x00\x02" + P1[2:], "unknown_version"),
    ("checksum", P1[:5] + b"\x00" + P1[6:], "crc_mismatch"),
    ("count -1", P1[:6] + b"\xff\xff\xff\xff" + P1[10:], "length_out_of_bounds"),
    ("count beyond the data", P1[:6] + b"\x7f\xff\xff\xff" + P1[10:], "length_out_of_bounds"),
    ("count too small", P1[:9] + b"\x03" + P1[10:], "bytes_left_over"),
    ("bytes left over", P1 + b"\x00", "bytes_left_over"),
    ("entry changed", P1[:-1] + b"\x00", "crc_mismatch"),
]


@pytest.mark.parametrize(("stored", "entries"), VECTORS, ids=["P0", "P1", "partition"])
def test_vector(stored: bytes, entries: list[ProducerSnapshotEntry]) -> None:
    assert decode(stored) == entries
    assert encode(entries) == stored


@pytest.mark.parametrize(("what", "stored", "reason"), MALFORMED)
def test_malformed(what: str, stored: bytes, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        decode(stored)
    assert caught.value.reason == reason, what


@pytest.mark.parametrize("stored", [P0, P1], ids=["P0", "P1"])
def test_every_truncation_is_refused(stored: bytes) -> None:
    for size in range(len(stored)):
        with pytest.raises(WireError):
            decode(stored[:size])
