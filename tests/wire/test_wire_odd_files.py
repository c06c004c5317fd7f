"""Files of every kind with a few bytes changed: rows come out of the decoder, no exception.

The files are those of a real broker. Checksums are made right again, so that what is behind them is
read; a text of numbers at the ends of their range is more likely than any other.
"""

import io
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from split_rows import rows_of_split

from jobs.collect.collect import collect
from jobs.decode.splits import plan_splits
from jobs.model.dump import DumpFile
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.export_split import export_split
from udfs.wire import bounds
from udfs.wire.batches import walk

SAMPLE = Path(__file__).parent.parent / "dumps/hanging-sample"
OPTIONS = DecodeOptions(
    max_batch_bytes=1 << 20, max_decompressed_bytes=1 << 20, producer_expiration_ms=86_400_000,
    with_records=True,
)  # fmt: skip
KINDS = ("segment", "txn_index", "producer_snapshot", "offset_index", "time_index",
         "leader_epoch_checkpoint", "metadata_log")  # fmt: skip
# Bytes [21, end) of a batch are under its checksum.
CHECKED_FROM, CRC_AT, LENGTH_AT = 21, 17, 8
SNAPSHOT_CRC_AT, SNAPSHOT_CHECKED_FROM = 2, 6
TIMES = ("timestamp", "_ms")


@cache
def samples() -> list[tuple[DumpFile, dict[str, Any], bytes]]:
    dump = collect([SAMPLE])
    splits = {one["file_index"]: one for one in plan_splits(dump, 1 << 40)}
    return [
        (file, splits[file.file_index] | {"beside": None},
         Path(file.root, file.below_root).read_bytes()[:20_000])
        for file in dump.files
        if file.kind in KINDS and file.size
    ]  # fmt: skip


def batches(content: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at + 61 <= len(content):
        end = at + 12 + struct.unpack_from(">i", content, at + LENGTH_AT)[0]
        if end > len(content) or end <= at:
            return
        yield at, end
        at = end


ODD = st.sampled_from(
    [b"\x7f" + b"\xff" * 7, b"\x80" + bytes(7), b"\xff" * 8, bytes(8), b"\x7f\xff\xff\xff",
     b"\x80\0\0\0", b"\xff" * 4, b"\x7f\xff", b"\x80\0", b"\xff", b"\x80", b"\x7f", b"\0", b"\x01",
     b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01"]
)  # fmt: skip
CHANGES = st.lists(st.tuples(st.integers(0, 1 << 30), ODD | st.binary(max_size=9)), max_size=5)


def changed(file: DumpFile, content: bytes, changes: list[tuple[int, bytes]]) -> bytes:
    data = bytearray(content)
    if file.kind in ("segment", "metadata_log"):
        whole = list(batches(content))
        for place, value in changes:
            first, end = whole[place % len(whole)]
            # Length, magic and checksum would only hide what lies behind them.
            fields = [*range(8), *range(12, 16), *range(CHECKED_FROM, end - first)]
            at = first + fields[place // len(whole) % len(fields)]
            data[at : min(at + len(value), end)] = value[: end - at]
            data[first + LENGTH_AT : first + 12] = content[first + LENGTH_AT : first + 12]
            data[first + 16] = 2
        for first, end in whole:
            crc = google_crc32c.value(bytes(data[first + CHECKED_FROM : end]))
            struct.pack_into(">I", data, first + CRC_AT, crc)
        return bytes(data)
    for place, value in changes:
        at = place % len(data)
        data[at : at + len(value)] = value[: len(data) - at]
    if file.kind == "producer_snapshot" and len(data) > SNAPSHOT_CHECKED_FROM:
        crc = google_crc32c.value(bytes(data[SNAPSHOT_CHECKED_FROM:]))
        struct.pack_into(">hI", data, 0, 1, crc)
    return bytes(data)


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, key)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield name, value


def decoded(file: DumpFile, split: dict[str, Any], content: bytes) -> None:
    split = split | {
        "length": len(content),
        "file_size": len(content),
        "snapshots": [0, 5, 60, 105],
    }
    split |= {"cuts": [10, 50], "cleaner_reach": 40, "buckets": 2, "next_base_offset": 50}
    for row in rows_of_split(io.BytesIO(content), split, OPTIONS):
        for name, number in numbers(row):
            assert not name.endswith(TIMES) or abs(number) <= bounds.LATEST
            assert "offset" not in name or bounds.LOWEST <= number <= bounds.HIGHEST
    if file.kind == "segment":
        asked = {"from_offset": 0, "end_offset": 1 << 40, "committed": True, "aborted_behind": None}
        told = {"producer_id": 1, "first_offset": 0, "last_offset": 9, "commit": False}
        asked["outcomes_told"] = [told]
        source = ByteRange(io.BytesIO(content), 0, len(content), len(content))
        for _ in export_split(source, split | asked, OPTIONS):
            pass


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 1 << 20), CHANGES)
def test_bytes_changed(which: int, changes: list[tuple[int, bytes]]) -> None:
    file, split, content = samples()[which % len(samples())]
    decoded(file, split, changed(file, content, changes))


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 1 << 20), st.integers(0, 300), st.binary(max_size=300))
def test_bytes_cut_and_added(which: int, kept: int, added: bytes) -> None:
    file, split, content = samples()[which % len(samples())]
    decoded(file, split, content[:kept] + added)


@pytest.mark.parametrize("base", [bounds.HIGHEST, 0])
def test_segments_at_the_last_offset(base: int) -> None:
    for file, split, content in samples():
        if split["base_offset"] is not None:
            decoded(file, split | {"base_offset": base}, content)


def test_the_walk_takes_no_number_for_a_size() -> None:
    data = np.frombuffer(b"\xff" * 100, dtype=np.uint8)
    end = walk.frame_end(data, 0, 100, 1 << 20, walk.CRC32C_TABLE, walk.CRC32_TABLE)
    assert end == -1


def test_damage_behind_a_base_offset_at_the_end_of_its_range() -> None:
    """No checksum covers a base offset; what follows is bounded by it, and there is none above."""
    file, split, content = next(one for one in samples() if one[0].kind == "segment")
    (first, end), *_ = batches(content)
    odd = ((1 << 63) - 1).to_bytes(8, "big")
    decoded(file, split, odd + content[first + 8 : end] + b"damage" * 9 + content)
