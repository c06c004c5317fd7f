"""States of producers as rows: what a segment changes before each snapshot, what snapshots hold."""

import struct
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from schemas import log_row
from udfs.arrow.batches import DecodedBatches
from udfs.arrow.initial_runs import initial_runs
from udfs.arrow.rows import RowBuilder, Rows
from udfs.arrow.run_rows import Replayable
from udfs.wire.batches import faults
from udfs.wire.batches.batch_headers import BatchHeaders, Bools
from udfs.wire.batches.fold import Batches
from udfs.wire.errors import WireError
from udfs.wire.side_files.producer_snapshot import read_entries
from udfs.wire.side_files.producer_state import NONE, STATE, UNTOLD, States, changes
from udfs.wire.side_files.snapshot_differences import stored_states, that_tell

# Of damaged producers in one range; a log with more of them has other findings.
MAX_DOUBTED = 10_000
NUMBER = struct.Struct("<q")
COMPRESSED = pa.Codec("lz4")
COLUMNS = len(STATE.names or ())


def pack_states(states: States) -> bytes:
    """The states as one cell: their number, then column after column, compressed.

    Most snapshots have few states. An Arrow stream of three takes a hundred times as long, and
    2 KB.
    """
    numbers = np.ascontiguousarray(states).view(np.int64).reshape(states.size, COLUMNS)
    compressed: bytes = COMPRESSED.compress(numbers.T.tobytes(), asbytes=True)
    return NUMBER.pack(states.size) + compressed


def unpack_states(block: bytes) -> States:
    """The states of one cell."""
    (number,) = NUMBER.unpack_from(block)
    content = COMPRESSED.decompress(memoryview(block)[NUMBER.size :], number * STATE.itemsize)
    states = np.empty(number, dtype=STATE)
    numbers = np.frombuffer(content, dtype=np.int64).reshape(COLUMNS, number)
    states.view(np.int64).reshape(number, COLUMNS)[:] = numbers.T
    return states


def _row(split: dict[str, Any], states: States) -> dict[str, Any]:
    return {
        "segment_base": split["base_offset"],
        "number": int(states.size),
        "states": pack_states(states),
    }


def changed_states(
    builder: RowBuilder, decoded: DecodedBatches, given: Replayable, split: dict[str, Any]
) -> Iterator[Rows]:
    """Rows of kind PRODUCER_STATES of a split of a segment, one a snapshot that lies after it.

    Where the log start lies between, two: of what is below it and of the rest. A range in which a
    batch was left out may have no states, and is reported all the same.
    """
    headers, batch = decoded.headers, given.batch
    last_offset = headers.last_offset[batch]
    below_start = last_offset < (split["log_start"] or 0)
    # Control batches of another type than a marker are no part of a producer's state.
    doubtful = (decoded.fault & (faults.NOT_REPLAYED | faults.CODEC_INVALID)) != 0
    left_out = int(np.count_nonzero(doubtful))
    doubtful[batch] = False
    rows = []
    for start, end in pairwise(split["snapshots"] or []):
        inside = (last_offset >= start) & (last_offset < end)
        for below, lies_there in ((True, below_start), (False, ~below_start)):
            chosen = np.flatnonzero(inside & lies_there)
            if not chosen.size and (below or not left_out):
                continue
            states = changes(
                Batches._make(values[chosen] for values in given.batches),
                last_offset[chosen],
                headers.position[batch][chosen] + split["start"],
                headers.length[batch][chosen],
                split["file_index"],
            )
            place: dict[str, Any] = {"start_offset": start, "end_offset": end, "left_out": left_out}
            if left_out:
                place["doubted"] = _producers(headers, doubtful, start, end)
            rows.append(_row(split, states) | place | {"below_log_start": below})
    if rows:
        yield builder.nested(log_row.PRODUCER_STATES, "producer_states", rows)


def _producers(headers: BatchHeaders, chosen: Bools, start: int, end: int) -> list[int]:
    """Producer ids of the chosen batches in a range of offsets, in order."""
    here = chosen & (headers.last_offset >= start) & (headers.last_offset < end)
    ids = np.unique(headers.producer_id[here])
    return [int(one) for one in ids[:MAX_DOUBTED]]


def snapshot_rows(
    builder: RowBuilder, data: bytes, split: dict[str, Any]
) -> Generator[Rows, None, dict[str, Any]]:
    """Rows of a `.snapshot`: its states, or what is wrong with it. Returns what its summary says.

    Where the log begins with it (starts_log), each state is a run too.
    """
    try:
        states = stored_states(read_entries(data), split["file_index"])
    except WireError as error:
        yield fault_row(builder, split, error, 0, len(data))
        return {"starts_log": False}
    starts_log = yield from held_states(builder, states, split)
    return {"starts_log": starts_log, "open_in_snapshot": _open_in_newest(states, split)}


def _open_in_newest(states: States, split: dict[str, Any]) -> list[dict[str, int]] | None:
    """Transactions that a snapshot holds open, None if it is not the newest of its partition."""
    offset, (_, following) = split["base_offset"], _around(split)
    if following is not None or offset not in (split["snapshots"] or []):
        return None
    still_open = states[states["txn_first_offset"] != NONE]
    names = {
        "producer_id": "producer_id",
        "producer_epoch": "epoch",
        "first_offset": "txn_first_offset",
    }
    return [{to: int(one[of]) for to, of in names.items()} for one in still_open]


def _around(split: dict[str, Any]) -> tuple[int | None, int | None]:
    """Offsets of the snapshots before and after that of a split, None for none."""
    offset, bounds = split["base_offset"], split["snapshots"] or []
    before = max((bound for bound in bounds if bound < offset), default=None)
    return before, min((bound for bound in bounds if bound > offset), default=None)


def fault_row(
    builder: RowBuilder, split: dict[str, Any], error: WireError, position: int, size: int
) -> Rows:
    """The row of a snapshot that cannot be used; what stands at `position` shows it."""
    _, following = _around(split)
    row = {
        "reason": error.reason,
        "detail": error.detail,
        "position": position,
        "size": size,
        "newest": following is None,
    }
    return builder.nested(log_row.SNAPSHOT_FAULT, "snapshot_fault", [row])


def held_states(
    builder: RowBuilder, states: States, split: dict[str, Any], in_text: bool = False
) -> Generator[Rows, None, bool]:
    """Rows of the states of a snapshot; returns whether they are all, and the log begins there.

    A text does not say how many there are, so that one which it lacks is not known.
    """
    offset, (before, following) = split["base_offset"], _around(split)
    if offset not in (split["snapshots"] or []):
        return False
    states = that_tell(states)
    row = _row(split, states) | {
        "in_text": in_text,
        "start_offset": before,
        "end_offset": offset,
        "next_offset": following,
        "of_snapshot": True,
        "of_log_start": before == 0 == split["log_base"],
    }
    yield builder.nested(log_row.PRODUCER_STATES, "producer_states", [row])
    # A broker deletes a snapshot at the log start when it loads the partition anew: where one is
    # left, no state was lost since the head of the log went. One without any producer may be of a
    # later clean start, which found no snapshot, and writes them without reading the log.
    starts_log = bool(offset == split["log_base"] > 0) and states.size > 0
    current = states[states["timestamp"] != UNTOLD]
    if starts_log and current.size:
        yield builder.flat(log_row.RUN, initial_runs(current, offset))
    return starts_log and not in_text
