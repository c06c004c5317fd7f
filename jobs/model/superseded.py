"""Segments that the cleaner had replaced while a dump was copied, and that are there all the same.

The cleaner merges a group of segments into one of the base offset of the first: it renames the new
one to its place and deletes the old ones (`Cleaner.cleanSegments`, `LogSegments`, `LocalLog.
replaceSegments`, 0.8 to 4.3). Who copies the folder of a running broker file by file, in the order
in which the folder lists them, may have read an old one before and the merged one after it. The
log holds what the merged one says; the old one would repeat the same offsets.
"""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import NamedTuple

from jobs.model.dump import Dump, DumpFile, DumpPartition
from schemas.topics import CLEANED_TOPICS

SUPERSEDED = "replaced by the cleaner while the dump was copied, the merged segment is there"
OF_A_SEGMENT = ("segment", "txn_index", "offset_index", "time_index", "producer_snapshot")


class Reach(NamedTuple):
    """A segment that holds offsets of the next one.

    `cleaned`: offsets or records are missing in it, or a batch has a delete horizon.
    """

    last_offset: int
    cleaned: bool


def superseded(dump: Dump, reaching: Mapping[int, Reach]) -> list[DumpFile]:
    """The segments that a swap of the cleaner explains. `reaching`: file_index -> how far.

    A broker that had stopped left no swap half done. The cleaner's checkpoint is written when a
    pass ends, so a partition that it lists may have merged segments above it. A first pass, which
    it does not show, leaves its traces. The newest segment is never cleaned.
    """
    return [
        old
        for one in dump.partitions
        if not one.clean_shutdown and any(file.file_index in reaching for file in one.segments)
        for old in _of_partition(one, reaching)
    ]


def _of_partition(one: DumpPartition, reaching: Mapping[int, Reach]) -> Iterator[DumpFile]:
    *closed, newest = one.segments
    for number, merged in enumerate(closed):
        reach = reaching.get(merged.file_index)
        if reach is None or merged.text or reach.last_offset >= _base(newest):
            continue
        last = reach.last_offset
        old = list(takewhile(lambda file: _base(file) <= last, closed[number + 1 :]))  # noqa: B023
        may_be_cleaned = (
            reach.cleaned or one.topic in CLEANED_TOPICS or one.cleaner_checkpoint is not None
        )
        if may_be_cleaned and not any(file.file_index in reaching for file in old):
            yield from old


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
