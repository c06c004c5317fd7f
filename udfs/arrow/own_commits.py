"""Which offsets groups committed in some ranges of `__consumer_offsets`, read for this alone."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.lineage import OWN_COMMIT
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.offsets_split import offsets_split
from udfs.arrow.read_again import split_again
from udfs.arrow.sections import readable
from udfs.arrow.segment import segment_frames

SCHEMA: pa.Schema = to_arrow_schema(OWN_COMMIT)


class CommitsIn(NamedTuple):
    """Commits between two offsets, both inclusive; `number` names the range.

    `producer_id`: only of transactions of this one; None: whoever committed them.
    """

    number: int
    first_offset: int
    last_offset: int
    producer_id: int | None = None


def read_own_commits(
    batches: Iterator[pa.RecordBatch],
    ranges: Mapping[int, Sequence[CommitsIn]],
    options: DecodeOptions,
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of SPLIT of `__consumer_offsets`: rows of OWN_COMMIT.

    Of each range and split the last commit of a group and partition. `ranges`: by
    partition_index.
    """
    for batch in batches:
        for split in batch.to_pylist():
            with split_again(split) as source:
                rows = list(_of_split(source, split, ranges[split["partition_index"]], options))
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def _of_split(
    source: ByteRange, split: dict[str, Any], ranges: Sequence[CommitsIn], options: DecodeOptions
) -> Iterator[dict[str, Any]]:
    frames = segment_frames(source, split, options)
    decoded = decode_batches(source, frames.positions, split["topic"], options)
    if not (readable(decoded) & ~decoded.headers.control).any():
        return
    found = offsets_split(source, decoded, split, options.max_decompressed_bytes)
    commits, record = found.commits()
    if not commits.offset.size:
        return
    low, high = int(commits.offset.min()), int(commits.offset.max())
    for one in ranges:
        if one.last_offset < low or one.first_offset > high:
            continue
        mine = (commits.offset >= one.first_offset) & (commits.offset <= one.last_offset)
        if one.producer_id is not None:
            mine &= commits.producer_id == one.producer_id
        chosen = np.flatnonzero(mine & ~commits.tombstone)
        keys = commits.key[chosen].tolist()
        number_of = Counter(keys)
        for key, at in dict(zip(keys, chosen.tolist(), strict=True)).items():
            yield found.names(int(record[at])) | {
                "number": one.number,
                "record_offset": int(commits.offset[at]),
                "committed_offset": int(commits.committed[at]),
                "commits": number_of[key],
            }
