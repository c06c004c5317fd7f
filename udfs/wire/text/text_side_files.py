"""Entries of side files as kafka-dump-log prints them (`DumpLogSegments`).

A text has a line an entry and says nothing of how many there are: what it lacks is not known to be
missing in the file.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.errors import WireError
from udfs.wire.side_files.producer_state import NONE, STATE, UNTOLD, States
from udfs.wire.side_files.sparse_index import SparseIndex
from udfs.wire.text import text_dump
from udfs.wire.text import text_shapes as shapes

LONG, INT, SHORT = 1 << 63, 1 << 31, 1 << 15
BOUNDS = {"epoch": SHORT, "last_sequence": INT, "offset_delta": INT, "coordinator_epoch": INT}


class IndexLines(NamedTuple):
    """Entries of an index, and the lines that print them, one each."""

    entries: SparseIndex
    lines: Int64s


def _state(item: text_dump.Item, file_index: int) -> dict[str, int] | None:
    """A line of a `.snapshot` as a row of STATE; None where its numbers are too large."""
    match = item.match
    if match is None:
        return None

    def number_of(*groups: int, otherwise: int = NONE) -> int:
        return next((int(match[group]) for group in groups if match[group]), otherwise)

    # Without a data batch up to 3.0, nothing gives the timestamp of the marker.
    timestamp = number_of(
        shapes.STATE_TIMESTAMP, shapes.DATA_TIMESTAMP, shapes.OLD_STATE_TIMESTAMP, otherwise=UNTOLD
    )
    sequence = number_of(shapes.STATE_SEQUENCE, shapes.OLD_SEQUENCE)
    row = dict.fromkeys(STATE.names or (), 0) | {
        "producer_id": number_of(shapes.STATE_ID),
        "epoch": number_of(shapes.STATE_EPOCH),
        "last_sequence": sequence,
        "last_offset": number_of(shapes.STATE_LAST_OFFSET, shapes.OLD_LAST_OFFSET),
        "offset_delta": number_of(shapes.STATE_DELTA, shapes.OLD_DELTA, otherwise=0),
        "timestamp": timestamp,
        "data_timestamp": NONE if sequence == NONE else timestamp,
        "coordinator_epoch": number_of(shapes.COORDINATOR_EPOCH),
        "txn_first_offset": number_of(shapes.FIRST_OFFSET),
        "marker_offset": NONE,
        "file_index": file_index,
        "position": item.line,
        "length": 1,
    }
    possible = all(
        -BOUNDS.get(name, LONG) <= value < BOUNDS.get(name, LONG) for name, value in row.items()
    )
    return row if possible else None


def read_states(items: Iterable[text_dump.Item], file_index: int) -> States:
    """The states that a section of a `.snapshot` prints, by producer id; places are lines.

    Raises WireError where a producer id occurs twice.
    """
    rows = [row for item in items if (row := _state(item, file_index)) is not None]
    states = np.empty(len(rows), dtype=STATE)
    for name in STATE.names or ():
        states[name] = [row[name] for row in rows]
    ids, times = np.unique(states["producer_id"], return_counts=True)
    if ids.size < states.size:
        raise WireError("producer_repeated", f"producer id {ids[times > 1][0]} occurs twice")
    ordered: States = states[np.argsort(states["producer_id"], kind="stable")]
    return ordered


def _pairs(items: Iterable[text_dump.Item]) -> Iterator[tuple[int, int, int]]:
    """(offset, value, line) of each entry of an index."""
    for item in items:
        if item.match is None or item.kind not in (text_dump.OFFSET_ENTRY, text_dump.TIME_ENTRY):
            continue
        first, second = int(item.match[1]), int(item.match[2])
        if not (-LONG <= first < LONG and -LONG <= second < LONG):
            continue
        if item.kind == text_dump.OFFSET_ENTRY:
            yield first, second, item.line
        else:
            yield second, first, item.line


def read_index(items: Iterable[text_dump.Item], base_offset: int) -> IndexLines:
    """The entries that a section of an `.index` or `.timeindex` prints.

    Of one that is preallocated with zeros, the tool prints the first zeros as an entry.
    """
    pairs = list(_pairs(items))
    while pairs and pairs[-1][:2] == (base_offset, 0):
        pairs.pop()
    table = np.array(pairs, dtype=np.int64).reshape(-1, 3)
    offsets, values, lines = np.ascontiguousarray(table.T)
    return IndexLines(SparseIndex(offsets, values), lines)
