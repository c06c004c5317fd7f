"""Entries of a `.txnindex` file (`AbortedTxn` version 0, Kafka 0.11 to 4.3).

One 34-byte entry for each aborted transaction whose ABORT marker lies in the segment; no header
and no checksum. Kafka ignores an entry that is cut off at the end of the file.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

VERSION = 0

# version, producerId, firstOffset, lastOffset, lastStableOffset.
ENTRY = struct.Struct(">hqqqq")


class AbortedTxnEntry(NamedTuple):
    """An aborted transaction; `last_offset` is that of its ABORT marker."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    byte_position: int


def decode(data: bytes) -> tuple[list[AbortedTxnEntry], int]:
    """(entries, trailing bytes that form no whole entry). Versions are kept, not judged."""
    partial = len(data) % ENTRY.size
    whole = memoryview(data)[: len(data) - partial]
    entries = []
    for index, fields in enumerate(ENTRY.iter_unpack(whole)):
        version, producer_id, first_offset, last_offset, last_stable_offset = fields
        position = index * ENTRY.size
        entries.append(
            AbortedTxnEntry(
                version, producer_id, first_offset, last_offset, last_stable_offset, position
            )
        )
    return entries, partial


def encode(entries: Iterable[AbortedTxnEntry]) -> bytes:
    """Bytes of the entries in the order given; `byte_position` is not stored."""
    return b"".join(ENTRY.pack(*entry[:-1]) for entry in entries)
