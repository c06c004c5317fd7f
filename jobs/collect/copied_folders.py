"""Folders of a log directory that an operator made: copies of a partition's folder.

`cp -r orders-0 orders-0-20261121` names partition 20261121 of a topic orders-0. No broker leads
that: it takes the folder for a stray one (`LogManager.isStrayKraftReplica`, 3.7 and later), or
loads it and never lists it in a checkpoint (`ReplicaManager.checkpointHighWatermarks`).
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jobs.collect.listed import Folder, ListedFile, Role
from jobs.collect.log_directory import Key
from jobs.collect.second_copies import topic_id
from schemas.topics import METADATA_TOPIC

COPIED = "in a copy of the folder of another partition, which its broker does not list"
PARTITION_NAME = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]{1,10})")


def copied_folders(
    folders: Sequence[Folder], files: Mapping[Folder, Sequence[ListedFile]]
) -> dict[Folder, str]:
    """Such folders, and why they are not audited; `files`: of each folder."""
    of_directory: dict[str, list[Folder]] = defaultdict(list)
    for one in folders:
        if one.role is Role.PARTITION:
            of_directory[one.directory.label].append(one)
    return {one: COPIED for several in of_directory.values() for one in _copied(several, files)}


def _copied(
    folders: Sequence[Folder], files: Mapping[Folder, Sequence[ListedFile]]
) -> Iterator[Folder]:
    """Those of one log directory.

    No checkpoint lists them. One lists the partition whose name theirs extends; or the topic id in
    them is that of another topic, of which a checkpoint lists a partition.
    """
    listed = set(folders[0].directory.listed())
    strange = [one for one in folders if _key(one) not in listed]
    ids = {one: topic_id(one, files) for one in strange} if listed else {}
    known = [one for one in folders if _key(one) in listed] if any(ids.values()) else []
    topics = {topic_id(one, files): one.topic for one in known}
    for one in strange:
        extends = _extended(one.topic or "") & {*listed, (METADATA_TOPIC, 0)}
        told = ids.get(one)
        if extends or (told is not None and topics.get(told, one.topic) != one.topic):
            yield one


def _key(folder: Folder) -> Key:
    return folder.topic or "", folder.partition or 0


def _extended(topic: str) -> set[Key]:
    """The partition that the name of a topic names, if any."""
    named = PARTITION_NAME.fullmatch(topic)
    return {(named["topic"], int(named["partition"]))} if named else set()
