"""A fingerprint changes with every byte that replicas must have in common."""

import numpy as np
import pytest

from tests.wire_writer import batches as writer
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.fingerprints import fingerprints

BATCH = writer.batch(7, [writer.record(0, value=b"a value")], base_timestamp=5, producer_id=3)
OLD = writer.legacy_message(7, b"key", b"value", magic=1, timestamp=5)


def fingerprint(batch: bytes, before: int = 0) -> int:
    data = np.frombuffer(bytes(before) + batch, dtype=np.uint8)
    return int(fingerprints(data, np.array([before], dtype=np.int64))[0])


def test_it_does_not_depend_on_where_the_batch_lies() -> None:
    assert fingerprint(BATCH) == fingerprint(BATCH, before=13)


@pytest.mark.parametrize("batch", [BATCH, OLD], ids=["magic 2", "magic 1"])
def test_every_byte_of_the_header_counts(batch: bytes) -> None:
    size = min(len(batch), layout.HEADER_SIZE)
    changed = [bytearray(batch) for _ in range(size)]
    for at, one in enumerate(changed):
        one[at] ^= 1
    # The length field says how much there is to read: a lie about it is no proven batch.
    readable = [one for at, one in enumerate(changed) if not 8 <= at < 12]
    found = {fingerprint(bytes(one)) for one in readable} | {fingerprint(batch)}
    assert len(found) == len(readable) + 1


def test_records_count_through_their_checksum() -> None:
    other = writer.batch(7, [writer.record(0, value=b"a vague")], base_timestamp=5, producer_id=3)
    assert len(other) == len(BATCH)
    assert fingerprint(other) != fingerprint(BATCH)
