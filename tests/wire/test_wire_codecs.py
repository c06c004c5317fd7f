"""Codecs: the stream forms Kafka's readers accept, limits, damage."""

import gc
import gzip
import tracemalloc
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire.vectors import (
    B8_GZIP,
    B8_LZ4,
    B8_SECTION,
    B8_SNAPPY,
    B8_SNAPPY_RAW,
    B8_ZSTD,
    L2,
)

from tests.wire_writer.batches import compress, snappy_framed, snappy_raw
from udfs.wire.batches.batch_layout import HEADER_SIZE
from udfs.wire.codecs import GZIP, LZ4, NONE, SNAPPY, ZSTD, decompress, decompress_magic_0
from udfs.wire.errors import WireError
from udfs.wire.lz4_frame import header_checksum

LIMIT = 1 << 20
CODECS = [GZIP, SNAPPY, LZ4, ZSTD]
SECTIONS = [
    (GZIP, B8_GZIP[HEADER_SIZE:]),
    (SNAPPY, B8_SNAPPY[HEADER_SIZE:]),
    (SNAPPY, B8_SNAPPY_RAW[HEADER_SIZE:]),
    (LZ4, B8_LZ4[HEADER_SIZE:]),
    (ZSTD, B8_ZSTD[HEADER_SIZE:]),
]
LZ4_SECTION = B8_LZ4[HEADER_SIZE:]
LZ4_BLOCKS = LZ4_SECTION[7:-4]
# XXH32 of that one block, little endian.
LZ4_BLOCK_CHECKSUM = bytes.fromhex("e632daf6")
TEXT = b"a line that repeats itself\n" * 10_000
SNAPPY_HEADER = snappy_framed(b"")
CHUNK_OVER_END = SNAPPY_HEADER + b"\x00\x00\x00\x7f\x00"
NEGATIVE_CHUNK = SNAPPY_HEADER + b"\xff\xff\xff\xff\x00"


def lz4_frame(
    flags: int, blocks: bytes, *, size: bytes = b"", check: int | None = None, bd: int = 0x40
) -> bytes:
    descriptor = bytes([flags, bd]) + size
    check = header_checksum(descriptor) if check is None else check
    return b"\x04\x22\x4d\x18" + descriptor + bytes([check]) + blocks + b"\x00\x00\x00\x00"


def reason_of(codec: int, data: bytes, limit: int = LIMIT) -> str:
    with pytest.raises(WireError) as caught:
        decompress(codec, data, limit)
    return caught.value.reason


@pytest.mark.parametrize(("codec", "section"), SECTIONS)
def test_vector(codec: int, section: bytes) -> None:
    assert decompress(codec, section, LIMIT) == B8_SECTION


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("content", [b"", b"v", TEXT], ids=["empty", "byte", "large"])
def test_round_trip(codec: int, content: bytes) -> None:
    assert decompress(codec, compress(codec, content), LIMIT) == content


def test_wrapper_of_magic_1() -> None:
    inner = decompress(GZIP, L2[34:], LIMIT)
    assert len(inner) == 72
    assert inner.endswith(b"\x00\x00\x00\x01b\x00\x00\x00\x012")


def test_no_codec_passes_through() -> None:
    assert decompress(NONE, b"plain", 5) == b"plain"
    assert reason_of(NONE, b"plain", 4) == "decompressed_size_limit"


@pytest.mark.parametrize("codec", [5, 6, 7, -1])
def test_unknown_codec(codec: int) -> None:
    assert reason_of(codec, b"x") == "unknown_codec"


@pytest.mark.parametrize("codec", CODECS)
def test_limit_is_the_last_size_accepted(codec: int) -> None:
    stored = compress(codec, TEXT)
    assert decompress(codec, stored, len(TEXT)) == TEXT
    assert reason_of(codec, stored, len(TEXT) - 1) == "decompressed_size_limit"


def test_bomb_is_stopped_at_the_limit() -> None:
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    stored = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(64)) + bomb.flush()
    assert reason_of(GZIP, stored, 1000) == "decompressed_size_limit"


def test_snappy_announcement_is_checked_before_it_is_believed() -> None:
    assert reason_of(SNAPPY, b"\xff\xff\xff\xff\x0f\x00") == "decompressed_size_limit"
    framed = SNAPPY_HEADER + b"\x00\x00\x00\x06\xff\xff\xff\xff\x0f\x00"
    assert reason_of(SNAPPY, framed) == "decompressed_size_limit"


@pytest.mark.parametrize("codec", [GZIP, ZSTD])
def test_concatenated_streams(codec: int) -> None:
    stored = compress(codec, b"one ") + compress(codec, b"") + compress(codec, b"two")
    assert decompress(codec, stored, LIMIT) == b"one two"


@pytest.mark.parametrize("tail", [b"\x00", b"\x00" * 40, b"garbage behind the last member"])
def test_gzip_tail_that_starts_no_member_is_ignored(tail: bytes) -> None:
    assert decompress(GZIP, gzip.compress(b"v") + tail, LIMIT) == b"v"


def test_many_tiny_gzip_members_stay_cheap() -> None:
    assert decompress(GZIP, gzip.compress(b"v") * 5000, LIMIT) == b"v" * 5000


def test_snappy_header_where_a_chunk_is_expected() -> None:
    stored = snappy_framed(b"one ") + snappy_framed(b"two")
    assert decompress(SNAPPY, stored, LIMIT) == b"one two"


def test_snappy_tail_shorter_than_a_chunk_length_is_ignored() -> None:
    assert decompress(SNAPPY, snappy_framed(b"v") + b"\x00\x00\x00", LIMIT) == b"v"


def test_raw_snappy_block_of_nothing() -> None:
    assert decompress(SNAPPY, snappy_raw(b""), LIMIT) == b""


@pytest.mark.parametrize(
    "stored",
    [CHUNK_OVER_END, NEGATIVE_CHUNK, SNAPPY_HEADER[:12], b"\x82SNAPPY\x00" + bytes(8)],
    ids=["chunk beyond the data", "negative chunk", "header cut", "version 0"],
)
def test_malformed_snappy_framing(stored: bytes) -> None:
    assert reason_of(SNAPPY, stored) == "decompression_failed"


@pytest.mark.parametrize("tail", [b"\x00", LZ4_SECTION, b"garbage"])
def test_only_the_first_lz4_frame_is_read(tail: bytes) -> None:
    assert decompress(LZ4, LZ4_SECTION + tail, LIMIT) == B8_SECTION


def test_lz4_content_checksum_and_size_are_not_verified() -> None:
    wrong_size = (99).to_bytes(8, "little")
    stored = lz4_frame(0x6C, LZ4_BLOCKS, size=wrong_size) + b"\xde\xad\xbe\xef"
    assert decompress(LZ4, stored, LIMIT) == B8_SECTION


def test_lz4_block_checksum_is_verified() -> None:
    right = lz4_frame(0x70, LZ4_BLOCKS + LZ4_BLOCK_CHECKSUM)
    assert decompress(LZ4, right, LIMIT) == B8_SECTION
    wrong = lz4_frame(0x70, LZ4_BLOCKS + bytes(4))
    assert reason_of(LZ4, wrong) == "decompression_failed"


def test_lz4_header_checksum_vector() -> None:
    assert header_checksum(b"\x60\x40") == 0x82


def test_lz4_header_checksum_of_magic_0_clients() -> None:
    stored = lz4_frame(0x60, LZ4_BLOCKS, check=0x1A)
    assert decompress_magic_0(LZ4, stored, LIMIT) == B8_SECTION
    assert decompress_magic_0(GZIP, gzip.compress(b"v"), LIMIT) == b"v"
    assert reason_of(LZ4, stored) == "decompression_failed"


@pytest.mark.parametrize(
    "stored",
    [
        lz4_frame(0x40, LZ4_BLOCKS),
        lz4_frame(0x62, LZ4_BLOCKS),
        lz4_frame(0xA0, LZ4_BLOCKS),
        lz4_frame(0x60, LZ4_BLOCKS, bd=0x30),
        lz4_frame(0x60, LZ4_BLOCKS, bd=0x41),
        lz4_frame(0x60, b"\x01\x00\x01\x80" + bytes(65537)),
        lz4_frame(0x60, b"\xff\xff\xff\x7f"),
    ],
    ids=["dependent", "reserved", "version", "block code", "BD bits", "block size", "length"],
)
def test_malformed_lz4_frame(stored: bytes) -> None:
    assert reason_of(LZ4, stored) == "decompression_failed"


@pytest.mark.parametrize("codec", CODECS)
def test_no_bytes(codec: int) -> None:
    assert reason_of(codec, b"") == "decompression_failed"


@pytest.mark.parametrize(("codec", "section"), SECTIONS)
def test_truncation_is_refused_or_shorter(codec: int, section: bytes) -> None:
    for size in range(len(section)):
        try:
            assert B8_SECTION.startswith(decompress(codec, section[:size], LIMIT))
        except WireError as error:
            assert error.reason == "decompression_failed"


@given(
    st.sampled_from(SECTIONS),
    st.integers(0, 60),
    st.binary(max_size=40),
)
def test_arbitrary_bytes_give_bytes_or_a_wire_error(
    start: tuple[int, bytes], keep: int, tail: bytes
) -> None:
    codec, section = start
    for decode in (decompress, decompress_magic_0):
        with suppress(WireError):
            assert len(decode(codec, section[:keep] + tail, 4096)) <= 4096


@pytest.mark.parametrize("codec", CODECS)
def test_failed_streams_leave_no_memory_behind(codec: int) -> None:
    damaged = compress(codec, TEXT)[:-5]
    tracemalloc.start()
    try:
        for _ in range(20):
            reason_of(codec, damaged)
        gc.collect()
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < 1 << 18
