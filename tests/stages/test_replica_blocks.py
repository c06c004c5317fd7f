"""Blocks of two copies are equal however they are cut, and what differs is found again."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from split_rows import rows_of_split

from schemas import log_row
from tests.wire_writer import batches as writer
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.replica_blocks import BLOCK_OFFSETS
from udfs.arrow.replica_differences import differences

LIMIT = 1 << 20
OPTIONS = DecodeOptions(LIMIT, LIMIT, 0, with_records=True)
# Batches on both sides of a block, and one across.
OFFSETS = [*range(BLOCK_OFFSETS - 3, BLOCK_OFFSETS + 5, 2), BLOCK_OFFSETS + 6]
CUTS = [OFFSETS[0], BLOCK_OFFSETS + 4, BLOCK_OFFSETS * 3]
FIELDS = log_row.BLOCK_TYPE.names


def batch(offset: int, value: bytes = b"v") -> bytes:
    return writer.batch(
        offset, [writer.record(0, value=value), writer.record(1, value=value)], base_timestamp=0
    )


def log(changed: int | None = None, missing: int | None = None) -> bytes:
    return b"".join(
        batch(offset, b"w" if offset == changed else b"v")
        for offset in OFFSETS
        if offset != missing
    )


def blocks(content: bytes, split_bytes: int, cuts: list[int] = CUTS) -> list[dict[str, Any]]:
    """Rows of BLOCK_TYPE of all splits of one segment."""
    split = {
        "partition_index": 0, "file_index": 0, "topic": "t", "partition": 0, "kind": "segment",
        "file_size": len(content), "base_offset": 0, "next_base_offset": None, "cleaned_below": 0,
        "high_watermark": None, "length": split_bytes, "cuts": cuts, "snapshots": None,
        "log_start": None,
        "cleaner_reach": None,
    }  # fmt: skip
    found = []
    for start in range(0, len(content), split_bytes):
        rows = rows_of_split(BytesIO(content), split | {"start": start}, OPTIONS)
        found += [row["block"] for row in rows if row["kind"] == log_row.BLOCK]
    return found


def joined(rows: list[dict[str, Any]]) -> dict[tuple[int, int], tuple[int, int]]:
    """(first offset, end) of a block -> (digest, batches) over all splits."""
    together: dict[tuple[int, int], tuple[int, int]] = {}
    for row in rows:
        place = (row["first_offset"], row["end_offset"])
        digest, number = together.get(place, (0, 0))
        together[place] = (digest ^ row["digest"], number + row["batches"])
    return together


@pytest.mark.parametrize("split_bytes", [1, 70, 97, 200])
def test_the_size_of_splits_does_not_matter(split_bytes: int) -> None:
    whole = joined(blocks(log(), LIMIT))
    assert joined(blocks(log(), split_bytes)) == whole
    assert {place: number for place, (_, number) in whole.items()} == {
        (CUTS[0], BLOCK_OFFSETS): 1,
        # The batch across belongs to the block in which it ends.
        (BLOCK_OFFSETS, CUTS[1]): 2,
        (CUTS[1], BLOCK_OFFSETS * 2): 2,
    }


def test_only_the_block_with_another_batch_differs() -> None:
    one, other = (joined(blocks(log(changed), LIMIT)) for changed in (None, OFFSETS[-1]))
    assert [place for place in one if one[place] != other[place]] == [(CUTS[1], BLOCK_OFFSETS * 2)]


def test_what_does_not_lie_between_the_bounds_is_left_out() -> None:
    bounds = [OFFSETS[1] + 1, OFFSETS[-1] + 1]
    assert sum(row["batches"] for row in blocks(log(), LIMIT, bounds)) == len(OFFSETS) - 3


def pair(folder: Path, one: bytes, other: bytes, end: int = LIMIT) -> dict[str, Any]:
    pieces = []
    for number, content in enumerate((one, other)):
        path = folder / str(number)
        path.write_bytes(content)
        pieces.append(
            [
                {
                    "file_index": number, "root": str(folder), "below_root": path.name,
                    "size_bytes": len(content),
                    "first_position": 0, "end_position": len(content),
                }
            ]
        )  # fmt: skip
    block = {
        "first_offset": 0, "end_offset": end, "block_offset": 0,
        "one_pieces": pieces[0], "other_pieces": pieces[1], "equal_again": False,
    }  # fmt: skip
    return {"replica_set": 0, "one_index": 4, "other_index": 5, "blocks": [block]}


def found(pair: dict[str, Any]) -> list[dict[str, Any]]:
    return list(differences(pair, LIMIT))


def told(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(row["difference"], row["offset"], row["one_index"]) for row in rows]


def test_the_first_batch_that_differs_is_found_in_both_files(tmp_path: Path) -> None:
    size = len(batch(0))
    (row,) = found(pair(tmp_path, log(), log(changed=OFFSETS[2])))
    assert told([row]) == [("differs", OFFSETS[2], 4)]
    assert (row["one"]["position"], row["other"]["position"]) == (2 * size, 2 * size)


def test_the_first_batch_that_one_lacks_is_found_in_the_other(tmp_path: Path) -> None:
    rows = found(pair(tmp_path, log(missing=OFFSETS[1]), log()))
    assert told(rows) == [("lacks", OFFSETS[1], 5)]
    assert rows[0]["other"] is None


def test_above_the_end_nothing_is_compared(tmp_path: Path) -> None:
    different = log(changed=OFFSETS[2])
    assert found(pair(tmp_path, log(), different, end=OFFSETS[2] + 1)) == []


def test_bytes_that_are_no_batch_any_more_are_no_other_batch(tmp_path: Path) -> None:
    damaged = bytearray(log())
    damaged[len(batch(0)) + 70] ^= 1
    rows = found(pair(tmp_path, log(), bytes(damaged)))
    assert told(rows) == [("lacks", OFFSETS[1], 4)]


def test_behind_where_copies_part_for_good_nothing_more_is_read(tmp_path: Path) -> None:
    copies = pair(tmp_path, log(), log(changed=OFFSETS[-1]))
    gone = {
        "first_offset": LIMIT,
        "end_offset": LIMIT,
        "block_offset": LIMIT + 1,
        "one_pieces": [],
        "other_pieces": None,
        "equal_again": False,
    }
    copies["blocks"].append(gone | {"one_pieces": [{"root": "gone", "below_root": "gone"}]})
    assert [row["offset"] for row in found(copies)] == [OFFSETS[-1]]


def test_a_batch_that_begins_in_front_of_its_block_differs_from_there_on(tmp_path: Path) -> None:
    copies = pair(tmp_path, log(), log(changed=OFFSETS[-1]))
    copies["blocks"][0]["block_offset"] = OFFSETS[-1] + 1
    assert [row["offset"] for row in found(copies)] == [OFFSETS[-1]]


def test_a_later_block_that_is_the_same_is_behind_a_difference(tmp_path: Path) -> None:
    copies = pair(tmp_path, log(), log(changed=OFFSETS[-1]))
    assert [row["equal_again"] for row in found(copies)] == [False]
    copies["blocks"][0]["equal_again"] = True
    assert [row["equal_again"] for row in found(copies)] == [True]
