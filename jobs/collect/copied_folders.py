"""Folders that an operator made: copies of a partition's folder under another name.

`cp -r orders-0 orders-0-20261121` names partition 20261121 of a topic orders-0. No broker leads
that. One that starts takes it for a stray one (`LogManager.isStrayKraftReplica`, 3.7 and later), or
loads it: then it may be in all checkpoints but that of high watermarks, which lists what the broker
hosts (`ReplicaManager.checkpointHighWatermarks`).
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from jobs.collect.listed import Folder, ListedFile, Role
from jobs.collect.log_directory import Key
from jobs.collect.second_copies import topic_id
from schemas.topics import METADATA_TOPIC

COPIED = "in a copy of the folder of another partition, which its broker does not list"
# What is put behind the name of a copy: a day, with dashes or without, or a moment in seconds.
DATED = re.compile(
    r"(?P<topic>.+)-(?P<partition>[0-9]{1,10})-(?:[0-9]{6,}|[0-9]{4}-[0-9]{2}-[0-9]{2}.*)"
)
METADATA_LOG = (METADATA_TOPIC, 0)


def copied_folders(
    folders: Sequence[Folder], files: Mapping[Folder, Sequence[ListedFile]]
) -> dict[Folder, str]:
    """Such folders, and why they are not audited; `files`: of each folder.

    No broker lists them, and the topic id in them is that of one other topic, which a broker lists;
    or they have none, and their name is that of a listed partition and a date. One that has an id
    of its own may be new.
    """
    partitions = [one for one in folders if one.role is Role.PARTITION]
    directories = {one.directory.label: one.directory for one in folders}.values()
    listed = {key for one in directories for key in one.high_watermarks or ()}
    strange = [one for one in partitions if _key(one) not in listed] if listed else []
    ids = {one: topic_id(one, files) for one in strange}
    topics: dict[str | None, set[str | None]] = defaultdict(set)
    if any(ids.values()):
        for one in set(partitions) - set(strange):
            topics[topic_id(one, files)].add(one.topic)
    return {
        one: COPIED
        for one, told in ids.items()
        if (
            _dated(one) & {*listed, METADATA_LOG}
            if told is None
            else len(topics[told]) == 1 and one.topic not in topics[told]
        )
    }


def _key(folder: Folder) -> Key:
    return folder.topic or "", folder.partition or 0


def _dated(folder: Folder) -> set[Key]:
    """The partition whose name and a date are the name of the folder, if any."""
    named = DATED.fullmatch(f"{folder.topic}-{folder.partition}")
    return {(named["topic"], int(named["partition"]))} if named else set()
