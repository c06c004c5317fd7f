"""Where two copies of a block of offsets differ: reads both again, batch by batch.

Only blocks whose digests differ come here, few and small, so no task reads much.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.columns import array, boolean, column, integer, long, string, table
from udfs.arrow.frames import FrameWalker
from udfs.arrow.read_again import read_again
from udfs.arrow.replica_blocks import compared, stored_batches
from udfs.rules.extent import MAX_OFFSET
from udfs.wire.batches.batch_headers import Int64s, read_headers
from udfs.wire.batches.fingerprints import fingerprints

DIFFERS, LACKS = "differs", "lacks"

PIECE = table(
    integer("file_index", "file"),
    string("root", "where the file is opened, see LISTED_FILE"),
    string("below_root", "and its path below that"),
    long("size_bytes", "size when listed, bytes"),
    long("first_position", "byte position of the first batch"),
    long("end_position", "byte position after the last batch"),
)
"""Batches of a block in one split of one file."""

BLOCK = table(
    long("first_offset", "first offset to compare of the two copies, inclusive"),
    long("end_offset", "offset after the last one to compare of the block"),
    long("block_offset", "first offset of the block; a batch is in that of its last offset"),
    array("one_pieces", PIECE, "where the block lies in one copy; null for nowhere"),
    array("other_pieces", PIECE, "where the block lies in the other"),
    boolean("equal_again", "a later block is the same in both"),
)
"""A block of offsets that differs between two copies."""

COPIES = table(
    integer("replica_set", "see DUMP_PARTITION"),
    integer("one_index", "partition_index of one copy"),
    integer("other_index", "partition_index of another copy"),
    array("blocks", BLOCK, "blocks that differ, by offset"),
)
"""Two copies of a partition."""

BATCH_PLACE = table(
    integer("file_index", "file"),
    long("position", "byte position of the batch"),
    integer("length", "size of the batch, bytes"),
    integer("leader_epoch", "partition leader epoch; -1 for none"),
)

DIFFERENCE = table(
    integer("replica_set", "see DUMP_PARTITION"),
    string("difference", "differs: both have the offset; lacks: only the first copy has it"),
    long("offset", "first offset at which the copies of the block differ in this way"),
    long("last_offset", "last offset of that batch in the first copy, inclusive"),
    integer("one_index", "partition_index of the first copy"),
    integer("other_index", "partition_index of the other copy"),
    column("one", BATCH_PLACE, "the batch in the first copy"),
    column("other", BATCH_PLACE, "the batch in the other; null where it lacks the offset"),
    boolean("equal_again", "behind it both copies have an equal batch or block"),
)
"""A difference in a block of two copies: see `differences`."""

DIFFERENCE_SCHEMA: pa.Schema = to_arrow_schema(DIFFERENCE)


class Copied(NamedTuple):
    """Batches of one copy of a block, sorted by last offset: one array element a batch."""

    first_offset: Int64s
    last_offset: Int64s
    fingerprint: Int64s
    file_index: Int64s
    position: Int64s
    length: Int64s
    leader_epoch: Int64s

    def place(self, i: int) -> dict[str, int]:
        """Row of BATCH_PLACE."""
        return {name: int(getattr(self, name)[i]) for name in BATCH_PLACE.names}


def _read_piece(piece: dict[str, Any], block: dict[str, Any], max_batch_bytes: int) -> Copied:
    """The batches of a piece that are to be compared."""
    start, end = piece["first_position"], piece["end_position"]
    place = piece["root"], piece["below_root"]
    with read_again(*place, start, end - start, piece["size_bytes"]) as source:
        positions = FrameWalker(source, max_batch_bytes, 0, MAX_OFFSET).walk().positions
    headers = read_headers(source.data, positions)
    batches = stored_batches(headers)
    wanted = compared(batches, block["first_offset"], block["end_offset"])
    at = batches.position[wanted]
    return Copied(
        batches.first_offset[wanted],
        batches.last_offset[wanted],
        fingerprints(source.data, at),
        np.full(at.size, piece["file_index"], dtype=np.int64),
        at + start,
        headers.length[wanted],
        headers.partition_leader_epoch[wanted],
    )


def _read_copy(
    pieces: list[dict[str, Any]] | None, block: dict[str, Any], max_batch_bytes: int
) -> Copied:
    """All pieces of a copy together; none where it lacks the whole block."""
    parts = [_read_piece(piece, block, max_batch_bytes) for piece in pieces or []]
    nothing = Copied(*[np.empty(0, dtype=np.int64)] * len(Copied._fields))
    joined = [np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)]
    order = np.argsort(joined[1], kind="stable")
    return Copied(*[column[order] for column in joined])


def _first_differences(one: Copied, other: Copied, block_offset: int) -> Iterator[dict[str, Any]]:
    """The first batch of `one` that is another one in `other`, and the first that it lacks.

    Where both are equal again behind the former, also the first behind which they are not. Beside a
    batch that begins in front of the block, the other copy has batches in the block before.
    """
    changed = ~np.isin(one.fingerprint, other.fingerprint)
    beside = np.searchsorted(other.last_offset, one.first_offset)
    overlaps = np.zeros(changed.size, dtype=np.bool_)
    inside = beside < other.last_offset.size
    overlaps[inside] = other.first_offset[beside[inside]] <= one.last_offset[inside]
    equal = np.flatnonzero(~changed)
    last_equal = int(equal[-1]) if equal.size else -1
    different = np.flatnonzero(changed & overlaps)
    told = np.unique([*different[:1], *different[different > last_equal][:1]]).astype(np.int64)
    for difference, where in (
        (DIFFERS, told),
        (LACKS, np.flatnonzero(changed & ~overlaps)[:1]),
    ):
        for i in where:
            both = int(beside[i]) if difference == DIFFERS else None
            first = int(one.first_offset[i])
            begins = [first] if both is None else [first, int(other.first_offset[both])]
            yield {
                "difference": difference,
                "offset": _parts_at(begins, block_offset),
                "last_offset": int(one.last_offset[i]),
                "one": one.place(i),
                "other": None if both is None else other.place(both),
                "equal_again": bool(i < last_equal),
            }


def _parts_at(begins: list[int], block_offset: int) -> int:
    """The first offset that two batches have otherwise; `begins`: their first offsets."""
    return min(begins) if min(begins) < block_offset else max(begins)


def _of_block(block: dict[str, Any], max_batch_bytes: int) -> Iterator[dict[str, Any]]:
    """Rows of DIFFERENCE, with `turned` where the first copy is the other one of the pair."""
    one = _read_copy(block["one_pieces"], block, max_batch_bytes)
    other = _read_copy(block["other_pieces"], block, max_batch_bytes)
    start = block["block_offset"]
    rows = [row | {"turned": False} for row in _first_differences(one, other, start)]
    # What differs is reported once; what is missing may be missing on either side.
    turned = [row for row in _first_differences(other, one, start) if row["difference"] == LACKS]
    for row in rows + [row | {"turned": True} for row in turned]:
        yield row | {"equal_again": row["equal_again"] or block["equal_again"]}


def _joined(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Blocks side by side as one, where a copy lacks one of them.

    A batch is in the block of its last offset: what the other copy has in its place may be in the
    next one, or in the one before. Other copies, which may lag, decide where blocks end.
    """
    joined: list[dict[str, Any]] = []
    for block in blocks:
        before = joined[-1] if joined else None
        lacked = before and not all(
            one[pieces] for one in (before, block) for pieces in ("one_pieces", "other_pieces")
        )
        if before is None or not lacked or before["end_offset"] != block["block_offset"]:
            joined.append(block)
            continue
        joined[-1] = block | {
            "block_offset": before["block_offset"],
            "one_pieces": [*(before["one_pieces"] or ()), *(block["one_pieces"] or ())],
            "other_pieces": [*(before["other_pieces"] or ()), *(block["other_pieces"] or ())],
        }
    return joined


def differences(pair: dict[str, Any], max_batch_bytes: int) -> Iterator[dict[str, Any]]:
    """Rows of DIFFERENCE for a row of COPIES, each the first of its kind.

    Those behind which the copies are equal again are a kind of their own: such a batch is another
    fault than where the copies part for good. What one copy lacks is told up to the first block in
    which batches differ. Raises OSError where a file cannot be read any more.
    """
    differ: set[bool] = set()
    for block in _joined(pair["blocks"]):
        lacks_are_told = bool(differ)
        for row in _of_block(block, max_batch_bytes):
            if row["difference"] == DIFFERS:
                if row["equal_again"] in differ:
                    continue
                differ.add(row["equal_again"])
            elif lacks_are_told:
                continue
            sides = (pair["one_index"], pair["other_index"])
            one, other = reversed(sides) if row.pop("turned") else sides
            yield row | {
                "replica_set": pair["replica_set"], "one_index": one, "other_index": other,
            }  # fmt: skip
        if False in differ:
            return


def find_differences(
    batches: Iterator[pa.RecordBatch], max_batch_bytes: int
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of COPIES; gives rows of DIFFERENCE."""
    for batch in batches:
        for pair in batch.to_pylist():
            rows = list(differences(pair, max_batch_bytes))
            yield pa.RecordBatch.from_pylist(rows, schema=DIFFERENCE_SCHEMA)
