"""The LZ4 frame as Kafka reads it (`Lz4BlockInputStream`, LZ4 frame format 1.5.1).

Kafka reads the first frame only and ignores what follows its end mark; it skips a content
checksum and a content size without checking them, and refuses dependent blocks. Clients of
magic 0 computed the header checksum over the wrong bytes, so there it is not checked.
"""

import struct
from typing import NamedTuple

from udfs.wire.errors import WireError

MAGIC = struct.pack("<I", 0x184D2204)
DESCRIPTOR = struct.Struct("BB")  # FLG, BD
BLOCK_LENGTH = struct.Struct("<I")
CHECKSUM_SIZE = 4
CONTENT_SIZE_SIZE = 8

FLAG_RESERVED_MASK = 0x03
FLAG_CONTENT_CHECKSUM = 0x04
FLAG_CONTENT_SIZE = 0x08
FLAG_BLOCK_CHECKSUM = 0x10
FLAG_BLOCK_INDEPENDENCE = 0x20
FLAG_VERSION_MASK = 0xC0
FLAG_VERSION_1 = 0x40

DESCRIPTOR_RESERVED_MASK = 0x8F
BLOCK_SIZE_SHIFT = 4
# Block size codes 4 to 7: 64 KiB, 256 KiB, 1 MiB, 4 MiB.
MIN_BLOCK_SIZE_CODE = 4
BLOCK_UNCOMPRESSED = 0x80000000

XXH_PRIME_1 = 2654435761
XXH_PRIME_2 = 2246822519
XXH_PRIME_3 = 3266489917
XXH_PRIME_4 = 668265263
XXH_PRIME_5 = 374761393
UINT32 = 0xFFFFFFFF


class Header(NamedTuple):
    """Frame header: flags, block descriptor, and the position of the first block."""

    flags: int
    descriptor: int
    blocks_at: int


def _failed(detail: str) -> WireError:
    return WireError("decompression_failed", f"lz4: {detail}")


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & UINT32


def _xxh32_short(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes; frame headers have 2 or 10."""
    hashed = (XXH_PRIME_5 + len(data)) & UINT32
    words_end = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:words_end]):
        hashed = _rotate((hashed + word * XXH_PRIME_3) & UINT32, 17) * XXH_PRIME_4 & UINT32
    for byte in data[words_end:]:
        hashed = _rotate((hashed + byte * XXH_PRIME_5) & UINT32, 11) * XXH_PRIME_1 & UINT32
    hashed = (hashed ^ hashed >> 15) * XXH_PRIME_2 & UINT32
    hashed = (hashed ^ hashed >> 13) * XXH_PRIME_3 & UINT32
    return hashed ^ hashed >> 16


def header_checksum(descriptor: bytes) -> int:
    """The byte that ends a frame header, computed over FLG, BD and the content size if any."""
    return _xxh32_short(descriptor) >> 8 & 0xFF


def _read_header(data: bytes, check_header: bool) -> Header:
    fixed_end = len(MAGIC) + DESCRIPTOR.size
    if data[: len(MAGIC)] != MAGIC or len(data) <= fixed_end:
        raise _failed(f"starts with {data[:8].hex()}, expected a frame header")
    flags, descriptor = DESCRIPTOR.unpack_from(data, len(MAGIC))
    if flags & FLAG_RESERVED_MASK or flags & FLAG_VERSION_MASK != FLAG_VERSION_1:
        raise _failed(f"flags {flags:#04x}, expected version 1 and no reserved bits")
    if not flags & FLAG_BLOCK_INDEPENDENCE:
        raise _failed(f"flags {flags:#04x}: dependent blocks")
    if descriptor & DESCRIPTOR_RESERVED_MASK:
        raise _failed(f"block descriptor {descriptor:#04x} has reserved bits")
    if descriptor >> BLOCK_SIZE_SHIFT < MIN_BLOCK_SIZE_CODE:
        raise _failed(f"block descriptor {descriptor:#04x}, expected block size code 4 to 7")
    checksum_at = fixed_end + (CONTENT_SIZE_SIZE if flags & FLAG_CONTENT_SIZE else 0)
    if checksum_at >= len(data):
        raise _failed("frame header is cut off")
    expected = header_checksum(data[len(MAGIC) : checksum_at])
    if check_header and data[checksum_at] != expected:
        raise _failed(f"header checksum {data[checksum_at]:#04x}, expected {expected:#04x}")
    return Header(flags, descriptor, checksum_at + 1)


def _blocks_end(data: bytes, header: Header) -> int:
    """Position after the last block, where the end mark starts."""
    max_block = 1 << (8 + 2 * (header.descriptor >> BLOCK_SIZE_SHIFT))
    checksum_size = CHECKSUM_SIZE if header.flags & FLAG_BLOCK_CHECKSUM else 0
    at = header.blocks_at
    while at + BLOCK_LENGTH.size <= len(data):
        (stored,) = BLOCK_LENGTH.unpack_from(data, at)
        length = stored & ~BLOCK_UNCOMPRESSED
        if length == 0:
            return at
        if length > max_block:
            raise _failed(f"block of {length} bytes, at most {max_block} allowed")
        at += BLOCK_LENGTH.size + length + checksum_size
    raise _failed(f"no end mark in {len(data)} bytes")


def first_frame(data: bytes, check_header: bool = True) -> bytes:
    """The first frame as a strict decoder accepts it wherever Kafka does.

    The content checksum and content size, which Kafka does not check, are dropped; block
    checksums stay and are verified by the decoder.
    """
    header = _read_header(data, check_header)
    blocks = data[header.blocks_at : _blocks_end(data, header)]
    flags = header.flags & ~(FLAG_CONTENT_CHECKSUM | FLAG_CONTENT_SIZE)
    descriptor = DESCRIPTOR.pack(flags, header.descriptor)
    check = bytes([header_checksum(descriptor)])
    return MAGIC + descriptor + check + blocks + BLOCK_LENGTH.pack(0)
