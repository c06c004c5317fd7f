"""Where copies of a partition contradict each other in what the cleaner left of them.

Each broker cleans at its own time, so a record or marker that one copy lacks proves nothing by
itself. These rules hold all the same:
- one offset, one record;
- a marker stays as long as a record of its transaction does, so a copy with such a record has the
  next marker of its producer that any other copy has, and not emptied (LogCleaner,
  CleanedTransactionMetadata);
- the newest value of a key stays until a newer record of the key replaces it, and the other copy
  has that, or what replaced it. It may lie above the reach of both: a follower may have fetched
  what the cleaner of a third broker had left;
- a tombstone goes after all older values of its key (`Cleaner.shouldRetainRecord`: its delete
  horizon is set by the pass that takes them), so a copy with such a value has the tombstone.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.columns import array, binary, boolean, column, integer, long, string, table
from udfs.arrow.retained_records import (
    ABORTED,
    COMMITTED,
    DATA,
    EMPTIED,
    KEY,
    OUTCOME,
    RECORD,
    TOMBSTONE,
    VALUE,
    VIEWS,
    View,
    newest,
    unpack_view,
)
from udfs.wire.batches.batch_headers import Bools, Int64s

NEVER = -1
ENDS = {COMMITTED: "committed", ABORTED: "aborted"}

COPY = table(
    integer("partition_index", "the copy"),
    long("log_start_offset", "its first offset"),
    long("replicated_below", "offsets below are replicated, as far as known"),
    long("log_end_offset", "offset after its last one"),
    boolean("unread", "parts of it cannot be read"),
    boolean("one_instant", "its broker had stopped cleanly, and left a high watermark"),
)

PAIR = table(column("one", COPY, "a copy"), column("other", COPY, "another copy"))

CELL = table(
    integer("partition_index", "the copy"),
    integer("file_index", "file"),
    binary("retained_records", "an Arrow stream of that one of VIEWS which BUCKET compares"),
)

BUCKET = table(
    integer("replica_set", "see DUMP_PARTITION"),
    string("compared", "record, outcome or key"),
    long("reach", "offset up to which the cleaner of any copy came, exclusive"),
    array("pairs", PAIR, "copies that must agree"),
    array("cells", CELL, "what they hold in this bucket"),
)
"""What copies of a partition hold in one bucket."""

PLACE = table(
    integer("file_index", "file"),
    long("position", "byte position of the batch"),
    integer("length", "size of the batch, bytes"),
)

CONTRADICTION = table(
    integer("replica_set", "see DUMP_PARTITION"),
    string("difference", "record, outcome or key"),
    long("offset", "first offset of the bucket at which the copies contradict each other"),
    long("number", "such offsets in the bucket"),
    integer("one_index", "partition_index of the copy with the record"),
    integer("other_index", "partition_index of the other copy"),
    column("one", PLACE, "the batch in the first copy"),
    column("other", PLACE, "what contradicts it in the other; null where it lacks the key"),
    long("producer_id", "of an outcome: whose transaction it is"),
    long("marker_offset", "of an outcome: the marker that the first copy lacks"),
    string("one_end", "of an outcome: how the transaction ends in the first copy"),
    string("other_end", "of an outcome: what the marker in the other copy says"),
)
"""The first contradiction of two copies in a bucket."""

CONTRADICTION_SCHEMA: pa.Schema = to_arrow_schema(CONTRADICTION)


# The order in which each comparison needs the rows of its view.
_ORDER = {
    RECORD: ("offset",),
    OUTCOME: ("producer_id", "offset"),
    KEY: ("key_fingerprint", "offset"),
}


class _Copy:
    """What a copy holds in a bucket: rows of one of VIEWS in their order, and the file of each."""

    def __init__(self, cells: list[dict[str, Any]], index: int, compared: str) -> None:
        mine = [cell for cell in cells if cell["partition_index"] == index]
        parts = [unpack_view(cell["retained_records"], compared) for cell in mine]
        held: View = np.concatenate([np.empty(0, dtype=VIEWS[compared]), *parts])
        files = [np.full(part.size, cell["file_index"])
                 for part, cell in zip(parts, mine, strict=True)]  # fmt: skip
        file = np.concatenate([np.empty(0, dtype=np.int64), *files])
        order = np.lexsort([held[name] for name in reversed(_ORDER[compared])])
        self.held, self._file = held[order], file[order]

    def place(self, i: int) -> dict[str, int]:
        """Row of PLACE."""
        at = self.held[i]
        return {
            "file_index": int(self._file[i]),
            "position": int(at["position"]),
            "length": int(at["length"]),
        }


def _once(offsets: Int64s) -> Bools:
    """Which of sorted offsets occur once; an offset that a copy has twice is reported elsewhere."""
    once = np.ones(offsets.size, dtype=np.bool_)
    same = offsets[1:] == offsets[:-1]
    once[1:] &= ~same
    once[:-1] &= ~same
    return once


def _records(
    one: _Copy, other: _Copy, pair: dict[str, Any], reach: int
) -> Iterator[dict[str, Any]]:
    """Offsets at which both have a record, and it is another one."""
    first = max(copy["log_start_offset"] for copy in pair.values())
    end = min(reach, *[copy["replicated_below"] for copy in pair.values()])
    mine, theirs = one.held["offset"], other.held["offset"]
    _, here, there = np.intersect1d(mine, theirs, return_indices=True)
    compared = _once(mine)[here] & _once(theirs)[there]
    compared &= (mine[here] >= first) & (mine[here] < end)
    compared &= one.held["fingerprint"][here] != other.held["fingerprint"][there]
    differ = np.flatnonzero(compared)
    if differ.size:
        i, j = here[differ[0]], there[differ[0]]
        yield {
            "offset": int(mine[i]),
            "number": int(differ.size),
            "one": one.place(i),
            "other": other.place(j),
        }


def _ranks(one: View, other: View) -> tuple[Int64s, Int64s]:
    """Numbers that order the events of two copies by producer and offset; equal for equal ones."""
    producer, offset = (
        np.concatenate((one[name], other[name])) for name in ("producer_id", "offset")
    )
    order = np.lexsort((offset, producer))
    steps = np.ones(order.size, dtype=np.int64)
    steps[1:] = (np.diff(producer[order]) != 0) | (np.diff(offset[order]) != 0)
    rank = np.empty_like(order)
    rank[order] = np.cumsum(steps)
    return rank[: one.size], rank[one.size :]


def _outcomes(
    one: _Copy, other: _Copy, pair: dict[str, Any], reach: int
) -> Iterator[dict[str, Any]]:
    """Markers of the other copy that the first one lacks, with data that they ended."""
    if pair["one"]["unread"] or not one.held.size:
        return
    end = min(copy["replicated_below"] for copy in pair.values())
    mine, theirs = _ranks(one.held, other.held)
    before = np.searchsorted(mine, theirs, side="right") - 1
    before -= _is_emptied(one.held, other.held, before)
    at = np.maximum(before, 0)
    # What the first copy has last of the producer is data, although a marker came after it.
    open_here = (before >= 0) & (one.held["event"][at] == DATA)
    open_here &= one.held["producer_id"][at] == other.held["producer_id"]
    open_here &= one.held["offset"][at] >= pair["one"]["log_start_offset"]
    lost = np.isin(other.held["event"], list(ENDS)) & open_here & (other.held["offset"] < end)
    found = np.flatnonzero(lost)
    if not found.size:
        return
    j = int(found[np.argmin(other.held["offset"][found])])
    i = int(at[j])
    yield {
        "offset": int(one.held["offset"][i]),
        "number": int(np.unique(at[found]).size),
        "one": one.place(i),
        "other": other.place(j),
        "producer_id": int(other.held["producer_id"][j]),
        "marker_offset": int(other.held["offset"][j]),
        "one_end": _end(one.held, i),
        "other_end": ENDS[int(other.held["event"][j])],
    }


def _is_emptied(one: View, other: View, before: Int64s) -> Bools:
    """Whether the first copy has a marker of the other one without its record."""
    at = np.maximum(before, 0)
    same = (one["producer_id"][at] == other["producer_id"]) & (one["offset"][at] == other["offset"])
    emptied: Bools = (before >= 0) & same & (one["event"][at] == EMPTIED)
    return emptied


def _end(held: View, i: int) -> str:
    """How the transaction that begins with event i ends in a copy."""
    later = held[i + 1 :]
    ends = later[(later["producer_id"] == held["producer_id"][i]) & (later["event"] != DATA)]
    if not ends.size:
        return "open"
    event, offset = int(ends["event"][0]), int(ends["offset"][0])
    if event not in ENDS:
        return "ended by a marker that the cleaner has emptied"
    return f"{ENDS[event]} at offset {offset}"


def _keys(one: _Copy, other: _Copy, pair: dict[str, Any], reach: int) -> Iterator[dict[str, Any]]:
    """Values that are the newest of their key in the first copy, and newer than all in the other.

    Of tombstones only those of keys of which the other copy has a value, at or above the log start.
    Only where the first copy holds all that the cleaner of the other may have known.
    """
    here, there = pair["one"], pair["other"]
    if here["unread"] or there["unread"] or not (here["one_instant"] and there["one_instant"]):
        return
    if here["replicated_below"] < max(reach, there["log_end_offset"]):
        return
    if there["replicated_below"] < reach:
        return
    mine = newest(one.held)
    theirs = newest(other.held)
    place = np.searchsorted(theirs["key_fingerprint"], mine["key_fingerprint"])
    at = np.minimum(place, max(theirs.size - 1, 0))
    last = np.full(mine.size, NEVER, dtype=np.int64)
    first = max(here["log_start_offset"], there["log_start_offset"])
    deleted = np.zeros(mine.size, dtype=np.bool_)
    if theirs.size:
        same = theirs["key_fingerprint"][at] == mine["key_fingerprint"]
        last[same] = theirs["offset"][at[same]]
        deleted = same & (mine["state"] == TOMBSTONE) & (theirs["state"][at] == VALUE)
    lost = (mine["state"] == VALUE) | (deleted & (last >= first))
    lost &= (mine["offset"] > last) & (mine["offset"] >= first) & (mine["offset"] < reach)
    found = np.flatnonzero(lost)
    if found.size:
        offset = int(mine["offset"][found].min())
        i = int(np.flatnonzero(one.held["offset"] == offset)[-1])
        yield {"offset": offset, "number": int(found.size), "one": one.place(i), "other": None}


_BY_COMPARED = {RECORD: _records, OUTCOME: _outcomes, KEY: _keys}


def contradictions(bucket: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of CONTRADICTION for a row of BUCKET."""
    compare = _BY_COMPARED[bucket["compared"]]
    indices = {copy["partition_index"] for pair in bucket["pairs"] for copy in pair.values()}
    copies = {index: _Copy(bucket["cells"], index, bucket["compared"]) for index in indices}
    for pair in bucket["pairs"]:
        turned = {"one": pair["other"], "other": pair["one"]}
        # Two records that differ are reported once; each copy may lack what the other has.
        for sides in (pair,) if compare is _records else (pair, turned):
            one, other = (sides[name]["partition_index"] for name in ("one", "other"))
            for row in compare(copies[one], copies[other], sides, bucket["reach"]):
                yield row | {
                    "replica_set": bucket["replica_set"], "difference": bucket["compared"],
                    "one_index": one, "other_index": other,
                }  # fmt: skip


def find_contradictions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """For `mapInArrow` over rows of BUCKET; gives rows of CONTRADICTION."""
    for batch in batches:
        for bucket in batch.to_pylist():
            rows = list(contradictions(bucket))
            yield pa.RecordBatch.from_pylist(rows, schema=CONTRADICTION_SCHEMA)
