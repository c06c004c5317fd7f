"""Faults of markers: lost, wrong, too early, too late, where none belongs."""

from collections.abc import Callable
from itertools import pairwise

from laws.dump_files import OFFSETS

from mutants.evidence import (
    SENT_AGAIN,
    decided_elsewhere,
    goes_on,
    may_be_decided,
    may_go_on,
    not_owed,
    of_epoch,
    raises,
)
from mutants.mutant import INFO, SUSPECT, VIOLATION, Mutant, codes, operator, pids, places
from mutants.scene import (
    CLOCK_TOLERANCE_MS,
    Decision,
    Scene,
    Txn,
    View,
    coordinator_epoch,
    led_by,
    marker_with,
    transactions,
)

LOST = """missing_marker_in_listed_partition open_data_of_completed_transaction
    epoch_bump_inside_open_txn hanging_transaction marker_epoch_invalid torn_transaction
    marker_outcome_mismatch epoch_committed_and_aborted"""
CONTRADICTS = """marker_outcome_mismatch torn_transaction epoch_committed_and_aborted
    marker_without_prepare offset_commit_outcome_mismatch missing_marker_in_listed_partition"""
Wanted = Callable[[Decision, View, Txn], bool]


def _mutant(found: tuple[Decision, View, Txn], what: str, **more: object) -> Mutant:
    """A fault of one marker; the same transaction may show it in its other partitions."""
    one, view, txn = found
    first = view.batches[txn.data[0]].base_offset if txn.data else None
    at = view.batches[min(txn.marker or 0, len(view.batches) - 1)]
    span = (at.base_offset if first is None else first, at.last_offset)
    given = {"span": span} | more
    return Mutant(
        codes(what), places(view.place, [*one.listed, one.view.place]),
        pids=pids(txn.producer_id), ids=frozenset([one.name]), **given,
    )  # type: ignore[arg-type] # fmt: skip


def _marker(
    scene: Scene, wanted: Wanted = lambda one, view, txn: True
) -> tuple[Decision, View, Txn] | None:
    return scene.decided(
        lambda one, view, txn: (
            one.complete is not None
            and (view in scene.client or view in scene.groups)
            and wanted(one, view, txn)
        )
    )


def _followed(one: Decision, view: View, txn: Txn) -> bool:
    return (txn.marker or 0) + 1 < len(view.batches)


def _contradiction(
    scene: Scene, found: tuple[Decision, View, Txn], what: str = CONTRADICTS, **more: object
) -> Mutant:
    """A marker of the other outcome, asked before it is one.

    One that raises the epoch of its data is of the one decision that does. A COMMIT of older
    versions may be another one of the epoch: of that all there can be is a doubt, by clocks and
    counts. An ABORT of the epoch of its data may be an operator's, and shows only in that a COMMIT
    is lacking.
    """
    one, view, txn = found
    why, told = "", VIOLATION
    if not (one.second or raises(one, view, txn)):
        if one.commit:
            why = not_owed(scene, one, view, txn)
        elif (why := may_be_decided(scene, one, view, txn)) == SENT_AGAIN:
            why, told, what = "", SUSPECT, f"{what} marker_stale"
    if decided_elsewhere(scene, one, view.place, not one.commit):
        # Of its epoch and outcome there is a decision, and it is about other partitions.
        what = f"{what} marker_in_unlisted_partition"
    given = {"told": told, "why": why} | more
    return _mutant(found, what, **given)


@operator
def marker_lost_with_gap(scene: Scene) -> Mutant | None:
    found = _marker(scene, lambda one, view, txn: _followed(one, view, txn) and bool(txn.data))
    if found is None:
        return None
    _, view, txn = found
    mutant = _mutant(found, f"offset_gap segment_missing {LOST}", told=SUSPECT, wide=True)
    assert txn.marker is not None
    view.drop(txn.marker, close=False)
    view.store()
    return mutant


@operator
def marker_lost(scene: Scene) -> Mutant | None:
    """The coordinator completed, and the marker was never written (KAFKA-20734)."""
    found = _marker(scene, lambda one, view, txn: bool(txn.data))
    if found is None:
        return None
    one, view, txn = found
    mutant = _mutant(found, LOST, why=not_owed(scene, one, view, txn))
    assert txn.marker is not None
    view.drop(txn.marker, close=True)
    view.store()
    return mutant


@operator
def marker_lost_without_data(scene: Scene) -> Mutant | None:
    """A partition was listed, and nothing was written there: nor the marker."""
    found = _marker(scene, lambda one, view, txn: not txn.data)
    if found is None:
        return None
    one, view, txn = found
    mutant = _mutant(found, LOST, span=None, why=not_owed(scene, one, view, txn))
    assert txn.marker is not None
    view.drop(txn.marker, close=True)
    view.store()
    return mutant


@operator
def marker_flipped(scene: Scene) -> Mutant | None:
    found = _marker(scene, lambda one, view, txn: bool(txn.data))
    if found is None:
        return None
    one, view, txn = found
    mutant = _contradiction(scene, found)
    assert txn.marker is not None
    view.put(txn.marker, marker_with(view.batches[txn.marker], commit=not one.commit))
    view.store()
    return mutant


@operator
def marker_flipped_on_disk(scene: Scene) -> Mutant | None:
    """Only the marker: the index of aborted transactions still tells the truth."""
    found = _marker(scene, lambda one, view, txn: bool(txn.data))
    if found is None:
        return None
    one, view, txn = found
    mutant = _mutant(found, CONTRADICTS + " txnindex_extra_entry txnindex_missing_entry")
    assert txn.marker is not None
    view.put(txn.marker, marker_with(view.batches[txn.marker], commit=not one.commit))
    view.store(redo=False)
    return mutant


@operator
def outcomes_exchanged(scene: Scene) -> Mutant | None:
    """Two transactions of an epoch that clocks tell apart: each has the marker of the other.

    The markers of the partition are as many of each outcome as were decided. It shows at the one of
    the two whose own marker is surely owed.
    """

    def other_of(one: Decision, view: View) -> tuple[Decision, Txn] | None:
        return next(
            (
                (other, other.markers[view.place][1])
                for other in of_epoch(scene, one, view.place, commit=not one.commit)
                if view.place in other.markers and _told_apart(scene, (one, other), view)
            ),
            None,
        )

    found = _marker(
        scene,
        lambda one, view, txn: (
            not (one.second or raises(one, view, txn)) and other_of(one, view) is not None
        ),
    )
    if found is None:
        return None
    one, view, txn = found
    other, exchanged = other_of(one, view) or (one, txn)
    both = ((one, txn), (other, exchanged))
    owed = [not_owed(scene, each, view, its) for each, its in both]
    mutant = _mutant(found, CONTRADICTS, span=None, why="" if "" in owed else owed[0])
    for each, its in both:
        assert its.marker is not None
        changed = marker_with(view.batches[its.marker], commit=not each.commit)
        view.put(its.marker, changed)
    view.store()
    return mutant


def _told_apart(scene: Scene, both: tuple[Decision, Decision], view: View) -> bool:
    """Whether clocks tell two decisions, made with data, from all others of their epoch."""
    spans = [
        (each.prepare.value.last_update_ms - CLOCK_TOLERANCE_MS,
         (each.complete or each.prepare).value.last_update_ms + CLOCK_TOLERANCE_MS)
        for each in of_epoch(scene, both[0], view.place)
    ]  # fmt: skip
    in_order = sorted(spans)
    apart = all(one[1] < later[0] for one, later in pairwise(in_order))
    return apart and all(each.complete is not None for each in both)


@operator
def all_markers_flipped(scene: Scene) -> Mutant | None:
    found = _marker(
        scene, lambda one, view, txn: bool(txn.data) and len(one.markers) == len(one.listed)
    )
    if found is None:
        return None
    one, _, _ = found
    each = [
        _contradiction(scene, (one, *at), span=None)
        for at in one.markers.values()
        if at[1].data and at[0] in (*scene.client, *scene.groups)
    ]
    # In one of its partitions it must show.
    mutant = next((x for x in each if x.decidable and x.told == VIOLATION), None) or next(
        (x for x in each if x.decidable), each[0]
    )
    if mutant.decidable:
        mutant.why = may_go_on(one, list(one.markers.values()))
    for view, txn in one.markers.values():
        assert txn.marker is not None
        view.put(txn.marker, marker_with(view.batches[txn.marker], commit=not one.commit))
        view.store()
    return mutant


@operator
def marker_written_twice(scene: Scene) -> Mutant | None:
    found = _marker(scene, _followed)
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    mutant = _mutant(found, "duplicate_marker marker_without_transaction", told=INFO, span=None)
    view.insert(txn.marker + 1, view.batches[txn.marker].content)
    view.store()
    return mutant


@operator
def marker_contradicted(scene: Scene) -> Mutant | None:
    """A second marker of the other outcome follows directly.

    Of older versions, an ABORT may be an operator's, and a COMMIT one of its epoch that is sent
    again: it ends nothing.
    """
    found = _marker(scene, lambda one, view, txn: _followed(one, view, txn) and bool(txn.data))
    if found is None:
        return None
    one, view, txn = found
    assert txn.marker is not None
    why, told = "", VIOLATION
    if not one.second and one.commit:
        why = "an ABORT of the epoch of its data may be an operator's"
    elif not one.second and (why := may_be_decided(scene, one, view, txn)) == SENT_AGAIN:
        why, told = "", SUSPECT
    what = f"conflicting_markers {CONTRADICTS}"
    if decided_elsewhere(scene, one, view.place, not one.commit):
        what = f"{what} marker_in_unlisted_partition"
    mutant = _mutant(found, what, span=None, told=told, why=why)
    again = marker_with(view.batches[txn.marker], commit=not one.commit)
    view.insert(txn.marker + 1, again)
    view.store()
    return mutant


@operator
def marker_too_late(scene: Scene) -> Mutant | None:
    """Under version 2: behind the first data of the producer's next transaction."""

    def after(view: View, txn: Txn) -> int | None:
        for index in range((txn.marker or 0) + 1, len(view.batches) - 1):
            if view.batches[index].producer_id == txn.producer_id:
                return None if view.batches[index].control else index
        return None

    found = _marker(
        scene,
        lambda one, view, txn: one.second and bool(txn.data) and after(view, txn) is not None,
    )
    if found is None:
        return None
    _, view, txn = found
    mutant = _mutant(found, "epoch_bump_inside_open_txn late_write_after_marker " + LOST, span=None)
    behind = after(view, txn)
    assert txn.marker is not None and behind is not None
    content = view.batches[txn.marker].content
    view.drop(txn.marker, close=True)
    view.insert(behind, content)
    view.store()
    return mutant


@operator
def marker_too_early(scene: Scene) -> Mutant | None:
    """Between the data of its transaction, though the epoch that it raises forbids the rest."""
    found = _marker(
        scene,
        lambda one, view, txn: (
            len(txn.data) > 1
            and view.batches[txn.data[-1]].producer_epoch < one.prepare.value.producer_epoch
        ),
    )
    if found is None:
        return None
    _, view, txn = found
    mutant = _mutant(found, "zombie_write_after_fence producer_epoch_regression", span=None)
    assert txn.marker is not None
    content = view.batches[txn.marker].content
    if txn.marker + 1 >= len(view.batches):
        return None
    view.drop(txn.marker, close=True)
    view.insert(txn.data[-1], content)
    view.store()
    return mutant


@operator
def marker_epoch_too_high(scene: Scene) -> Mutant | None:
    found = _marker(scene, lambda one, view, txn: bool(txn.data))
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    batch = view.batches[txn.marker]
    mutant = _mutant(found, f"marker_epoch_invalid marker_without_prepare {LOST}")
    view.put(txn.marker, marker_with(batch, producer_epoch=batch.producer_epoch + 5))
    view.store()
    return mutant


@operator
def marker_epoch_lower(scene: Scene) -> Mutant | None:
    found = _marker(
        scene,
        lambda one, view, txn: bool(txn.data) and view.batches[txn.data[-1]].producer_epoch > 0,
    )
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    lower = view.batches[txn.data[-1]].producer_epoch - 1
    mutant = _mutant(found, f"marker_epoch_regression {LOST}")
    view.put(txn.marker, marker_with(view.batches[txn.marker], producer_epoch=lower))
    view.store()
    return mutant


@operator
def marker_epoch_not_raised(scene: Scene) -> Mutant | None:
    """Version 2 decided, the marker has the epoch of the data: an ABORT may be an operator's."""
    found = _marker(
        scene,
        lambda one, view, txn: (
            one.second
            and bool(txn.data)
            and view.batches[txn.data[-1]].producer_epoch < one.prepare.value.producer_epoch
        ),
    )
    if found is None:
        return None
    one, view, txn = found
    assert txn.marker is not None
    epoch = view.batches[txn.data[-1]].producer_epoch
    what = f"marker_protocol_mixed marker_without_prepare marker_stale {LOST}"
    mutant = _mutant(found, what, why="" if one.commit else not_owed(scene, one, view, txn))
    view.put(txn.marker, marker_with(view.batches[txn.marker], producer_epoch=epoch))
    view.store()
    return mutant


@operator
def marker_of_another_producer(scene: Scene) -> Mutant | None:
    """The marker names a producer that no id has: what is left to see is that its own is missing.

    The producer may have been of an id whose records are compacted away.
    """
    found = _marker(scene, lambda one, view, txn: bool(txn.data))
    if found is None:
        return None
    one, view, txn = found
    assert txn.marker is not None
    why = not_owed(scene, one, view, txn)
    mutant = _mutant(found, f"marker_without_prepare {LOST}", why=why)
    other = txn.producer_id + 8_888
    mutant.pids |= {other}
    view.put(txn.marker, marker_with(view.batches[txn.marker], producer_id=other))
    view.store()
    return mutant


@operator
def coordinator_epoch_lower(scene: Scene) -> Mutant | None:
    found = _marker(
        scene,
        # A marker may also be of the coordinator that decided, before it was deposed.
        lambda one, view, txn: (
            0
            < coordinator_epoch(view.batches[txn.marker or 0])
            == one.view.batches[one.prepare.index].leader_epoch
        ),
    )
    if found is None:
        return None
    one, view, txn = found
    assert txn.marker is not None
    batch = view.batches[txn.marker]
    before = max(
        (
            coordinator_epoch(other)
            for other in view.batches[: txn.marker]
            if other.control and other.producer_id == txn.producer_id
        ),
        default=-1,
    )
    lower = coordinator_epoch(batch) - 1
    # An operator's abort has the epoch that its command was given.
    certain = one.commit or raises(one, view, txn)
    told = VIOLATION if certain and before > lower else SUSPECT
    why = ""
    if before <= lower and not one.second and len(of_epoch(scene, one, view.place)) > 1:
        why = "it may be the delayed marker of an earlier decision of the epoch"
    mutant = _mutant(
        found, "coordinator_epoch_regression marker_coordinator_epoch_mismatch", told=told, why=why
    )
    view.put(txn.marker, marker_with(batch, coordinator_epoch=lower))
    view.store()
    return mutant


@operator
def coordinator_epoch_higher(scene: Scene) -> Mutant | None:
    found = _marker(scene)
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    batch = view.batches[txn.marker]
    mutant = _mutant(
        found, "coordinator_epoch_regression marker_coordinator_epoch_mismatch", told=SUSPECT
    )
    higher = coordinator_epoch(batch) + 50
    view.put(txn.marker, marker_with(batch, coordinator_epoch=higher))
    view.store()
    return mutant


@operator
def marker_before_its_decision(scene: Scene) -> Mutant | None:
    """The marker is stamped an hour before the coordinator decided."""
    found = _marker(scene, lambda one, view, txn: one.second)
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    batch = view.batches[txn.marker]
    mutant = _mutant(found, f"marker_before_prepare {LOST}", told=SUSPECT)
    view.put(txn.marker, marker_with(batch, timestamp=batch.max_timestamp - 3_600_000))
    view.store()
    return mutant


@operator
def marker_where_none_belongs(scene: Scene) -> Mutant | None:
    """The marker is written to a partition that the transaction does not list, too."""
    found = _marker(scene, lambda one, view, txn: one.second and view in scene.client)
    if found is None:
        return None
    one, view, txn = found
    # Where the producer has newer epochs behind it, the marker would be late as well.
    others = [v for v in scene.client if v.whole and v.place not in one.listed and len(v.batches)]
    other = scene.choose(others)
    if other is None:
        return None
    assert txn.marker is not None
    content = view.batches[txn.marker].content
    stamp = view.batches[txn.marker].max_timestamp
    at = next((i for i, b in enumerate(other.batches) if b.control and b.max_timestamp > stamp), 0)
    if at == 0:
        return None
    other.insert(at, led_by(content, other.batches[at].leader_epoch))
    other.store()
    marker = other.batches[at]
    opened = [b for b in other.batches[:at] if b.producer_id == txn.producer_id][-1:]
    raising = any(not b.control and b.producer_epoch < marker.producer_epoch for b in opened)
    why = "" if goes_on(one.view, stamp) else "the coordinator's log may end before its decision"
    if not marker.commit and not raising:
        why = "an ABORT that raises no epoch of data may be an operator's"
    return Mutant(
        codes("marker_in_unlisted_partition marker_epoch_regression"), places(other.place),
        (marker.base_offset, marker.base_offset), pids(txn.producer_id), frozenset([one.name]),
        why=why,
    )  # fmt: skip


@operator
def commit_without_decision(scene: Scene) -> Mutant | None:
    """An open transaction that nobody decided has a COMMIT, right behind its data."""
    found = [
        (view, txn)
        for view in scene.client + scene.groups
        if view.whole
        for txn in transactions(view)
        if txn.marker is None
    ]
    at = scene.choose(found)
    if at is None:
        return None
    view, txn = at
    last = view.batches[txn.data[-1]]
    where = txn.data[-1] + 1
    if where >= len(view.batches):
        return None
    template = next((b for b in view.batches if b.control and b.commit), None)
    if template is None or not any(
        one.value.producer_id == txn.producer_id
        for log in scene.coordinators
        for states in scene.states(log).values()
        for one in states
    ):
        return None
    content = marker_with(
        template, producer_id=txn.producer_id, producer_epoch=last.producer_epoch,
        timestamp=last.max_timestamp, partition_leader_epoch=last.leader_epoch,
        coordinator_epoch=scene.newest_coordinator_epoch,
    )  # fmt: skip
    view.insert(where, content)
    view.store()
    offset = view.batches[where].base_offset
    told_until = min(log.batches[-1].max_timestamp for log in scene.coordinators)
    late = told_until - last.max_timestamp < 2 * CLOCK_TOLERANCE_MS
    return Mutant(
        # With the epoch of its data it is no marker of transaction.version 2 either: under that it
        # has the epoch of the decision before, of other partitions or of the other outcome.
        codes("""marker_without_prepare offset_commit_outcome_mismatch marker_protocol_mixed
            marker_in_unlisted_partition marker_outcome_mismatch"""),
        places(view.place),
        (view.batches[txn.data[0]].base_offset, offset), pids(txn.producer_id),
        why="the coordinator's log may end in front of its decision" if late else "",
    )  # fmt: skip


@operator
def aborted_offsets_committed(scene: Scene) -> Mutant | None:
    """Offsets of an aborted transaction count: COMMIT in __consumer_offsets, ABORT elsewhere."""
    found = _marker(
        scene,
        lambda one, view, txn: view.place[0] == OFFSETS and not one.commit and bool(txn.data),
    )
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    mutant = _contradiction(scene, found)
    view.put(txn.marker, marker_with(view.batches[txn.marker], commit=True))
    view.store()
    return mutant


@operator
def committed_offsets_dropped(scene: Scene) -> Mutant | None:
    """Output is committed, its offsets are aborted: the input is processed twice."""
    found = _marker(
        scene,
        lambda one, view, txn: view.place[0] == OFFSETS and one.commit and bool(txn.data),
    )
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    mutant = _contradiction(scene, found)
    view.put(txn.marker, marker_with(view.batches[txn.marker], commit=False))
    view.store()
    return mutant


@operator
def torn_by_an_operator(scene: Scene) -> Mutant | None:
    """An operator aborts in one partition what its producer then commits (KIP-664)."""
    found = _marker(
        scene,
        lambda one, view, txn: (
            one.second and one.commit and raises(one, view, txn) and view in scene.client
        ),
    )
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    marker, data = view.batches[txn.marker], view.batches[txn.data[-1]]
    mutant = _mutant(found, "torn_transaction")
    abort = marker_with(marker, commit=False, producer_epoch=data.producer_epoch)
    view.insert(txn.marker, abort)
    view.store()
    return mutant


@operator
def marker_of_an_earlier_commit(scene: Scene) -> Mutant | None:
    """A COMMIT that was delayed ends the next transaction of its epoch early (KIP-890).

    By clocks alone it is known: it must be older than the decision by more than they may differ.
    """
    found = []
    for one in scene.decisions:
        for view, txn in one.markers.values():
            if one.second or one.complete is None or not one.commit or len(txn.data) < 2:
                continue
            earlier = [
                index
                for index in range(txn.data[0])
                if view.batches[index].control
                and view.batches[index].producer_id == txn.producer_id
                and view.batches[index].producer_epoch == one.prepare.value.producer_epoch
                and view.batches[index].commit
            ]
            if earlier:
                found.append((one, view, txn, earlier[-1]))

    def early(at: tuple[Decision, View, Txn, int]) -> bool:
        data = at[1].batches[at[2].data[-1] - 1].max_timestamp
        return at[0].prepare.value.last_update_ms - data > CLOCK_TOLERANCE_MS

    if (at := scene.choose([one for one in found if early(one)] or found)) is None:
        return None
    one, view, txn, earlier = at
    where = txn.data[-1]
    before = view.batches[where - 1]
    delayed = view.batches[earlier]
    stamp = max(before.max_timestamp, delayed.max_timestamp)
    content = marker_with(delayed, timestamp=stamp, partition_leader_epoch=before.leader_epoch)
    view.insert(where, content)
    view.store()
    offset = view.batches[where].base_offset
    too_near = one.prepare.value.last_update_ms - stamp <= CLOCK_TOLERANCE_MS
    return Mutant(
        codes("marker_stale marker_without_prepare"), places(view.place, one.listed),
        (view.batches[txn.data[0]].base_offset, offset + 1), pids(txn.producer_id),
        frozenset([one.name]), told=SUSPECT,
        why="clocks do not tell it from the marker of the decision" if too_near else "",
    )  # fmt: skip
