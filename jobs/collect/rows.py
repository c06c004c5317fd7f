"""From a listing to the rows of a dump: files and partitions get their numbers here."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from jobs.collect.classification import GONE, NO_REGULAR_FILE, TOO_LARGE
from jobs.collect.copied_folders import copied_folders
from jobs.collect.folders import PROPERTIES, printable_name
from jobs.collect.listed import Classified, Folder, Item, ListedFile, Role
from jobs.collect.log_directory import Key, LogDirectory
from jobs.collect.manifest import Copied
from jobs.collect.second_copies import (
    UNDECIDED,
    brokers,
    missing_partitions,
    refused_partitions,
    second_copies,
)
from jobs.model.dump import (
    Dump,
    DumpDirectory,
    DumpFile,
    DumpMetadataLog,
    DumpPartition,
)
from jobs.model.file_names import AUDITED_KINDS
from jobs.model.told import PartitionTold
from jobs.model.unread import UNREAD
from schemas.topics import TXN_LOG_TOPIC
from udfs.storage.dump_path import root_and_below

REFUSED = "of a partition that could not be fetched"


class Listing(NamedTuple):
    """The parts of a listing, each in the order in which they were listed."""

    directories: list[LogDirectory]
    folders: list[Folder]
    files: list[ListedFile]


def listing_of(items: Iterable[Item]) -> Listing:
    """Sorts the items of a listing by what they are."""
    listing = Listing([], [], [])
    for item in items:
        if isinstance(item, LogDirectory):
            listing.directories.append(item)
        elif isinstance(item, Folder):
            listing.folders.append(item)
        else:
            listing.files.append(item)
    return listing


def dump_of(listing: Listing) -> Dump:
    """The rows of a listing; file_index and partition_index count from 0 in its order."""
    in_folders: dict[Folder, list[ListedFile]] = defaultdict(list)
    for listed in listing.files:
        in_folders[listed.folder].append(listed)
    refused = refused_partitions(listing.folders, in_folders)
    copied = copied_folders(listing.folders, in_folders)
    own = [one for one in listing.folders if one not in copied]
    second = second_copies(own, in_folders)
    left_out = copied | second.left_out | dict.fromkeys(refused, REFUSED)
    left_out |= {
        one.folder: UNREAD
        for one in listing.files
        if one.folder.role in (Role.PARTITION, Role.METADATA_LOG) and _is_missed(one.classified)
    }
    not_loaded = [
        one
        for one in listing.folders
        if one.role is Role.PARTITION and _was_not_loaded(one, in_folders[one])
    ]
    audited = [one for one in listing.folders if one.role is Role.PARTITION and one not in left_out]
    partitions = {
        folder: _partition(
            number, folder, folder.directory.label in second.retired, folder not in not_loaded
        )
        for number, folder in enumerate(audited)
    }
    logs = {
        one: DumpMetadataLog(one.directory.cluster_id, one.directory.broker)
        for one in listing.folders
        if one.role is Role.METADATA_LOG and one not in left_out
    }
    rows: dict[Folder, list[DumpFile]] = defaultdict(list)
    files: list[DumpFile] = []
    for number, listed in enumerate(listing.files):
        partition = partitions.get(listed.folder)
        row = _file(number, listed, partition, left_out.get(listed.folder))
        files.append(row)
        rows[listed.folder].append(row)
    for folder, partition in partitions.items():
        partition.segments = [row for row in rows[folder] if _is_audited(row, "segment")]
        partition.chain(rows[folder])
    for folder, log in logs.items():
        log.files = [row for row in rows[folder] if row.status == "audited"]
    there = [one for one in own if one not in refused]
    known = brokers(listing.directories, there)
    return Dump(
        files=files,
        directories=[_directory(one) for one in listing.directories if _is_listed(one)],
        partitions=list(partitions.values()),
        metadata_logs=list(logs.values()),
        told=[one.told for one in listing.directories if one.told],
        unread={
            (one.topic, one.partition)
            for one, why in left_out.items()
            if why == UNDECIDED and one.topic is not None and one.partition is not None
        },
        missing=missing_partitions(listing.directories, there, known),
        brokers=known,
        not_loaded=_by_directory(one for one in not_loaded if one in partitions),
    )


def _was_not_loaded(folder: Folder, files: Iterable[ListedFile]) -> bool:
    """Whether the broker that wrote the checkpoints when it stopped had not loaded a partition.

    Each log that a broker has loaded has its `leader-epoch-checkpoint`. Who copied less than the
    files of a broker may have left out lines of its checkpoints, too.
    """
    whole = any(one.classified.kind == "leader_epoch_checkpoint" for one in files)
    key = (folder.topic or "", folder.partition or 0)
    return whole and not folder.directory.was_loaded(key)


def _by_directory(folders: Iterable[Folder]) -> dict[str, list[str]]:
    """Partitions by log directory, by their names."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in folders:
        found[one.directory.label.rstrip("/")].append(f"{one.topic}-{one.partition}")
    return dict(found)


def _is_missed(file: Classified) -> bool:
    """Whether a log cannot be judged without a file that is there: what it says nobody knows."""
    odd = file.note in (NO_REGULAR_FILE, TOO_LARGE) and file.kind in AUDITED_KINDS
    return odd or file.note == GONE


def _is_audited(row: DumpFile, kind: str) -> bool:
    return row.kind == kind and row.status == "audited"


def _file(
    number: int, listed: ListedFile, partition: DumpPartition | None, left_out: str | None
) -> DumpFile:
    folder, classified = listed.folder, listed.classified
    root, below_root = root_and_below(listed.path)
    return DumpFile(
        file_index=number,
        root=root,
        below_root=printable_name(below_root),
        path=listed.label,
        broker=folder.directory.broker,
        topic=folder.topic if classified.of_partition else None,
        partition=folder.partition if classified.of_partition else None,
        partition_index=partition.partition_index if partition else None,
        kind=classified.kind,
        base_offset=classified.base_offset,
        size=listed.size,
        status="skipped" if left_out else classified.status,
        note=left_out or classified.note,
        text=listed.text,
    )


def _partition(number: int, folder: Folder, retired: bool, loaded: bool) -> DumpPartition:
    """Without its segments. A high watermark is the later one of checkpoint and manifest.

    `loaded`: see `_was_not_loaded`.

    `retired`: its broker no longer used the log directory when it stopped, or was copied: neither
    moment is that of this copy.
    """
    assert folder.topic is not None and folder.partition is not None
    directory, copied = folder.directory, folder.copied
    key = (folder.topic, folder.partition)
    marks = [
        (directory.high_watermarks or {}).get(key),
        copied.high_watermark if copied else None,
    ]
    log_start = (directory.log_starts or {}).get(key)
    if log_start is None and copied:
        log_start = copied.log_start
    fetched_end = copied.fetched_end if copied else None
    fetched_from = copied.fetched_from if copied else None
    return DumpPartition(
        partition_index=number,
        broker=directory.broker,
        topic=folder.topic,
        partition=folder.partition,
        high_watermark=max((mark for mark in marks if mark is not None), default=None),
        log_start=log_start,
        recovery_point=(directory.recovery_points or {}).get(key),
        cleaner_checkpoint=(directory.cleaner or {}).get(key),
        has_cleaner_checkpoint=directory.cleaner is not None,
        has_log_start_checkpoint=(directory.log_starts is not None and loaded)
        or log_start is not None,
        clean_shutdown=directory.clean_shutdown and loaded and not retired,
        copied_at_ms=copied.at_ms if copied and not retired else None,
        copied_until_ms=copied.end_ms if copied and not retired else None,
        cluster_id=directory.cluster_id,
        fetched_end=fetched_end,
        fetched_from=fetched_from,
        compacted=directory.told is not None and folder.topic in directory.told.compacted,
        told=_told(directory, key, copied),
    )


def _told(directory: LogDirectory, key: Key, copied: Copied | None) -> PartitionTold | None:
    """What the leader said before and after the end of this copy was fetched, and of its topic."""
    told = directory.told.states.get(key) if directory.told else None
    if told is None or copied is None or copied.fetched_end is None or copied.end_ms is None:
        return None
    between = told.answered_ms <= copied.end_ms <= told.asked_ms
    return told if between and _is_of_the_topic(told, copied) else None


def _is_of_the_topic(told: PartitionTold, copied: Copied) -> bool:
    """Whether both answers are about the topic that was fetched, not about one of its name.

    A topic that is made again begins at leader epoch 0, too, often on the same broker. Without ids
    (a broker older than 2.8, a dump of an older tool) only the fetch itself may have seen it.
    """
    if told.topic_ids:
        return told.topic_ids == {copied.topic_id}
    seen = copied.made_again_ms
    return seen is None or not told.answered_ms <= seen <= told.asked_ms


def _is_listed(directory: LogDirectory) -> bool:
    """Whether a log directory is one of its own, not a folder in that of the same broker."""
    return directory.properties is not None or directory.outer is None


def _directory(directory: LogDirectory) -> DumpDirectory:
    marks = directory.high_watermarks
    return DumpDirectory(
        path=f"{directory.label}{PROPERTIES}",
        size=directory.properties.size if directory.properties else 0,
        broker=directory.broker,
        cluster_id=directory.cluster_id,
        coordinator_partitions=None
        if marks is None
        else frozenset(number for topic, number in marks if topic == TXN_LOG_TOPIC),
    )
