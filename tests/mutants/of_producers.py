"""Faults of producers' data: lost, repeated, out of order, in a wrong epoch."""

from laws.log_batches import Batch

from jobs.verify.repeated import FEW
from mutants.evidence import (
    appended_by,
    goes_on,
    may_be_owned,
    may_be_running,
    newest_moment,
)
from mutants.mutant import INFO, SUSPECT, Mutant, codes, operator, pids, places
from mutants.scene import Scene, View, header, transactions
from udfs.wire.batches import batch_layout as layout

UNKNOWN = 7_777
# Above every block that was given out; each history has its own, as an id is judged once.
FAR_ABOVE = 1 << 50
LOST = "sequence_gap sequence_nonzero_at_new_epoch"
OPEN = "hanging_transaction lso_stuck late_write_after_marker data_in_unlisted_partition"


def _same(view: View, index: int, step: int) -> Batch | None:
    """The next batch of data (or the one before) of the producer of a batch, in its epoch."""
    all_of = view.batches
    batch = all_of[index]
    inside = range(index + 1, len(all_of)) if step > 0 else range(index - 1, -1, -1)
    for at in inside:
        one = all_of[at]
        if one.producer_id == batch.producer_id and not one.control:
            return one if one.producer_epoch == batch.producer_epoch else None
    return None


def _known(view: View, index: int) -> bool:
    """Whether the producer has written to the partition before."""
    mine = view.batches[index].producer_id
    return any(one.producer_id == mine for one in view.batches[:index])


@operator
def batch_lost_with_gap(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: i + 1 < len(v.batches))
    if at is None:
        return None
    view, index, batch = at
    number, inside = view.at(index)
    within = 0 < inside < len(view.segments[number][1]) - 1
    first = index == 0
    view.drop(index, close=False)
    view.store()
    return Mutant(
        codes("offset_gap segment_missing replica_range_hole " + LOST), places(view.place),
        (batch.base_offset - 1, batch.last_offset + 1), pids(batch.producer_id),
        # Where nothing tells the topic's policy, the cleaner of another broker may have left it.
        told="violation" if within and scene.with_metadata else SUSPECT, wide=True,
        why="a log that begins later looks like one after DeleteRecords" if first else "",
    )  # fmt: skip


@operator
def batch_lost(scene: Scene) -> Mutant | None:
    """A batch of a producer was never written, or was lost before the log was copied."""
    at = scene.data(scene.client, lambda v, i, b: b.producer_id >= 0)
    if at is None:
        return None
    view, index, batch = at
    after, known = _same(view, index, 1), _known(view, index)
    before = _same(view, index, -1)
    why = ""
    if after is None:
        why = "no later batch of the epoch shows that one is missing"
    elif before is None and not known:
        why = "a leader without state accepts any first sequence (KIP-360)"
    view.drop(index, close=True)
    view.store()
    span = (batch.base_offset, view.end)
    return Mutant(codes(LOST), places(view.place), span, pids(batch.producer_id), why=why)


@operator
def plain_batch_lost(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: b.producer_id < 0)
    if at is None:
        return None
    view, index, batch = at
    view.drop(index, close=True)
    view.store()
    return Mutant(
        codes("offset_gap"), places(view.place), (batch.base_offset, batch.last_offset),
        why="nothing counts records without a producer",
    )  # fmt: skip


@operator
def sequence_skipped(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: b.producer_id >= 0 and _known(v, i))
    if at is None:
        return None
    view, index, batch = at
    view.put(index, header(batch, base_sequence=batch.base_sequence + scene.rng.randint(1, 50)))
    view.store()
    return Mutant(
        codes(LOST + " epoch_bump_inside_open_txn"), places(view.place),
        (batch.base_offset, batch.last_offset), pids(batch.producer_id),
    )  # fmt: skip


@operator
def sequence_lowered(scene: Scene) -> Mutant | None:
    at = scene.data(
        scene.client, lambda v, i, b: b.base_sequence > 0 and _same(v, i, -1) is not None
    )
    if at is None:
        return None
    view, index, batch = at
    view.put(index, header(batch, base_sequence=scene.rng.randrange(batch.base_sequence)))
    view.store()
    return Mutant(
        codes("sequence_regression duplicate_batch"), places(view.place),
        (batch.base_offset, batch.last_offset), pids(batch.producer_id),
    )  # fmt: skip


@operator
def sequence_partly_repeated(scene: Scene) -> Mutant | None:
    """A batch begins with sequences that were written, and ends with new ones."""
    at = scene.data(
        scene.client,
        lambda v, i, b: b.count > 1 and b.base_sequence > 0 and _same(v, i, -1) is not None,
    )
    if at is None:
        return None
    view, index, batch = at
    back = scene.rng.randint(1, min(batch.count - 1, batch.base_sequence))
    view.put(index, header(batch, base_sequence=batch.base_sequence - back))
    view.store()
    return Mutant(
        codes("sequence_regression"), places(view.place),
        (batch.base_offset, batch.last_offset), pids(batch.producer_id),
    )  # fmt: skip


@operator
def batch_written_twice(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: b.producer_id >= 0 and i + 1 < len(v.batches))
    if at is None:
        return None
    view, index, batch = at
    view.insert(index + 1, batch.content)
    view.store()
    return Mutant(
        codes("duplicate_batch"), places(view.place),
        (batch.last_offset + 1, 2 * batch.last_offset - batch.base_offset + 1),
        pids(batch.producer_id),
    )  # fmt: skip


@operator
def batch_repeated_later(scene: Scene) -> Mutant | None:
    """A retry is stored again after other batches of the same epoch."""
    at = scene.data(
        scene.client,
        lambda v, i, b: b.producer_id >= 0 and _same(v, i, 1) is not None,
    )
    if at is None:
        return None
    view, index, batch = at
    after = _same(view, index, 1)
    where = next(i for i, one in enumerate(view.batches) if one is after) + 1
    if where >= len(view.batches):
        return None
    view.insert(where, batch.content)
    view.store()
    offset = view.batches[where].base_offset
    return Mutant(
        codes("duplicate_batch sequence_regression"), places(view.place),
        (offset, offset + batch.count - 1), pids(batch.producer_id),
    )  # fmt: skip


@operator
def plain_batch_written_twice(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: b.producer_id < 0 and i + 1 < len(v.batches))
    if at is None:
        return None
    view, index, batch = at
    view.insert(index + 1, batch.content)
    view.store()
    return Mutant(
        codes("duplicate_batch"), places(view.place), (batch.base_offset, batch.last_offset),
        why="a producer without an id may send the same twice",
    )  # fmt: skip


@operator
def epoch_lowered(scene: Scene) -> Mutant | None:
    at = scene.data(
        scene.client, lambda v, i, b: b.producer_epoch > 0 and _same(v, i, -1) is not None
    )
    if at is None:
        return None
    view, index, batch = at
    view.put(index, header(batch, producer_epoch=scene.rng.randrange(batch.producer_epoch)))
    view.store()
    return Mutant(
        codes("producer_epoch_regression zombie_write_after_fence"), places(view.place),
        (batch.base_offset, batch.last_offset), pids(batch.producer_id),
    )  # fmt: skip


@operator
def zombie_after_marker(scene: Scene) -> Mutant | None:
    """Data of the epoch before a marker that raised it, behind that marker."""
    found = scene.decided(
        lambda one, view, txn: (
            view in scene.client
            and bool(txn.data)
            and one.prepare.value.producer_epoch > view.batches[txn.data[-1]].producer_epoch
            and (txn.marker or 0) + 1 < len(view.batches)
        )
    )
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    batch = view.batches[txn.data[-1]]
    view.insert(txn.marker + 1, header(batch, base_sequence=batch.base_sequence + batch.count))
    view.store()
    offset = view.batches[txn.marker + 1].base_offset
    return Mutant(
        codes("zombie_write_after_fence"), places(view.place), (offset, offset + batch.count - 1),
        pids(batch.producer_id),
    )  # fmt: skip


@operator
def late_data_after_marker(scene: Scene) -> Mutant | None:
    """Data of a transaction of older versions behind its last marker: they hang."""

    def last(view: View, index: int, mine: int) -> bool:
        return all(one.producer_id != mine for one in view.batches[index + 1 :])

    found = scene.decided(
        lambda one, view, txn: (
            view in scene.client
            and bool(txn.data)
            and one.prepare.value.producer_epoch == view.batches[txn.data[-1]].producer_epoch
            and txn.marker is not None
            and txn.marker + 1 < len(view.batches)
            and last(view, txn.marker, txn.producer_id)
        )
    )
    if found is None:
        return None
    one, view, txn = found
    assert txn.marker is not None
    batch = view.batches[txn.data[-1]]
    view.insert(txn.marker + 1, header(batch, base_sequence=batch.base_sequence + batch.count))
    view.store()
    offset = view.batches[txn.marker + 1].base_offset
    told = goes_on(one.view, appended_by(view, txn.marker + 2))
    return Mutant(
        codes(OPEN), places(view.place), (offset, offset + batch.count - 1),
        pids(batch.producer_id), frozenset([one.name]),
        why=may_be_running(scene, one, view)
        if told
        else "the coordinator's log may end before the transaction that they begin",
    )  # fmt: skip


@operator
def epoch_raised_in_transaction(scene: Scene) -> Mutant | None:
    found = scene.decided(lambda one, view, txn: view in scene.client and len(txn.data) > 1)
    if found is None:
        return None
    _, view, txn = found
    index = scene.choose(txn.data[1:])
    batch = view.batches[index]
    view.put(index, header(batch, producer_epoch=batch.producer_epoch + 1, base_sequence=0))
    view.store()
    assert txn.marker is not None
    return Mutant(
        codes("epoch_bump_inside_open_txn producer_epoch_regression"), places(view.place),
        (batch.base_offset, view.batches[txn.marker].last_offset), pids(batch.producer_id),
    )  # fmt: skip


@operator
def transactional_bit_cleared(scene: Scene) -> Mutant | None:
    """Not the first data of a transaction: its outcome does not apply to them."""
    found = scene.decided(lambda one, view, txn: view in scene.client and len(txn.data) > 1)
    if found is None:
        return None
    _, view, txn = found
    index = scene.choose(txn.data[1:])
    batch = view.batches[index]
    view.put(index, header(batch, attributes=batch.attributes & ~layout.TRANSACTIONAL_MASK))
    view.store()
    return Mutant(
        codes("nontransactional_in_open_txn"), places(view.place),
        (batch.base_offset, batch.last_offset), pids(batch.producer_id),
    )  # fmt: skip


@operator
def transactional_bit_cleared_alone(scene: Scene) -> Mutant | None:
    """The only data of a transaction in a partition are written outside of it."""
    found = scene.decided(lambda one, view, txn: view in scene.client and len(txn.data) == 1)
    if found is None:
        return None
    one, view, txn = found
    batch = view.batches[txn.data[0]]
    view.put(txn.data[0], header(batch, attributes=batch.attributes & ~layout.TRANSACTIONAL_MASK))
    view.store()
    return Mutant(
        codes("pid_used_outside_transaction_id mixed_transactional_mode"), places(view.place),
        (batch.base_offset, batch.last_offset), pids(batch.producer_id), frozenset([one.name]),
        told=SUSPECT,
    )  # fmt: skip


def _wrote(one: Batch, other: Batch) -> bool:
    return one.producer_id == other.producer_id


@operator
def transactional_bit_set(scene: Scene) -> Mutant | None:
    """An idempotent producer's batch opens a transaction that nobody knows."""
    at = scene.data(
        scene.client,
        lambda v, i, b: b.producer_id >= 0 and not b.transactional and i + 1 < len(v.batches),
    )
    if at is None:
        return None
    view, index, batch = at
    after = _same(view, index, 1)
    writing = (v.place for v in scene.client if any(_wrote(b, batch) for b in v.batches))
    view.put(index, header(batch, attributes=batch.attributes | layout.TRANSACTIONAL_MASK))
    view.store()
    return Mutant(
        codes(OPEN + " nontransactional_in_open_txn mixed_transactional_mode"),
        places(view.place, writing),
        (batch.base_offset, view.end), pids(batch.producer_id),
        # What the producer writes next lies in the transaction, and is of none.
        why=may_be_owned(scene, view, index) if after is None else "",
        owned_by=(appended_by(view, index) or -1) if after is None else -1,
    )  # fmt: skip


@operator
def foreign_producer(scene: Scene) -> Mutant | None:
    """Transactional data under a producer id that nobody owns."""
    found = scene.decided(
        lambda one, view, txn: (
            view in scene.client and bool(txn.data) and (txn.marker or 0) + 1 < len(view.batches)
        )
    )
    if found is None:
        return None
    _, view, txn = found
    index = scene.choose(txn.data)
    batch = view.batches[index]
    other = batch.producer_id + UNKNOWN
    after = _same(view, index, 1)
    view.put(index, header(batch, producer_id=other, base_sequence=0))
    view.store()
    return Mutant(
        # The producer that wrote it lacks it.
        codes(f"{OPEN} {LOST}"), places(view.place), (batch.base_offset, batch.last_offset),
        pids(batch.producer_id, other),
        why=may_be_owned(scene, view, index) if after is None else "",
        owned_by=(appended_by(view, index) or -1) if after is None else -1,
    )  # fmt: skip


@operator
def producer_never_allocated(scene: Scene) -> Mutant | None:
    at = scene.data(
        scene.client,
        lambda v, i, b: b.producer_id >= 0 and not b.transactional and not _known(v, i)
        and _same(v, i, 1) is None,
    )  # fmt: skip
    if at is None:
        return None
    view, index, batch = at
    other = FAR_ABOVE + batch.producer_id
    view.put(index, header(batch, producer_id=other))
    view.store()
    return Mutant(
        codes("producer_id_unallocated"), places(view.place), (batch.base_offset,
        batch.last_offset), pids(batch.producer_id, other), told=SUSPECT,
        why="" if scene.with_metadata else "the blocks of producer ids are not in the dump",
    )  # fmt: skip


def _late_beginnings(view: View) -> int:
    """How many producers have a first batch in the partition with a sequence above 0."""
    first: dict[int, int] = {}
    for one in view.batches:
        if one.producer_id >= 0 and not one.control:
            first.setdefault(one.producer_id, one.base_sequence)
    return sum(sequence > 0 for sequence in first.values())


@operator
def first_sequence_raised(scene: Scene) -> Mutant | None:
    """The first batch of a producer begins above 0.

    A leader without state accepts that, so there may be any number of them. In a partition that has
    as many as are told one by one already, the new one would only be counted (`combined`).
    """
    few = {view.place for view in scene.client if _late_beginnings(view) < FEW}
    at = scene.data(
        scene.client,
        lambda v, i, b: v.place in few and b.producer_id >= 0 and b.base_sequence == 0
        and not _known(v, i) and _same(v, i, 1) is None,
    )  # fmt: skip
    if at is None:
        return None
    view, index, batch = at
    view.put(index, header(batch, base_sequence=scene.rng.randint(1, 9)))
    view.store()
    return Mutant(
        codes("first_sequence_nonzero"), places(view.place), (batch.base_offset,
        batch.last_offset), pids(batch.producer_id), told=INFO,
    )  # fmt: skip


@operator
def last_epoch(scene: Scene) -> Mutant | None:
    """The last transaction of a producer in a partition, whole, in the epoch that none may use."""
    found = [
        (view, txn)
        for view in scene.client
        if view.whole
        for txn in transactions(view)
        if txn.marker is None
    ]
    at = scene.choose(found)
    if at is None:
        return None
    view, txn = at
    for number, index in enumerate(txn.data):
        batch = view.batches[index]
        sequence = sum(view.batches[one].count for one in txn.data[:number])
        view.put(index, header(batch, producer_epoch=32_767, base_sequence=sequence))
    view.store()
    first = view.batches[txn.data[0]]
    return Mutant(
        codes("producer_epoch_out_of_range " + OPEN), places(view.place),
        (first.base_offset, view.end), pids(txn.producer_id), told=SUSPECT,
    )  # fmt: skip


@operator
def batch_a_day_too_old(scene: Scene) -> Mutant | None:
    """A client's clock is two days behind for one batch, and the producer may expire: observed."""
    at = scene.data(
        scene.client,
        lambda v, i, b: b.producer_id >= 0 and not b.transactional and _same(v, i, 1) is not None
        and not b.attributes & layout.CODEC_MASK
        # A clock that is days ahead is still ahead then.
        and b.max_timestamp <= newest_moment(v),
    )  # fmt: skip
    if at is None:
        return None
    view, index, batch = at
    after = _same(view, index, 1)
    assert after is not None
    past = {
        name: getattr(batch, name) - 2 * 86_400_000 for name in ("base_timestamp", "max_timestamp")
    }
    view.put(index, header(batch, **past))
    view.store()
    return Mutant(
        codes("producer_timestamp_expired_state"), places(view.place),
        (after.base_offset, after.last_offset), pids(batch.producer_id), told=INFO,
    )  # fmt: skip
