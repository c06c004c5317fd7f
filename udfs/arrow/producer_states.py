"""States of producers as rows: what a segment changes before each snapshot, what snapshots hold."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from schemas import log_row
from udfs.arrow.batches import Decoded
from udfs.arrow.blocks import pack_block
from udfs.arrow.rows import RowBuilder
from udfs.arrow.run_rows import replayable
from udfs.wire import faults
from udfs.wire.errors import WireError
from udfs.wire.fold import Batches
from udfs.wire.producer_snapshot import read_entries
from udfs.wire.producer_state import STATE, States, changes
from udfs.wire.snapshot_differences import stored_states


def pack_states(states: States) -> bytes:
    """The states as one cell."""
    columns = [pa.array(np.ascontiguousarray(states[name])) for name in STATE.fields or ()]
    return pack_block(pa.RecordBatch.from_arrays(columns, names=list(STATE.fields or ())))


def unpack_states(block: bytes) -> States:
    """The states of one cell."""
    with pa.ipc.open_stream(block) as stream:
        table = stream.read_all()
    states = np.empty(table.num_rows, dtype=STATE)
    for name in table.schema.names:
        states[name] = table.column(name).to_numpy()
    return states


def _row(split: dict[str, Any], ends: list[int], number: int, states: States) -> dict[str, Any]:
    """States in the range that ends with the snapshot of that number."""
    return {
        "start_offset": ends[number - 1] if number else 0,
        "end_offset": ends[number],
        "segment_base": split["base_offset"],
        "number": int(states.size),
        "states": pack_states(states),
    }


def changed_states(
    builder: RowBuilder, decoded: Decoded, split: dict[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Rows of kind PRODUCER_STATES of a split of a segment, one a snapshot that lies behind it.

    Behind the last snapshot nothing needs to be told, and nothing before the first one where the
    log does not begin at offset 0: the state there is not known.
    """
    ends: list[int] = split["snapshots"] or []
    given = replayable(decoded)
    if not ends or not given.batch.size:
        return
    headers, batch = decoded.headers, given.batch
    last_offset = headers.last_offset[batch]
    position = headers.position[batch] + split["start"]
    number = np.searchsorted(np.array(ends), last_offset, side="right")
    left_out = int(np.count_nonzero(decoded.fault & faults.NOT_REPLAYED))
    rows = []
    for one in range(0 if split["log_base"] == 0 else 1, len(ends)):
        chosen = number == one
        if chosen.any():
            states = changes(
                Batches(*[values[chosen] for values in given.batches]),
                last_offset[chosen],
                position[chosen],
                headers.length[batch][chosen],
                split["file_index"],
            )
            rows.append(_row(split, ends, one, states) | {"left_out": left_out})
    if rows:
        yield builder.nested(log_row.PRODUCER_STATES, "producer_states", rows)


def snapshot_rows(
    builder: RowBuilder, data: bytes, split: dict[str, Any]
) -> Iterator[pa.RecordBatch]:
    """The row of a `.snapshot`: its states, or what is wrong with it."""
    offset, offsets = split["base_offset"], split["snapshots"] or []
    behind = [other for other in offsets if other > offset]
    try:
        states = stored_states(read_entries(data), split["file_index"])
    except WireError as error:
        fault = {"reason": error.reason, "detail": error.detail, "size": len(data)}
        row = fault | {"newest": not behind}
        yield builder.nested(log_row.SNAPSHOT_FAULT, "snapshot_fault", [row])
        return
    if offset not in offsets:
        return
    number = offsets.index(offset)
    row = _row(split, offsets, number, states) | {
        "of_snapshot": True,
        "of_log_start": split["log_base"] == 0 and number == 0,
        "next_offset": behind[0] if behind else None,
    }
    yield builder.nested(log_row.PRODUCER_STATES, "producer_states", [row])
