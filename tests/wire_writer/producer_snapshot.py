"""A producer snapshot: what `udfs.wire.side_files.producer_snapshot` reads."""

from collections.abc import Iterable

import google_crc32c

from udfs.wire.side_files.producer_snapshot import (
    CHECKED_HEAD,
    COUNT,
    ENTRY,
    VERSION,
    ProducerSnapshotEntry,
)


def encode(entries: Iterable[ProducerSnapshotEntry]) -> bytes:
    """Bytes of a snapshot file with a valid checksum."""
    packed = [ENTRY.pack(*entry) for entry in entries]
    body = COUNT.pack(len(packed)) + b"".join(packed)
    return CHECKED_HEAD.pack(VERSION, google_crc32c.value(body)) + body
