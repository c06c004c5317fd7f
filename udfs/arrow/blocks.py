"""Many rows in one binary cell, as an Arrow stream: rows that Spark need not meet one by one."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from udfs.arrow.bounded import bounded_rows
from udfs.rules.attribution import is_decision_known, raised_by_one

Unpack = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

# Blocks are small and tasks have a core each: handing their buffers to threads costs more than all.
OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)


def pack_block(rows: pa.RecordBatch) -> bytes:
    """The rows as one cell, within `udfs.wire.bounds` as all rows are."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=OPTIONS) as stream:
        stream.write_batch(bounded_rows(rows))
    return bytes(sink.getvalue().to_pybytes())


def unpack_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over columns of which the last holds blocks: their rows.

    The columns before are repeated in each row of the block.
    """
    for batch in batches:
        *names, _ = batch.schema.names
        for number, block in enumerate(batch.column(len(names))):
            for rows in _rows(block):
                yield _beside(rows, batch, names, number)


def unpack_rows_of_producers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same for rows with a producer_id, of the producers in the first column only.

    That column is an array of producer ids in each row, and is not repeated.
    """
    for batch in batches:
        wanted, *names, _ = batch.schema.names
        for number, block in enumerate(batch.column(len(names) + 1)):
            asked = batch.column(wanted)[number].values
            for rows in _rows(block):
                chosen = rows.filter(pc.is_in(rows.column("producer_id"), value_set=asked))
                if chosen.num_rows:
                    yield _beside(chosen, batch, names, number)


def epoch_keys(
    producer_ids: pa.Array | pa.ChunkedArray, epochs: pa.Array | pa.ChunkedArray
) -> NDArray[np.uint64]:
    """One number a pair, for choosing rows; producer ids of more than 48 bits may share one."""
    keys: NDArray[np.uint64] = producer_ids.to_numpy().astype(np.uint64) << np.uint64(16)
    keys ^= epochs.to_numpy().astype(np.uint64)
    return keys


def unpack_epochs(wanted: NDArray[np.uint64], commit: bool) -> Unpack:
    """`unpack_blocks` for transactions of the wanted epochs that ended in one of two ways.

    `wanted`: `epoch_keys` in ascending order, one at least.
    """

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in unpack_blocks(batches):
            ended = pc.equal(rows.column("marker_commit"), commit)
            chosen = rows.filter(pc.and_(_is_of(rows, "producer_epoch", wanted), ended))
            if chosen.num_rows:
                yield chosen

    return unpack


def unpack_marked(wanted: NDArray[np.uint64]) -> Unpack:
    """`unpack_blocks` for decisions, or transactions, whose markers have the wanted epochs.

    `wanted`: `epoch_keys` in ascending order, one at least.
    """

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in unpack_blocks(batches):
            chosen = rows.filter(_is_of(rows, "marker_epoch", wanted))
            if chosen.num_rows:
                yield chosen

    return unpack


def _is_of(rows: pa.RecordBatch, epoch: str, wanted: NDArray[np.uint64]) -> pa.Array:
    """Whether each row is of one of the wanted epochs, by the column `epoch`."""
    keys = epoch_keys(rows.column("producer_id"), rows.column(epoch))
    near = np.minimum(np.searchsorted(wanted, keys), wanted.size - 1)
    return pa.array(wanted[near] == keys)


def unpack_raised(
    known_above: NDArray[np.int64], producer_ids: NDArray[np.int64], newest: NDArray[np.int64]
) -> Unpack:
    """The `epoch_keys` of transactions whose marker raised the epoch, one cell a block of them.

    Without those of `producer_ids` (ascending) whose marker has an epoch between what `known_above`
    and `newest` say of the producer id.
    """

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in unpack_blocks(batches):
            producer, epoch = rows.column("producer_id"), rows.column("producer_epoch")
            marker = rows.column("marker_epoch").to_numpy()
            asked = raised_by_one(marker, epoch.to_numpy())
            if producer_ids.size:
                near = np.searchsorted(producer_ids, producer.to_numpy())
                near = np.minimum(near, producer_ids.size - 1)
                known = producer_ids[near] == producer.to_numpy()
                # What follows from the moment of the copy is left to the rows.
                decided = is_decision_known(marker, known_above[near], newest[near], np.False_)
                asked &= ~(known & decided)
            keys = np.unique(epoch_keys(producer, epoch)[asked])
            if keys.size:
                yield pa.record_batch({"keys": [keys.tobytes()]})

    return unpack


def block_rows(block: bytes | pa.Buffer) -> Iterator[pa.RecordBatch]:
    """The rows of one cell."""
    with pa.ipc.open_stream(block) as stream:
        yield from stream


def _rows(block: pa.Scalar) -> Iterator[pa.RecordBatch]:
    return block_rows(block.as_buffer())


def _beside(
    rows: pa.RecordBatch, batch: pa.RecordBatch, names: list[str], number: int
) -> pa.RecordBatch:
    repeated = [pa.repeat(batch.column(name)[number], rows.num_rows) for name in names]
    return pa.RecordBatch.from_arrays(
        [*repeated, *rows.columns], names=[*names, *rows.schema.names]
    )
