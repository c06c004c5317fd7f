"""Faults at the end of a log: a transaction that nobody ends, lists, or has written to."""

from collections.abc import Callable

from laws.dump_files import OFFSETS

from mutants.evidence import appended_by, goes_on, not_owed
from mutants.mutant import INFO, SUSPECT, Mutant, codes, operator, pids, places
from mutants.of_coordinator import rewrite_state, without
from mutants.scene import CLOCK_TOLERANCE_MS, Decision, Scene, State, Txn, View, transactions
from schemas.coordinator_states import ONGOING

# late_transaction_slack_ms of conf/audit.toml, and how often a coordinator looks.
SLACK_MS = 310_000
# transaction_max_timeout_ms of conf/audit.toml.
LONGEST_TIMEOUT_MS = 900_000


def _last(scene: Scene, wanted: Callable[[Decision], bool] = lambda one: True) -> Decision | None:
    """The last decision of an id, completed, with all its markers."""
    found = [
        one
        for one in scene.decisions
        if one.complete is not None
        and wanted(one)
        and one.following is None
        and len(one.markers) == len(one.listed)
        and any(txn.data for _, txn in one.markers.values())
    ]
    chosen: Decision | None = scene.choose(found)
    return chosen


def _forget(one: Decision, *states: State | None) -> None:
    """Records of a decision that were never written; the last first."""
    for state in states:
        assert state is not None
        one.view.drop(state.index, close=True)
    one.view.store()


def _lose_marker(view: View, txn: Txn) -> None:
    assert txn.marker is not None
    view.drop(txn.marker, close=True)
    view.store()


def _told_until(one: Decision) -> int:
    """The newest moment of the coordinator's log, ms."""
    return one.view.batches[-1].max_timestamp


@operator
def decision_never_taken(scene: Scene) -> Mutant | None:
    """The coordinator forgot to abort a transaction: no decision, no marker, and its time is over.

    Where the log ends earlier nothing is wrong yet.
    """

    def overdue(one: Decision) -> bool:
        prepare = one.prepare.value
        return _told_until(one) > prepare.start_ms + prepare.timeout_ms + SLACK_MS

    if (one := _last(scene, overdue)) is None:
        return None
    mutant = Mutant(
        codes("open_transaction_overdue txnlog_overdue_transaction pending_offsets_stuck"),
        places(one.view.place, one.listed), pids=pids(one.prepare.value.producer_id),
        ids=frozenset([one.name]), told=SUSPECT, span=(-1, -1),
    )  # fmt: skip
    for view, txn in one.markers.values():
        _lose_marker(view, txn)
    _forget(one, one.complete, one.prepare)
    return mutant


@operator
def decision_left_half_done(scene: Scene) -> Mutant | None:
    """One marker and the Complete record were never written."""
    if (one := _last(scene)) is None:
        return None
    view, txn = scene.choose([two for two in one.markers.values() if two[1].data])
    mutant = Mutant(
        codes("marker_pending prepare_never_completed"),
        places(one.view.place, one.listed), pids=pids(one.prepare.value.producer_id),
        ids=frozenset([one.name]), told=INFO, span=(-1, -1),
    )  # fmt: skip
    _lose_marker(view, txn)
    _forget(one, one.complete)
    return mutant


@operator
def marker_on_its_way(scene: Scene) -> Mutant | None:
    """No other transaction of its epoch has such a marker there: only observed."""

    def first_here(one: Decision, view: View, txn: Txn) -> bool:
        mine = txn.producer_id, one.prepare.value.producer_epoch, one.commit
        others = view.batches[: txn.marker]
        return not any((b.producer_id, b.producer_epoch, b.commit) == mine for b in others)

    one = _last(scene, lambda one: any(first_here(one, *at) for at in one.markers.values()))
    if one is None:
        return None
    view, txn = scene.choose([at for at in one.markers.values() if first_here(one, *at)])
    mutant = Mutant(
        codes("marker_pending"), places(one.view.place, one.listed),
        pids=pids(one.prepare.value.producer_id), ids=frozenset([one.name]), told=INFO,
        span=(-1, -1),
    )  # fmt: skip
    _lose_marker(view, txn)
    _forget(one, one.complete)
    return mutant


@operator
def completion_forgotten(scene: Scene) -> Mutant | None:
    """All markers are written, and the id stays in its Prepare state (KAFKA-16352).

    Where the log ends before every timeout has passed nothing is wrong yet.
    """

    def stays(one: Decision) -> bool:
        seen_ms = _told_until(one) - one.prepare.value.last_update_ms
        return seen_ms > LONGEST_TIMEOUT_MS + CLOCK_TOLERANCE_MS

    if (one := _last(scene, stays)) is None:
        return None
    assert one.complete is not None
    _forget(one, one.complete)
    return Mutant(
        codes("prepare_never_completed"), places(one.view.place), None,
        pids(one.prepare.value.producer_id), frozenset([one.name]),
        # The leader of a partition may be gone since its marker, with the answer to it.
        told=SUSPECT,
    )  # fmt: skip


@operator
def open_partition_never_listed(scene: Scene) -> Mutant | None:
    """A client writes to a partition that it never added to its running transaction."""
    found = []
    for log in scene.coordinators:
        for states in scene.states(log).values() if log.whole else ():
            if states[-1].value.status != ONGOING:
                continue
            ongoing = [states[-1]]
            while len(ongoing) < len(states) and states[-1 - len(ongoing)].value.status == ONGOING:
                ongoing.append(states[-1 - len(ongoing)])
            mine = states[-1].value
            found += [
                (log, ongoing, view)
                for view in scene.client
                if view.whole
                and any(view.place == (topic, n) for topic, ns in mine.partitions or () for n in ns)
                and any(
                    one.marker is None and one.producer_id == mine.producer_id
                    for one in transactions(view)
                )
                and all(without(one, view.place) for one in ongoing)
            ]
    if (at := scene.choose(found)) is None:
        return None
    log, ongoing, view = at
    producer_id = ongoing[0].value.producer_id
    (txn,) = (
        one for one in transactions(view) if one.marker is None and one.producer_id == producer_id
    )
    for one in ongoing:
        rewrite_state(log, one, partitions=without(one, view.place))
    log.store()
    span = (view.batches[txn.data[0]].base_offset, view.batches[txn.data[-1]].last_offset)
    told = goes_on(log, appended_by(view, txn.data[-1]))
    return Mutant(
        codes("data_in_unlisted_partition hanging_transaction late_write_after_marker"),
        places(view.place, [log.place]), span, pids(producer_id), frozenset([ongoing[0].name]),
        why="" if told else "the coordinator's log may end before the partition is added",
    )  # fmt: skip


@operator
def offsets_never_written(scene: Scene) -> Mutant | None:
    """A transaction commits its output, and nothing of what it had read: only observed."""
    found = scene.decided(
        lambda one, view, txn: view in scene.groups and one.commit and bool(txn.data) and one.second
    )
    if found is None:
        return None
    one, view, txn = found
    assert txn.marker is not None
    place = view.batches[txn.data[0]].base_offset
    for index in reversed(txn.data):
        view.drop(index, close=True)
    view.store()
    return Mutant(
        codes("committed_output_without_offsets"), places(view.place), (place, place),
        pids(txn.producer_id), frozenset([one.name]), told=INFO,
    )  # fmt: skip


@operator
def group_offsets_hang(scene: Scene) -> Mutant | None:
    """Offsets of a completed transaction have no marker behind them: the group cannot start."""
    found = scene.decided(
        lambda one, view, txn: (
            view in scene.groups and bool(txn.data) and one.complete is not None
            and not any(b.producer_id == txn.producer_id for b in view.batches[txn.marker + 1 :])
        )
    )  # fmt: skip
    if found is None:
        return None
    one, view, txn = found
    assert view.place[0] == OFFSETS
    span = (view.batches[txn.data[0]].base_offset, view.batches[txn.data[-1]].last_offset)
    why = not_owed(scene, one, view, txn)
    _lose_marker(view, txn)
    return Mutant(
        codes("""pending_offsets_stuck missing_marker_in_listed_partition hanging_transaction
            open_data_of_completed_transaction"""),
        places(view.place, [*one.listed, one.view.place]), span, pids(txn.producer_id),
        frozenset([one.name]), why=why,
    )  # fmt: skip
