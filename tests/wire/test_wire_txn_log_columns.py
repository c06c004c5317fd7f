"""Reading the coordinator's log many records at once gives what reading it one by one gives."""

import io
import random
from typing import Any

import numpy as np
import pytest

from tests.wire_writer import batches as writer
from tests.wire_writer import txn_log as txn_writer
from udfs.arrow import txn_log_columns
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import FrameWalker
from udfs.arrow.rows import RowBuilder, whole_rows
from udfs.arrow.txn_log_columns import Usual, UsualColumns
from udfs.arrow.txn_log_rows import txn_log_rows
from udfs.wire.batches.batch_headers import BatchHeaders, read_headers
from udfs.wire.coordinator import txn_log

T0 = 1_700_000_000_000
LIMIT = 1 << 20
SPLIT = {"partition_index": 0, "file_index": 0, "start": 0}
LISTS = (None, (), (("orders", (0, 7)), ("é" * 90, (1,))), (("t", tuple(range(200))),))


def value(chance: random.Random) -> txn_log.TxnLogValue:
    version = chance.randrange(2)
    tags = {
        "previous_producer_id": chance.choice((-1, 4)),
        "next_producer_id": chance.choice((-1, 9)),
        "client_transaction_version": chance.choice((0, 2)),
        "next_producer_epoch": chance.choice((-1, 3)),
    }
    return txn_log.TxnLogValue(
        version,
        chance.choice((0, 5, -1, 1 << 40)),
        chance.choice((0, 32767, -1)),
        chance.choice((60_000, 2147483647)),
        chance.randrange(-1, 8),
        chance.choice(LISTS),
        T0,
        chance.choice((-1, T0)),
        **(tags if version else {}),
    )


def batch(offset: int, chance: random.Random) -> bytes:
    key = txn_writer.encode_key(chance.choice(("x", "long" * 40, "ünder")))
    stored: bytes | None = txn_writer.encode_value(value(chance))
    unusual = chance.randrange(12)
    if unusual == 0:
        stored = None
    elif unusual == 1:
        stored = stored + b"\x00" if stored else None
    elif unusual == 2:
        key = b"\x00\x01nonsense"
    records = [writer.record(0, chance.choice((0, 5)), key, stored)]
    if unusual == 3:
        records.append(writer.record(1, 0, key, stored))
    if unusual == 4:
        records = [writer.record(0, 0, key, stored, (("h", b"1"),))]
    more: dict[str, Any] = {"codec": 1} if unusual == 5 else {}
    return writer.batch(offset, records, base_timestamp=T0 + offset, **more)


def read(log: bytes) -> tuple[ByteRange, BatchHeaders]:
    source = ByteRange(io.BytesIO(log), 0, len(log), len(log))
    frames = FrameWalker(source, LIMIT, 0, 1 << 40).walk()
    return source, read_headers(source.data, frames.positions)


def rows_of(log: bytes) -> list[dict[str, Any]]:
    parts = txn_log_rows(RowBuilder(SPLIT), *read(log), LIMIT, False)
    found = whole_rows(parts).column("txn_log_record").to_pylist()
    rows: list[dict[str, Any]] = [row for row in found if row is not None]
    return sorted(rows, key=lambda row: row["offset"])


def one_by_one(log: bytes) -> list[dict[str, Any]]:
    """The same, but that no batch is a usual one."""
    none = Usual(*(np.empty(shape, dtype=np.int64) for shape in (0, (16, 0), (11, 0))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(txn_log_columns, "usual_records", lambda *_: none)
        return rows_of(log)


@pytest.mark.parametrize("seed", range(4))
def test_both_ways_give_the_same_entries(seed: int) -> None:
    chance = random.Random(seed)
    log = b"".join(batch(2 * number, chance) for number in range(200))
    assert rows_of(log) == one_by_one(log)
    usual = UsualColumns(*read(log)).readable
    assert 0.3 < usual.mean() < 0.8


def test_no_byte_of_a_value_makes_them_differ() -> None:
    given = txn_log.TxnLogValue(1, 5, 3, 60_000, 1, LISTS[2], T0, T0, 4, 9, 2, 3)
    for version in (0, 1):
        stored = txn_writer.encode_value(given._replace(version=version) if version else
                                      txn_log.TxnLogValue(0, *given[1:8]))  # fmt: skip
        changed = [
            stored[:at] + bytes([byte]) + stored[at + 1 :]
            for at in range(len(stored))
            for byte in (0x00, 0x01, 0x7F, 0x80, 0xFF)
        ]
        changed += [stored[:size] for size in range(len(stored))]
        key = txn_writer.encode_key("x")
        log = b"".join(
            writer.batch(number, [writer.record(0, 0, key, one)], base_timestamp=T0)
            for number, one in enumerate(changed)
        )
        assert rows_of(log) == one_by_one(log)
