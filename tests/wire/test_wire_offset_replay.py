"""The order in which offset commits take effect, against a coordinator that goes one by one."""

from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from udfs.wire.offsets.offset_replay import (
    EDGE,
    PLAIN_EDGE,
    Commits,
    Markers,
    take_effect,
    went_back,
)


class Event(NamedTuple):
    """A commit of `key` (`value` None: a tombstone), or the marker of `pid` where `key` is -1."""

    pid: int
    key: int
    value: int | None
    commit: bool = True


events = st.builds(
    Event,
    pid=st.integers(-1, 2),
    key=st.integers(0, 2),
    value=st.none() | st.integers(0, 4),
) | st.builds(Event, pid=st.integers(0, 2), key=st.just(-1), value=st.none(), commit=st.booleans())


def arrays(log: list[Event]) -> tuple[Commits, Markers]:
    commits = [(offset, event) for offset, event in enumerate(log) if event.key >= 0]
    markers = [(offset, event) for offset, event in enumerate(log) if event.key < 0]

    def whole(values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    return Commits(
        key=whole([event.key for _, event in commits]),
        offset=whole([offset for offset, _ in commits]),
        producer_id=whole([event.pid for _, event in commits]),
        committed=whole([event.value or 0 for _, event in commits]),
        tombstone=np.array([event.value is None for _, event in commits], dtype=np.bool_),
    ), Markers(
        offset=whole([offset for offset, _ in markers]),
        producer_id=whole([event.pid for _, event in markers]),
        commit=np.array([event.commit for _, event in markers], dtype=np.bool_),
    )


def one_by_one(log: list[Event]) -> tuple[dict[int, list[tuple[int, int]]], list[int]]:
    """(key -> (record offset, effective offset) in order, record offsets that are pending)."""
    pending: dict[int, dict[int, int]] = {}
    applied: dict[int, list[tuple[int, int]]] = {}
    for offset, event in enumerate(log):
        if event.key >= 0 and event.pid >= 0:
            pending.setdefault(event.pid, {})[event.key] = offset
        elif event.key >= 0:
            applied.setdefault(event.key, []).append((offset, offset))
        else:
            for key, record in pending.pop(event.pid, {}).items():
                history = applied.setdefault(key, [])
                if event.commit and all(record > earlier for earlier, _ in history):
                    history.append((record, offset))
    left = sorted(record for records in pending.values() for record in records.values())
    return {key: history for key, history in applied.items() if history}, left


@given(st.lists(events, max_size=40))
def test_commits_take_effect_as_a_coordinator_applies_them(log: list[Event]) -> None:
    commits, markers = arrays(log)
    effect, pending = take_effect(commits, markers)
    told: dict[int, list[tuple[int, int]]] = {}
    for record, effective in zip(effect.record, effect.effective, strict=True):
        key = int(commits.key[record])
        told.setdefault(key, []).append((int(commits.offset[record]), int(effective)))
    expected, left = one_by_one(log)
    assert told == expected
    assert commits.offset[pending].tolist() == left
    for key, history in expected.items():
        mine = commits.key[effect.record] == key
        assert effect.ordinal[mine].tolist() == list(range(len(history)))
        assert set(effect.number[mine].tolist()) == {len(history)}
        alone = all(event.pid < 0 for event in log if event.key == key)
        edge = PLAIN_EDGE if alone else EDGE
        near = [i < edge or i >= len(history) - edge for i in range(len(history))]
        assert effect.at_edge[mine].tolist() == near


@given(st.lists(events, max_size=40))
def test_late_commits_are_those_of_a_plain_reading(log: list[Event]) -> None:
    commits, markers = arrays(log)
    effect, _ = take_effect(commits, markers)
    found = {
        (int(commits.key[effect.record[i]]), int(effect.effective[i]))
        for i in went_back(commits, effect)
    }
    expected = set()
    for key, history in one_by_one(log)[0].items():
        for triple in zip(history, history[1:], history[2:], strict=False):
            one, late, then = (log[record] for record, _ in triple)
            if one.value is None or late.value is None or then.value is None:
                continue
            owner = one.pid >= 0 and then.pid == one.pid
            if late.pid >= 0 and owner and late.value < one.value < then.value:
                expected.add((key, triple[1][1]))
    assert found == expected
