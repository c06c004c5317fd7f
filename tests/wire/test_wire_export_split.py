"""The records of a split that a consumer would get, from bytes alone."""

import io
from typing import Any

import pyarrow as pa

from tests.wire_writer import batches as writer
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.export_split import ARROW_SCHEMA, export_split
from udfs.wire import codecs

OPTIONS = DecodeOptions(1 << 20, 1 << 20, 86_400_000, True)
T0 = 1_700_000_000_000
EVERYTHING = (0, 1 << 62)


def data(offset: int, producer: int, count: int = 1, **more: Any) -> bytes:
    records = [
        writer.record(
            i, i, b"k%d" % i, None if i else b"v", (("h", b"1"), ("h", None)) if i else ()
        )
        for i in range(count)
    ]
    given = {"base_timestamp": T0 + offset, "producer_epoch": 0, "base_sequence": 0} | more
    return writer.batch(offset, records, producer_id=producer, **given)


def exported(
    log: bytes,
    *,
    start: int = 0,
    length: int | None = None,
    bounds: tuple[int, int] = EVERYTHING,
    committed: bool = True,
    behind: dict[int, int] | None = None,
    told: list[tuple[int, int, int, bool]] | None = None,
) -> list[dict[str, Any]]:
    size = len(log) - start if length is None else length
    split = {
        "partition_index": 3,
        "topic": "t",
        "base_offset": 0,
        "next_base_offset": None,
        "from_offset": bounds[0],
        "end_offset": bounds[1],
        "committed": committed,
        "aborted_behind": [
            {"producer_id": producer, "first_offset": first}
            for producer, first in (behind or {}).items()
        ],
        "outcomes_told": [
            {"producer_id": producer, "first_offset": first, "last_offset": last, "commit": commit}
            for producer, first, last, commit in told or ()
        ],
    }
    source = ByteRange(io.BytesIO(log), start, size, len(log))
    return pa.Table.from_batches(
        export_split(source, split, OPTIONS), schema=ARROW_SCHEMA
    ).to_pylist()


def offsets(rows: list[dict[str, Any]]) -> list[int]:
    return [row["offset"] for row in rows]


ABORTED = data(0, 7, 2, transactional=True)
OTHER = data(2, 8, transactional=True)
PLAIN = data(3, 7)
ABORT = writer.marker(4, 7, 0, False, 0, T0)
AGAIN = data(5, 7, transactional=True)
COMMITS = writer.marker(6, 7, 0, True, 0, T0) + writer.marker(7, 8, 0, True, 0, T0)
LOG = ABORTED + OTHER + PLAIN + ABORT + AGAIN + COMMITS


def test_read_committed_skips_what_is_aborted_and_every_marker() -> None:
    assert offsets(exported(LOG)) == [2, 3, 5]
    assert offsets(exported(LOG, committed=False)) == [0, 1, 2, 3, 5]


def test_what_is_decided_behind_the_split_is_told_from_outside() -> None:
    head = len(ABORTED + OTHER + PLAIN)
    assert offsets(exported(LOG, length=head)) == [0, 1, 2, 3]
    assert offsets(exported(LOG, length=head, behind={7: 0})) == [2, 3]
    # An aborted transaction that began behind the batch is another one.
    assert offsets(exported(LOG, length=head, behind={7: 2})) == [0, 1, 2, 3]
    assert offsets(exported(LOG, start=head)) == [5]


def test_a_marker_that_is_lost_is_told_from_outside() -> None:
    """What lies behind it is decided by the log, and so are other producers and plain records."""
    lacks = ABORTED + OTHER + PLAIN + AGAIN + COMMITS
    assert offsets(exported(lacks)) == [0, 1, 2, 3, 5]
    assert offsets(exported(lacks, told=[(7, 0, 4, False)])) == [2, 3, 5]
    aborted = ABORTED + AGAIN + writer.marker(6, 7, 0, False, 0, T0)
    assert offsets(exported(aborted)) == []
    assert offsets(exported(aborted, told=[(7, 0, 4, True)])) == [0, 1]
    # What another copy has counts before what an index lists.
    both = [(7, 0, 4, False), (7, 0, 4, True)]
    assert offsets(exported(aborted, told=both)) == [0, 1]


def test_only_offsets_of_the_range_are_there() -> None:
    assert offsets(exported(LOG, bounds=(1, 3), committed=False)) == [1, 2]
    assert exported(LOG, bounds=(4, 5)) == []


def test_a_record_has_its_content() -> None:
    first, second = exported(data(10, -1, 2, producer_epoch=-1, base_sequence=-1))
    assert first == {
        "partition_index": 3,
        "offset": 10,
        "timestamp": T0 + 10,
        "timestamp_type": "CreateTime",
        "key": b"k0",
        "value": b"v",
        "headers": None,
        "producer_id": None,
        "producer_epoch": None,
        "transactional": False,
    }
    assert (second["timestamp"], second["value"]) == (T0 + 11, None)
    assert second["headers"] == [{"key": "h", "value": b"1"}, {"key": "h", "value": None}]


def test_every_codec_gives_the_same_rows() -> None:
    plain = exported(data(0, 7, 5))
    for codec in (codecs.GZIP, codecs.SNAPPY, codecs.LZ4, codecs.ZSTD):
        assert exported(data(0, 7, 5, codec=codec)) == plain


def test_damage_is_passed_over() -> None:
    broken = bytearray(LOG)
    broken[len(ABORTED) + 30] ^= 0xFF
    assert offsets(exported(bytes(broken), committed=False)) == [0, 1, 3, 5]
    for size in range(len(LOG)):
        assert set(offsets(exported(LOG[:size], committed=False))) <= {0, 1, 2, 3, 5}


def test_records_of_every_format() -> None:
    inside = [writer.legacy_message(n, None, b"w", magic=1, timestamp=T0 + n) for n in range(2)]
    stored = writer.compress(codecs.GZIP, b"".join(inside))
    log = writer.legacy_message(0, b"k", b"v", magic=0)
    log += writer.legacy_message(1, b"k", None, magic=1, timestamp=T0 + 7)
    log += writer.legacy_message(3, None, stored, magic=1, timestamp=T0 + 1, attributes=1)
    log += writer.legacy_message(5, None, stored, magic=1, timestamp=T0 + 9, attributes=9)
    log += data(6, -1)
    rows = exported(log)
    assert offsets(rows) == [6, 0, 1, 2, 3, 4, 5]
    told = [(row["timestamp"], row["timestamp_type"]) for row in rows[1:]]
    assert told == [
        (-1, "NoTimestampType"),
        (T0 + 7, "CreateTime"),
        (T0, "CreateTime"),
        (T0 + 1, "CreateTime"),
        (T0 + 9, "LogAppendTime"),
        (T0 + 9, "LogAppendTime"),
    ]
    assert [(row["key"], row["value"]) for row in rows[1:4]] == [
        (b"k", b"v"), (b"k", None), (None, b"w"),
    ]  # fmt: skip
    assert {(row["headers"], row["producer_id"], row["transactional"]) for row in rows[1:]} == {
        (None, None, False)
    }
    assert offsets(exported(log, bounds=(3, 5))) == [3, 4]
