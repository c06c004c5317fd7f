"""Faults of the files beside the log, of replicas, and of what a broker tells of itself."""

from collections.abc import Sequence

from laws.dump_files import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARK,
    LEADER_EPOCHS,
    LOG_START,
    RECOVERY_POINT,
    Directory,
    Partition,
)
from laws.log_batches import LIMIT
from laws.logs import aborted, set_aborted

from mutants.mutant import INFO, SUSPECT, Mutant, codes, operator, pids, places
from mutants.scene import Scene, View, header, marker_with, transactions
from tests.wire_writer import batches as writer
from tests.wire_writer import producer_snapshot as snapshot_writer
from tests.wire_writer import txn_log as txn_writer
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.coordinator import txn_log
from udfs.wire.side_files import producer_snapshot
from udfs.wire.side_files.txn_index import AbortedTxnEntry

INDEX = """txnindex_extra_entry txnindex_missing_entry txnindex_wrong_first_offset
    txnindex_malformed txnindex_wrong_lso"""


def _indexed(scene: Scene) -> tuple[View, int, list[AbortedTxnEntry]] | None:
    """A partition, the base offset of a segment, and the entries of its index."""
    found = [
        (view, base, entries)
        for view in scene.client
        if view.whole
        for base in view.partition.bases()
        if (entries := aborted(view.partition, base))
    ]
    chosen: tuple[View, int, list[AbortedTxnEntry]] | None = scene.choose(found)
    return chosen


def _reindexed(
    view: View, base: int, entries: list[AbortedTxnEntry], about: AbortedTxnEntry, told: str
) -> Mutant:
    for _, one in view.copies:
        set_aborted(one, base, entries)
    return Mutant(
        codes(INDEX), places(view.place), (about.first_offset, about.last_offset),
        pids(about.producer_id), told=told,
    )  # fmt: skip


@operator
def index_entry_lost(scene: Scene) -> Mutant | None:
    """Consumers get aborted records as committed ones."""
    if (at := _indexed(scene)) is None:
        return None
    view, base, entries = at
    gone = entries.pop(scene.rng.randrange(len(entries)))
    return _reindexed(view, base, entries, gone, "violation")


@operator
def index_entry_of_a_commit(scene: Scene) -> Mutant | None:
    """Consumers skip committed records."""
    found = scene.decided(
        lambda one, view, txn: one.commit and bool(txn.data) and view in scene.client
    )
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    base = view.segments[view.at(txn.marker)[0]][0]
    first, marker = view.batches[txn.data[0]], view.batches[txn.marker]
    new = AbortedTxnEntry(
        0, txn.producer_id, first.base_offset, marker.base_offset, marker.base_offset + 1
    )
    entries = sorted([*aborted(view.partition, base), new], key=lambda one: one.last_offset)
    return _reindexed(view, base, entries, new, "violation")


def _entry_changed(scene: Scene, told: str = "violation", **by: int) -> Mutant | None:
    if (at := _indexed(scene)) is None:
        return None
    view, base, entries = at
    number = scene.rng.randrange(len(entries))
    old = entries[number]
    entries[number] = old._replace(**{name: getattr(old, name) + n for name, n in by.items()})
    return _reindexed(view, base, entries, old, told)


@operator
def index_first_offset_later(scene: Scene) -> Mutant | None:
    return _entry_changed(scene, first_offset=1)


@operator
def index_first_offset_earlier(scene: Scene) -> Mutant | None:
    at = _indexed(scene)
    if at is None or not any(entry.first_offset > 0 for entry in at[2]):
        return None
    view, base, entries = at
    number = next(i for i, entry in enumerate(entries) if entry.first_offset > 0)
    old = entries[number]
    entries[number] = old._replace(first_offset=old.first_offset - 1)
    mutant = _reindexed(view, base, entries, old, "violation")
    mutant.span = (old.first_offset - 1, old.last_offset)
    return mutant


@operator
def index_last_offset_changed(scene: Scene) -> Mutant | None:
    return _entry_changed(scene, last_offset=scene.rng.choice((-1, 1)))


@operator
def index_producer_changed(scene: Scene) -> Mutant | None:
    mutant = _entry_changed(scene, producer_id=4_444)
    if mutant is not None:
        mutant.pids |= {one + 4_444 for one in mutant.pids}
    return mutant


@operator
def index_stable_offset_higher(scene: Scene) -> Mutant | None:
    if (at := _indexed(scene)) is None:
        return None
    view, base, entries = at
    number = scene.rng.randrange(len(entries))
    old = entries[number]
    # Behind the marker lies what a leader writes where nothing was open.
    higher = old.last_offset + scene.rng.randint(2, 40)
    entries[number] = old._replace(last_stable_offset=higher)
    mutant = _reindexed(view, base, entries, old, SUSPECT)
    if old.last_stable_offset == old.last_offset + 1:
        mutant.why = "a follower counts what begins later in a fetch, and may lose it again"
    return mutant


@operator
def index_version_changed(scene: Scene) -> Mutant | None:
    return _entry_changed(scene, version=1)


@operator
def index_out_of_order(scene: Scene) -> Mutant | None:
    at = _indexed(scene)
    if at is None or len(at[2]) < 2:
        return None
    view, base, entries = at
    entries[0], entries[1] = entries[1], entries[0]
    mutant = _reindexed(view, base, entries, entries[0], "violation")
    mutant.pids |= {entries[1].producer_id}
    return mutant


@operator
def index_file_lost(scene: Scene) -> Mutant | None:
    if (at := _indexed(scene)) is None:
        return None
    view, base, entries = at
    mutant = _reindexed(view, base, [], entries[0], "violation")
    mutant.pids = pids(*(one.producer_id for one in entries))
    mutant.span = None
    return mutant


@operator
def index_entry_of_an_empty_abort(scene: Scene) -> Mutant | None:
    """An ABORT marker that ended nothing has an entry, as up to 2.7: an observation."""
    found = scene.decided(
        lambda one, view, txn: not one.commit and not txn.data and view in scene.client
    )
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    at = view.batches[txn.marker].base_offset
    base = view.segments[view.at(txn.marker)[0]][0]
    opened = [
        view.batches[one.data[0]].base_offset
        for one in transactions(view)
        if one.data and one.data[0] < txn.marker and (one.marker or len(view.batches)) > txn.marker
    ]
    new = AbortedTxnEntry(0, txn.producer_id, at, at, min(opened, default=at + 1))
    entries = sorted([*aborted(view.partition, base), new], key=lambda one: one.last_offset)
    mutant = _reindexed(view, base, entries, new, INFO)
    mutant.codes |= codes("txnindex_empty_transaction")
    return mutant


def _snapshots(scene: Scene) -> tuple[View, str] | None:
    found = [
        (view, name)
        for view in scene.client
        if view.whole
        for name, content in sorted(view.partition.files.items())
        if name.endswith(".snapshot") and producer_snapshot.decode(content)
    ]
    chosen: tuple[View, str] | None = scene.choose(found)
    return chosen


def _set(view: View, name: str, content: bytes) -> None:
    for _, one in view.copies:
        if name in one.files:
            one.files[name] = content


@operator
def snapshot_damaged(scene: Scene) -> Mutant | None:
    if (at := _snapshots(scene)) is None:
        return None
    view, name = at
    content = bytearray(view.partition.files[name])
    content[scene.rng.randrange(len(content))] ^= 0xFF
    _set(view, name, bytes(content))
    return Mutant(codes("snapshot_corrupt"), places(view.place), None, wide=True)


@operator
def snapshot_cut(scene: Scene) -> Mutant | None:
    if (at := _snapshots(scene)) is None:
        return None
    view, name = at
    _set(view, name, view.partition.files[name][: -scene.rng.randint(1, 40)])
    return Mutant(codes("snapshot_corrupt"), places(view.place), None, wide=True)


def _snapshot_changed(scene: Scene, field: str, by: int) -> Mutant | None:
    if (at := _snapshots(scene)) is None:
        return None
    view, name = at
    entries = producer_snapshot.decode(view.partition.files[name])
    number = scene.rng.randrange(len(entries))
    old = entries[number]
    if field != "producer_id" and getattr(old, field) < 0:
        return None
    entries[number] = old._replace(**{field: getattr(old, field) + by})
    _set(view, name, snapshot_writer.encode(entries))
    what = "snapshot_state_mismatch snapshot_foreign_producer"
    return Mutant(
        codes(what), places(view.place), (int(name[:20]), int(name[:20])),
        pids(old.producer_id, entries[number].producer_id),
    )  # fmt: skip


@operator
def snapshot_sequence_changed(scene: Scene) -> Mutant | None:
    return _snapshot_changed(scene, "last_sequence", scene.rng.choice((1, 2, 9)))


@operator
def snapshot_epoch_changed(scene: Scene) -> Mutant | None:
    return _snapshot_changed(scene, "producer_epoch", 1)


@operator
def snapshot_offset_changed(scene: Scene) -> Mutant | None:
    return _snapshot_changed(scene, "last_offset", -1)


@operator
def snapshot_timestamp_changed(scene: Scene) -> Mutant | None:
    return _snapshot_changed(scene, "timestamp", scene.rng.choice((-9, 9)))


@operator
def snapshot_coordinator_epoch_changed(scene: Scene) -> Mutant | None:
    return _snapshot_changed(scene, "coordinator_epoch", 1)


@operator
def snapshot_transaction_opened(scene: Scene) -> Mutant | None:
    """The snapshot has a transaction open that a marker has ended, or none."""
    if (at := _snapshots(scene)) is None:
        return None
    view, name = at
    entries = producer_snapshot.decode(view.partition.files[name])
    number = scene.rng.randrange(len(entries))
    old = entries[number]
    opened = -1 if old.current_txn_first_offset >= 0 else max(old.last_offset, 0)
    entries[number] = old._replace(current_txn_first_offset=opened)
    _set(view, name, snapshot_writer.encode(entries))
    return Mutant(
        codes("snapshot_state_mismatch"), places(view.place), (int(name[:20]), int(name[:20])),
        pids(old.producer_id),
    )  # fmt: skip


@operator
def snapshot_foreign_entry(scene: Scene) -> Mutant | None:
    if (at := _snapshots(scene)) is None:
        return None
    view, name = at
    entries = producer_snapshot.decode(view.partition.files[name])
    foreign = entries[0]._replace(producer_id=entries[0].producer_id + 3_333)
    _set(view, name, snapshot_writer.encode([*entries, foreign]))
    return Mutant(
        codes("snapshot_foreign_producer snapshot_state_mismatch"), places(view.place),
        (int(name[:20]), int(name[:20])), pids(foreign.producer_id), told=SUSPECT,
    )  # fmt: skip


@operator
def snapshot_entry_lost(scene: Scene) -> Mutant | None:
    if (at := _snapshots(scene)) is None:
        return None
    view, name = at
    entries = producer_snapshot.decode(view.partition.files[name])
    gone = entries.pop(scene.rng.randrange(len(entries)))
    _set(view, name, snapshot_writer.encode(entries))
    why = "" if gone.current_txn_first_offset >= 0 else "a broker forgets producers that expired"
    return Mutant(
        codes("snapshot_state_mismatch"), places(view.place), (int(name[:20]), int(name[:20])),
        pids(gone.producer_id), why=why,
    )  # fmt: skip


def _view(scene: Scene) -> View | None:
    chosen: View | None = scene.choose([view for view in scene.client if view.whole])
    return chosen


def _checkpoint(scene: Scene, name: str, what: str, told: str = "violation") -> Mutant | None:
    if (view := _view(scene)) is None:
        return None
    for directory, _ in view.copies:
        directory.put(name, view.place, view.end + scene.rng.randint(1, 9))
    return Mutant(codes(what), places(view.place), None, told=told, wide=True)


@operator
def high_watermark_beyond_end(scene: Scene) -> Mutant | None:
    return _checkpoint(scene, HIGH_WATERMARK, "hw_beyond_log_end")


@operator
def recovery_point_beyond_end(scene: Scene) -> Mutant | None:
    return _checkpoint(scene, RECOVERY_POINT, "recovery_point_beyond_log_end")


@operator
def log_start_beyond_end(scene: Scene) -> Mutant | None:
    return _checkpoint(scene, LOG_START, "log_start_beyond_end hw_below_log_start", SUSPECT)


@operator
def high_watermark_below_start(scene: Scene) -> Mutant | None:
    if (view := _view(scene)) is None or view.end < 3:
        return None
    for directory, _ in view.copies:
        directory.put(LOG_START, view.place, view.end - 1)
        directory.put(HIGH_WATERMARK, view.place, 1)
    return Mutant(codes("hw_below_log_start"), places(view.place), None, told=SUSPECT, wide=True)


@operator
def tail_lost(scene: Scene) -> Mutant | None:
    """The newest batches are gone from a log that was stopped cleanly."""
    if (view := _view(scene)) is None or len(view.segments[-1][1]) < 2:
        return None
    gone = view.segments[-1][1][-1]
    base = view.segments[-1][0]
    content = b"".join(one.content for one in view.segments[-1][1][:-1])
    for _, one in view.copies:
        one.files[f"{base:020}.log"] = content
    return Mutant(
        codes("hw_beyond_log_end recovery_point_beyond_log_end"), places(view.place), None,
        pids(gone.producer_id), wide=True,
    )  # fmt: skip


@operator
def leader_epochs_wrong(scene: Scene) -> Mutant | None:
    if (view := _view(scene)) is None or LEADER_EPOCHS not in view.partition.files:
        return None
    for _, one in view.copies:
        epochs = one.leader_epochs() or [(0, 0)]
        one.set_leader_epochs([(epoch + 1, start) for epoch, start in epochs])
    return Mutant(
        codes("leader_epoch_checkpoint_mismatch"), places(view.place), None, told=SUSPECT,
        wide=True,
    )  # fmt: skip


def _sparse(scene: Scene, suffix: str, size: int) -> tuple[View, str, bytes] | None:
    found = [
        (view, name, content)
        for view in scene.client
        if view.whole
        for name, content in sorted(view.partition.files.items())
        if name.endswith(suffix) and len(content) >= size
    ]
    chosen: tuple[View, str, bytes] | None = scene.choose(found)
    return chosen


@operator
def offset_index_wrong(scene: Scene) -> Mutant | None:
    if (at := _sparse(scene, ".index", 8)) is None:
        return None
    view, name, content = at
    position = int.from_bytes(content[4:8], "big") + scene.rng.randint(1, 9)
    _set(view, name, content[:4] + position.to_bytes(4, "big") + content[8:])
    return Mutant(codes("index_entry_invalid"), places(view.place), None, told=SUSPECT, wide=True)


@operator
def time_index_wrong(scene: Scene) -> Mutant | None:
    if (at := _sparse(scene, ".timeindex", 12)) is None:
        return None
    view, name, content = at
    moment = int.from_bytes(content[:8], "big") - scene.rng.choice((1, 5, 100))
    _set(view, name, moment.to_bytes(8, "big") + content[8:])
    return Mutant(codes("timeindex_invalid"), places(view.place), None, told=SUSPECT, wide=True)


@operator
def segment_lost(scene: Scene) -> Mutant | None:
    found = [view for view in scene.client if view.whole and len(view.segments) > 2]
    if (view := scene.choose(found)) is None:
        return None
    base = scene.choose([base for base, _ in view.segments[1:-1]])
    for _, one in view.copies:
        one.drop(base)
    return Mutant(
        codes("segment_missing offset_gap"), places(view.place), None, told=SUSPECT, wide=True,
        sole=True,
    )  # fmt: skip


@operator
def segment_cut(scene: Scene) -> Mutant | None:
    """A closed segment ends inside a batch."""
    found = [view for view in scene.client if view.whole and len(view.segments) > 1]
    if (view := scene.choose(found)) is None:
        return None
    base = scene.choose([base for base, inside in view.segments[:-1] if inside])
    for _, one in view.copies:
        name = f"{base:020}.log"
        one.files[name] = one.files[name][: -scene.rng.randint(1, 60)]
    return Mutant(
        codes("closed_segment_tail_garbage segment_missing"), places(view.place), None, wide=True
    )


@operator
def zeros_after_clean_stop(scene: Scene) -> Mutant | None:
    if (view := _view(scene)) is None:
        return None
    for _, one in view.copies:
        one.files[f"{view.segments[-1][0]:020}.log"] += bytes(scene.rng.randint(1, 99))
    return Mutant(codes("closed_segment_tail_garbage"), places(view.place), None, wide=True)


@operator
def segment_misnamed(scene: Scene) -> Mutant | None:
    """A segment has a higher base offset than its first batch."""
    found = [view for view in scene.client if view.whole and len(view.segments) > 1]
    if (view := scene.choose(found)) is None:
        return None
    base = view.segments[-1][0]
    for _, one in view.copies:
        for suffix in (".log", ".index", ".timeindex", ".txnindex"):
            content = one.files.pop(f"{base:020}{suffix}", None)
            if content is not None:
                one.files[f"{base + 1:020}{suffix}"] = b"" if "index" in suffix else content
    return Mutant(codes("segment_offset_out_of_range"), places(view.place), None, wide=True)


def _replicated(
    scene: Scene, among: Sequence[View] | None = None
) -> tuple[View, Directory, Partition] | None:
    """A partition with two copies that are the same, and one of them."""
    found = [
        (view, directory, one)
        for view in (scene.client if among is None else among)
        if view.whole and len(view.copies) > 1
        for directory, one in view.copies[1:]
        if CLEAN_SHUTDOWN in directory.files and one.bases() == view.partition.bases()
    ]
    chosen: tuple[View, Directory, Partition] | None = scene.choose(found)
    return chosen


@operator
def replica_record_differs(scene: Scene) -> Mutant | None:
    if (at := _replicated(scene)) is None:
        return None
    view, _, one = at
    found = [
        (index, batch)
        for index, batch in enumerate(view.batches)
        if not batch.control and not batch.attributes & 7
    ]
    if not found:
        return None
    index, batch = scene.choose(found)
    content = bytearray(batch.content)
    content[-2] ^= 0x01
    view.overwrite({index: header(batch._replace(content=bytes(content)))}, [one])
    return Mutant(
        codes("replica_divergence"), places(view.place), (batch.base_offset, batch.last_offset),
        pids(batch.producer_id),
    )  # fmt: skip


@operator
def replica_marker_differs(scene: Scene) -> Mutant | None:
    if (at := _replicated(scene)) is None:
        return None
    view, _, one = at
    found = [(index, batch) for index, batch in enumerate(view.batches) if batch.control]
    if not found:
        return None
    index, batch = scene.choose(found)
    view.overwrite({index: marker_with(batch, commit=not batch.commit)}, [one])
    return Mutant(
        codes("replica_divergence"), places(view.place), (batch.base_offset, batch.last_offset),
        pids(batch.producer_id), wide=True,
    )  # fmt: skip


@operator
def replica_hole(scene: Scene) -> Mutant | None:
    if (at := _replicated(scene)) is None:
        return None
    view, _, one = at
    if len(view.batches) < 3:
        return None
    index = scene.rng.randrange(1, len(view.batches) - 1)
    batch = view.batches[index]
    view.overwrite({index: b""}, [one])
    return Mutant(
        codes("replica_range_hole offset_gap segment_missing replica_divergence"),
        places(view.place), (batch.base_offset - 1, batch.last_offset + 1),
        pids(batch.producer_id), wide=True,
    )  # fmt: skip


@operator
def replica_of_another_topic(scene: Scene) -> Mutant | None:
    if (at := _replicated(scene)) is None:
        return None
    view, _, _ = at
    for (_, copy), name in zip(
        view.copies, ("AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"), strict=False
    ):
        copy.files["partition.metadata"] = f"version: 0\ntopic_id: {name}".encode()
    return Mutant(codes("topic_id_mismatch"), places(view.place), None, told=SUSPECT, wide=True)


@operator
def coordinator_replica_differs(scene: Scene) -> Mutant | None:
    """Two copies of the coordinator's log have other records at one offset."""
    if (at := _replicated(scene, scene.coordinators)) is None:
        return None
    view, _, one = at
    index = scene.rng.randrange(len(view.batches))
    batch = view.batches[index]
    record = next(iter_batch(batch.content, LIMIT))
    if record.key is None or record.value is None:
        return None
    value = txn_log.decode_value(record.value)
    other = txn_writer.encode_value(value._replace(last_update_ms=value.last_update_ms + 1))
    content = writer.batch(
        batch.base_offset, [writer.record(0, 0, record.key, other)],
        base_timestamp=batch.base_timestamp, partition_leader_epoch=batch.leader_epoch,
    )  # fmt: skip
    view.overwrite({index: content}, [one])
    name = txn_log.decode_key(record.key).transactional_id
    return Mutant(
        codes("txnlog_replica_divergence replica_divergence"), places(view.place),
        (batch.base_offset, batch.last_offset), pids(value.producer_id), frozenset([name]),
        wide=True,
    )  # fmt: skip


@operator
def coordinator_replica_lags(scene: Scene) -> Mutant | None:
    """A copy lacks the newest records, and its checkpoint tells that it had them."""
    if (at := _replicated(scene, scene.coordinators)) is None:
        return None
    view, _, one = at
    base, inside = view.segments[-1]
    if len(inside) < 3:
        return None
    left = scene.rng.randrange(1, len(inside) - 1)
    one.files[f"{base:020}.log"] = b"".join(batch.content for batch in inside[:left])
    what = """txnlog_replica_divergence hw_beyond_log_end recovery_point_beyond_log_end
        replica_divergence"""
    return Mutant(codes(what), places(view.place), None, wide=True)
