"""What producers wrote in committed transactions from a moment on, summed by task."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.lineage import WRITTEN
from udfs.arrow.blocks import Unpack, unpack_blocks
from udfs.wire.batches.batch_headers import Bools, Int64s

SCHEMA: pa.Schema = to_arrow_schema(WRITTEN)
ANY_EPOCH = -1
# Before all moments.
EVER_MS = -(1 << 62)


class Since(NamedTuple):
    """From which of its transactions on a producer is asked for.

    That is the one of an epoch, or of those that share it the ones whose marker is not older than
    `since_ms`; all of later epochs. Of ANY_EPOCH the marker alone decides.
    """

    incident: int
    producer_id: int
    producer_epoch: int
    since_ms: int


def written_since(asked: Sequence[Since], packed: bool) -> Unpack:
    """For `mapInArrow` over transactions, or over blocks of them where `packed`: rows of WRITTEN.

    Columns: partition_index, producer_id, producer_epoch, marker_commit, marker_timestamp,
    first_offset, last_offset, records; of blocks partition_index and the block.
    """
    wanted = {
        incident: np.array(sorted(one[1:] for one in asked if one.incident == incident), np.int64)
        for incident in {one.incident for one in asked}
    }

    def sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in unpack_blocks(batches) if packed else batches:
            committed = np.asarray(rows.column("marker_commit").to_numpy(zero_copy_only=False))
            for incident, since in wanted.items():
                chosen = np.flatnonzero(committed & _later(rows, since))
                if chosen.size:
                    yield _summed(rows.take(pa.array(chosen)), incident)

    return sums


def _later(rows: pa.RecordBatch, since: NDArray[np.int64]) -> Bools:
    """Which rows are of a producer asked for, from its first transaction asked for on."""
    producer = rows.column("producer_id").to_numpy()
    epoch = rows.column("producer_epoch").to_numpy()
    ended = rows.column("marker_timestamp").to_numpy()
    near = np.minimum(np.searchsorted(since[:, 0], producer), len(since) - 1)
    whose, first_epoch, moment = since[near].T
    in_epoch = (first_epoch == ANY_EPOCH) | (epoch == first_epoch)
    above = (first_epoch != ANY_EPOCH) & (epoch > first_epoch)
    later: Bools = (whose == producer) & (above | (in_epoch & (ended >= moment)))
    return later


def _summed(rows: pa.RecordBatch, incident: int) -> pa.RecordBatch:
    """One row a copy of a partition and producer."""
    partition = rows.column("partition_index").to_numpy().astype(np.int64)
    producer = rows.column("producer_id").to_numpy()
    order = np.lexsort((producer, partition))
    partition, producer = partition[order], producer[order]
    starts = np.flatnonzero(np.diff(partition, prepend=-1) | np.diff(producer, prepend=-2))

    def of(name: str) -> Int64s:
        values: Int64s = rows.column(name).to_numpy()[order].astype(np.int64)
        return values

    columns = {
        "incident": np.full(starts.size, incident),
        "partition_index": partition[starts],
        "producer_id": producer[starts],
        "first_offset": np.minimum.reduceat(of("first_offset"), starts),
        "last_offset": np.maximum.reduceat(of("last_offset"), starts),
        "transactions": np.diff(starts, append=producer.size),
        "records": np.add.reduceat(of("records"), starts),
    }
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
