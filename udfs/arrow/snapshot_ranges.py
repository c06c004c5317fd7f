"""Each producer snapshot beside the state replayed from the snapshot before it."""

from collections.abc import Callable, Iterator
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType

from schemas.columns import array, boolean, integer, long, string, table
from udfs.arrow.producer_states import MAX_DOUBTED, unpack_states
from udfs.wire.side_files.producer_snapshot import HEADER_SIZE
from udfs.wire.side_files.producer_state import NONE, STATE, States, follow
from udfs.wire.side_files.snapshot_differences import (
    COMPARED,
    Differences,
    Replayed,
    Unread,
    compare,
)

DIFFERS, FOREIGN, FORGOTTEN = "differs", "foreign", "forgotten"
# In the words of a reader.
WORDS = {"epoch": "producer epoch", "txn_first_offset": "open transaction from offset"}

UNREAD = table(
    long("first", "first offset of which nobody knows what was there"),
    long("end", "first offset after them that is there"),
    long("producer_id", "producer whose it was; null: anybody's"),
    integer("producer_epoch", "producer epoch that an emptied marker has; null: not known"),
)
"""Offsets that are missing, whatever took them, and markers that were emptied."""

RANGE = table(
    integer("partition_index", "partition"),
    long("start_offset", "offset of the snapshot before; else where the log begins"),
    long("end_offset", "offset of the snapshot that is judged"),
    boolean("of_snapshot", "states of a snapshot; else changes by batches"),
    boolean("of_log_start", "of a snapshot: the log begins at 0, and no snapshot lies before"),
    boolean("whole", "nothing was ever taken out of the range by the cleaner, and nothing is lost"),
    boolean("in_text", "of a snapshot: not all of its states need be known"),
    boolean("legacy", "messages of magic 0 or 1 lie behind the beginning"),
    array("unread", UNREAD, "what is missing in the range; null but for the judged snapshot"),
    integer("file_index", "file of the states"),
    long("segment_base", "base offset of the segment; of a snapshot its offset"),
    long("split_start", "byte position where the split starts"),
    long("left_out", "batches that cannot be believed"),
    boolean("below_log_start", "of changes: by batches below the log start"),
    long("log_start_offset", "the log start; what lies below may have been forgotten"),
    array("doubted", LongType(), "producers that such batches may have changed; below 0: any"),
)
"""Columns of what `compare_ranges` reads, apart from `states`."""

OF_RANGE = ("partition_index", "end_offset")
"""The rows of RANGE that have the same of these are one range."""

SNAPSHOT_DIFFERENCE = table(
    integer("partition_index", "partition"),
    string("fault", "differs, foreign or forgotten"),
    long("start_offset", "offset of the snapshot before; else where the log begins"),
    long("snapshot_offset", "offset of the snapshot"),
    integer("file_index", "file of the snapshot"),
    long("position", "byte position of its entry; 0 where it has none"),
    long("length", "size of the entry or, without one, of the header, bytes"),
    long("producer_id", "producer id"),
    integer("producer_epoch", "producer epoch, of the log where it has one"),
    string("expected", "what the log says, where it differs"),
    string("found", "what the snapshot says, where it differs"),
    long("number", "producers that the row counts"),
    integer("log_file_index", "file of the newest batch of the producer; null for none"),
    long("log_position", "byte position of that batch"),
    long("log_length", "size of that batch, bytes"),
    boolean("lacks_head", "the snapshot is as of a log that starts later"),
)
"""One row a producer about which snapshot and log differ; all forgotten ones are one row."""

NO_STATES: States = np.empty(0, dtype=STATE)


Compare = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def compare_ranges(expiration_ms: int, now: int | None) -> Compare:
    """For `mapInArrow` over rows of RANGE with `states`: rows of SNAPSHOT_DIFFERENCE.

    The rows of a range must be in one task, one after another. `now`: the moment to which ages
    refer, ms; no snapshot was written later.
    """
    schema = to_arrow_schema(SNAPSHOT_DIFFERENCE)

    def compare_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        for _, given in groupby(rows, key=itemgetter(*OF_RANGE)):
            found = _compare_range(sorted(given, key=_in_log_order), expiration_ms, now)
            if found:
                yield pa.RecordBatch.from_pylist(found, schema=schema)

    return compare_all


def _compare_range(
    given: list[dict[str, Any]], expiration_ms: int, now: int | None
) -> list[dict[str, Any]]:
    """Rows of SNAPSHOT_DIFFERENCE for one range of offsets, from its rows in log order.

    A range whose snapshot cannot be read has none. Without a state to start from only the newest
    batches in the range count.
    """
    held = {row["segment_base"]: row for row in given if row["of_snapshot"]}
    first = given[0]
    judged, before = held.get(first["end_offset"]), held.get(first["start_offset"])
    if judged is None:
        return []
    changed = [row for row in given if not row["of_snapshot"]]
    snapshot = unpack_states(judged["states"])
    replayed = _replayed(before, changed, snapshot, judged, now)
    doubted = {one for row in changed for one in row["doubted"] or ()}
    differences = compare(replayed, snapshot, expiration_ms)
    # A batch that cannot be believed is reported itself.
    return [one for one in _rows(differences, judged) if one["producer_id"] not in doubted]


def _in_log_order(row: dict[str, Any]) -> tuple[int, int, bool]:
    return row["segment_base"], row["split_start"], not row["below_log_start"]


def _replayed(
    before: dict[str, Any] | None,
    changed: list[dict[str, Any]],
    snapshot: States,
    judged: dict[str, Any],
    now: int | None,
) -> Replayed:
    """The states at the judged snapshot: what the one before it holds, and all changes after.

    Where messages of magic 0 or 1 are, a broker may have begun without any producer somewhere in
    the range (up to 3.x, `UnifiedLog.rebuildProducerState`, as long as the format of the topic was
    lowered). So a producer may be absent, or have no past; a batch that it has is that of the log.
    """
    states = NO_STATES if before is None else unpack_states(before["states"])
    log_start = judged["log_start_offset"]
    # A broker that rebuilds begins at a snapshot above the log start, or at the start itself.
    head_below = judged["start_offset"] is None or judged["start_offset"] <= log_start
    kept = NO_STATES if head_below else states
    first_offset = judged["start_offset"] or 0
    newest = max(_newest(states), _newest(snapshot), NONE if now is None else now)
    for row in changed:
        change = unpack_states(row["states"])
        newest = max(newest, _newest(change))
        states = follow(states, change)
        if not row["below_log_start"]:
            kept = follow(kept, change)
    # A batch that says no producer id, or one of too many, may be of any producer.
    unnamed = any(
        (row["left_out"] or 0) > MAX_DOUBTED or min(row["doubted"] or (0,)) < 0 for row in changed
    )
    begun = before is not None or judged["of_log_start"]
    whole = judged["whole"] and begun and not (judged["in_text"] or judged["legacy"])
    return Replayed(
        states=states,
        kept=kept,
        log_start=log_start,
        whole=whole and not unnamed,
        latest=newest,
        start=first_offset,
        unread=None if unnamed or judged["legacy"] else _unread(judged["unread"]),
        lists_all=not judged["in_text"],
    )


def _unread(ranges: list[dict[str, Any]] | None) -> Unread:
    rows = [
        tuple(NONE if one[field.name] is None else one[field.name] for field in UNREAD.fields)
        for one in ranges or ()
    ]
    return Unread(*np.array(rows, dtype=np.int64).reshape(-1, len(Unread._fields)).T)


def _newest(states: States) -> int:
    """The largest timestamp, ms."""
    return int(states["timestamp"].max()) if states.size else NONE


def _rows(differences: Differences, judged: dict[str, Any]) -> list[dict[str, Any]]:
    forgotten = np.flatnonzero(differences.forgotten & ~differences.foreign)
    rows = []
    for i in np.flatnonzero(~differences.forgotten | differences.foreign):
        fault = FOREIGN if differences.foreign[i] else DIFFERS
        rows.append(_row(differences, int(i), judged) | {"fault": fault, "number": 1})
    if forgotten.size:
        newest = forgotten[np.argmax(differences.log["timestamp"][forgotten])]
        rows.append(
            _row(differences, int(newest), judged)
            | {"fault": FORGOTTEN, "number": int(forgotten.size)}
        )
    return rows


def _row(differences: Differences, i: int, judged: dict[str, Any]) -> dict[str, Any]:
    log, snapshot = differences.log[i], differences.snapshot[i]
    one = snapshot if log["producer_id"] == NONE else log
    stored, replayed = snapshot["producer_id"] != NONE, log["producer_id"] != NONE
    names = [name for name in COMPARED if log[name] != snapshot[name]]
    return {
        "partition_index": judged["partition_index"],
        "start_offset": judged["start_offset"],
        "snapshot_offset": judged["end_offset"],
        "file_index": judged["file_index"],
        "position": int(snapshot["position"]) if stored else 0,
        "length": int(snapshot["length"]) if stored else HEADER_SIZE,
        "producer_id": int(one["producer_id"]),
        "producer_epoch": int(one["epoch"]),
        "expected": _state_text(log, names) if replayed else "nothing of the producer",
        "found": _state_text(snapshot, names) if stored else "nothing of the producer",
        "log_file_index": int(log["file_index"]) if replayed else None,
        "log_position": int(log["position"]) if replayed else None,
        "log_length": int(log["length"]) if replayed else None,
        "lacks_head": bool(differences.lacks_head[i]),
    }


def _state_text(state: np.void, names: list[str]) -> str:
    """The fields in words; -1 is none."""
    return ", ".join(
        f"{WORDS.get(name, name.replace('_', ' '))} "
        f"{'none' if state[name] == NONE else int(state[name])}"
        for name in names
    )
