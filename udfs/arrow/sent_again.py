"""Which batches two copies of a partition both have, at whatever offsets: headers, read for this.

A producer that gets no answer sends its batch again, to the next leader too, with the same producer
id, epoch, sequence and bytes (`Sender.reenqueueBatch`). The leader gives it another offset and
leader epoch, which no checksum covers, and a timestamp of its own where the topic wants that. Of
two equal batches without a producer id nobody knows whether they were sent once; at one offset they
are the same records all the same.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.lineage import SENT
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.read_again import split_again
from udfs.arrow.sections import readable
from udfs.arrow.segment import segment_frames
from udfs.wire.batches.batch_headers import BatchHeaders, Int64s

SCHEMA: pa.Schema = to_arrow_schema(SENT)


class Sent(NamedTuple):
    """What a batch keeps when it is sent again.

    `number`: its base sequence; without a producer id its base offset. `checksum`: 0 where a leader
    stamped it.
    """

    producer_id: int
    producer_epoch: int
    number: int
    last_offset_delta: int
    checksum: int


class Asked(NamedTuple):
    """Batches of data from base offset `begin` on; of those in `among` only, None for all."""

    begin: int
    among: frozenset[Sent] | None = None


def sends(headers: BatchHeaders, mine: Int64s) -> list[Sent]:
    """What the batches numbered `mine` keep when they are sent again."""
    known = headers.producer_id[mine] >= 0
    stamped = known & headers.log_append_time[mine]
    columns = (
        headers.producer_id[mine],
        headers.producer_epoch[mine],
        np.where(known, headers.base_sequence[mine], headers.base_offset[mine]),
        headers.last_offset_delta[mine],
        np.where(stamped, 0, headers.checksum[mine]),
    )
    return [Sent(*one) for one in zip(*(column.tolist() for column in columns), strict=True)]


def read_sends(
    batches: Iterator[pa.RecordBatch], asked: Mapping[int, Asked], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of SPLIT: rows of SENT. `asked`: by partition_index."""
    for batch in batches:
        for split in batch.to_pylist():
            index = split["partition_index"]
            with split_again(split) as source:
                frames = segment_frames(source, split, options)
                decoded = decode_batches(source, frames.positions, split["topic"], options)
                headers = decoded.headers
                wanted = readable(decoded) & ~headers.control
                wanted &= headers.base_offset >= asked[index].begin
                found = sends(headers, np.flatnonzero(wanted))
            among = asked[index].among
            rows = [one._asdict() for one in found if among is None or one in among]
            if rows:
                told = [row | {"partition_index": index} for row in rows]
                yield pa.RecordBatch.from_pylist(told, schema=SCHEMA)
