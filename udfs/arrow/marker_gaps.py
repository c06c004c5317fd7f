"""Which decisions of one producer epoch have no marker of their own in a partition, and where."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from udfs.rules.attribution import ANY_LEADER_EPOCH
from udfs.rules.contrary_marker import contrary_markers
from udfs.rules.marker_order import NO_MOMENT, Decisions, MarkersThere, marker_gap

# What a row of an epoch is: a decision, a decision of an earlier or later epoch about data of this
# one, a marker, or a question: of the decisions from `first_at` to `at` one has no marker.
DECISION, OF_OTHER_EPOCH, THERE, ASKED = range(4)
Row = dict[str, Any]


def gaps_of_epoch(keys: list[str], told: StructType) -> Callable[[pa.Table], pa.Table]:
    """For `applyInArrow` over the rows of an epoch in a partition: one row of `told` an outcome.

    Rows: `keys`, sort, commit, at (offset of the decision or marker), moment, completed, start (ms
    of a decision; completed is null for no Complete record), ended, began (of a marker: whether it
    ended data, and their first timestamp, ms), coordinator (epoch, of a marker), from_leader,
    to_leader (leader epochs of a decision), first_at, before, apart_ms (see `marker_gap`), is_open,
    reached, newer_there (see `contrary_markers`), marker, decision (structs). `told`:
    keys, commit, asked, newest: of the question, and of the newest completed decision of an outcome
    without any marker; each next (the marker behind the gap), behind (offset of the one in front),
    decision; contrary: the first marker in place of one of that outcome, and the decision that has
    it (marker, decision); null for none.
    """
    schema = to_arrow_schema(told)

    def gaps(rows: pa.Table) -> pa.Table:
        key = rows.select(keys).slice(0, 1).to_pylist()[0]
        found = [key | one for one in _gaps(_Epoch(rows))]
        return pa.Table.from_pylist(found, schema=schema)

    return gaps


class _Epoch:
    """The rows of an epoch, in order."""

    def __init__(self, rows: pa.Table) -> None:
        ordered = rows.sort_by([("sort", "ascending"), ("at", "ascending")])
        sort = ordered.column("sort").to_numpy()
        self.decided = ordered.filter(pa.array(sort == DECISION))
        self.marked = ordered.filter(pa.array(sort == THERE))
        self.asked = ordered.filter(pa.array(sort == ASKED))
        self.at = self.decided.column("at").to_numpy()
        elsewhere = ordered.filter(pa.array(sort == OF_OTHER_EPOCH)).column("at").to_numpy()
        explained = elsewhere.size and (not self.at.size or elsewhere.max() > self.at.max())
        self.is_open = bool(np.any(_flags(ordered, "is_open"))) and not explained
        prepared = _numbers(self.decided, "moment", 0)
        completed = self.decided.column("completed")
        self.is_complete = completed.is_valid().to_numpy()
        self.apart_ms = int(_numbers(self.decided, "apart_ms", 0).max(initial=0))
        self.decisions = Decisions(
            _flags(self.decided, "commit"),
            prepared,
            np.where(self.is_complete, _numbers(self.decided, "completed", 0), prepared),
            _numbers(self.decided, "start", 0),
            _numbers(self.decided, "from_leader", 0),
            _numbers(self.decided, "to_leader", ANY_LEADER_EPOCH),
        )
        self.markers = MarkersThere(
            _flags(self.marked, "commit"),
            _numbers(self.marked, "moment", 0),
            _flags(self.marked, "ended"),
            _numbers(self.marked, "began", NO_MOMENT),
            _numbers(self.marked, "coordinator", 0),
        )
        self.contrary = contrary_markers(
            self.decisions,
            self.markers,
            self.is_complete & _flags(self.decided, "reached"),
            bool(np.any(_flags(ordered, "newer_there"))),
        )


def _numbers(rows: pa.Table, name: str, missing: int) -> Any:
    return rows.column(name).fill_null(missing).to_numpy().astype(np.int64)


def _flags(rows: pa.Table, name: str) -> Any:
    return rows.column(name).fill_null(False).to_numpy().astype(np.bool_)


def _questions(epoch: _Epoch) -> Iterator[tuple[bool, str, int, int, int]]:
    """Outcome, what it is told as; first, last and before of `marker_gap`."""
    for one in epoch.asked.select(["commit", "first_at", "at", "before"]).to_pylist():
        first, last = np.searchsorted(epoch.at, [one["first_at"], one["at"]])
        yield one["commit"], "asked", int(first), int(last), one["before"]
    for commit in (True, False):
        ended = np.flatnonzero((epoch.decisions.commit == commit) & epoch.is_complete)
        if ended.size and not np.any(epoch.markers.commit == commit):
            yield commit, "newest", int(ended[-1]), int(ended[-1]), 0


def _gaps(epoch: _Epoch) -> Iterator[Row]:
    marker, decision = epoch.marked.column("marker"), epoch.decided.column("decision")
    told: dict[bool, Row] = {}
    for number in epoch.contrary.tolist():
        commit = bool(epoch.decisions.commit[number])
        told.setdefault(commit, {"commit": commit}).setdefault(
            "contrary", {"marker": marker[number].as_py(), "decision": decision[number].as_py()}
        )
    for commit, name, first, last, before in _questions(epoch):
        gap = marker_gap(
            epoch.decisions, epoch.markers, first, last, before, epoch.is_open, epoch.apart_ms
        )
        behind = epoch.marked.column("at")[gap.markers - 1].as_py() if gap.markers else None
        is_last = gap.markers == len(marker)
        told.setdefault(commit, {"commit": commit})[name] = {
            "next": None if is_last else marker[gap.markers].as_py(),
            "behind": behind,
            "decision": decision[gap.decision].as_py(),
        }
    yield from told.values()
