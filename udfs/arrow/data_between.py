"""Data of partitions between two offsets: headers of batches, read for this alone."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.lineage import BETWEEN
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.read_again import split_again
from udfs.arrow.sections import readable
from udfs.arrow.segment import segment_frames

SCHEMA: pa.Schema = to_arrow_schema(BETWEEN)


class Between(NamedTuple):
    """Which batches of a partition count: base offsets from `begin` on, and below `end`.

    `end` None: to the end of the log. `transactional`: those of transactions as well.
    """

    begin: int
    end: int | None = None
    transactional: bool = False


def read_between(
    batches: Iterator[pa.RecordBatch], ranges: Mapping[int, Between], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of SPLIT: rows of BETWEEN, at most one a split.

    `ranges`: partition_index -> the batches that count.
    """
    for batch in batches:
        for split in batch.to_pylist():
            with split_again(split) as source:
                row = _of_split(source, split, ranges[split["partition_index"]], options)
            if row is not None:
                yield pa.RecordBatch.from_pylist([row], schema=SCHEMA)


def _of_split(
    source: ByteRange, split: dict[str, Any], asked: Between, options: DecodeOptions
) -> dict[str, Any] | None:
    frames = segment_frames(source, split, options)
    decoded = decode_batches(source, frames.positions, split["topic"], options)
    headers = decoded.headers
    wanted = readable(decoded) & ~headers.control & (headers.base_offset >= asked.begin)
    if asked.end is not None:
        wanted &= headers.base_offset < asked.end
    if not asked.transactional:
        wanted &= ~headers.transactional
    mine = np.flatnonzero(wanted)
    if not mine.size:
        return None
    return {
        "partition_index": split["partition_index"],
        "first_offset": int(headers.base_offset[mine].min()),
        "last_offset": int(headers.last_offset[mine].max()),
        "records": int(headers.record_count[mine].sum()),
        "since_ms": int(headers.max_timestamp[mine[0]]),
    }
