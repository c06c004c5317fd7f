"""Segments that the cleaner had replaced while a dump was copied, and that are there all the same.

The cleaner merges a group of segments into one of the base offset of the first: it renames the new
one to its place and deletes the old ones (`Cleaner.cleanSegments`, `LogSegments`, `LocalLog.
replaceSegments`, 0.8 to 4.3). Who copies the folder of a running broker file by file, in the order
in which the folder lists them, may have read old ones before and the merged one after them: any of
the group, as those that were not read yet are gone then. The log holds what the merged one says;
the old ones would repeat the same offsets.
"""

from collections.abc import Iterator, Mapping
from typing import BinaryIO, NamedTuple

from jobs.model.batch_heads import BatchHead, batch_heads, exactly
from jobs.model.cluster import Cluster, Clusters
from jobs.model.dump import Dump, DumpFile, DumpPartition
from schemas.topics import CLEANED_TOPICS
from udfs.storage.open_file import open_file

SUPERSEDED = "replaced by the cleaner while the dump was copied, the merged segment is there"
CHUNK_BYTES = 1 << 20
OF_A_SEGMENT = ("segment", "txn_index", "offset_index", "time_index", "producer_snapshot")


class Reach(NamedTuple):
    """A segment that holds offsets of the next one.

    `cleaned`: offsets or records are missing in it, or a batch has a delete horizon.
    """

    last_offset: int
    cleaned: bool


class _Shared(NamedTuple):
    """A run of batches that two segments may have in common: where it lies in each, and bytes."""

    in_merged: int
    in_old: int
    size: int


def superseded(dump: Dump, reaching: Mapping[int, Reach], clusters: Clusters) -> list[DumpFile]:
    """The segments that a swap of the cleaner explains. `reaching`: file_index -> how far.

    A broker that had stopped left no swap half done. The cleaner's checkpoint is written when a
    pass ends, so a partition that it lists may have merged segments above it. A first pass, which
    it does not show, leaves its traces, or what it left is what the old ones say (`_repeats`).

    The newest segment is never cleaned. But the newest of a copy need not be that of the log: the
    broker may have rolled it after the folder was listed, and cleaned it then (`LogCleanerManager.
    cleanableOffsets` ends at the active segment). A batch that both have shows so.
    """
    return [
        old
        for one in dump.partitions
        if not one.clean_shutdown and any(file.file_index in reaching for file in one.segments)
        for old in _of_partition(one, reaching, clusters.of(one.cluster_id))
    ]


def _of_partition(
    one: DumpPartition, reaching: Mapping[int, Reach], cluster: Cluster
) -> list[DumpFile]:
    compacted = one.compacted or one.topic in cluster.compacted or one.topic in CLEANED_TOPICS
    cleaned = compacted or one.cleaner_checkpoint is not None
    unknown = one.topic not in cluster.never_compacted
    gone: dict[int, DumpFile] = {}
    for number, merged in enumerate(one.segments):
        reach = reaching.get(merged.file_index)
        # Positions of a text are not those of the merged segment: its bytes cannot be compared.
        if reach is None or merged.text:
            continue
        shown = cleaned or reach.cleaned
        last, newest = reach.last_offset, one.segments[-1]
        # One that was merged itself may be old, too: passes follow each other while a copy is made.
        old = [file for file in one.segments[number + 1 :] if _base(file) <= last]
        if not (shown or unknown) or (newest in old and not _repeats(merged, newest)):
            continue
        # Of the newest one it is known by now; asking again would read both files again.
        gone |= {
            file.file_index: file
            for file in old
            if shown or file is newest or _repeats(merged, file)
        }
    return list(gone.values())


def _repeats(merged: DumpFile, old: DumpFile) -> bool:
    """Whether all that a segment holds of the offsets of another one are batches of that one.

    There is at least one. The cleaner copies a batch of which it takes no record as it is
    (`MemoryRecords.filterTo`). What it took, whole batches, only the old one has.
    """
    if old.text:
        return False
    try:
        with (
            open_file(merged.root, merged.below_root) as whole,
            open_file(old.root, old.below_root) as part,
        ):
            heads = batch_heads(whole, merged.size), batch_heads(part, old.size)
            shared = _shared(*heads, _base(old))
            return bool(shared) and all(_same(whole, part, run) for run in shared)
    except OSError:
        # What cannot be read is reported where it is decoded.
        return False


def _shared(
    merged: Iterator[BatchHead], old: Iterator[BatchHead], base_offset: int
) -> list[_Shared]:
    """The batches of the merged segment from the base of the old one up to where that one ends.

    None of them where the old one lacks one.
    """
    runs: list[_Shared] = []
    behind, held = base_offset, next(old, None)
    for one in merged:
        if one.last_offset < base_offset:
            continue
        while held is not None and held.offset < one.offset:
            behind, held = held.last_offset + 1, next(old, None)
        if held is None and one.offset >= behind:
            break
        if held is None or (held.offset, held.size) != (one.offset, one.size):
            return []
        run = runs[-1] if runs else _Shared(0, 0, 0)
        if (run.in_merged + run.size, run.in_old + run.size) == (one.position, held.position):
            runs[-1:] = [run._replace(size=run.size + one.size)]
        else:
            runs.append(_Shared(one.position, held.position, one.size))
    return runs


def _same(whole: BinaryIO, part: BinaryIO, run: _Shared) -> bool:
    """Whether the bytes of a run are the same in both files."""
    whole.seek(run.in_merged)
    part.seek(run.in_old)
    left = run.size
    while left:
        wanted = exactly(part, min(left, CHUNK_BYTES))
        if not wanted or exactly(whole, len(wanted)) != wanted:
            return False
        left -= len(wanted)
    return True


def leave_out(dump: Dump, old: list[DumpFile], reaching: Mapping[int, Reach]) -> set[int]:
    """Takes the segments, and what lies beside them, out of the partitions of the dump.

    Returns the file_index of every file of those partitions: they are to be read again. `reaching`:
    as for `superseded`, which found them.
    """
    gone = {(file.partition_index, file.base_offset) for file in old}
    touched = {file.partition_index for file in old}
    files = [file for file in dump.files if file.partition_index in touched]
    for file in files:
        if file.kind in OF_A_SEGMENT and (file.partition_index, file.base_offset) in gone:
            file.partition_index, file.status, file.note = None, "skipped", SUPERSEDED
    for one in dump.partitions:
        if one.partition_index in touched:
            newest = one.segments[-1]
            one.segments = [file for file in one.segments if file.partition_index is not None]
            if one.segments[-1] is not newest:
                one.rolled_at = reaching[one.segments[-1].file_index].last_offset + 1
            one.chain(file for file in files if file.partition_index == one.partition_index)
    return {file.file_index for file in files}


def _base(file: DumpFile) -> int:
    return file.base_offset or 0
