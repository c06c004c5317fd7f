"""Numbers and fields as Kafka writes them: varints, bytes with their size, tagged fields."""

import struct


def sized(data: bytes, at: int, form: str, flexible: bool = False) -> tuple[bytes | None, int]:
    """Bytes with their size in front, null where that is negative, and where they end."""
    size, at = counted(data, at, flexible, form)
    if at + size > len(data):
        raise ValueError("a field that is cut off")
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A zig-zag varint and where it ends; raises ValueError."""
    value, at = unsigned(data, at)
    return (value >> 1) ^ -(value & 1), at


def unsigned(data: bytes, at: int) -> tuple[int, int]:
    """A varint without a sign and where it ends; raises ValueError."""
    value = shift = 0
    while shift < 70:
        if at >= len(data):
            raise ValueError("bytes end in a varint")
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    raise ValueError("a varint that is too long")


def span(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    """Bytes with their size in front, null where that is negative."""
    size, at = varint(data, at)
    if size < 0:
        return None, at
    if at + size > end:
        raise ValueError("a field that is cut off")
    return data[at : at + size], at + size


def counted(data: bytes, at: int, flexible: bool, form: str) -> tuple[int, int]:
    """A length or a count and where it ends, -1 for null."""
    if flexible:
        number, at = unsigned(data, at)
        return number - 1, at
    size = struct.calcsize(form)
    if at + size > len(data):
        raise ValueError("a field that is cut off")
    (number,) = struct.unpack_from(form, data, at)
    return number, at + size


def tagged(data: bytes, at: int) -> tuple[dict[int, bytes], int]:
    """Tagged fields and where they end."""
    fields, (number, at) = {}, unsigned(data, at)
    for _ in range(number):
        tag, at = unsigned(data, at)
        size, at = unsigned(data, at)
        if at + size > len(data):
            raise ValueError("a field that is cut off")
        fields[tag], at = data[at : at + size], at + size
    return fields, at
