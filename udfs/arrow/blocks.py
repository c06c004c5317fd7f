"""Many rows in one binary cell, as an Arrow stream: rows that Spark need not meet one by one."""

from collections.abc import Iterator

import pyarrow as pa

OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


def pack_block(rows: pa.RecordBatch) -> bytes:
    """The rows as one cell."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=OPTIONS) as stream:
        stream.write_batch(rows)
    return bytes(sink.getvalue().to_pybytes())


def unpack_blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over columns of which the last holds blocks: their rows.

    The columns before are repeated in each row of the block.
    """
    for batch in batches:
        *names, _ = batch.schema.names
        for number, block in enumerate(batch.column(len(names))):
            with pa.ipc.open_stream(block.as_buffer()) as stream:
                for rows in stream:
                    repeated = [
                        pa.repeat(batch.column(name)[number], rows.num_rows) for name in names
                    ]
                    yield pa.RecordBatch.from_arrays(
                        [*repeated, *rows.columns], names=[*names, *rows.schema.names]
                    )
