"""The writer builds the reference's batches byte for byte."""

import gzip
import hashlib
import struct

import pytest
from wire.vectors import (
    B1,
    B2,
    B3,
    B4,
    B5,
    B6,
    B7,
    B8_LZ4,
    B8_SECTION,
    B8_SNAPPY,
    B8_SNAPPY_RAW,
    B8_ZSTD,
    HORIZON,
    L0,
    L1,
    L2,
    PARTITION,
    T0,
)

from tests.wire_writer import batches as writer
from tests.wire_writer.batches import batch, empty_batch, legacy_message, marker, record
from udfs.wire.batches import batch_layout as layout
from udfs.wire.codecs import GZIP, LZ4, SNAPPY, ZSTD, decompress

ONE = [record(0, key=b"k", value=b"value")]


def data(
    base_offset: int, producer_id: int, sequence: int, timestamp: int, count: int = 1
) -> bytes:
    return batch(
        base_offset,
        [record(i) for i in range(count)],
        base_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=producer_id != 3,
        partition_leader_epoch=2,
    )


def end(offset: int, producer: tuple[int, int], commit: bool, epoch: int, timestamp: int) -> bytes:
    return marker(offset, *producer, commit, epoch, timestamp, partition_leader_epoch=2)


def test_layouts_agree_with_the_header_size() -> None:
    assert writer.BATCH_HEAD.size == layout.ATTRIBUTES
    assert writer.BATCH_HEAD.size + writer.BATCH_CHECKED.size == layout.HEADER_SIZE


def test_b1_transactional_data() -> None:
    records = [
        record(0, 0, b"k1", b"v1", [("h", b"x")]),
        record(1, 7, None, b""),
    ]
    built = batch(
        100,
        records,
        base_timestamp=T0,
        producer_id=4001,
        producer_epoch=3,
        base_sequence=10,
        transactional=True,
        partition_leader_epoch=5,
    )
    assert built == B1


def test_b2_commit_marker() -> None:
    assert marker(102, 4001, 3, True, 12, T0 + 20, partition_leader_epoch=5) == B2


def test_b3_abort_marker() -> None:
    assert marker(103, 4002, 1, False, 13, T0 + 30, partition_leader_epoch=6) == B3


def test_b4_empty_batch() -> None:
    built = empty_batch(
        200,
        204,
        max_timestamp=T0 + 50,
        producer_id=4001,
        producer_epoch=4,
        base_sequence=25,
        transactional=True,
        partition_leader_epoch=7,
    )
    assert built == B4


def test_b5_marker_with_delete_horizon() -> None:
    built = marker(
        210, 4003, 2, True, 14, T0 + 60, partition_leader_epoch=7, delete_horizon=HORIZON
    )
    assert built == B5


def test_b6_sequence_wrap() -> None:
    records = [record(i, i, None, value) for i, value in enumerate([b"a", b"b", b"c"])]
    built = batch(
        300,
        records,
        base_timestamp=T0 + 70,
        producer_id=5000,
        producer_epoch=0,
        base_sequence=2147483646,
        partition_leader_epoch=7,
    )
    assert built == B6


def test_b7_compacted() -> None:
    built = batch(
        310,
        [record(1, 0, b"k", b"v")],
        base_timestamp=T0 + 81,
        producer_id=5000,
        producer_epoch=0,
        base_sequence=1,
        partition_leader_epoch=7,
        last_offset_delta=2,
    )
    assert built == B7


@pytest.mark.parametrize(("codec", "expected"), [(SNAPPY, B8_SNAPPY), (LZ4, B8_LZ4)])
def test_b8_compressed(codec: int, expected: bytes) -> None:
    assert batch(400, ONE, base_timestamp=T0, partition_leader_epoch=7, codec=codec) == expected


@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_b8_in_codecs_whose_bytes_depend_on_the_library(codec: int) -> None:
    built = batch(400, ONE, base_timestamp=T0, codec=codec)
    assert decompress(codec, built[layout.HEADER_SIZE :], 100) == B8_SECTION
    assert built == batch(400, ONE, base_timestamp=T0, codec=codec)


@pytest.mark.parametrize(("codec", "expected"), [(SNAPPY, B8_SNAPPY_RAW), (ZSTD, B8_ZSTD)])
def test_section_is_stored_as_given(codec: int, expected: bytes) -> None:
    section = expected[layout.HEADER_SIZE :]
    built = batch(
        400, ONE, base_timestamp=T0, partition_leader_epoch=7, codec=codec, section=section
    )
    assert built == expected


def test_given_fields_replace_the_derived_ones() -> None:
    built = batch(
        0, ONE, base_timestamp=T0, crc=7, count=5, attributes=0x7F, timestamp_type=1, codec=GZIP
    )
    assert struct.unpack_from(">Ih", built, layout.CRC) == (7, 0x7F)
    assert struct.unpack_from(">i", built, layout.RECORDS_COUNT) == (5,)


def test_log_append_time_bit() -> None:
    built = marker(0, 1, 0, True, 0, T0, timestamp_type=1)
    assert struct.unpack_from(">h", built, layout.ATTRIBUTES) == (0x38,)


def test_legacy_messages() -> None:
    assert legacy_message(7, b"k", b"v", magic=0) == L0
    assert legacy_message(8, None, b"v", magic=1, timestamp=T0) == L1


def test_legacy_wrapper() -> None:
    inner = legacy_message(0, b"a", b"1", magic=1, timestamp=T0 + 1)
    inner += legacy_message(1, b"b", b"2", magic=1, timestamp=T0 + 2)
    value_at = 34
    assert gzip.decompress(L2[value_at:]) == inner
    built = legacy_message(21, None, L2[value_at:], magic=1, timestamp=T0 + 2, attributes=GZIP)
    assert built == L2


def test_whole_partition() -> None:
    built = [
        data(0, 1, 0, T0, count=2),
        data(2, 2, 0, T0 + 1),
        data(3, 3, 0, T0 + 2),
        end(4, (1, 0), False, 5, T0 + 3),
        data(5, 1, 2, T0 + 4),
        end(6, (2, 0), True, 5, T0 + 5),
        end(7, (1, 1), False, 6, T0 + 6),
        end(8, (9, 0), False, 6, T0 + 7),
        data(9, 4, 0, T0 + 8),
        end(10, (9, 0), False, 6, T0 + 9),
    ]
    assert b"".join(built) == PARTITION
    digest = "dd79d95ca80789e802e833cd934f1a2e67c45ded0c8881614c9000539fa5b70e"
    assert hashlib.sha256(PARTITION).hexdigest() == digest
