"""Which partitions of a dump are replicas of one another, and what partition.metadata says of them.

The id of their topic is asked of replicas, and of copies that a manifest dates: of a topic that is
deleted the moment of copying says nothing, as no broker leads it. And of logs that begin at offset
0, where `__cluster_metadata` says whether they are of the only topic of that name.
"""

from collections.abc import Sequence

from jobs.collect.log_directory import Tell, read_text
from jobs.model.dump import Dump, DumpFile, DumpPartition, cleaned_below
from jobs.model.replicas import number_topics, replica_sets
from udfs.storage.dump_path import DumpPath
from udfs.wire.errors import WireError
from udfs.wire.side_files import checkpoints

# A partition.metadata has some 45 bytes.
MAX_METADATA_BYTES = 4096


def number_replicas(dump: Dump, paths: Sequence[DumpPath], tell: Tell) -> None:
    """Sets `replica_set`, `cleaner_reach` and what tells the topic of the partitions.

    `paths`: of the files, by their file_index. A file that was read counts as audited.
    """
    for number, copies in enumerate(replica_sets(dump)):
        reach = max(cleaned_below(copy) for copy in copies)
        for copy in copies:
            copy.replica_set, copy.cleaner_reach = number, reach
    for file in dump.files:
        if file.kind == "partition_metadata" and file.partition_index is not None:
            copy = dump.partitions[file.partition_index]
            if file.note is None and _is_asked(dump, copy):
                _read_topic_id(file, paths[file.file_index], copy, tell)
    number_topics(dump)


def _is_asked(dump: Dump, copy: DumpPartition) -> bool:
    """Whether the id of the topic of a copy says anything."""
    whole = bool(copy.segments) and copy.segments[0].base_offset == 0
    told = copy.replica_set is not None or copy.copied_at_ms is not None
    return told or (whole and bool(dump.metadata_logs))


def _read_topic_id(file: DumpFile, path: DumpPath, copy: DumpPartition, tell: Tell) -> None:
    text = read_text(path, file.path, tell, MAX_METADATA_BYTES)
    if text is None:
        return
    try:
        copy.topic_id = checkpoints.parse_properties(text).get("topic_id")
    except WireError as error:
        tell(f"{file.path}: {error.reason}: {error.detail}")
        return
    copy.metadata_file = file.file_index
    file.status = "audited"
