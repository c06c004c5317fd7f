"""Faults of the coordinator's log: records lost, changed, contradicting each other."""

from typing import Any

from laws.dump_files import OFFSETS
from laws.log_batches import LIMIT

from mutants.evidence import (
    SENT_AGAIN,
    goes_on,
    may_be_decided,
    may_go_on,
    not_owed,
    not_owed_without_data,
    raises,
)
from mutants.mutant import INFO, SUSPECT, VIOLATION, Mutant, codes, operator, pids, places
from mutants.scene import Decision, Scene, State, Txn, View
from schemas.coordinator_states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from tests.wire_writer import batches as writer
from tests.wire_writer import txn_log as txn_writer
from tests.wire_writer.fields import encode_tagged_fields
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.coordinator import txn_log

STEP = """txnlog_invalid_transition txnlog_complete_without_prepare txnlog_partitions_invalid
    txnlog_epoch_regression txnlog_epoch_invalid txnlog_epoch_jump prepare_never_completed"""
OTHER = {
    PREPARE_COMMIT: PREPARE_ABORT, PREPARE_ABORT: PREPARE_COMMIT,
    COMPLETE_COMMIT: COMPLETE_ABORT, COMPLETE_ABORT: COMPLETE_COMMIT,
}  # fmt: skip


def _record(view: View, index: int, name: str, value: bytes | None) -> bytes:
    batch = view.batches[index]
    return writer.batch(
        batch.base_offset, [writer.record(0, 0, txn_writer.encode_key(name), value)],
        base_timestamp=batch.base_timestamp, partition_leader_epoch=batch.leader_epoch,
    )  # fmt: skip


def rewrite_state(view: View, one: State, **changed: Any) -> None:
    """Puts a record with other fields in the place of a record of the coordinator."""
    value = txn_writer.encode_value(one.value._replace(**changed))
    view.put(one.index, _record(view, one.index, one.name, value))


def _decision(scene: Scene, wanted: Any = lambda one: True) -> Decision | None:
    found = [one for one in scene.decisions if one.complete is not None and wanted(one)]
    chosen: Decision | None = scene.choose(found)
    return chosen


def _of(one: Decision, what: str, at: State | None = None, **more: Any) -> Mutant:
    """A fault of one decision; offsets are those of its records and of the next."""
    first = (one.ongoing or [one.prepare])[0].index
    last = (one.following or one.complete or one.prepare).index
    batches = one.view.batches
    given = {"span": (batches[first].base_offset, batches[last].last_offset)} | more
    return Mutant(
        codes(what), places(one.view.place, one.listed),
        pids=pids(one.prepare.value.producer_id), ids=frozenset([one.name]), **given,
    )  # fmt: skip


def _any_state(scene: Scene, *statuses: int) -> tuple[View, list[State], int] | None:
    """A record of an id in one of these states: its log, all records of the id, which one."""
    found = [
        (view, states, at)
        for view in scene.coordinators
        if view.whole
        for states in scene.states(view).values()
        for at, one in enumerate(states)
        if one.value.status in statuses
    ]
    chosen: tuple[View, list[State], int] | None = scene.choose(found)
    return chosen


def _told(view: View, states: list[State], at: int, what: str, **more: Any) -> Mutant:
    """A fault of one record; the record behind it may be the one that does not fit."""
    first, last = (
        view.batches[states[at].index],
        view.batches[states[min(at + 1, len(states) - 1)].index],
    )
    given = {"span": (first.base_offset, last.last_offset)} | more
    return Mutant(
        codes(what), places(view.place), pids=pids(states[at].value.producer_id),
        ids=frozenset([states[at].name]), **given,
    )  # fmt: skip


@operator
def prepare_lost(scene: Scene) -> Mutant | None:
    if (one := _decision(scene)) is None:
        return None
    mutant = _of(one, STEP + " marker_without_prepare")
    one.view.drop(one.prepare.index, close=True)
    one.view.store()
    return mutant


@operator
def id_lost(scene: Scene) -> Mutant | None:
    """Every record of an id is lost, as if it had never been there."""
    at = _any_state(scene, COMPLETE_COMMIT)
    if at is None:
        return None
    view, states, _ = at
    listed = {place for one in states for place in _listed(one)}
    mutant = Mutant(
        codes(STEP + " marker_without_prepare hanging_transaction late_write_after_marker"),
        places(view.place, sorted(listed)), pids=frozenset(one.value.producer_id for one in states),
        ids=frozenset([states[0].name]), wide=True,
        why="an id that expired has no records, nor has one of another cluster",
    )  # fmt: skip
    view.drop_all(one.index for one in states)
    view.store()
    return mutant


@operator
def complete_lost(scene: Scene) -> Mutant | None:
    # Where it is the last of its id: see completion_forgotten.
    if (one := _decision(scene, lambda one: one.following is not None)) is None:
        return None
    assert one.complete is not None
    mutant = _of(one, STEP)
    one.view.drop(one.complete.index, close=True)
    one.view.store()
    return mutant


@operator
def ongoing_lost(scene: Scene) -> Mutant | None:
    one = _decision(scene, lambda one: len(one.ongoing) == 1)
    if one is None:
        return None
    mutant = _of(one, STEP)
    one.view.drop(one.ongoing[0].index, close=True)
    one.view.store()
    return mutant


@operator
def last_ongoing_lost(scene: Scene) -> Mutant | None:
    """The last partition is in the decision, and was never added."""
    one = _decision(scene, lambda one: len(one.ongoing) > 1)
    if one is None:
        return None
    mutant = _of(one, STEP)
    one.view.drop(one.ongoing[-1].index, close=True)
    one.view.store()
    return mutant


@operator
def complete_contradicts(scene: Scene) -> Mutant | None:
    if (one := _decision(scene)) is None:
        return None
    assert one.complete is not None
    mutant = _of(one, STEP)
    rewrite_state(one.view, one.complete, status=OTHER[one.complete.value.status])
    one.view.store()
    return mutant


@operator
def decision_flipped(scene: Scene) -> Mutant | None:
    """Prepare and Complete tell the other outcome; all markers are as they were."""
    one = _decision(scene, lambda one: any(txn.data for _, txn in one.markers.values()))
    if one is None:
        return None
    assert one.complete is not None
    what = """marker_outcome_mismatch marker_without_prepare missing_marker_in_listed_partition
        torn_transaction offset_commit_outcome_mismatch marker_in_unlisted_partition"""
    mutant = _of(one, what, span=None)
    _weigh(scene, one, [at for at in one.markers.values() if at[1].data], mutant)
    for state in (one.prepare, one.complete):
        rewrite_state(one.view, state, status=OTHER[state.value.status])
    one.view.store()
    return mutant


def _listed(one: State) -> list[tuple[str, int]]:
    return [(topic, n) for topic, numbers in one.value.partitions or () for n in numbers]


def _weigh(scene: Scene, one: Decision, at: list[tuple[View, Txn]], mutant: Mutant) -> None:
    """How surely markers contradict a decision of the other outcome: in one place it must show.

    A marker that raises the epoch of its data does. A COMMIT may be another one of the epoch, and
    leaves a doubt; an ABORT may be an operator's, and shows only if a COMMIT is lacking.
    """
    if one.second or any(raises(one, *where) for where in at):
        mutant.why = may_go_on(one, at)
        return
    told = not_owed if not one.commit else may_be_decided
    reasons = [told(scene, one, *where) for where in at]
    if "" in reasons:
        return
    mutant.why = reasons[0]
    if SENT_AGAIN in reasons:
        mutant.why, mutant.told = "", SUSPECT
        mutant.codes |= codes("marker_stale")


def _unlisted(scene: Scene, one: Decision, place: tuple[str, int]) -> str:
    """Why a marker proves nothing in a partition that its decision does not list."""
    if place not in one.markers:
        return "no marker of it is there"
    view, txn = one.markers[place]
    assert txn.marker is not None
    if not goes_on(one.view, view.batches[txn.marker].max_timestamp):
        return "the coordinator's log may end before its decision"
    if raises(one, view, txn) or (one.second and one.commit):
        return ""
    if not one.commit:
        return "an ABORT that raises no epoch of data may be an operator's"
    return may_be_decided(scene, one, view, txn)


def without(one: State, place: tuple[str, int]) -> txn_log.TopicPartitions:
    """The partitions of a record but one."""
    left: dict[str, tuple[int, ...]] = {}
    for topic, numbers in one.value.partitions or ():
        kept = tuple(number for number in numbers if (topic, number) != place)
        if kept:
            left[topic] = kept
    return tuple(left.items())


@operator
def partition_cut_from_decision(scene: Scene) -> Mutant | None:
    one = _decision(scene, lambda one: len(one.listed) > 1)
    if one is None:
        return None
    place = scene.choose(one.listed)
    # Where transactions share the epoch, another decision of it may list the partition.
    mutant = _of(one, STEP + " marker_in_unlisted_partition marker_without_prepare")
    left = {at for at in one.listed if at != place}
    if any(set(_listed(earlier)) == left for earlier in one.ongoing):
        # As if the append of the last Ongoing record had failed late: only its marker is left.
        mutant.why = _unlisted(scene, one, place)
    rewrite_state(one.view, one.prepare, partitions=without(one.prepare, place))
    one.view.store()
    return mutant


@operator
def partition_never_listed(scene: Scene) -> Mutant | None:
    """The transaction has data and a marker in a partition that no record lists."""
    one = _decision(
        scene,
        lambda one: len(one.listed) > 1 and len(one.markers) == len(one.listed) and one.second,
    )
    if one is None:
        return None
    place = scene.choose([place for place in one.listed if place[0] != OFFSETS])
    if place is None:
        return None
    if one.ongoing and not without(one.ongoing[0], place):
        return None
    mutant = _of(one, "marker_in_unlisted_partition", span=None)
    mutant.why = _unlisted(scene, one, place)
    for state in [*one.ongoing, one.prepare]:
        rewrite_state(one.view, state, partitions=without(state, place))
    one.view.store()
    return mutant


def _without_offsets(scene: Scene, wanted: Any, what: str) -> Mutant | None:
    """A decision with committed offsets in a partition that none of its records lists."""
    one = _decision(
        scene,
        lambda one: (
            any(place[0] == OFFSETS and txn.data for place, (_, txn) in one.markers.items())
            and len(one.listed) > 1
            and wanted(one)
        ),
    )
    if one is None:
        return None
    place = next(place for place in one.listed if place[0] == OFFSETS)
    mutant = _of(one, what, span=None)
    mutant.why = _unlisted(scene, one, place)
    if any(not without(state, place) for state in [*one.ongoing, one.prepare]):
        return None
    for state in [*one.ongoing, one.prepare]:
        rewrite_state(one.view, state, partitions=without(state, place))
    one.view.store()
    return mutant


@operator
def offsets_never_listed(scene: Scene) -> Mutant | None:
    """Offsets are written in a transaction that does not list their partition."""
    mutant = _without_offsets(
        scene, lambda one: True,
        """marker_in_unlisted_partition offset_commit_unlisted torn_transaction
        marker_without_prepare""",
    )  # fmt: skip
    if mutant is not None and mutant.why == SENT_AGAIN:
        mutant.why, mutant.told = "", SUSPECT
        mutant.codes |= codes("marker_stale")
    return mutant


@operator
def committed_offsets_never_listed(scene: Scene) -> Mutant | None:
    """The same, and a COMMIT of an epoch of its own makes them what the group reads."""
    return _without_offsets(scene, lambda one: one.second and one.commit, "offset_commit_unlisted")


@operator
def partition_listed_too_many(scene: Scene) -> Mutant | None:
    """All records list a partition in which no marker was written.

    Where nothing there is older it may have been made since: what the coordinator does not know
    counts as deleted.
    """
    one = _decision(scene, lambda one: one.second and bool(one.ongoing))
    if one is None:
        return None
    others = [v.place for v in scene.client if v.whole and v.place not in one.listed]
    place = scene.choose(others)
    if place is None:
        return None
    mutant = _of(one, "missing_marker_in_listed_partition torn_transaction", span=None)
    mutant.places = (*mutant.places, place)
    mutant.why = not_owed_without_data(scene, one, scene.views[place])
    for state in [*one.ongoing, one.prepare]:
        listed = dict(state.value.partitions or ())
        listed[place[0]] = (*listed.get(place[0], ()), place[1])
        rewrite_state(one.view, state, partitions=tuple(listed.items()))
    one.view.store()
    return mutant


@operator
def producer_id_of_a_record_changed(scene: Scene) -> Mutant | None:
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
    if at is None:
        return None
    view, states, number = at
    other = states[number].value.producer_id + 5_555
    mutant = _told(
        view, states, number, "txnlog_pid_changed txnlog_pid_shared txnlog_pid_regression"
    )
    mutant.pids |= {other}
    mutant.places = (*mutant.places, *scene.views)
    rewrite_state(view, states[number], producer_id=other)
    view.store()
    return mutant


@operator
def producer_id_shared(scene: Scene) -> Mutant | None:
    """Two transactional ids have one producer id: an id that only began takes another's."""
    at = _any_state(scene, EMPTY)
    if at is None:
        return None
    view, states, _ = at
    other = scene.choose([
        one for log in scene.coordinators if log.whole
        for name, of in scene.states(log).items() if name != states[0].name for one in of
    ])  # fmt: skip
    if other is None:
        return None
    mutant = _told(
        view, states, 0, "txnlog_pid_shared txnlog_pid_changed txnlog_pid_regression", span=None
    )
    mutant.pids |= {other.value.producer_id}
    mutant.ids |= {other.name}
    mutant.places = (*mutant.places, *scene.views)
    for one in states:
        rewrite_state(view, one, producer_id=other.value.producer_id)
    view.store()
    return mutant


@operator
def record_epoch_lower(scene: Scene) -> Mutant | None:
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
    if at is None or at[1][at[2]].value.producer_epoch == 0:
        return None
    view, states, number = at
    # A decision of another epoch is none of the markers that are there.
    what = f"{STEP} txnlog_first_epoch_nonzero marker_without_prepare"
    # The append of an Empty record may have failed late, so that the older epoch goes on.
    repeated = number > 0 and states[number - 1].value.status == EMPTY
    mutant = _told(view, states, number, what, told=SUSPECT if repeated else VIOLATION)
    mutant.places = (*mutant.places, *scene.views)
    rewrite_state(view, states[number], producer_epoch=states[number].value.producer_epoch - 1)
    view.store()
    return mutant


@operator
def record_epoch_higher(scene: Scene) -> Mutant | None:
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
    if at is None:
        return None
    view, states, number = at
    mutant = _told(view, states, number, STEP, told=SUSPECT)
    mutant.places = (*mutant.places, *scene.views)
    higher = states[number].value.producer_epoch + scene.rng.randint(3, 9)
    rewrite_state(view, states[number], producer_epoch=higher)
    view.store()
    return mutant


@operator
def record_epoch_negative(scene: Scene) -> Mutant | None:
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
    if at is None:
        return None
    view, states, number = at
    mutant = _told(view, states, number, STEP)
    mutant.places = (*mutant.places, *scene.views)
    rewrite_state(view, states[number], producer_epoch=-2)
    view.store()
    return mutant


@operator
def timeout_changed(scene: Scene) -> Mutant | None:
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
    if at is None:
        return None
    view, states, number = at
    mutant = _told(view, states, number, "txnlog_timeout_changed")
    rewrite_state(view, states[number], timeout_ms=states[number].value.timeout_ms - 1)
    view.store()
    return mutant


@operator
def timeout_invalid(scene: Scene) -> Mutant | None:
    at = _any_state(scene, EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT, COMPLETE_ABORT)
    if at is None:
        return None
    view, states, number = at
    mutant = _told(view, states, number, "txnlog_timeout_invalid txnlog_timeout_changed")
    rewrite_state(view, states[number], timeout_ms=scene.rng.choice((0, -1, -60_000)))
    view.store()
    return mutant


@operator
def start_timestamp_lost(scene: Scene) -> Mutant | None:
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
    if at is None:
        return None
    view, states, number = at
    mutant = _told(view, states, number, "txnlog_start_timestamp_invalid")
    rewrite_state(view, states[number], start_ms=-1)
    view.store()
    return mutant


@operator
def update_timestamp_back(scene: Scene) -> Mutant | None:
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, PREPARE_ABORT)
    if at is None or at[2] == 0:
        return None
    view, states, number = at
    mutant = _told(
        view, states, number, "txnlog_update_timestamp_regression txnlog_start_timestamp_invalid",
        told=SUSPECT,
    )  # fmt: skip
    rewrite_state(
        view, states[number], last_update_ms=states[number].value.last_update_ms - 3_600_000
    )
    view.store()
    return mutant


@operator
def state_of_memory(scene: Scene) -> Mutant | None:
    at = _any_state(scene, EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT)
    if at is None:
        return None
    view, states, number = at
    mutant = _told(view, states, number, "txnlog_state_invalid", wide=True)
    status = scene.rng.choice((6, 7, 9))
    if status > 7:
        mutant.why = "a newer broker may know more states"
    rewrite_state(view, states[number], status=status)
    view.store()
    return mutant


@operator
def record_undecodable(scene: Scene) -> Mutant | None:
    at = _any_state(scene, EMPTY, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT)
    if at is None:
        return None
    view, states, number = at
    one = states[number]
    mutant = _told(view, states, number, "txnlog_undecodable", wide=True)
    value = txn_writer.encode_value(one.value)
    cut = value[: scene.rng.randrange(1, len(value))]
    view.put(one.index, _record(view, one.index, one.name, cut))
    view.store()
    return mutant


@operator
def id_in_wrong_partition(scene: Scene) -> Mutant | None:
    """All records of an id have another name, which its hash puts elsewhere."""
    at = _any_state(scene, EMPTY)
    whole = {view.place[1] for view in scene.coordinators}
    if at is None:
        return None
    view, states, _ = at
    name = states[0].name + "*"
    total = scene.partitions["__transaction_state"]
    while txn_writer.partition_for(name, total) in whole:
        if total <= len(whole):
            return None
        name += "*"
    mutant = _told(view, states, 0, "txnlog_wrong_partition", span=None)
    mutant.ids |= {name}
    mutant.places = (*mutant.places, *scene.views)
    for one in states:
        view.put(one.index, _record(view, one.index, name, txn_writer.encode_value(one.value)))
    view.store()
    return mutant


@operator
def tombstone_too_early(scene: Scene) -> Mutant | None:
    """An id expires in the middle of a transaction."""
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, PREPARE_ABORT)
    if at is None:
        return None
    view, states, number = at
    one = states[number]
    if one.index + 1 >= len(view.batches):
        return None
    mutant = _told(view, states, number, "txnlog_tombstone_invalid " + STEP)
    begins = one.value.status == ONGOING and one.value.start_ms == one.value.last_update_ms
    if begins and one is states[-1]:
        mutant.why = "the append that begins a transaction may have failed late"
    view.insert(one.index + 1, _record(view, one.index, one.name, None))
    view.store()
    return mutant


@operator
def records_joined(scene: Scene) -> Mutant | None:
    """Two records of the coordinator in one batch."""
    at = _any_state(scene, COMPLETE_COMMIT, COMPLETE_ABORT)
    if at is None:
        return None
    view, states, number = at
    one = states[number]
    if one.index + 1 >= len(view.batches):
        return None
    batch, after = view.batches[one.index], view.batches[one.index + 1]
    other = next(iter_batch(after.content, LIMIT))
    mutant = _told(view, states, number, "txnlog_batch_shape", told=SUSPECT)
    key, value = txn_writer.encode_key(one.name), txn_writer.encode_value(one.value)
    joined = writer.batch(
        batch.base_offset,
        [
            writer.record(0, 0, key, value),
            writer.record(1, 0, other.key, other.value),
        ],
        base_timestamp=batch.base_timestamp, partition_leader_epoch=batch.leader_epoch,
    )  # fmt: skip
    if (
        view.at(one.index)[0] != view.at(one.index + 1)[0]
        or batch.leader_epoch != after.leader_epoch
    ):
        return None
    view.drop(one.index + 1, close=True)
    number_of, inside = view.at(one.index)
    view._shift(number_of, inside + 1, 1)
    view.put(one.index, joined)
    view.store()
    return mutant


@operator
def first_epoch_not_zero(scene: Scene) -> Mutant | None:
    """The first record of an id has a later epoch than 0."""
    at = _any_state(scene, EMPTY)
    if at is None or at[2] != 0:
        return None
    view, states, _ = at
    mutant = _told(view, states, 0, "txnlog_first_epoch_nonzero " + STEP, told=SUSPECT)
    rewrite_state(view, states[0], producer_epoch=4)
    view.store()
    return mutant


@operator
def record_repeated(scene: Scene) -> Mutant | None:
    at = _any_state(scene, COMPLETE_COMMIT, COMPLETE_ABORT, PREPARE_COMMIT)
    if at is None:
        return None
    view, states, number = at
    one = states[number]
    if one.index + 1 >= len(view.batches):
        return None
    mutant = _told(view, states, number, STEP)
    mutant.why = "an append that fails late leaves its record, and is repeated"
    view.insert(one.index + 1, view.batches[one.index].content)
    view.store()
    return mutant


@operator
def coordinator_record_lost_with_gap(scene: Scene) -> Mutant | None:
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT)
    if at is None:
        return None
    view, states, number = at
    if not 0 < states[number].index < len(view.batches) - 1:
        return None
    offset = view.batches[states[number].index].base_offset
    mutant = _told(
        view, states, number, "offset_gap segment_missing", told=SUSPECT, wide=True,
        span=(offset - 1, offset + 1),
        why="the topic is compacted, and a cleaner leaves such gaps",
    )  # fmt: skip
    view.drop(states[number].index, close=False)
    view.store()
    return mutant


@operator
def coordinator_batch_damaged(scene: Scene) -> Mutant | None:
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT)
    if at is None:
        return None
    view, states, number = at
    index = states[number].index
    content = bytearray(view.batches[index].content)
    content[17] ^= 0xFF
    mutant = _told(view, states, number, "batch_crc_mismatch", wide=True, sole=True)
    view.put(index, bytes(content))
    view.store()
    return mutant


@operator
def tag_unknown(scene: Scene) -> Mutant | None:
    """A newer broker wrote a field that this program does not know: only observed."""
    at = _any_state(scene, ONGOING, PREPARE_COMMIT, COMPLETE_COMMIT)
    if at is None or at[1][at[2]].value.version < 1:
        return None
    view, states, number = at
    one = states[number]
    bare = one.value._replace(client_transaction_version=0)
    if one.value.client_transaction_version:
        return None
    value = txn_writer.encode_value(bare)[:-1] + encode_tagged_fields([(9, b"new")])
    mutant = _told(view, states, number, "txnlog_unknown_tag", told=INFO)
    view.put(one.index, _record(view, one.index, one.name, value))
    view.store()
    return mutant
