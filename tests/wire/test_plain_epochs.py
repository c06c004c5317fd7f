"""Which epochs are plain: one decision, one marker in each listed partition, all in order."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from schemas.log_row import DECISION, REGULAR_TXN
from udfs.arrow.blocks import block_rows, epoch_keys, pack_block
from udfs.arrow.plain_epochs import (
    ROW,
    TOLD_FROM,
    Listed,
    bare_parts,
    decided_parts,
    marked_parts,
    match_parts,
)

TOLERANCE_MS = 60_000
COORDINATOR = 9
# Two partitions; the second has copies on two brokers.
LISTED = Listed(["orders-0", "orders-1"], np.array([0, 1, 3]), np.array([4, 5, 6]))
DECISION_OF_7: dict[str, Any] = {
    "prepare_offset": 20, "prepare_timestamp": 1_000, "start_ms": 900, "leader_epoch": 3,
    "transactional_id": "a", "producer_id": 7, "marker_epoch": 2, "data_epoch": 1, "commit": True,
    "transaction_version_2": True, "may_have_raised": False, "shares_epoch": False,
    "partitions": ["orders-0"], "complete_offset": 21, "complete_timestamp": 1_050,
    "complete_leader_epoch": 3, "pending": False,
}  # fmt: skip
MARKER_OF_7: dict[str, Any] = {
    "producer_id": 7, "producer_epoch": 1, "marker_epoch": 2, "marker_commit": True,
    "marker_offset": 31, "marker_timestamp": 1_020, "coordinator_epoch": 3, "first_offset": 30,
}  # fmt: skip
Rows = list[dict[str, Any]]
Epochs = list[tuple[int, int]]
# Of each producer here the coordinator's log tells from its beginning on.
ALL_TOLD: Epochs = [(producer_id, -1) for producer_id in (0, 1, 2, 7, 8, 9)]


def _blocks(index: int, rows: Rows, schema: Any) -> Iterator[pa.RecordBatch]:
    names = to_arrow_schema(schema)
    full = [dict.fromkeys(names.names) | row for row in rows]
    block = pack_block(pa.RecordBatch.from_pylist(full, schema=names))
    yield pa.record_batch([pa.array([index], pa.int32()), pa.array([block])], ["index", "block"])


def matched(
    decisions: Rows,
    markers: dict[int, Rows],
    rows: Epochs | None = None,
    told_from: Epochs = ALL_TOLD,
    buckets: int = 1,
    named_from_ms: int | None = None,
) -> dict[str, Any]:
    """Sums of all buckets. `markers`: by partition_index; the others: producer ids and epochs."""
    parts = [*decided_parts(LISTED, buckets)(_blocks(COORDINATOR, decisions, DECISION))]
    for index, some in markers.items():
        parts += marked_parts(buckets)(_blocks(index, some, REGULAR_TXN))
    for what, epochs in ((ROW, rows or []), (TOLD_FROM, told_from)):
        columns = [
            pa.array([producer_id for producer_id, _ in epochs], pa.int64()),
            pa.array([epoch for _, epoch in epochs], pa.int32()),
        ]
        batch = pa.record_batch(columns, ["producer_id", "marker_epoch"])
        parts += bare_parts(what, buckets)(iter([batch]))
    by_bucket = defaultdict(list)
    for part in parts:
        by_bucket[part.column("bucket")[0].as_py()].append(part)
    found = [
        match_parts(TOLERANCE_MS, named_from_ms)(pa.Table.from_batches(some)).to_pylist()[0]
        for some in by_bucket.values()
    ]
    firsts = [
        row
        for one in found
        if one["first_ended"]
        for batch in block_rows(one["first_ended"])
        for row in batch.to_pylist()
    ]
    keys = [np.frombuffer(one["keys"], np.uint64) for one in found]
    return {
        "plain": sum(one["plain"] for one in found),
        "others": sum(one["others"] for one in found),
        "keys": set(np.concatenate([*keys, np.empty(0, np.uint64)]).tolist()),
        "firsts": firsts,
    }


def key(producer_id: int, epoch: int) -> int:
    return int(epoch_keys(pa.array([producer_id]), pa.array([epoch]))[0])


def test_a_decision_and_its_marker_need_no_row() -> None:
    found = matched([DECISION_OF_7], {4: [MARKER_OF_7]})
    assert (found["plain"], found["others"], found["keys"]) == (1, 0, set())
    assert found["firsts"] == [
        {
            "partition_index": 4,
            "coordinator_index": COORDINATOR,
            "one_clock": one_clock,
            "complete_offset": 21,
            "marker_offset": 31,
            "marker_timestamp": 1_020,
        }
        for one_clock in (True, False)
    ]


def test_each_copy_of_a_listed_partition_has_the_marker() -> None:
    both = DECISION_OF_7 | {"partitions": ["orders-1", "orders-0", "not-in-the-dump-0"]}
    everywhere = {4: [MARKER_OF_7], 5: [MARKER_OF_7], 6: [MARKER_OF_7]}
    assert matched([both], everywhere)["plain"] == 3
    one_less = matched([both], {4: [MARKER_OF_7], 6: [MARKER_OF_7]})
    assert (one_less["plain"], one_less["others"]) == (0, 5)
    assert one_less["keys"] == {key(7, 2)}


def test_a_decision_about_no_partition_of_the_dump_is_no_row_either() -> None:
    found = matched([DECISION_OF_7 | {"partitions": None}], {})
    assert (found["plain"], found["others"], found["keys"]) == (0, 0, set())


OTHER_DECISIONS: dict[str, Callable[[dict[str, Any]], Rows]] = {
    "of version 1": lambda one: [one | {"transaction_version_2": False}],
    "without its Complete record": lambda one: [one | {"complete_offset": None}],
    "without effect": lambda one: [one | {"gave_way_at": 22}],
    "of an id that went on": lambda one: [one | {"went_on_at": 22}],
    "pending": lambda one: [one | {"pending": True}],
    "of the other outcome": lambda one: [one | {"commit": False}],
    "of another epoch": lambda one: [one | {"marker_epoch": 3}],
    "of another producer": lambda one: [one | {"producer_id": 8}],
    "of a later coordinator": lambda one: [one | {"leader_epoch": 4, "complete_leader_epoch": 4}],
    "of an earlier coordinator": lambda one: [
        one | {"leader_epoch": 2, "complete_leader_epoch": 2}
    ],
    "later than the marker": lambda one: [one | {"prepare_timestamp": 1_021}],
    "made twice": lambda one: [one, one | {"prepare_offset": 22}],
    "about the partition twice": lambda one: [one | {"partitions": ["orders-0", "orders-0"]}],
    "about another partition": lambda one: [one | {"partitions": ["orders-1"]}],
    "that is not there": lambda _: [],
}


@pytest.mark.parametrize("name", OTHER_DECISIONS)
def test_a_marker_beside_another_decision_stays_a_row(name: str) -> None:
    found = matched(OTHER_DECISIONS[name](DECISION_OF_7), {4: [MARKER_OF_7]})
    assert found["plain"] == 0
    assert key(7, 2) in found["keys"]
    assert found["firsts"] == []


OTHER_MARKERS: dict[str, Rows] = {
    "that raised no epoch": [MARKER_OF_7 | {"producer_epoch": 2}],
    "sent twice": [MARKER_OF_7, MARKER_OF_7 | {"marker_offset": 40}],
    "that is not there": [],
    "of no known coordinator": [MARKER_OF_7 | {"coordinator_epoch": None}],
}


@pytest.mark.parametrize("name", OTHER_MARKERS)
def test_a_decision_beside_another_marker_stays_a_row(name: str) -> None:
    found = matched([DECISION_OF_7], {4: OTHER_MARKERS[name]})
    assert (found["plain"], found["keys"]) == (0, {key(7, 2)})


def test_an_epoch_of_which_anything_is_a_row_already_stays_rows() -> None:
    other = MARKER_OF_7 | {"producer_id": 8}
    decisions = [DECISION_OF_7, DECISION_OF_7 | {"producer_id": 8}]
    found = matched(decisions, {4: [MARKER_OF_7, other]}, rows=[(8, 2), (9, 1)])
    assert (found["plain"], found["others"]) == (1, 2)
    assert found["keys"] == {key(8, 2), key(9, 1)}


def test_the_first_completed_one_is_told_for_both_ways_in_which_clocks_may_be_apart() -> None:
    decisions = [
        DECISION_OF_7 | {"producer_id": 7 + n, "complete_offset": 21 + n} for n in range(3)
    ]
    late = MARKER_OF_7 | {"marker_timestamp": 3_000}
    markers = [late, MARKER_OF_7 | {"producer_id": 8}, MARKER_OF_7 | {"producer_id": 9}]
    found = matched(decisions, {4: markers})
    told = {one["one_clock"]: one["complete_offset"] for one in found["firsts"]}
    assert told == {True: 22, False: 21}


def test_markers_below_all_that_the_coordinators_log_tells_are_no_rows() -> None:
    found = matched([], {4: [MARKER_OF_7]}, told_from=[(7, 3)])
    assert (found["plain"], found["others"], found["keys"]) == (1, 0, set())
    assert found["firsts"] == []
    told = matched([], {4: [MARKER_OF_7]}, told_from=[(7, 2)])
    assert (told["plain"], told["keys"]) == (0, {key(7, 2)})


def test_such_markers_of_an_outcome_are_one_row_a_partition() -> None:
    """Under version 0 and 1 an epoch is that of many transactions."""
    abort = MARKER_OF_7 | {"marker_commit": False}
    some = {4: [MARKER_OF_7, MARKER_OF_7, abort], 5: [abort]}
    assert matched([], some, told_from=[(7, 3)])["plain"] == 3


def test_such_an_epoch_stays_rows_where_one_is_a_row_already() -> None:
    found = matched([], {4: [MARKER_OF_7]}, rows=[(7, 2)], told_from=[(7, 3)])
    assert (found["plain"], found["others"], found["keys"]) == (0, 1, {key(7, 2)})


def test_nobody_asks_for_a_producer_that_the_coordinators_log_does_not_name() -> None:
    found = matched([], {4: [MARKER_OF_7]}, rows=[(7, 2)], told_from=[(8, -1)])
    assert (found["plain"], found["others"], found["keys"]) == (0, 0, set())


@pytest.mark.parametrize("others", [[], [(6, -1)], [(8, -1)], [(6, 1), (8, 1)]])
def test_a_later_marker_of_a_producer_that_is_not_named_stays_a_row(others: Epochs) -> None:
    later = matched([], {4: [MARKER_OF_7]}, told_from=others, named_from_ms=1_019)
    assert (later["plain"], later["others"], later["keys"]) == (0, 1, {key(7, 2)})
    earlier = matched([], {4: [MARKER_OF_7]}, told_from=others, named_from_ms=1_020)
    assert (earlier["plain"], earlier["others"], earlier["keys"]) == (0, 0, set())
    named = matched([], {4: [MARKER_OF_7]}, told_from=[*others, (7, 3)], named_from_ms=0)
    assert (named["plain"], named["keys"]) == (1, set())


FEW = st.integers(0, 2)
DECIDED = st.builds(
    lambda producer, epoch, commit, lists, at, version_2: DECISION_OF_7
    | {
        "producer_id": producer,
        "marker_epoch": epoch,
        "commit": commit,
        "partitions": lists,
        "prepare_timestamp": at,
        "transaction_version_2": version_2,
    },
    FEW, FEW, st.booleans(), st.lists(st.sampled_from(LISTED.names), max_size=2),
    st.integers(1_000, 1_040), st.integers(0, 4).map(bool),
)  # fmt: skip
MARKED = st.builds(
    lambda producer, epoch, commit, raised: MARKER_OF_7
    | {
        "producer_id": producer,
        "marker_epoch": epoch,
        "producer_epoch": epoch - raised,
        "marker_commit": commit,
    },
    FEW, FEW, st.booleans(), st.integers(0, 4).map(bool),
)  # fmt: skip


@given(
    st.lists(DECIDED, max_size=4),
    st.dictionaries(st.sampled_from((4, 5, 6)), st.lists(MARKED, max_size=3)),
    st.integers(1, 3),
)
def test_only_epochs_of_pairs_in_order_are_plain_where_all_is_told(
    decisions: Rows, markers: dict[int, Rows], buckets: int
) -> None:
    """The rule once more, a pair at a time."""
    expected: dict[tuple[int, int], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for one in decisions:
        for name in one["partitions"]:
            number = LISTED.names.index(name)
            for index in LISTED.indexes[LISTED.starts[number] : LISTED.starts[number + 1]]:
                expected[one["producer_id"], one["marker_epoch"]].append((int(index), one))
    there: dict[tuple[int, int], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for index, some in markers.items():
        for marker in some:
            there[marker["producer_id"], marker["marker_epoch"]].append((index, marker))

    def is_plain(epoch: tuple[int, int]) -> bool:
        of_decisions, of_markers = dict(expected[epoch]), dict(there[epoch])
        return (
            len(of_decisions) == len(expected[epoch])
            and len(of_markers) == len(there[epoch])
            and of_decisions.keys() == of_markers.keys()
            and all(
                one["transaction_version_2"]
                and one["commit"] == of_markers[index]["marker_commit"]
                and of_markers[index]["producer_epoch"] < epoch[1]
                and of_markers[index]["marker_timestamp"] >= one["prepare_timestamp"]
                for index, one in of_decisions.items()
            )
        )

    epochs = set(expected) | set(there)
    others = {epoch for epoch in epochs if not is_plain(epoch)}
    found = matched(decisions, markers, buckets=buckets)
    assert found["keys"] == {key(*epoch) for epoch in others}
    assert found["plain"] == sum(len(there[epoch]) for epoch in epochs - others)
    assert found["others"] == sum(len(expected[one]) + len(there[one]) for one in others)
