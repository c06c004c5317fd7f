"""Faults of single batches: frames, headers, records. The disk or the broker spoilt them."""

from laws.dump_files import CLEAN_SHUTDOWN
from laws.log_batches import Batch

from mutants.mutant import INFO, SUSPECT, VIOLATION, Mutant, codes, operator, pids, places
from mutants.scene import Scene, View, header, led_by, moved
from tests.wire_writer import batches as writer
from udfs.wire.batches import batch_layout as layout

DAMAGE = """batch_crc_mismatch batch_record_malformed batch_record_count_mismatch
    batch_decompression_failed batch_length_invalid batch_magic_unknown
    closed_segment_tail_garbage"""


def _any_batch(view: View, index: int, batch: Batch) -> bool:
    return batch.magic == 2


def _spoilt(
    scene: Scene,
    what: str,
    content: bytes,
    view: View,
    index: int,
    told: str = "violation",
    why: str = "",
    sole: bool = False,
) -> Mutant:
    """Puts other bytes in place of a batch; nothing else changes. `sole`: no reader takes them."""
    batch = view.batches[index]
    after = view.batches[index + 1] if index + 1 < len(view.batches) else batch
    view.overwrite({index: content})
    span = (batch.base_offset, max(batch.last_offset, after.last_offset))
    return Mutant(
        codes(what), places(view.place), span, pids(batch.producer_id), told=told, wide=True,
        why=why, sole=sole,
    )  # fmt: skip


def _data(scene: Scene) -> tuple[View, int, Batch] | None:
    return scene.data(scene.client, _any_batch)


def _plain(scene: Scene, least: int = 1) -> tuple[View, int, Batch] | None:
    """A batch that is not compressed, with at least so many records."""
    return scene.data(
        scene.client,
        lambda v, i, b: not b.attributes & layout.CODEC_MASK and b.count >= least,
    )


@operator
def checksum_wrong(scene: Scene) -> Mutant | None:
    if (at := _data(scene)) is None:
        return None
    view, index, batch = at
    content = bytearray(batch.content)
    content[layout.CRC + scene.rng.randrange(4)] ^= 1 << scene.rng.randrange(8)
    return _spoilt(scene, "batch_crc_mismatch", bytes(content), view, index, sole=True)


@operator
def byte_flipped(scene: Scene) -> Mutant | None:
    if (at := _data(scene)) is None:
        return None
    view, index, batch = at
    content = bytearray(batch.content)
    content[scene.rng.randrange(layout.ATTRIBUTES, len(content))] ^= 1 << scene.rng.randrange(8)
    return _spoilt(scene, DAMAGE, bytes(content), view, index, sole=True)


@operator
def marker_byte_flipped(scene: Scene) -> Mutant | None:
    found = scene.decided(lambda one, view, txn: view in scene.client)
    if found is None:
        return None
    _, view, txn = found
    index = txn.marker
    assert index is not None
    content = bytearray(view.batches[index].content)
    content[scene.rng.randrange(layout.ATTRIBUTES, len(content))] ^= 1 << scene.rng.randrange(8)
    return _spoilt(
        scene, DAMAGE + " control_batch_malformed", bytes(content), view, index, sole=True
    )


@operator
def records_garbled(scene: Scene) -> Mutant | None:
    if (at := _plain(scene)) is None:
        return None
    view, index, batch = at
    section = bytes([0xFF]) * (len(batch.content) - layout.HEADER_SIZE)
    content = header(batch._replace(content=batch.content[: layout.HEADER_SIZE] + section))
    return _spoilt(scene, DAMAGE, content, view, index, sole=True)


@operator
def codec_unknown(scene: Scene) -> Mutant | None:
    if (at := _data(scene)) is None:
        return None
    view, index, batch = at
    content = header(batch, attributes=batch.attributes & ~7 | scene.rng.choice((5, 6, 7)))
    return _spoilt(scene, "batch_codec_invalid", content, view, index, sole=True)


@operator
def codec_wrong(scene: Scene) -> Mutant | None:
    if (at := _plain(scene)) is None:
        return None
    view, index, batch = at
    content = header(batch, attributes=batch.attributes & ~7 | scene.rng.choice((1, 2, 3, 4)))
    return _spoilt(scene, "batch_decompression_failed", content, view, index, sole=True)


@operator
def magic_unknown(scene: Scene) -> Mutant | None:
    if (at := _data(scene)) is None:
        return None
    view, index, batch = at
    content = bytearray(batch.content)
    content[layout.MAGIC] = scene.rng.choice((3, 9, 127))
    return _spoilt(scene, DAMAGE, bytes(content), view, index, sole=True)


@operator
def length_too_small(scene: Scene) -> Mutant | None:
    if (at := _data(scene)) is None:
        return None
    view, index, batch = at
    length = scene.rng.randrange(0, 40).to_bytes(4, "big")
    content = batch.content[:8] + length + batch.content[12:]
    return _spoilt(scene, DAMAGE, content, view, index, sole=True)


@operator
def count_raised(scene: Scene) -> Mutant | None:
    if (at := _data(scene)) is None:
        return None
    view, index, batch = at
    content = header(batch, count=batch.count + scene.rng.randint(1, 5))
    return _spoilt(
        scene, "batch_count_exceeds_range batch_record_count_mismatch", content, view, index
    )


@operator
def record_lost_inside(scene: Scene) -> Mutant | None:
    """A batch keeps its offsets and has one record less."""
    if (at := _plain(scene, least=2)) is None:
        return None
    view, index, batch = at
    records = [writer.record(i) for i in range(batch.count) if i != batch.count - 1]
    section = b"".join(records)
    content = header(
        batch._replace(content=batch.content[: layout.HEADER_SIZE] + section),
        count=batch.count - 1, max_timestamp=batch.base_timestamp,
    )  # fmt: skip
    return _spoilt(scene, "batch_count_below_range", content, view, index)


@operator
def batch_emptied(scene: Scene) -> Mutant | None:
    if (at := _data(scene)) is None:
        return None
    view, index, batch = at
    content = header(
        batch._replace(content=batch.content[: layout.HEADER_SIZE]), count=0,
        attributes=batch.attributes & ~7,
    )  # fmt: skip
    return _spoilt(scene, "batch_empty_unexpected", content, view, index)


@operator
def record_offsets_swapped(scene: Scene) -> Mutant | None:
    if (at := _plain(scene, least=2)) is None:
        return None
    view, index, batch = at
    order = [1, 0, *range(2, batch.count)]
    section = b"".join(writer.record(i) for i in order)
    content = header(
        batch._replace(content=batch.content[: layout.HEADER_SIZE] + section),
        max_timestamp=batch.base_timestamp,
    )  # fmt: skip
    return _spoilt(scene, "batch_record_offset_order", content, view, index)


@operator
def max_timestamp_wrong(scene: Scene) -> Mutant | None:
    if (at := _plain(scene)) is None:
        return None
    view, index, batch = at
    content = header(batch, max_timestamp=batch.max_timestamp + scene.rng.choice((-9, 77, 50_000)))
    return _spoilt(
        scene, "batch_max_timestamp_mismatch timeindex_invalid", content, view, index, SUSPECT
    )


@operator
def unknown_attribute(scene: Scene) -> Mutant | None:
    if (at := _data(scene)) is None:
        return None
    view, index, batch = at
    content = header(batch, attributes=batch.attributes | 1 << scene.rng.randrange(7, 15))
    return _spoilt(scene, "batch_attribute_bits_unknown", content, view, index, INFO)


@operator
def horizon_without_cleaner(scene: Scene) -> Mutant | None:
    if (at := _plain(scene)) is None:
        return None
    view, index, batch = at
    content = header(batch, attributes=batch.attributes | layout.DELETE_HORIZON_MASK)
    return _spoilt(scene, "delete_horizon_unexpected", content, view, index, SUSPECT)


@operator
def producer_without_sequence(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: b.producer_id >= 0)
    if at is None:
        return None
    view, index, batch = at
    content = header(batch, base_sequence=-1)
    return _spoilt(scene, "batch_producer_fields_inconsistent", content, view, index)


@operator
def sequence_without_producer(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: b.producer_id < 0)
    if at is None:
        return None
    view, index, batch = at
    content = header(batch, producer_epoch=3, base_sequence=scene.rng.randrange(9))
    return _spoilt(
        scene, "batch_producer_fields_inconsistent", content, view, index,
        why="to a broker a batch without a producer id has no producer, whatever else it tells",
    )  # fmt: skip


@operator
def control_bit_on_data(scene: Scene) -> Mutant | None:
    if (at := _plain(scene)) is None:
        return None
    view, index, batch = at
    content = header(batch, attributes=batch.attributes | layout.CONTROL_MASK)
    return _spoilt(
        scene, "control_batch_malformed batch_producer_fields_inconsistent", content, view, index
    )


@operator
def control_type_unknown(scene: Scene) -> Mutant | None:
    found = scene.decided(lambda one, view, txn: view in scene.client)
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    batch = view.batches[txn.marker]
    content = writer.marker(
        batch.base_offset, batch.producer_id, batch.producer_epoch, True, 0, batch.max_timestamp,
        partition_leader_epoch=batch.leader_epoch, key=b"\0\0\0\x09",
    )  # fmt: skip
    return _spoilt(scene, "control_type_unknown", content, view, txn.marker, SUSPECT)


@operator
def control_key_garbled(scene: Scene) -> Mutant | None:
    found = scene.decided(lambda one, view, txn: view in scene.client)
    if found is None:
        return None
    _, view, txn = found
    assert txn.marker is not None
    batch = view.batches[txn.marker]
    content = writer.marker(
        batch.base_offset, batch.producer_id, batch.producer_epoch, True, 0, batch.max_timestamp,
        partition_leader_epoch=batch.leader_epoch, key=scene.rng.choice((b"", b"\0", b"\0\0\0")),
    )  # fmt: skip
    return _spoilt(scene, "control_batch_malformed", content, view, txn.marker)


@operator
def offset_lowered(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: i > 0 and b.base_offset > 3)
    if at is None:
        return None
    view, index, batch = at
    content = moved(batch.content, batch.base_offset - scene.rng.randint(1, 3))
    mutant = _spoilt(
        scene, "offset_not_increasing segment_offset_out_of_range", content, view, index
    )
    mutant.span = (batch.base_offset - 3, batch.last_offset)
    return mutant


@operator
def offsets_skipped(scene: Scene) -> Mutant | None:
    """From a batch on all offsets are some too high: the range between was never written."""
    at = scene.data(scene.client, lambda v, i, b: i > 0 and v.at(i)[1] > 0)
    if at is None:
        return None
    view, index, batch = at
    number, inside = view.at(index)
    skipped = scene.rng.randint(1, 9)
    view._shift(number, inside, skipped)
    view.store()
    span = (batch.base_offset - 1, batch.base_offset + skipped)
    # Where nothing tells the topic's policy, the cleaner of another broker may have left it.
    told = VIOLATION if scene.with_metadata else SUSPECT
    return Mutant(codes("offset_gap"), places(view.place), span, wide=True, told=told)


@operator
def batches_swapped(scene: Scene) -> Mutant | None:
    at = scene.data(
        scene.client, lambda v, i, b: v.at(i)[1] > 0 and i > 0 and not v.batches[i - 1].control
    )
    if at is None:
        return None
    view, index, batch = at
    number, inside = view.at(index)
    of = view.segments[number][1]
    before = of[inside - 1]
    of[inside - 1], of[inside] = batch, before
    view.store(redo=False)
    return Mutant(
        codes("offset_not_increasing segment_offset_out_of_range"), places(view.place),
        (before.base_offset, batch.last_offset), pids(batch.producer_id, before.producer_id),
        wide=True,
    )  # fmt: skip


@operator
def leader_epoch_lower(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: i > 0 and v.batches[i - 1].leader_epoch > 0)
    if at is None:
        return None
    view, index, batch = at
    content = led_by(batch.content, view.batches[index - 1].leader_epoch - 1)
    return _spoilt(scene, "leader_epoch_regression", content, view, index)


@operator
def leader_epoch_spike(scene: Scene) -> Mutant | None:
    at = scene.data(scene.client, lambda v, i, b: i + 1 < len(v.batches))
    if at is None:
        return None
    view, index, batch = at
    newest = max(one.leader_epoch for one in view.batches)
    content = led_by(batch.content, newest + scene.rng.randint(1, 3))
    return _spoilt(scene, "leader_epoch_regression", content, view, index)


@operator
def last_offset_lower(scene: Scene) -> Mutant | None:
    """A batch has more records than its header has offsets."""
    if (at := _plain(scene, least=2)) is None:
        return None
    view, index, batch = at
    content = header(batch, delta=batch.last_offset - batch.base_offset - 1)
    what = "batch_count_exceeds_range batch_record_offset_order offset_gap"
    return _spoilt(scene, what, content, view, index)


@operator
def tail_torn(scene: Scene) -> Mutant | None:
    """A broker that was killed leaves half a batch: legal, and only observed."""
    if (at := _data(scene)) is None:
        return None
    view, _, batch = at
    for directory, one in view.copies:
        directory.files.pop(CLEAN_SHUTDOWN, None)
        half = moved(batch.content, view.end)[: len(batch.content) // 2]
        one.files[f"{view.segments[-1][0]:020}.log"] += half
    return Mutant(codes("active_tail_torn"), places(view.place), None, told=INFO, wide=True)
