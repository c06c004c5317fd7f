"""Blocks of offsets: one number for all batches in each, so that replicas can be compared."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas import log_row
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.rows import RowBuilder, Rows
from udfs.wire.batches.batch_headers import BatchHeaders, Int64s
from udfs.wire.batches.fingerprints import fingerprints

# Few rows even for a terabyte, and little to read again where two copies of a block differ.
BLOCK_OFFSETS = 1 << 16


class Batches(NamedTuple):
    """Batches of any magic in file order: byte position and end, offsets (inclusive)."""

    position: Int64s
    end: Int64s
    first_offset: Int64s
    last_offset: Int64s


def stored_batches(headers: BatchHeaders) -> Batches:
    """Batches by what their headers alone tell: the first offset of an old wrapper is its last."""
    first = np.where(headers.magic < 2, headers.last_offset, headers.base_offset)
    return Batches(headers.position, headers.position + headers.length, first, headers.last_offset)


def block_starts(last_offset: Int64s, cuts: Int64s) -> Int64s:
    """First offset of the block that a batch with that last offset belongs to."""
    aligned = last_offset - last_offset % BLOCK_OFFSETS
    starts: Int64s = np.maximum(aligned, cuts[np.searchsorted(cuts, last_offset, side="right") - 1])
    return starts


def block_ends(starts: Int64s, cuts: Int64s) -> Int64s:
    """Offset after each block."""
    aligned = starts - starts % BLOCK_OFFSETS + BLOCK_OFFSETS
    ends: Int64s = np.minimum(aligned, cuts[np.searchsorted(cuts, starts, side="right")])
    return ends


def compared(batches: Batches, first: int, end: int) -> NDArray[np.bool_]:
    """Whether a batch lies wholly in the offsets from `first` (inclusive) to `end` (exclusive)."""
    inside = (batches.first_offset >= first) & (batches.last_offset < end)
    return inside & (batches.first_offset <= batches.last_offset)


def block_rows(
    builder: RowBuilder, source: ByteRange, batches: Batches, cuts: list[int]
) -> Iterator[Rows]:
    """Rows of `log_row.BLOCK_TYPE` for the batches of a split, whose positions are those in it.

    `cuts`: offsets at which blocks end, the first and the last of which bound what is compared.
    """
    bounds = np.array(cuts, dtype=np.int64)
    chosen = Batches(*[one[compared(batches, cuts[0], cuts[-1])] for one in batches])
    if not chosen.position.size:
        return
    first_offset, number = np.unique(block_starts(chosen.last_offset, bounds), return_inverse=True)
    digest = np.zeros(first_offset.size, dtype=np.int64)
    np.bitwise_xor.at(digest, number, fingerprints(source.data, chosen.position))
    first_position = np.full(first_offset.size, source.length, dtype=np.int64)
    np.minimum.at(first_position, number, chosen.position)
    end_position = np.zeros(first_offset.size, dtype=np.int64)
    np.maximum.at(end_position, number, chosen.end)
    columns = {
        "first_offset": first_offset,
        "end_offset": block_ends(first_offset, bounds),
        "digest": digest,
        "batches": np.bincount(number).astype(np.int64),
        "first_position": first_position + source.start,
        "end_position": end_position + source.start,
    }
    arrays = [pa.array(column) for column in columns.values()]
    rows = pa.StructArray.from_arrays(arrays, names=list(columns))
    yield builder.struct(log_row.BLOCK, "block", rows)
