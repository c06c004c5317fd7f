"""Fields of Kafka's schemas, of both forms: what `udfs.wire.fields` reads."""

from udfs.wire.fields import INT16, INT32
from udfs.wire.varint import encode_unsigned_varint


def encode_string(text: str, flexible: bool) -> bytes:
    """A string of either form."""
    raw = text.encode("utf-8")
    return (encode_unsigned_varint(len(raw) + 1) if flexible else INT16.pack(len(raw))) + raw


def encode_byte_string(content: bytes, flexible: bool) -> bytes:
    """Bytes of either form."""
    size = len(content)
    return (encode_unsigned_varint(size + 1) if flexible else INT32.pack(size)) + content


def encode_count(count: int | None, flexible: bool) -> bytes:
    """An array's count; None is a null array."""
    stored = -1 if count is None else count
    return encode_unsigned_varint(stored + 1) if flexible else INT32.pack(stored)


def encode_tagged_fields(fields: list[tuple[int, bytes]]) -> bytes:
    """The tagged-field section that ends a flexible struct."""
    parts = [encode_unsigned_varint(len(fields))]
    for tag, content in sorted(fields):
        parts += [encode_unsigned_varint(tag), encode_unsigned_varint(len(content)), content]
    return b"".join(parts)
