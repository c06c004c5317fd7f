"""Partitions that a listing has twice of one broker, or not at all."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from jobs.collect.listed import Folder, ListedFile, Role
from jobs.collect.log_directory import Key, LogDirectory
from jobs.collect.manifest import NAME
from jobs.model.dump import MissingPartition


def second_copies(
    folders: Sequence[Folder], segments: Mapping[Folder, Sequence[ListedFile]]
) -> set[Folder]:
    """All but one of the folders that hold the same partition of the same broker.

    `segments`: of each folder, in the order of their base offsets. A broker refuses to start with
    two; a `-future` folder is not meant. The log that was still written is the one whose newest
    segment begins last, or is larger.
    """
    copies: dict[tuple[object, ...], list[Folder]] = defaultdict(list)
    for one in folders:
        directory = one.directory
        if one.role is Role.PARTITION and directory.broker is not None:
            copies[directory.cluster_id, directory.broker, one.topic, one.partition].append(one)

    def newest(folder: Folder) -> tuple[int, int]:
        if not segments.get(folder):
            return -1, 0
        last = segments[folder][-1]
        return last.classified.base_offset or 0, last.size

    left_out: set[Folder] = set()
    for several in copies.values():
        written = max(several, key=newest)
        left_out |= {one for one in several if one is not written}
    return left_out


def refused_partitions(
    folders: Sequence[Folder], segments: Mapping[Folder, Sequence[ListedFile]]
) -> set[Folder]:
    """Folders of partitions that the manifest says could not be fetched, without a byte of them.

    `segments`: of each folder. What an earlier fetch left of such a partition is audited.
    """
    return {
        one
        for one in folders
        if (one.topic, one.partition) in one.directory.not_fetched
        and not any(segment.size for segment in segments.get(one, ()))
    }


def missing_partitions(
    directories: Sequence[LogDirectory], folders: Iterable[Folder]
) -> list[MissingPartition]:
    """Partitions that the dump has no folder of, although a checkpoint of a broker lists them.

    The manifest of a fetched dump lists those that could not be fetched.
    """
    present: dict[object, set[Key]] = defaultdict(set)
    for one in folders:
        if one.topic is not None and one.partition is not None:
            present[one.directory.owner].add((one.topic, one.partition))
    listed = [
        (directory, (topic, partition), name)
        for directory in directories
        for (topic, partition), name in sorted(
            directory.listed().items() | {(one, NAME) for one in directory.not_fetched}
        )
    ]
    return [
        MissingPartition(*key, directory.broker, f"{directory.label}{name}")
        for directory, key, name in listed
        if key not in present[directory.owner]
    ]
