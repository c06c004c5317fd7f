"""Variable-length integers (`org.apache.kafka.common.utils.ByteUtils`, KIP-98 and KIP-482).

Base-128 groups, least significant first, the high bit of a byte says that more follow. Records
use zig-zag (varint 32 bits, varlong 64 bits), flexible messages the unsigned form (32 bits).
"""

from udfs.wire.errors import WireError

INT32_BITS = 32
INT64_BITS = 64


def _decode_groups(data: bytes, at: int, bits: int) -> tuple[int, int]:
    max_bytes = -(-bits // 7)
    value = 0
    for index in range(max_bytes):
        if at + index >= len(data):
            raise WireError("varint_underflow", f"bytes end inside the varint at {at}")
        byte = data[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            if value >> bits:
                raise WireError("varint_overlong", f"value at {at} exceeds {bits} bits")
            return value, at + index + 1
    raise WireError("varint_overlong", f"varint at {at} exceeds {max_bytes} bytes")


def _encode_groups(value: int) -> bytes:
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def _encode_zigzag(value: int, bits: int) -> bytes:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise WireError("value_out_of_range", f"{value}, expected a signed {bits}-bit integer")
    return _encode_groups(value << 1 if value >= 0 else -2 * value - 1)


def decode_unsigned_varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, next position) of the unsigned varint at `at`."""
    return _decode_groups(data, at, INT32_BITS)


def decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, next position) of the zig-zag 32-bit varint at `at`."""
    value, at = _decode_groups(data, at, INT32_BITS)
    return value >> 1 ^ -(value & 1), at


def decode_varlong(data: bytes, at: int) -> tuple[int, int]:
    """(value, next position) of the zig-zag 64-bit varint at `at`."""
    value, at = _decode_groups(data, at, INT64_BITS)
    return value >> 1 ^ -(value & 1), at


def encode_unsigned_varint(value: int) -> bytes:
    """Unsigned varint of 0 to 2^32 - 1."""
    if not 0 <= value < 1 << INT32_BITS:
        raise WireError("value_out_of_range", f"{value}, expected 0 to {(1 << INT32_BITS) - 1}")
    return _encode_groups(value)


def encode_varint(value: int) -> bytes:
    """Zig-zag varint of a signed 32-bit integer."""
    return _encode_zigzag(value, INT32_BITS)


def encode_varlong(value: int) -> bytes:
    """Zig-zag varint of a signed 64-bit integer."""
    return _encode_zigzag(value, INT64_BITS)
