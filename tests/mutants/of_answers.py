"""Faults of what brokers remember: in a dump over the protocol, an answer that its log belies."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from model.fetched import ANSWERS, MOMENTS, STABLE

from mutants.mutant import SUSPECT, Mutant, codes, operator, pids, places
from mutants.scene import Scene, View, transactions
from schemas.coordinator_states import EMPTY


def _views(scene: Scene) -> list[View]:
    """Partitions of clients that were fetched with what their leaders say."""
    return [view for view in scene.client if ANSWERS in view.directory.files]


def _retell(scene: Scene, view: View, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the answers about one partition; `change` gets an answer and its partition."""
    told = json.loads(view.directory.files[ANSWERS])
    for one in told["answers"]:
        for topic in one["answer"].get("topics", ()):
            for partition in topic.get("partitions", ()):
                if (topic["name"], partition["partition_index"]) == view.place:
                    change(one | {"of_partition": partition})
    view.directory.files[ANSWERS] = json.dumps(told).encode()


def _told_stable(scene: Scene, view: View) -> int:
    found: list[int] = []

    def look(one: dict[str, Any]) -> None:
        if one.get("isolation") == STABLE:
            found.append(one["of_partition"]["offset"])

    _retell(scene, view, look)
    assert len(found) == len(MOMENTS)
    return found[0]


def _set_stable(scene: Scene, view: View, offset: int) -> None:
    def change(one: dict[str, Any]) -> None:
        if one.get("isolation") == STABLE:
            one["of_partition"]["offset"] = offset

    _retell(scene, view, change)


def _set_producer(scene: Scene, view: View, producer_id: int, **changed: int) -> None:
    def change(one: dict[str, Any]) -> None:
        for active in one["of_partition"].get("active_producers", ()):
            if active["producer_id"] == producer_id:
                active.update(changed)

    _retell(scene, view, change)


@operator
def told_stable_offset_stays(scene: Scene) -> Mutant | None:
    """The last stable offset of a leader stands where its log has nothing open."""
    found = [view for view in _views(scene) if _told_stable(scene, view) > 1]
    if (view := scene.choose(found)) is None:
        return None
    stays = scene.rng.randrange(1, _told_stable(scene, view))
    _set_stable(scene, view, stays)
    return Mutant(codes("told_lso_mismatch"), places(view.place), None, wide=True)


@operator
def told_stable_offset_runs_ahead(scene: Scene) -> Mutant | None:
    """read_committed consumers get data of a transaction that is not decided."""
    found = [view for view in _views(scene) if _told_stable(scene, view) < view.end]
    if (view := scene.choose(found)) is None:
        return None
    _set_stable(scene, view, view.end)
    return Mutant(codes("told_lso_mismatch"), places(view.place), None, wide=True)


@operator
def told_transaction_forgotten(scene: Scene) -> Mutant | None:
    """A transaction is open in the log, and its leader knows nothing of it.

    Undecidable: its marker may lie above the high watermark, where nothing can be fetched.
    """
    found = [
        (view, txn)
        for view in _views(scene)
        for txn in transactions(view)
        if txn.marker is None
    ]  # fmt: skip
    if (at := scene.choose(found)) is None:
        return None
    view, txn = at
    _set_producer(scene, view, txn.producer_id, current_txn_start_offset=-1)
    unseen = "the marker may lie above the high watermark"
    return replace(_of(view, txn.producer_id, "told_open_mismatch"), why=unseen)


@operator
def told_transaction_kept(scene: Scene) -> Mutant | None:
    """A marker ended a transaction, and its leader has it open still."""
    found = [
        (view, txn)
        for view in _views(scene)
        for txn in transactions(view)
        if txn.marker is not None and txn.data
        and not any(b.producer_id == txn.producer_id for b in view.batches[txn.marker + 1 :])
    ]  # fmt: skip
    if (at := scene.choose(found)) is None:
        return None
    view, txn = at
    first = view.batches[txn.data[0]].base_offset
    _set_producer(scene, view, txn.producer_id, current_txn_start_offset=first)
    return _of(view, txn.producer_id, "told_open_mismatch")


def _of(view: View, producer_id: int, what: str) -> Mutant:
    return Mutant(codes(what), places(view.place), None, pids(producer_id), wide=True)


def _producer(scene: Scene) -> tuple[View, int, int, int] | None:
    """A producer whose newest batch is of data: (its partition, id, epoch, last sequence).

    Of one that can lag: a leader that is ahead of its copy knows what is not replicated yet.
    """
    found = []
    for view in _views(scene):
        newest = {one.producer_id: one for one in view.batches if one.producer_id >= 0}
        found += [
            (view, one.producer_id, one.producer_epoch, one.base_sequence + one.count - 1)
            for one in newest.values()
            if not one.control and one.producer_epoch > 0 and one.base_sequence + one.count > 1
        ]
    chosen: tuple[View, int, int, int] | None = scene.choose(found)
    return chosen


def _lagging(scene: Scene, less: Callable[[int, int], dict[str, int]]) -> Mutant | None:
    """A leader that has less of a producer; `less`: what, by its epoch and last sequence."""
    if (at := _producer(scene)) is None:
        return None
    view, producer_id, epoch, sequence = at
    _set_producer(scene, view, producer_id, **less(epoch, sequence))
    return _of(view, producer_id, "told_producer_mismatch")


@operator
def told_sequence_lags(scene: Scene) -> Mutant | None:
    """A leader that forgot the newest batch takes it a second time."""
    return _lagging(scene, lambda _, sequence: {"last_sequence": sequence - 1})


@operator
def told_epoch_differs(scene: Scene) -> Mutant | None:
    """A leader that forgot the newest epoch lets the producer in that it fences."""
    return _lagging(scene, lambda epoch, _: {"producer_epoch": epoch - 1})


@operator
def told_state_differs(scene: Scene) -> Mutant | None:
    """A coordinator has a transactional id in another state, or with another producer."""
    if not scene.coordinators or ANSWERS not in scene.coordinators[0].directory.files:
        return None
    view = scene.choose(scene.coordinators)
    states = scene.states(view)
    if (name := scene.choose(sorted(states))) is None:
        return None
    last = states[name][-1]
    changed: dict[str, object] = {"producer_id": last.value.producer_id + 1}
    if scene.rng.random() < 0.5:
        changed = {"transaction_state": "Empty" if last.value.status != EMPTY else "Ongoing"}
    told = json.loads(view.directory.files[ANSWERS])
    for one in told["answers"]:
        for state in one["answer"].get("transaction_states", ()):
            if state["transactional_id"] == name:
                state.update(changed)
    view.directory.files[ANSWERS] = json.dumps(told).encode()
    return Mutant(
        codes("told_coordinator_mismatch"), places(view.place), None, ids=frozenset([name]),
        told=SUSPECT,
    )  # fmt: skip
