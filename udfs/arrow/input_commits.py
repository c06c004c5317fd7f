"""Which input offsets transactions committed: `__consumer_offsets`, read for this alone.

The decoder keeps commits only near the ends of a split; here all of transactions are kept, packed.
"""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.lineage import FIRST_READ, INPUT_COMMIT, INPUT_COMMITS
from udfs.arrow.batches import DecodeOptions, decode_batches
from udfs.arrow.blocks import block_rows, pack_block
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.export_split import hidden
from udfs.arrow.offsets_split import offsets_split
from udfs.arrow.read_again import split_again
from udfs.arrow.sections import readable
from udfs.arrow.segment import segment_frames

COMMIT: pa.Schema = to_arrow_schema(INPUT_COMMIT)
COMMITS: pa.Schema = to_arrow_schema(INPUT_COMMITS)
READS: pa.Schema = to_arrow_schema(FIRST_READ)


def read_input_commits(
    batches: Iterator[pa.RecordBatch], whole: Collection[int], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of SPLIT of `__consumer_offsets`: rows of INPUT_COMMITS.

    `whole`: partition_index of those that lack no offset, and that no cleaner of their broker
    passed. A batch may still lack records, where the copy was fetched from a broker that cleaned.
    """
    for batch in batches:
        for split in batch.to_pylist():
            with split_again(split) as source:
                mine = split["partition_index"] in whole
                rows = list(_of_split(source, split, mine, options))
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=COMMITS)


def _of_split(
    source: ByteRange, split: dict[str, Any], whole: bool, options: DecodeOptions
) -> Iterator[dict[str, Any]]:
    frames = segment_frames(source, split, options)
    decoded = decode_batches(source, frames.positions, split["topic"], options)
    headers = decoded.headers
    if not (headers.transactional & readable(decoded)).any():
        return
    filled = bool((headers.record_count > headers.last_offset_delta).all())
    found = offsets_split(source, decoded, split, options.max_decompressed_bytes)
    commits, record = found.commits()
    batch = found.batch_of(record)
    mine = np.flatnonzero(
        (commits.producer_id >= 0) & ~commits.tombstone & ~hidden(decoded, {})[batch]
    )
    key, producer = commits.key[mine], commits.producer_id[mine]
    order = np.lexsort((commits.offset[mine], producer, key))
    mine, key, producer = mine[order], key[order], producer[order]
    if not mine.size:
        return
    rows = pa.RecordBatch.from_arrays(
        [
            pa.array(commits.offset[mine]),
            pa.array(commits.committed[mine]),
            pa.array(headers.producer_epoch[batch[mine]].astype(np.int32)),
            pa.array(headers.max_timestamp[batch[mine]]),
        ],
        schema=COMMIT,
    )
    starts = np.flatnonzero(np.diff(key, prepend=-1) | np.diff(producer, prepend=-1))
    for start, end in zip(starts, [*starts[1:], mine.size], strict=True):
        names = found.names(int(record[mine[start]]))
        yield {
            "group": names["group"],
            "topic": names["committed_topic"],
            "partition": names["committed_partition"],
            "producer_id": int(producer[start]),
            "commits": pack_block(rows.slice(start, end - start)),
            "whole": whole and filled,
        }


def first_reads(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of INPUT_COMMITS with incident and first_offset: of FIRST_READ.

    A row is the first commit of its block beyond first_offset; none where there is none.
    """
    for batch in batches:
        rows = []
        for row in batch.to_pylist():
            for block in block_rows(row["commits"]):
                beyond = block.column("committed_offset").to_numpy() > row["first_offset"]
                if beyond.any():
                    at = int(beyond.argmax())
                    rows.append(
                        row
                        | {
                            "producer_epoch": block.column("producer_epoch")[at].as_py(),
                            "since_ms": block.column("timestamp")[at].as_py(),
                        }
                    )
                    break
        if rows:
            plain = [{name: row[name] for name in READS.names} for row in rows]
            yield pa.RecordBatch.from_pylist(plain, schema=READS)
