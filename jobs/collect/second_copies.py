"""Partitions that a listing has twice of one broker, or not at all."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from jobs.collect.listed import Folder, ListedFile, Role
from jobs.collect.log_directory import Key, LogDirectory, read_text
from jobs.collect.manifest import NAME
from jobs.model.dump import DumpBroker, MissingPartition
from udfs.storage.dump_path import DumpPath
from udfs.wire.errors import WireError
from udfs.wire.side_files import checkpoints

T = TypeVar("T")
SECOND_COPY = "a second copy of the partition on its broker, in another log directory"
UNDECIDED = (
    "the partition is in two log directories of its broker, and nothing tells which of them the "
    "broker uses: leave the other one out of the dump"
)


class State(NamedTuple):
    """How far a copy of a partition has come; None for what no file says.

    `leader_epoch`: the newest one of which the copy has a batch; `noted_epoch`: that it notes.
    """

    topic_id: str | None
    leader_epoch: int | None
    noted_epoch: int | None
    high_watermark: int | None
    newest_segment: tuple[int, int]  # base offset, and size in bytes


class Copies(NamedTuple):
    """Of what the log directories of a broker hold twice: what is not audited, and why.

    `retired`: labels of the log directories that their broker no longer used when it stopped, or
    may not have used.
    """

    left_out: dict[Folder, str]
    retired: set[str]


def second_copies(
    folders: Sequence[Folder], files: Mapping[Folder, Sequence[ListedFile]]
) -> Copies:
    """Folders that hold the same partition of the same broker as another one; one of them counts.

    `files`: of each folder. A broker refuses to start with two (`LogManager.loadLog`; a `-future`
    folder is not meant), so one of the two log directories is no longer in its `log.dirs`, or is an
    older copy.
    """
    copies: dict[tuple[object, ...], list[Folder]] = defaultdict(list)
    for one in folders:
        directory = one.directory
        if one.role is Role.PARTITION and directory.broker is not None:
            copies[directory.cluster_id, directory.broker, one.topic, one.partition].append(one)
    found = Copies({}, _stopped_earlier(folders))
    for several in copies.values():
        newest = _newest(several, files)
        for one in several:
            if one is not newest:
                found.left_out[one] = UNDECIDED if newest is None else SECOND_COPY
                # Of one moment with the newest are only equal copies, and those beside it.
                equal = newest is not None and _later(newest, one, files) == 0
                others = several if newest is None else [newest]
                if not equal and any(one.directory.label != of.directory.label for of in others):
                    found.retired.add(one.directory.label)
    return found


def _newest(
    copies: Sequence[Folder], files: Mapping[Folder, Sequence[ListedFile]]
) -> Folder | None:
    """The first of the copies behind which no other one comes; None where nothing tells it.

    Each is asked against each: what two of them tell, the third may not, so that the order of
    three may be a circle.
    """
    for one in copies:
        against = [_later(one, other, files) for other in copies if other is not one]
        if all(later is not None and later >= 0 for later in against):
            return one
    return None


def _stopped_earlier(folders: Sequence[Folder]) -> set[str]:
    """Labels of log directories that stopped in an earlier epoch of their broker than others."""
    newest: dict[object, int] = {}
    directories = {one.directory.label: one.directory for one in folders}.values()
    for one in directories:
        newest[one.owner] = max(newest.get(one.owner, -1), one.broker_epoch or -1)
    return {
        one.label
        for one in directories
        if one.broker_epoch is not None and one.broker_epoch < newest[one.owner]
    }


def _later(one: Folder, other: Folder, files: Mapping[Folder, Sequence[ListedFile]]) -> int | None:
    """Which of two copies was used later: above 0 the first, below 0 the second.

    0: both are the same, as far as anything tells. None: nothing tells. Of one topic the copy that
    has come further counts. A topic that was created again begins at offset 0 and leader epoch 0,
    and what else the two log directories hold tells nothing of it: it may be idle, or be fetched
    anew just now. Only the epochs in which the broker used the directories tell.
    """
    stopped, other_stopped = one.directory.broker_epoch, other.directory.broker_epoch
    if stopped is not None and other_stopped is not None and stopped != other_stopped:
        return stopped - other_stopped
    states = _state(one, files), _state(other, files)
    return _order(*states) if states[0].topic_id == states[1].topic_id else None


def _order(one: State, other: State) -> int | None:
    """Which of two copies of one topic has come further, as the sign of a number.

    None where the one that has come further was not led by the newer leader, whom no batch shows.
    """
    asked: list[tuple[Any, Any]] = [(one.high_watermark, other.high_watermark)]
    # A log that was fetched anew has other segments.
    if None in asked[-1]:
        asked.append((one.newest_segment, other.newest_segment))
    by_epoch = _compare([(one.leader_epoch, other.leader_epoch)])
    further = by_epoch or _compare(asked)
    # The partition may have been made anew, and nobody has written to it since.
    noted = _compare([(one.noted_epoch, other.noted_epoch)])
    return None if not by_epoch and noted * further < 0 else further


def _compare(asked: Iterable[tuple[Any, Any]]) -> int:
    """The sign of the first difference of two known values; 0 for none."""
    for mine, theirs in asked:
        if None not in (mine, theirs) and mine != theirs:
            return 1 if mine > theirs else -1
    return 0


def _state(folder: Folder, files: Mapping[Folder, Sequence[ListedFile]]) -> State:
    of_kind = {one.classified.kind: one.path for one in files.get(folder, ())}
    segments = [
        (one.classified.base_offset or 0, one.size) for one in _segments(files.get(folder, ()))
    ]
    assert folder.topic is not None and folder.partition is not None
    mark = (folder.directory.high_watermarks or {}).get((folder.topic, folder.partition))
    begun = max((base for base, size in segments if size), default=-1)
    epochs = _read(of_kind.get("leader_epoch_checkpoint"), checkpoints.parse_leader_epochs) or []
    return State(
        topic_id=topic_id(folder, files),
        # A leader notes its epoch before it has a batch (`Partition.makeLeader`), who fetches it
        # does with a batch. The first batch of a segment is behind what begins there or before.
        leader_epoch=max(
            (epoch for epoch, at in epochs if at < (mark or 0) or at <= begun), default=None
        ),
        noted_epoch=max((epoch for epoch, _ in epochs), default=None),
        high_watermark=mark,
        newest_segment=max(segments, default=(-1, 0)),
    )


def topic_id(folder: Folder, files: Mapping[Folder, Sequence[ListedFile]]) -> str | None:
    """The topic id in a folder's partition.metadata; None for none."""
    of_kind = {one.classified.kind: one.path for one in files.get(folder, ())}
    metadata = _read(of_kind.get("partition_metadata"), checkpoints.parse_properties)
    return (metadata or {}).get("topic_id")


def _segments(files: Iterable[ListedFile]) -> Iterator[ListedFile]:
    for one in files:
        kind, _, status, _, of_partition = one.classified
        if of_partition and kind == "segment" and status == "audited":
            yield one


def _read(path: DumpPath | None, parse: Callable[[str], T]) -> T | None:
    """A small file; None where there is none, or one that cannot be read."""
    text = None if path is None else read_text(path, "", lambda _: None)
    try:
        return None if text is None else parse(text)
    except WireError:
        return None


def refused_partitions(
    folders: Sequence[Folder], files: Mapping[Folder, Sequence[ListedFile]]
) -> set[Folder]:
    """Folders of partitions that the manifest says could not be fetched, without a byte of them.

    `files`: of each folder. What an earlier fetch left of such a partition is audited.
    """
    return {
        one
        for one in folders
        if (one.topic, one.partition) in one.directory.not_fetched
        and not any(segment.size for segment in _segments(files.get(one, ())))
    }


def missing_partitions(
    directories: Sequence[LogDirectory],
    folders: Iterable[Folder],
    known: Iterable[DumpBroker],
) -> list[MissingPartition]:
    """Partitions that the dump has no folder of, although a checkpoint of a broker lists them.

    Those that `__cluster_metadata` assigns to it are known later (jobs/model/missing.py).
    The manifest of a fetched dump lists those that could not be fetched. `known`: of `brokers`.
    """
    present = _present(folders)
    asked = {(one.cluster_id, one.broker): one for one in known}
    listed = [
        (directory, (topic, partition), name)
        for directory in directories
        for (topic, partition), name in sorted(
            directory.listed().items() | {(one, NAME) for one in directory.not_fetched}
        )
    ]
    return [
        MissingPartition(
            *key,
            directory.broker,
            f"{directory.label}{name}",
            directory.owner not in asked or asked[directory.owner].was_asked_for(key[0]),
        )
        for directory, key, name in listed
        if key not in present[directory.owner]
    ]


def brokers(directories: Sequence[LogDirectory], folders: Iterable[Folder]) -> list[DumpBroker]:
    """The brokers that the dump has partitions of, where it is known of which cluster."""
    topics: dict[object, set[str]] = defaultdict(set)
    for one in directories:
        # Files outside of the log directories of a broker may be in a folder of its own.
        if one.properties is not None:
            topics[one.owner].update(one.topics)
    known = {(one.cluster_id, one.broker) for one in directories}
    present = _present(folders)
    return [
        DumpBroker(
            cluster,
            broker,
            frozenset(present[cluster, broker]),
            frozenset(topics[cluster, broker]),
        )
        for cluster, broker in sorted(known, key=str)
        if cluster is not None and broker is not None and present[cluster, broker]
    ]


def _present(folders: Iterable[Folder]) -> dict[object, set[Key]]:
    """The partitions of each `LogDirectory.owner`."""
    present: dict[object, set[Key]] = defaultdict(set)
    for one in folders:
        if one.topic is not None and one.partition is not None:
            present[one.directory.owner].add((one.topic, one.partition))
    return present
