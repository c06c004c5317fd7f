"""States of producers as rows: what a segment changes before each snapshot, what snapshots hold."""

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from schemas import log_row
from udfs.arrow.batches import Decoded
from udfs.arrow.blocks import pack_block
from udfs.arrow.initial_runs import initial_runs
from udfs.arrow.rows import RowBuilder
from udfs.arrow.run_rows import Replayable
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


def _ranges(split: dict[str, Any]) -> range:
    """Numbers of the snapshots that end a range in which batches of the segment may lie.

    Not the first one where the log does not begin at offset 0: the state before it is not known.
    """
    ends = split["snapshots"]
    if not ends:
        return range(0)
    first = bisect_right(ends, split["base_offset"])
    behind = split["next_base_offset"]
    last = len(ends) - 1 if behind is None else bisect_left(ends, behind)
    return range(max(first, int(split["log_base"] != 0)), min(last + 1, len(ends)))


def changed_states(
    builder: RowBuilder, decoded: Decoded, given: Replayable, split: dict[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Rows of kind PRODUCER_STATES of a split of a segment, one a snapshot that lies behind it.

    A range in which a batch was left out may have no states, and is told all the same.
    """
    headers, batch, ends = decoded.headers, given.batch, split["snapshots"]
    last_offset = headers.last_offset[batch]
    left_out = int(np.count_nonzero(decoded.fault & faults.NOT_REPLAYED))
    rows = []
    for number in _ranges(split):
        start = ends[number - 1] if number else 0
        chosen = np.flatnonzero((last_offset >= start) & (last_offset < ends[number]))
        if chosen.size or left_out:
            states = changes(
                Batches._make(values[chosen] for values in given.batches),
                last_offset[chosen],
                headers.position[batch][chosen] + split["start"],
                headers.length[batch][chosen],
                split["file_index"],
            )
            rows.append(_row(split, ends, number, states) | {"left_out": left_out})
    if rows:
        yield builder.nested(log_row.PRODUCER_STATES, "producer_states", rows)


def snapshot_rows(
    builder: RowBuilder, data: bytes, split: dict[str, Any]
) -> Generator[pa.RecordBatch, None, bool]:
    """Rows of a `.snapshot`: its states, or what is wrong with it.

    Where the log begins with it, each state is a run too, and what is returned is true.
    """
    offset, offsets = split["base_offset"], split["snapshots"] or []
    behind = [other for other in offsets if other > offset]
    try:
        states = stored_states(read_entries(data), split["file_index"])
    except WireError as error:
        fault = {"reason": error.reason, "detail": error.detail, "size": len(data)}
        row = fault | {"newest": not behind}
        yield builder.nested(log_row.SNAPSHOT_FAULT, "snapshot_fault", [row])
        return False
    if offset not in offsets:
        return False
    number = offsets.index(offset)
    row = _row(split, offsets, number, states) | {
        "of_snapshot": True,
        "of_log_start": split["log_base"] == 0 and number == 0,
        "next_offset": behind[0] if behind else None,
    }
    yield builder.nested(log_row.PRODUCER_STATES, "producer_states", [row])
    # A broker deletes a snapshot at the log start when it loads the partition anew: where one is
    # left, no state was lost since the head of the log went.
    starts_log = bool(offset == split["log_base"] > 0)
    if starts_log and states.size:
        yield builder.flat(log_row.RUN, initial_runs(states, offset))
    return starts_log
