# ruff: noqa: A005 - imported as udfs.wire.codecs only, so it hides nothing.
"""Decompression as the broker's readers do it (`CompressionType`, codecs 0 to 4).

Every codec is read in bounded pieces: no more than `limit` bytes and one piece are ever held,
whatever the input announces. What Kafka's own streams accept is accepted: several gzip members
and zstd frames, snappy with and without the framing of xerial, only the first LZ4 frame.
"""

import struct
import zlib
from collections.abc import Callable

import pyarrow as pa

from udfs.wire.errors import WireError
from udfs.wire.lz4_frame import first_frame
from udfs.wire.varint import decode_unsigned_varint

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)

READ_SIZE = 1 << 18
# Small pieces, because zlib copies what follows a member: many tiny members stay cheap.
GZIP_PIECE = 1 << 14
GZIP_WINDOW_BITS = 31
GZIP_MAGIC = b"\x1f\x8b"

XERIAL_MAGIC = b"\x82SNAPPY\x00"
# magic, version, minimum compatible version.
XERIAL_HEADER = struct.Struct(">8sii")
XERIAL_VERSION = 1
# A chunk length with these bytes is the start of another header (concatenated streams).
XERIAL_MAGIC_HEAD = XERIAL_MAGIC[:4]
CHUNK_LENGTH_SIZE = 4

# What pyarrow raises on bytes it cannot decode.
CODEC_ERRORS = (OSError, pa.ArrowException, MemoryError)


def _failed(codec: str, detail: object) -> WireError:
    return WireError("decompression_failed", f"{codec}: {detail}")


def _over_limit(limit: int) -> WireError:
    return WireError("decompressed_size_limit", f"more than {limit} bytes")


def _gunzip(data: bytes, limit: int) -> bytes:
    """All members of a gzip stream; a tail that starts no member is ignored, as in Java."""
    parts: list[bytes] = []
    size = 0
    at = 0
    while at == 0 or data[at : at + len(GZIP_MAGIC)] == GZIP_MAGIC:
        member = zlib.decompressobj(wbits=GZIP_WINDOW_BITS)
        while not member.eof:
            if at >= len(data):
                raise _failed("gzip", "stream is cut off")
            piece = data[at : at + GZIP_PIECE]
            try:
                # Input is left unread only when the output limit was passed.
                part = member.decompress(piece, limit - size + 1)
            except zlib.error as error:
                raise _failed("gzip", error) from error
            size += len(part)
            if size > limit:
                raise _over_limit(limit)
            parts.append(part)
            at += len(piece) - len(member.unused_data)
    return b"".join(parts)


def _unsnappy_block(block: bytes, limit: int) -> bytes:
    """One raw snappy block; its announced size is checked before anything is allocated."""
    try:
        announced, _ = decode_unsigned_varint(block, 0)
    except WireError as error:
        raise _failed("snappy", error) from error
    if announced > limit:
        raise _over_limit(limit)
    try:
        return bytes(pa.Codec("snappy").decompress(block, announced, asbytes=True))
    except CODEC_ERRORS as error:
        raise _failed("snappy", error) from error


def _xerial_header_size(data: bytes, at: int) -> int:
    if len(data) - at < XERIAL_HEADER.size:
        raise _failed("snappy", "framing header is cut off")
    magic, version, _ = XERIAL_HEADER.unpack_from(data, at)
    if magic != XERIAL_MAGIC or version < XERIAL_VERSION:
        raise _failed("snappy", f"framing header {data[at : at + XERIAL_HEADER.size].hex()}")
    return XERIAL_HEADER.size


def _unsnappy(data: bytes, limit: int) -> bytes:
    if not data.startswith(XERIAL_MAGIC):
        return _unsnappy_block(data, limit)
    parts: list[bytes] = []
    size = 0
    at = _xerial_header_size(data, 0)
    # Fewer bytes than a chunk length end the stream silently in the Java reader.
    while at + CHUNK_LENGTH_SIZE <= len(data):
        head = data[at : at + CHUNK_LENGTH_SIZE]
        if head == XERIAL_MAGIC_HEAD:
            at += _xerial_header_size(data, at)
            continue
        at += CHUNK_LENGTH_SIZE
        length = int.from_bytes(head, "big", signed=True)
        if not 0 <= length <= len(data) - at:
            raise _failed("snappy", f"chunk of {length} bytes, {len(data) - at} left")
        part = _unsnappy_block(data[at : at + length], limit - size)
        size += len(part)
        parts.append(part)
        at += length
    return b"".join(parts)


def _read_stream(codec: str, data: bytes, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), codec) as stream:
            # Not read(): that leaks its buffer whenever the codec fails (pyarrow 26).
            while part := stream.read_buffer(min(READ_SIZE, limit - size + 1)).to_pybytes():
                size += len(part)
                if size > limit:
                    raise _over_limit(limit)
                parts.append(part)
    except CODEC_ERRORS as error:
        raise _failed(codec, error) from error
    return b"".join(parts)


def _unlz4(data: bytes, limit: int) -> bytes:
    return _read_stream("lz4", first_frame(data), limit)


def _unzstd(data: bytes, limit: int) -> bytes:
    return _read_stream("zstd", data, limit)


DECODERS: dict[int, Callable[[bytes, int], bytes]] = {
    GZIP: _gunzip,
    SNAPPY: _unsnappy,
    LZ4: _unlz4,
    ZSTD: _unzstd,
}


def decompress(codec: int, data: bytes, limit: int) -> bytes:
    """Decompressed `data` of a batch or wrapper message, at most `limit` bytes.

    Raises WireError `decompressed_size_limit` above the limit, `decompression_failed` for bytes
    the codec cannot read (an empty input is one), `unknown_codec` for codecs 5 to 7.
    """
    if codec == NONE:
        if len(data) > limit:
            raise _over_limit(limit)
        return data
    if codec not in DECODERS:
        raise WireError("unknown_codec", f"codec {codec}, expected 0 to 4")
    if not data:
        raise WireError("decompression_failed", "no bytes")
    return DECODERS[codec](data, limit)


def decompress_magic_0(codec: int, data: bytes, limit: int) -> bytes:
    """Like `decompress` for a wrapper of magic 0, whose LZ4 header checksum may be wrong."""
    if codec == LZ4 and data:
        return _read_stream("lz4", first_frame(data, check_header=False), limit)
    return decompress(codec, data, limit)
