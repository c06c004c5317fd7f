"""Which partitions of a dump are replicas of one another, and what partition.metadata says of them.

The id of their topic is asked of replicas, and of copies that a manifest dates: of a topic that is
deleted the moment of copying says nothing, as no broker leads it. And, beside
`__cluster_metadata`, of topics of which a log begins at offset 0: whether that was lost is told by
it, and by the other partitions with the same id.
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
    whole = _with_whole_log(dump)
    for file in dump.files:
        if file.kind == "partition_metadata" and file.partition_index is not None:
            copy = dump.partitions[file.partition_index]
            if file.note is None and (_is_asked(copy) or _topic(copy) in whole):
                _read_topic_id(file, paths[file.file_index], copy, tell)
    number_topics(dump)


def _is_asked(copy: DumpPartition) -> bool:
    """Whether the id of the topic says anything of a copy, whatever its log."""
    return copy.replica_set is not None or copy.copied_at_ms is not None


def _with_whole_log(dump: Dump) -> set[tuple[str | None, str]]:
    """Topics with a log that begins at offset 0; none where nothing tells their ids otherwise."""
    whole = (one for one in dump.partitions if one.segments and one.segments[0].base_offset == 0)
    return {_topic(one) for one in whole} if dump.metadata_logs else set()


def _topic(copy: DumpPartition) -> tuple[str | None, str]:
    return copy.cluster_id, copy.topic


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
