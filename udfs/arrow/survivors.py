"""What an election cannot have cut off, by batches that are still there: read for this alone.

A leader that lacks records makes the others truncate their logs to an offset
(`UnifiedLog.truncateTo`): all that lies behind it goes. So of what lies behind a lost record
nothing can be older than the election.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.lineage import SURVIVED
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.read_again import split_again
from udfs.arrow.sections import UNREADABLE
from udfs.arrow.segment import segment_frames

SCHEMA: pa.Schema = to_arrow_schema(SURVIVED)


class Asked(NamedTuple):
    """Whether a batch from `begin` on, of data or a marker, is of a moment between these, ms."""

    begin: int
    after_ms: int
    before_ms: int


def read_survivors(
    batches: Iterator[pa.RecordBatch],
    asked: Mapping[int, Sequence[tuple[int, Asked]]],
    options: DecodeOptions,
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of SPLIT: rows of SURVIVED, one a split and number at most.

    `asked`: partition_index -> numbers, and what each asks.
    """
    for batch in batches:
        for split in batch.to_pylist():
            with split_again(split) as source:
                frames = segment_frames(source, split, options)
                decoded = decode_batches(source, frames.positions, split["topic"], options)
            there = (decoded.fault & UNREADABLE) == 0
            offset = decoded.headers.base_offset[there]
            moment = decoded.headers.max_timestamp[there]
            found = {
                number
                for number, one in asked[split["partition_index"]]
                if (
                    (offset >= one.begin) & (moment > one.after_ms) & (moment < one.before_ms)
                ).any()
            }
            if found:
                yield pa.RecordBatch.from_pylist([{"number": n} for n in found], schema=SCHEMA)
