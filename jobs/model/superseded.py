"""Segments that the cleaner had replaced while a dump was copied, and that are there all the same.

The cleaner merges a group of segments into one of the base offset of the first: it renames the new
one to its place and deletes the old ones (`Cleaner.cleanSegments`, `LogSegments`, `LocalLog.
replaceSegments`, 0.8 to 4.3). Who copies the folder of a running broker file by file, in the order
in which the folder lists them, may have read an old one before and the merged one after it. The
log holds what the merged one says; the old one would repeat the same offsets.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import BinaryIO, NamedTuple

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


def superseded(dump: Dump, reaching: Mapping[int, Reach], clusters: Clusters) -> list[DumpFile]:
    """The segments that a swap of the cleaner explains. `reaching`: file_index -> how far.

    A broker that had stopped left no swap half done. The cleaner's checkpoint is written when a
    pass ends, so a partition that it lists may have merged segments above it. A first pass, which
    it does not show, leaves its traces, unless it took nothing: then the merged segment ends with
    all bytes of the old ones. The newest segment is never cleaned.
    """
    return [
        old
        for one in dump.partitions
        if not one.clean_shutdown and any(file.file_index in reaching for file in one.segments)
        for old in _of_partition(one, reaching, clusters.of(one.cluster_id))
    ]


def _of_partition(
    one: DumpPartition, reaching: Mapping[int, Reach], cluster: Cluster
) -> Iterator[DumpFile]:
    compacted = one.compacted or one.topic in cluster.compacted or one.topic in CLEANED_TOPICS
    cleaned = compacted or one.cleaner_checkpoint is not None
    unknown = one.topic not in cluster.never_compacted
    *closed, newest = one.segments
    for number, merged in enumerate(closed):
        reach = reaching.get(merged.file_index)
        # Positions of a text are not those of the merged segment: its bytes cannot be compared.
        if reach is None or merged.text or reach.last_offset >= _base(newest):
            continue
        last = reach.last_offset
        old = list(takewhile(lambda file: _base(file) <= last, closed[number + 1 :]))  # noqa: B023
        if any(file.file_index in reaching for file in old):
            continue
        if cleaned or reach.cleaned or (unknown and _ends_with(merged, old)):
            yield from old


def _ends_with(merged: DumpFile, old: list[DumpFile]) -> bool:
    """Whether the last bytes of a segment are those of others, one after another."""
    sizes = [file.size for file in old]
    at = merged.size - sum(sizes)
    if at <= 0:
        return False
    try:
        with open_file(merged.root, merged.below_root) as whole:
            whole.seek(at)
            return all(_goes_on_with(whole, file) for file in old)
    except OSError:
        # What cannot be read is reported where it is decoded.
        return False


def _goes_on_with(whole: BinaryIO, file: DumpFile) -> bool:
    """Whether the next bytes of an open file are all those of another one."""
    with open_file(file.root, file.below_root) as part:
        left = file.size
        while left:
            wanted = _exactly(part, min(left, CHUNK_BYTES))
            if not wanted or _exactly(whole, len(wanted)) != wanted:
                return False
            left -= len(wanted)
    return True


def _exactly(file: BinaryIO, size: int) -> bytes:
    """The next bytes of a file, fewer only at its end: one read may give less."""
    parts = []
    while size:
        part = file.read(size)
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def leave_out(dump: Dump, old: list[DumpFile]) -> set[int]:
    """Takes the segments, and what lies beside them, out of the partitions of the dump.

    Returns the file_index of every file of those partitions: they are to be read again.
    """
    gone = {(file.partition_index, file.base_offset) for file in old}
    touched = {file.partition_index for file in old}
    files = [file for file in dump.files if file.partition_index in touched]
    for file in files:
        if file.kind in OF_A_SEGMENT and (file.partition_index, file.base_offset) in gone:
            file.partition_index, file.status, file.note = None, "skipped", SUPERSEDED
    for one in dump.partitions:
        if one.partition_index in touched:
            one.segments = [file for file in one.segments if file.partition_index is not None]
            one.chain(file for file in files if file.partition_index == one.partition_index)
    return {file.file_index for file in files}


def _base(file: DumpFile) -> int:
    return file.base_offset or 0
