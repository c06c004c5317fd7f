"""Copies of partitions that were not read as they had been listed: nothing of them is judged.

Whoever audits the folder of a running broker, or a store that fails, meets files that are gone,
shorter than a moment before, or that cannot be opened, and closed segments that are longer: the
cleaner merged others into them, or a follower truncated them and fetched on. What is left of such a
partition never lay on any disk: a log without its last segment ends below its high watermark, and
without its `.txnindex` all that was aborted looks delivered. A partition that is absent is what
every dump may have, and the rules know that.

What cannot be seen: a file that was replaced by another one of the same length.
"""

from collections.abc import Collection
from typing import NamedTuple

from jobs.model.dump import Dump

UNREAD = "in a partition that changed, or could not be read, while it was audited"


class LeftOut(NamedTuple):
    """What is not judged: partition_index of partitions, file_index of all files of these.

    `metadata`: files of copies of `__cluster_metadata`.
    """

    partitions: frozenset[int]
    files: frozenset[int]
    metadata: frozenset[int]


def leave_out_unread(dump: Dump, unread: Collection[int]) -> LeftOut:
    """Takes the partitions and copies of `__cluster_metadata` with such a file out of the dump.

    `unread`: file_index of the files that were not read as they were listed. All files stay in the
    listing, with a note.
    """
    # Of the others only the digest was wanted.
    wanted = {one.file_index for one in dump.files if one.status == "audited"} & set(unread)
    partitions = frozenset(
        file.partition_index
        for file in dump.files
        if file.file_index in wanted and file.partition_index is not None
    )
    logs = [one for one in dump.metadata_logs if wanted & {file.file_index for file in one.files}]
    metadata = frozenset(file.file_index for one in logs for file in one.files)
    left_out = [
        file
        for file in dump.files
        if file.partition_index in partitions or file.file_index in metadata
    ]
    for file in left_out:
        file.partition_index, file.status, file.note = None, "skipped", UNREAD
    dump.unread |= {
        (one.topic, one.partition) for one in dump.partitions if one.partition_index in partitions
    }
    dump.partitions = [one for one in dump.partitions if one.partition_index not in partitions]
    dump.metadata_logs = [one for one in dump.metadata_logs if one not in logs]
    return LeftOut(partitions, frozenset(file.file_index for file in left_out), metadata)
