"""Faults of what groups commit: records in a wrong partition, cut, or lower than before."""

from collections import defaultdict
from typing import NamedTuple

from laws.dump_files import OFFSETS
from laws.log_batches import LIMIT

from mutants.mutant import SUSPECT, VIOLATION, Mutant, codes, operator, pids, places
from mutants.scene import Scene, View, transactions
from tests.wire_writer import batches as writer
from tests.wire_writer import offsets_log as group_writer
from tests.wire_writer import txn_log as txn_writer
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.offsets import offsets_log


def _group_record(scene: Scene) -> tuple[View, int, offsets_log.GroupKey, bytes | None] | None:
    at = scene.data(scene.groups, lambda v, i, b: b.count == 1 and not b.attributes & 7)
    if at is None:
        return None
    view, index, batch = at
    record = next(iter_batch(batch.content, LIMIT))
    if record.key is None:
        return None
    return view, index, offsets_log.decode_key(record.key), record.value


def _rewritten(view: View, index: int, key: bytes, value: bytes | None) -> bytes:
    batch = view.batches[index]
    return writer.batch(
        batch.base_offset, [writer.record(0, 0, key, value)], base_timestamp=batch.base_timestamp,
        producer_id=batch.producer_id, producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence, transactional=batch.transactional,
        partition_leader_epoch=batch.leader_epoch,
    )  # fmt: skip


def _with_record(
    view: View, index: int, code: str, key: bytes, value: bytes | None, told: str = VIOLATION
) -> Mutant:
    """The batch gets another record, which that check names at its offsets."""
    batch = view.batches[index]
    view.put(index, _rewritten(view, index, key, value))
    view.store()
    span = (batch.base_offset, batch.last_offset)
    return Mutant(codes(code), places(view.place), span, pids(batch.producer_id), told=told)


@operator
def group_in_wrong_partition(scene: Scene) -> Mutant | None:
    if (at := _group_record(scene)) is None:
        return None
    view, index, key, value = at
    name = f"{key.group}*"
    total = scene.partitions[OFFSETS]
    if total < 2:
        return None
    while txn_writer.partition_for(name, total) == view.place[1]:
        name += "*"
    elsewhere = group_writer.encode_key(key._replace(group=name))
    return _with_record(view, index, "group_wrong_partition", elsewhere, value)


@operator
def offset_commit_undecodable(scene: Scene) -> Mutant | None:
    if (at := _group_record(scene)) is None or at[3] is None:
        return None
    view, index, key, value = at
    assert value is not None
    cut = value[: scene.rng.randrange(1, len(value))]
    return _with_record(view, index, "offsets_undecodable", group_writer.encode_key(key), cut)


@operator
def offset_committed_lower(scene: Scene) -> Mutant | None:
    """A transaction commits an offset before those that were committed already."""
    found = scene.decided(
        lambda one, view, txn: (
            one.commit
            and view in scene.groups
            and bool(txn.data)
            and any(batch.control and batch.commit for batch in view.batches[: txn.data[0]])
        )
    )
    if found is None:
        return None
    _, view, txn = found
    index = txn.data[-1]
    batch = view.batches[index]
    record = next(iter_batch(batch.content, LIMIT))
    if record.key is None or record.value is None:
        return None
    value = offsets_log.decode_offset_commit(record.value)._replace(offset=0)
    view.put(index, _rewritten(view, index, record.key, group_writer.encode_offset_commit(value)))
    view.store()
    return Mutant(
        codes("offset_commit_regression"), places(view.place), None, pids(txn.producer_id),
        told=SUSPECT,
        why="an application may go back, or this is the first commit of its group",
    )  # fmt: skip


class Committed(NamedTuple):
    """One commit of a partition of a group: the batch that has it, and when it took effect."""

    effective: int
    index: int
    producer_id: int
    key: bytes
    value: offsets_log.OffsetCommit


def _commits(view: View) -> dict[bytes, list[Committed]]:
    """What groups committed, by key, in the order in which it took effect."""
    marker_of = {
        index: view.batches[txn.marker] if txn.marker is not None else None
        for txn in transactions(view)
        for index in txn.data
    }
    found: dict[bytes, list[Committed]] = defaultdict(list)
    for index, batch in enumerate(view.batches):
        marker = marker_of.get(index, batch)
        if batch.control or batch.count != 1 or batch.attributes & 7 or marker is None:
            continue
        record = next(iter_batch(batch.content, LIMIT))
        if marker.commit is False or record.key is None or record.value is None:
            continue
        if offsets_log.decode_key(record.key).type in offsets_log.OFFSET_COMMIT_TYPES:
            value = offsets_log.decode_offset_commit(record.value)
            one = Committed(marker.base_offset, index, batch.producer_id, record.key, value)
            found[record.key].append(one)
    return {key: sorted(some) for key, some in found.items()}


@operator
def offset_committed_lower_once(scene: Scene) -> Mutant | None:
    """A commit is lower than the one before; the next of the same producer is above both."""
    found = [
        (view, before, one)
        for view in scene.groups
        if view.whole
        for some in _commits(view).values()
        for before, one, after in zip(some, some[1:], some[2:], strict=False)
        if before.producer_id == one.producer_id == after.producer_id >= 0
        and 0 < before.value.offset < after.value.offset
    ]
    at = scene.choose(found)
    if at is None:
        return None
    view, before, one = at
    lower = one.value._replace(offset=scene.rng.randrange(before.value.offset))
    value = group_writer.encode_offset_commit(lower)
    return _with_record(view, one.index, "offset_commit_regression", one.key, value, told=SUSPECT)
