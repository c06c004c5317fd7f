"""What incidents tell does not depend on the order in which rows come to the driver."""

from itertools import permutations
from types import SimpleNamespace
from typing import Any

import pytest

from jobs.incidents import lineage
from jobs.incidents.events import NAMES, _turn
from jobs.incidents.lineage import Spread, Written, first_of_each, with_unseen

READ = {
    "incident": 1, "group": "g", "topic": "b", "partition": 0, "producer_id": 7,
    "producer_epoch": 0, "since_ms": 50, "whole": True,
}  # fmt: skip


def read(**values: Any) -> SimpleNamespace:
    return SimpleNamespace(**READ | values)


def test_of_several_inputs_of_one_transaction_the_first_by_name_is_told() -> None:
    rows = [
        read(), read(topic="a", partition=1), read(topic="a", partition=1, group="f"),
        read(topic="a", partition=2), read(topic="A", since_ms=51),
    ]  # fmt: skip
    for given in permutations(rows):
        (first,) = first_of_each(given).values()
        assert (first.topic, first.partition, first.group) == ("a", 1, "f")


def test_a_lower_epoch_and_an_earlier_commit_come_first() -> None:
    rows = [read(producer_epoch=1, since_ms=1), read(since_ms=49), read(topic="a")]
    for given in permutations(rows):
        (first,) = first_of_each(given).values()
        assert (first.producer_epoch, first.since_ms) == (0, 49)


def test_where_commits_are_gone_every_producer_of_the_group_may_have_read() -> None:
    whole, gone = read(group="a"), read(whole=False, since_ms=99)
    for given in permutations([whole, gone]):
        assert first_of_each(given)[1, 7] is gone
    readers = {(1, 7): gone, (2, 7): whole, (1, 9): whole}
    found = with_unseen(readers, {"g": [7, 8, 9], "a": [6, 7]})
    assert found == readers | {(1, 8): gone}


@pytest.mark.parametrize("turn", [1, -1])
def test_a_partition_that_two_applications_wrote_has_one_path(
    monkeypatch: pytest.MonkeyPatch, turn: int
) -> None:
    readers = {(1, 7): read(), (1, 8): read(group="h", producer_id=8)}
    rounds = iter([readers, {}])
    out = {("out", 0): Written(4, 9, 1, 6), ("own", 0): Written(0, 1, 1, 2)}
    wrote = {key: (row, dict(list(out.items())[::turn])) for key, row in readers.items()}
    monkeypatch.setattr(lineage, "_readers", lambda *_: next(rounds))
    monkeypatch.setattr(lineage, "_outputs_of", lambda *_: dict(list(wrote.items())[::turn]))
    spread = Spread({(1, ("b", 0)): 3})
    nothing: Any = None
    lineage._spread(spread, [], nothing, nothing)
    assert spread.path[1, ("out", 0)] == ("b-0", "g", "out-0")
    assert spread.first[1, ("out", 0)] == 4


def test_events_of_one_moment_stand_in_one_order() -> None:
    row = dict.fromkeys(NAMES) | {"incident": 1, "at_ms": 5, "event": "broker_fenced"}
    rows = [row, row | {"broker": 2}, row | {"broker": 10}, row | {"broker": 2, "detail": "a"}]
    wanted = [(None, None), (2, None), (2, "a"), (10, None)]
    for given in permutations(rows):
        told = sorted(given, key=_turn)
        assert [(one["broker"], one["detail"]) for one in told] == wanted
