"""Fields of coordinator records (Kafka's generated message classes; flexible form: KIP-482).

Fixed-width integers are big endian. The non-flexible form counts strings with an int16 and
arrays with an int32, -1 is null; the flexible form uses an unsigned varint of size + 1, 0 is
null, and ends every struct with a section of tagged fields.
"""

import struct
from typing import Any

from udfs.wire.errors import WireError
from udfs.wire.varint import decode_unsigned_varint

INT16 = struct.Struct(">h")
INT32 = struct.Struct(">i")
INT64 = struct.Struct(">q")


class FieldReader:
    """Reads fields one after another; every length is checked against the bytes left."""

    __slots__ = ("at", "data", "text_errors")

    def __init__(self, data: bytes, at: int = 0, text_errors: str = "strict") -> None:
        self.data = data
        self.at = at
        self.text_errors = text_errors

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        left = len(self.data) - self.at
        if not 0 <= size <= left:
            raise WireError("length_out_of_bounds", f"{size} bytes at {self.at}, {left} left")
        start = self.at
        self.at += size
        return self.data[start : self.at]

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """The fields of a fixed layout."""
        return layout.unpack(self.take(layout.size))

    def int16(self) -> int:
        """An int16."""
        return int.from_bytes(self.take(INT16.size), "big", signed=True)

    def int32(self) -> int:
        """An int32."""
        return int.from_bytes(self.take(INT32.size), "big", signed=True)

    def int64(self) -> int:
        """An int64."""
        return int.from_bytes(self.take(INT64.size), "big", signed=True)

    def unsigned_varint(self) -> int:
        """An unsigned varint."""
        value, self.at = decode_unsigned_varint(self.data, self.at)
        return value

    def nullable_string(self, flexible: bool) -> str | None:
        """A string of either form, None where null is stored."""
        size = self.unsigned_varint() - 1 if flexible else self.int16()
        if size == -1:
            return None
        start = self.at
        try:
            return self.take(size).decode("utf-8", self.text_errors)
        except UnicodeDecodeError as error:
            # The broker writes strings it decoded itself, so stored text is always valid.
            raise WireError("invalid_utf8", f"string of {size} bytes at {start}") from error

    def string(self, flexible: bool) -> str:
        """A string of either form that must not be null."""
        start = self.at
        text = self.nullable_string(flexible)
        if text is None:
            raise WireError("unexpected_null", f"null at {start}, expected a string")
        return text

    def byte_string(self, flexible: bool) -> bytes:
        """Bytes of either form that must not be null."""
        start = self.at
        size = self.unsigned_varint() - 1 if flexible else self.int32()
        if size == -1:
            raise WireError("unexpected_null", f"null at {start}, expected bytes")
        return self.take(size)

    def nullable_count(self, flexible: bool, element_size: int) -> int | None:
        """An array's count, None where null is stored; elements take `element_size` at least."""
        start = self.at
        count = self.unsigned_varint() - 1 if flexible else self.int32()
        if count == -1:
            return None
        left = len(self.data) - self.at
        if not 0 <= count * element_size <= left:
            raise WireError("length_out_of_bounds", f"{count} elements at {start}, {left} left")
        return count

    def count(self, flexible: bool, element_size: int) -> int:
        """The count of an array that must not be null."""
        start = self.at
        count = self.nullable_count(flexible, element_size)
        if count is None:
            raise WireError("unexpected_null", f"null at {start}, expected an array")
        return count

    def tagged_fields(self) -> list[tuple[int, bytes]]:
        """The tagged-field section that ends a flexible struct: (tag, content), tags ascending."""
        fields: list[tuple[int, bytes]] = []
        previous = -1
        for _ in range(self.unsigned_varint()):
            # No bound on the count is needed: each round consumes bytes or raises.
            tag = self.unsigned_varint()
            if tag <= previous:
                raise WireError("tag_order", f"tag {tag} after tag {previous}")
            fields.append((tag, self.take(self.unsigned_varint())))
            previous = tag
        return fields

    def end(self) -> None:
        """Requires that every byte has been read."""
        left = len(self.data) - self.at
        if left:
            raise WireError("bytes_left_over", f"{left} bytes after the last field at {self.at}")
