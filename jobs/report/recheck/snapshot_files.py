"""The bytes of a producer snapshot: its head, and an entry for each producer."""

import struct
from pathlib import Path

from jobs.report.recheck.batches import CONTROL, TRANSACTIONAL, Batch
from jobs.report.recheck.checksums import crc32c
from jobs.report.recheck.copies import segment_base

SNAPSHOT_HEAD, SNAPSHOT_ENTRY = struct.Struct(">hIi"), struct.Struct(">qhiqiqiq")


def last_batch(entry: bytes, control: bool) -> Batch:
    """The last batch of a producer as the entry of a snapshot knows it; `control`: a marker."""
    batch = Batch(b"")
    batch.producer, batch.epoch, sequence, batch.last, batch.delta, batch.newest, _, begun = (
        SNAPSHOT_ENTRY.unpack(entry)
    )
    batch.magic, batch.base, batch.sequence = 2, batch.last - batch.delta, sequence - batch.delta
    batch.attributes = CONTROL if control else TRANSACTIONAL if begun >= 0 else 0
    return batch


def is_sound_snapshot(data: bytes) -> bool:
    """Whether version, checksum and length are right, and no producer is there twice."""
    if len(data) < SNAPSHOT_HEAD.size:
        return False
    version, crc, count = SNAPSHOT_HEAD.unpack_from(data)
    if version != 1 or crc != crc32c(data[6:]):
        return False
    if len(data) != SNAPSHOT_HEAD.size + SNAPSHOT_ENTRY.size * count:
        return False
    return bool(len(snapshot_of(data)) == count)


def snapshot_of(data: bytes) -> dict[int, tuple[int, ...]]:
    """The entries of a snapshot by producer."""
    entries = SNAPSHOT_ENTRY.iter_unpack(data[SNAPSHOT_HEAD.size :])
    return {one[0]: one for one in entries}


def told_in_snapshot(path: Path) -> set[int]:
    """Producers of a snapshot, without those of which a broker read but an emptied marker."""
    nothing = (-1, -1, -1, 0, -1, -1, -1)
    return {one for one, entry in snapshot_of(path.read_bytes()).items() if entry[1:] != nothing}


def snapshots_before(path: Path) -> list[Path]:
    """Older snapshots of a folder, the newest first."""
    older = [p for p in path.parent.glob("*.snapshot") if segment_base(p) < segment_base(path)]
    return sorted(older, key=segment_base, reverse=True)
