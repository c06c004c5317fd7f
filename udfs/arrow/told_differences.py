"""What a leader said of its producers beside the state that its log leads to.

The leader was asked before its log was fetched and after. What both answers agree on was so when
the log was fetched; what they differ in has moved, and is compared with nothing.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType

from schemas.columns import array, boolean, column, integer, long, string, table
from udfs.arrow.producer_states import unpack_states
from udfs.rules.producer_step import is_ahead
from udfs.wire.side_files.producer_state import NONE, STATE, States, follow

STABLE_BEHIND, STABLE_AHEAD = "stable_behind", "stable_ahead"
OPEN_IN_MEMORY, OPEN_IN_LOG, STATE_DIFFERS = "open_in_memory", "open_in_log", "state"

PRODUCER_TOLD = table(
    long("producer_id", "producer id"),
    integer("epoch", "producer epoch"),
    integer("last_sequence", "last sequence; -1 for none"),
    long("open_offset", "first offset of its open transaction; -1 for none"),
)
"""A producer as a leader remembers it."""

TOLD = table(
    integer("partition_index", "partition"),
    long("end_offset", "the offset behind the fetched copy"),
    integer("answering_broker", "the leader that was asked"),
    long("told_high_watermark", "high watermark told before the fetch; null: not told"),
    long("stable_before", "last stable offset told before the fetch; null: not told"),
    long("stable_after", "the same after the fetch"),
    array("producers_before", PRODUCER_TOLD, "its producers before the fetch; null: not told"),
    array("producers_after", PRODUCER_TOLD, "the same after the fetch"),
    long("fetched_from", "first offset that was fetched between the two; null: not known"),
    long("log_start", "log start offset, as the leader told it; null: not told"),
)
"""One row a partition of which a leader said something."""

STATES_OF_SPLIT = table(
    long("segment_base", "base offset of the segment"),
    long("split_start", "byte position where the split starts"),
    boolean("below_log_start", "by batches below the log start"),
    array("doubted", TOLD["end_offset"].dataType, "producers of batches that cannot be believed"),
    long("left_out", "batches that cannot be believed"),
    column("states", BinaryType(), "what the split changes"),
)
"""Columns that are null where no producer wrote."""

TOLD_DIFFERENCE = table(
    integer("partition_index", "partition"),
    string("fault", "stable_behind, stable_ahead, open_in_memory, open_in_log or state"),
    integer("answering_broker", "the leader that was asked"),
    long("told_high_watermark", "high watermark told before the fetch; null: not told"),
    long("told_stable", "last stable offset told both before and after, or before it moved"),
    long("producer_id", "producer id; null where the fault is of no producer"),
    integer("producer_epoch", "its epoch in the log, else as told"),
    long("told_open", "first offset of the open transaction, as told; -1 for none"),
    long("log_open", "the same in the log"),
    long("begins", "the smallest offset that the difference is about"),
    boolean("log_ahead", "the log has something newer of the producer"),
    boolean("known_by_marker", "as told it may be one that expired and got a marker after that"),
    boolean("passed", "the last stable offset told before the fetch is behind log_open"),
    boolean("of_earlier_run", "begins may have been fetched before, and be cleaned meanwhile"),
    string("expected", "what the log says"),
    string("found", "what the leader said"),
    integer("file_index", "file of the newest batch of the producer; null for none"),
    long("position", "byte position of that batch"),
    long("length", "size of that batch, bytes"),
)
"""One row a difference."""

NO_STATES: States = np.empty(0, dtype=STATE)


class Memory(NamedTuple):
    """What a leader said at both moments; producer id -> its state, None for what is not told."""

    told: dict[str, Any]
    before: Mapping[int, dict[str, Any]] | None
    after: Mapping[int, dict[str, Any]] | None

    @property
    def log_start(self) -> int:
        """The log start offset; 0 if it is not told."""
        return self.told["log_start"] or 0

    def open_at_both(self, producer: int) -> int:
        """First offset of the transaction that is open in both answers; NONE for none."""
        if self.before is None or self.after is None:
            return NONE
        one, other = self.before.get(producer), self.after.get(producer)
        if one is None or other is None or one["open_offset"] != other["open_offset"]:
            return NONE
        return int(one["open_offset"])

    def open_at_neither(self, producer: int, offset: int) -> bool:
        """Whether both answers were given, and none has the transaction that begins there open."""
        if self.before is None or self.after is None:
            return False
        both = (answer.get(producer) for answer in (self.before, self.after))
        return all(one is None or one["open_offset"] != offset for one in both)

    def unchanged(self, producer: int) -> dict[str, Any] | None:
        """The state that both answers have; None where it moved."""
        if self.before is None or self.after is None:
            return None
        one = self.before.get(producer)
        return one if one is not None and one == self.after.get(producer) else None


def compare_told(rows: pa.Table) -> pa.Table:
    """Rows of TOLD_DIFFERENCE for one partition, from its rows of TOLD with STATES_OF_SPLIT."""
    given = sorted(rows.to_pylist(), key=_in_log_order)
    states, doubted = NO_STATES, set[int]()
    for row in given:
        if row["states"] is not None:
            states = follow(states, unpack_states(row["states"]))
        doubted |= set(row["doubted"] or ())
    told = given[0]
    memory = Memory(told, _by_id(told["producers_before"]), _by_id(told["producers_after"]))
    found: list[dict[str, Any]] = []
    # A batch that cannot be believed is reported itself; it may be of any producer.
    if not any(row["left_out"] for row in given):
        found = [*_of_producers(memory, states), *_of_stable_offset(memory, states)]
    return pa.Table.from_pylist(found, schema=to_arrow_schema(TOLD_DIFFERENCE))


def _in_log_order(row: dict[str, Any]) -> tuple[int, int, bool]:
    return row["segment_base"] or 0, row["split_start"] or 0, not row["below_log_start"]


def _by_id(producers: list[dict[str, Any]] | None) -> dict[int, dict[str, Any]] | None:
    return None if producers is None else {one["producer_id"]: one for one in producers}


def _row(memory: Memory, fault: str, log: np.void | None, **facts: object) -> dict[str, Any]:
    told = memory.told
    row: dict[str, Any] = {
        "partition_index": told["partition_index"],
        "answering_broker": told["answering_broker"],
        "told_high_watermark": told["told_high_watermark"],
        "told_stable": told["stable_before"],
        "fault": fault,
    }
    if log is not None:
        row |= {
            "producer_id": int(log["producer_id"]),
            "producer_epoch": int(log["epoch"]),
            "log_open": int(log["txn_first_offset"]),
            **{name: int(log[name]) for name in ("file_index", "position", "length")},
        }
    return row | facts


def _of_producers(memory: Memory, states: States) -> list[dict[str, Any]]:
    known = {int(state["producer_id"]): state for state in states}
    found = []
    for producer in sorted({*known, *(memory.before or ())}):
        row = _of_producer(memory, producer, known.get(producer))
        if row is not None:
            found.append(row)
    return found


def _of_producer(memory: Memory, producer: int, log: np.void | None) -> dict[str, Any] | None:
    """The difference about one producer: its transaction, else its state."""
    log_open = NONE if log is None else int(log["txn_first_offset"])
    told_open = memory.open_at_both(producer)
    if told_open >= 0 and told_open != log_open:
        if told_open >= memory.told["end_offset"] or _began_below(memory, told_open, log):
            return None
        epoch = (memory.before or {})[producer]["epoch"]
        named = {"producer_id": producer, "producer_epoch": epoch} if log is None else {}
        return _row(memory, OPEN_IN_MEMORY, log) | named | _opens(told_open, log_open)
    mark, stable = memory.told["told_high_watermark"], memory.told["stable_before"]
    if log_open >= 0 and memory.open_at_neither(producer, log_open):
        if mark is None or log_open >= mark:
            return None
        passed = stable is not None and stable > log_open
        return _row(memory, OPEN_IN_LOG, log, passed=passed) | _opens(NONE, log_open)
    told = memory.unchanged(producer)
    return None if told is None or log is None else _of_state(memory, told, log)


def _began_below(memory: Memory, told_open: int, log: np.void | None) -> bool:
    """Whether the log could not have it open there: it begins below the log start.

    The leader remembers it while no marker is behind the log start (`ProducerStateManager`).
    """
    ended = log is not None and int(log["marker_offset"]) >= memory.log_start
    return told_open < memory.log_start and not ended


def _opens(told: int, log: int) -> dict[str, Any]:
    def words(offset: int) -> str:
        return "no open transaction" if offset < 0 else f"a transaction open from offset {offset}"

    begins = min(offset for offset in (told, log) if offset >= 0)
    return {
        "told_open": told,
        "log_open": log,
        "begins": begins,
        "expected": words(log),
        "found": words(told),
    }


def _of_state(memory: Memory, told: dict[str, Any], log: np.void) -> dict[str, Any] | None:
    """Epoch and last sequence; null where they agree.

    Of a producer of which the copy has only markers of one epoch, the sequence is not known.
    """
    epoch, sequence = int(log["epoch"]), int(log["last_sequence"])
    if epoch == told["epoch"] and (sequence == told["last_sequence"] or log["keeps_data"] == 1):
        return None

    def words(epoch: int, sequence: int) -> str:
        return f"epoch {epoch}, last sequence {'none' if sequence < 0 else sequence}"

    data, newest = int(log["last_offset"]), max(int(log["last_offset"]), int(log["marker_offset"]))
    same_epoch = epoch == told["epoch"]
    # A marker that ended data of its epoch leaves their sequence, which is the data's.
    begins, fetched_from = data if same_epoch and data >= 0 else newest, memory.told["fetched_from"]
    return _row(memory, STATE_DIFFERS, log) | {
        "begins": begins,
        "of_earlier_run": fetched_from is None or begins < fetched_from,
        # Nothing expires while it is open, so not before the marker that ends the data.
        "known_by_marker": same_epoch and told["last_sequence"] < 0 and newest > data + 1,
        "log_ahead": _is_ahead((epoch, sequence), (told["epoch"], told["last_sequence"])),
        "expected": words(epoch, sequence),
        "found": words(told["epoch"], told["last_sequence"]),
    }


def _is_ahead(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether (epoch, last sequence) is later; an epoch begins without a sequence."""
    if one[0] != other[0]:
        return one[0] > other[0]
    if one[1] < 0 or other[1] < 0:
        return one[1] > other[1]
    return bool(is_ahead(other[1], one[1]))


def _of_stable_offset(memory: Memory, states: States) -> list[dict[str, Any]]:
    """The last stable offset, where it is not explained by what the leader says of producers."""
    before, after = memory.told["stable_before"], memory.told["stable_after"]
    if before is None or after is None:
        return []
    still_open = states[states["txn_first_offset"] >= 0]
    holder = still_open[np.argmin(still_open["txn_first_offset"])] if still_open.size else None
    holds = None if holder is None else int(holder["txn_first_offset"])
    text = {
        "expected": "no open transaction" if holds is None else f"last stable offset {holds}",
        "found": f"last stable offset {before} "
        + ("before and after the fetch" if before == after else f"before the fetch, {after} after"),
    }
    blocked = before == after < memory.told["end_offset"] and (holds is None or holds > before)
    if blocked:
        # A transaction that the leader has open there, or below the log start, is the difference.
        if any(0 <= memory.open_at_both(one) <= before for one in memory.before or ()):
            return []
        return [_row(memory, STABLE_BEHIND, None, begins=before) | text]
    # It is never below the log start (`UnifiedLog.maybeIncrementFirstUnstableOffset`).
    if holder is None or holds is None or min(before, after) <= max(holds, memory.log_start):
        return []
    if memory.open_at_neither(int(holder["producer_id"]), holds):
        return []
    return [_row(memory, STABLE_AHEAD, holder, begins=holds, passed=True) | text]
