"""Where the batches of a segment lie, by their headers alone, read in the driver."""

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from udfs.wire.batches import batch_layout as layout

OFFSET_AND_LENGTH = struct.Struct(">qi")
LAST_OFFSET_DELTA = struct.Struct(">i")
READ_BYTES = 1 << 20


class BatchHead(NamedTuple):
    """A batch, or a message of magic 0 or 1: `position` and `size` in bytes.

    `offset`: as stored, the first of a batch and the last of a wrapper; `last_offset`: inclusive.
    """

    position: int
    size: int
    offset: int
    last_offset: int


def batch_heads(file: BinaryIO, file_bytes: int) -> Iterator[BatchHead]:
    """The whole batches of a segment, up to where none begins. Raises OSError."""
    at, start, data = 0, 0, b""
    while at + layout.MAGIC < file_bytes:
        if at + layout.HEADER_SIZE > start + len(data):
            file.seek(at)
            start, data = at, exactly(file, READ_BYTES)
        # An old message may be shorter than a header, at the end of the file.
        header = data[at - start : at - start + layout.HEADER_SIZE].ljust(layout.HEADER_SIZE, b"\0")
        offset, length = OFFSET_AND_LENGTH.unpack_from(header)
        size = layout.LOG_OVERHEAD + length
        if length < layout.MIN_LENGTH_V0 or at + size > file_bytes:
            return
        last = offset
        if header[layout.MAGIC] >= 2:
            last += LAST_OFFSET_DELTA.unpack_from(header, layout.LAST_OFFSET_DELTA)[0]
        yield BatchHead(at, size, offset, last)
        at += size


def exactly(file: BinaryIO, size: int) -> bytes:
    """The next bytes of a file, fewer only at its end: one read may give less."""
    parts = []
    while size:
        part = file.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
