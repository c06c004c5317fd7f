"""What lies beside a segment, held against its batches in the task that decodes them.

A task opens the few small files beside its segment itself: thousands of them cost the driver
nothing, and only what contradicts becomes a row.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas import log_row
from udfs.arrow.rows import RowBuilder
from udfs.wire import leader_epochs
from udfs.wire.batch_headers import BatchHeaders
from udfs.wire.errors import WireError

LEADER_EPOCHS = "leader_epoch_checkpoint"
JUDGED_ALONE = (LEADER_EPOCHS,)
# A leader epoch is a line of some ten bytes.
MAX_EPOCHS_BYTES = 1 << 22
MAX_FAULTS = 1_000

Row = dict[str, Any]


def _bytes_beside(split: Row, kind: str, limit: int) -> tuple[bytes, int] | None:
    """(content, file_index) of the file of that kind beside the segment; None without one.

    At most `limit` bytes. A file that cannot be opened is told where it is read for its digest.
    """
    for name in split.get("beside") or ():
        if name["kind"] == kind:
            try:
                with Path(split["root"], name["path"]).open("rb", buffering=0) as file:
                    return file.read(limit), name["file_index"]
            except OSError:
                return None
    return None


def _epoch_faults(split: Row, headers: BatchHeaders) -> Iterator[Row]:
    read = _bytes_beside(split, LEADER_EPOCHS, MAX_EPOCHS_BYTES)
    if read is None:
        return
    try:
        entries = leader_epochs.decode(read[0].decode("utf-8", "replace"))
    except WireError:
        return  # told where the file is read for its digest
    for ordinal, first, last in leader_epochs.contradictions(entries, headers):
        yield {
            "side_file_index": read[1],
            "what": "leader_epoch",
            "ordinal": ordinal,
            "entry_offset": int(entries.starts[ordinal]),
            "entry_value": int(entries.epochs[ordinal]),
            "leader_epoch": int(headers.partition_leader_epoch[first]),
            "newest_epoch": int(entries.epochs[-1]),
            "batches": last - first + 1,
            "log_offset": int(headers.base_offset[first]),
            "position": int(headers.position[first]) + split["start"],
            "length": int(headers.length[first]),
        }


def faults_beside(
    builder: RowBuilder, split: Row, headers: BatchHeaders
) -> Iterator[pa.RecordBatch]:
    """Rows of `log_row.SIDE_FAULT`: what the files beside a segment say against its batches."""
    yield from _as_rows(builder, list(_epoch_faults(split, headers)))


def _as_rows(builder: RowBuilder, faults: list[Row]) -> Iterator[pa.RecordBatch]:
    if faults:
        yield builder.nested(log_row.SIDE_FAULT, "side_fault", faults[:MAX_FAULTS])


def faults_alone(builder: RowBuilder, split: Row, content: bytes) -> Iterator[pa.RecordBatch]:
    """Rows of `log_row.SIDE_FAULT`: what the entries of one side file say against each other.

    Raises WireError where a broker could not read the file either.
    """
    entries = leader_epochs.decode(content[:MAX_EPOCHS_BYTES].decode("utf-8", "replace"))
    faults = [
        {
            "side_file_index": split["file_index"],
            "what": "epoch_order",
            "ordinal": ordinal,
            "entry_offset": int(entries.starts[ordinal]),
            "entry_value": int(entries.epochs[ordinal]),
            "newest_epoch": int(entries.epochs[-1]),
        }
        for ordinal in leader_epochs.out_of_order(entries)
    ]
    yield from _as_rows(builder, faults)
