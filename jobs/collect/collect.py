"""Lists a dump: which files there are, to which partition each belongs, what the side files say.

Only names, sizes and the few small text files of a log directory are read here, on the driver.
Nothing is ever written to the dump.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from jobs.collect.manifest import BEFORE, NAME, Copied, ManifestError, read_manifest
from jobs.collect.segment_swap import Swap, interrupted_swap
from jobs.collect.texts import dumped_file, sections_of, text_files
from jobs.model.dump import (
    Dump,
    DumpDirectory,
    DumpFile,
    DumpMetadataLog,
    DumpPartition,
    cleaned_below,
)
from jobs.model.errors import UsageError
from jobs.model.file_names import (
    AUDITED_KINDS,
    EARLIER_COORDINATOR_LOG,
    METADATA_LOG,
    METADATA_SNAPSHOT_KIND,
    READ_ON_THE_DRIVER,
    UNKNOWN_FOLDER,
    NamedFile,
    name_file,
    name_folder,
)
from jobs.model.replicas import replica_sets
from schemas.dump_file import IN_TEXT
from schemas.topics import METADATA_TOPIC, TXN_LOG_TOPIC
from udfs.storage.dump_path import DumpPath, root_and_below
from udfs.wire.errors import WireError
from udfs.wire.side_files import checkpoints
from udfs.wire.text.text_sections import Section

EXPECTED = (
    "expected a broker's log directory (with folders like orders-0 that hold .log files), a folder "
    "of such directories or of brokers that have several, one partition folder, or texts of "
    "kafka-dump-log"
)


# A partition.metadata has some 45 bytes.
MAX_METADATA_BYTES = 4096
NOT_LOOKED_INTO = "a folder that is no part of a log directory, not looked into"
OUTSIDE = "outside a log directory"
NO_REGULAR_FILE = "no regular file"
REPLACED = "replaced by a .swap file, as by a broker that starts"
SECOND_COPY = "a second copy of the partition on its broker, in another log directory"
NO_TRANSACTIONS = "metadata log of KRaft: no transactions in it"
SIDE_KINDS_IN_TEXTS = ("offset_index", "time_index", "producer_snapshot")
CHAINED_KINDS = ("segment", "txn_index", "offset_index", "time_index")
KINDS_IN_TEXTS = ("segment", "txn_index", *SIDE_KINDS_IN_TEXTS)
METADATA_KINDS = {"segment": METADATA_LOG, METADATA_SNAPSHOT_KIND: METADATA_SNAPSHOT_KIND}


@dataclass
class LogDirectory:
    """Side files of one broker directory."""

    broker: int | None = None
    cluster_id: str | None = None
    high_watermarks: dict[tuple[str, int], int] | None = None
    log_starts: dict[tuple[str, int], int] | None = None
    recovery_points: dict[tuple[str, int], int] | None = None
    cleaner: dict[tuple[str, int], int] | None = None
    clean_shutdown: bool = False
    copies: dict[str, Copied] = field(default_factory=dict)


def _is_partition_folder(folder: DumpPath) -> bool:
    return name_folder(folder.name) is not None and any(
        name_file(path.name).kind == "segment" for path in folder.iterdir()
    )


def _subfolders(folder: DumpPath) -> list[DumpPath]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir())


def _is_log_directory(folder: DumpPath) -> bool:
    if (folder / "meta.properties").is_file():
        return True
    return any(
        name_folder(entry.name) is not None
        and any(name.endswith((".log", ".log.deleted")) for name in _names(entry))
        for entry in _subfolders(folder)
    )


def _names(folder: DumpPath) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def log_directories(dump: DumpPath) -> list[tuple[DumpPath, str, bool]]:
    """(folder, its label below the dump, is a single partition folder) of all that `dump` holds.

    Below `dump` a folder is a log directory, or that of a broker with several. Raises UsageError
    when the folder is no dump.
    """
    try:
        if not dump.is_dir():
            problem = "is no folder, nor a text" if dump.exists() else "does not exist"
            raise UsageError(f"--dump {dump} {problem}: {EXPECTED}.")
        if _is_partition_folder(dump):
            return [(dump, dump.name, True)]
        if _is_log_directory(dump):
            return [(dump, "", False)]
        inner = []
        for folder in _subfolders(dump):
            if _is_log_directory(folder):
                inner.append((folder, f"{folder.name}/", False))
                continue
            for directory in _subfolders(folder):
                if _is_log_directory(directory):
                    inner.append((directory, f"{folder.name}/{directory.name}/", False))
    except OSError as error:
        raise UsageError(f"--dump {error.filename}: {error.strerror}.") from error
    if not inner:
        raise UsageError(f"--dump {dump} is no dump: {EXPECTED}.")
    return inner


class _Collector:
    """Numbers files and partitions in the order of their paths."""

    def __init__(self) -> None:
        self.dump = Dump()
        self._paths: list[DumpPath] = []  # of the files, in their order

    def add_directory(self, folder: DumpPath, label: str) -> None:
        """A broker's log directory: its side files, then its partitions in name order."""
        side = self._read_side_files(folder, label)
        for path in sorted(folder.iterdir()):
            if path.is_dir() and path.name == BEFORE:
                self._add_earlier_copies(path, f"{label}{path.name}", side)
            elif path.is_dir():
                self._add_folder(path, f"{label}{path.name}", side)
            else:
                self._add_file(path, f"{label}{path.name}", side.broker, None, None)

    def add_partition_folder(self, folder: DumpPath, label: str) -> None:
        """A partition folder alone: nothing is known of its broker."""
        self._add_folder(folder, label or folder.name, LogDirectory())

    def add_outside(self, folder: DumpPath, known: Collection[str], label: str) -> None:
        """What lies in a dump beside its log directories, so that it is not left out in silence.

        `known`: labels of the log directories; `label`: of what lies in `folder`.
        """
        for path in sorted(folder.iterdir()):
            inner = f"{label}{path.name}/"
            if inner in known:
                continue
            if any(one.startswith(inner) for one in known):
                self.add_outside(path, known, inner)
            elif path.is_dir():
                self._add_unknown_folder(path, inner.rstrip("/"))
            else:
                self._add_file(path, inner.rstrip("/"), None, None, OUTSIDE)

    def _add_unknown_folder(self, folder: DumpPath, label: str) -> None:
        """One row for a folder that nothing is known of; what lies in it is not listed."""
        self._add_row(folder, label, NamedFile(UNKNOWN_FOLDER, None, NOT_LOOKED_INTO), None, None)

    def _read_side_files(self, folder: DumpPath, label: str) -> LogDirectory:
        side = LogDirectory(clean_shutdown=(folder / ".kafka_cleanshutdown").exists())
        properties = self._text(folder / "meta.properties", label)
        if properties is not None:
            parsed = checkpoints.parse_properties(properties)
            number = parsed.get("node.id", parsed.get("broker.id", ""))
            side.broker = int(number) if number.isdigit() else None
            side.cluster_id = parsed.get("cluster.id")
        side.copies = self._copies(folder, label)
        for name, attribute in (
            ("replication-offset-checkpoint", "high_watermarks"),
            ("log-start-offset-checkpoint", "log_starts"),
            ("recovery-point-offset-checkpoint", "recovery_points"),
            ("cleaner-offset-checkpoint", "cleaner"),
        ):
            text = self._text(folder / name, label)
            if text is not None:
                try:
                    setattr(side, attribute, checkpoints.parse_offset_checkpoint(text))
                except WireError as error:
                    self.dump.unreadable.append(f"{label}{name}: {error.reason}: {error.detail}")
        self.dump.directories.append(
            DumpDirectory(
                f"{label}meta.properties",
                len(properties or ""),
                side.broker,
                side.cluster_id,
                _coordinator_partitions(side),
            )
        )
        return side

    def _copies(self, folder: DumpPath, label: str) -> dict[str, Copied]:
        try:
            return read_manifest(folder)
        except ManifestError as error:
            self.dump.unreadable.append(f"{label}{NAME} {error}; the times in it are not used")
            return {}

    def _add_earlier_copies(self, before: DumpPath, label: str, side: LogDirectory) -> None:
        """The copy of `__transaction_state` that was taken before the data: only its end counts."""
        for folder in _subfolders(before):
            named = name_folder(folder.name)
            earlier = named is not None and named[0] == TXN_LOG_TOPIC and named[2] is None
            for path in sorted(path for path in folder.iterdir() if path.is_file()):
                self._add_file(path, f"{label}/{folder.name}/{path.name}", side.broker, None, None)
                file = self.dump.files[-1]
                if earlier and named is not None and file.kind == "segment":
                    file.kind, file.status = EARLIER_COORDINATOR_LOG, "audited"
                    file.topic, file.partition = named[0], named[1]

    def _text(self, path: DumpPath, label: str) -> str | None:
        try:
            return path.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            self.dump.unreadable.append(f"{label}{path.name}: {error.strerror}")
            return None

    def _add_folder(self, folder: DumpPath, label: str, side: LogDirectory) -> None:
        named = name_folder(folder.name)
        try:
            entries = sorted(folder.iterdir())
            swap = interrupted_swap(folder, [path.name for path in entries])
        except OSError as error:
            self.dump.unreadable.append(f"{label}: {error.strerror}")
            return
        paths = [path for path in entries if not path.is_dir()]
        for path in entries:
            if path.is_dir():
                self._add_unknown_folder(path, f"{label}/{path.name}")
        note = _why_no_partition(named)
        if named is None or note is not None:
            for path in paths:
                self._add_file(path, f"{label}/{path.name}", side.broker, None, note)
        elif named[0] == METADATA_TOPIC:
            self._add_metadata_log(named[1], paths, label, side)
        else:
            copied = side.copies.get(folder.name)
            partition = self._new_partition(named[0], named[1], side, copied)
            self._add_partition_files(paths, label, partition, swap)

    def _add_partition_files(
        self, paths: list[DumpPath], label: str, partition: DumpPartition, swap: Swap
    ) -> None:
        first_file = len(self.dump.files)
        for path in paths:
            note = REPLACED if path.name in swap.replaced else None
            name = swap.adopted.get(path.name, path.name)
            self._add_file(path, f"{label}/{path.name}", partition.broker, partition, note, name)
        _chain(partition, self.dump.files[first_file:])

    def add_texts(self, dump: Path, label: str, texts: list[Path]) -> None:
        """Texts of kafka-dump-log: the files that they tell of, as if those were there.

        Texts of one folder below the dump are of one broker, as are paths that begin alike.
        """
        known: dict[tuple[str, str, str], DumpPartition] = {}
        told: set[tuple[str, str, str, str]] = set()
        files: dict[int | None, list[DumpFile]] = defaultdict(list)
        for path in texts:
            below = Path(path.name) if path == dump else path.relative_to(dump)
            group = below.parts[0] if len(below.parts) > 1 else ""
            for section in sections_of(path):
                directory, folder, name = dumped_file(section, path)
                place = f"{label}{below.as_posix()}{IN_TEXT}{folder}/{name}"
                key, named = (group, directory, folder), name_folder(folder)
                file = name_file(name)
                note = _why_no_partition(named) or _why_no_text(folder, file.kind, section)
                note = note or file.note
                if (*key, name) in told:
                    note = "told by another text of the dump already"
                if note is None and named is not None and key not in known:
                    known[key] = self._new_partition(named[0], named[1], LogDirectory(), None)
                told.add((*key, name))
                partition = None if note else known[key]
                size = section.end_byte - section.first_byte
                row = file._replace(note=note)
                added = self._add_row(path, place, row, None, partition, size, section)
                files[added.partition_index].append(added)
        if not known:
            raise UsageError(
                f"--dump {dump}: its texts do not tell of which partition they are; run "
                "kafka-dump-log with paths like /var/lib/kafka/orders-0/00000000000000000000.log."
            )
        for partition in known.values():
            _chain(partition, files[partition.partition_index])

    def add_other_file(self, path: DumpPath, label: str) -> None:
        """A file beside texts that is none."""
        self._add_file(path, label, None, None, "no text of kafka-dump-log")

    def _add_metadata_log(
        self, number: int, paths: list[DumpPath], label: str, side: LogDirectory
    ) -> None:
        """A copy of `__cluster_metadata`: no partition to audit, but it tells of the cluster."""
        copy = DumpMetadataLog(side.cluster_id)
        for path in paths:
            kind = METADATA_KINDS.get(name_file(path.name).kind)
            why = None if kind else NO_TRANSACTIONS
            file = self._add_file(path, f"{label}/{path.name}", side.broker, None, why)
            if kind and file:
                file.kind, file.status = kind, "audited"
                file.topic, file.partition = METADATA_TOPIC, number
                copy.files.append(file)
        self.dump.metadata_logs.append(copy)

    def _new_partition(
        self, topic: str, number: int, side: LogDirectory, copied: Copied | None
    ) -> DumpPartition:
        key = (topic, number)
        marks = [(side.high_watermarks or {}).get(key), copied.high_watermark if copied else None]
        known = [mark for mark in marks if mark is not None]
        partition = DumpPartition(
            partition_index=len(self.dump.partitions),
            broker=side.broker,
            topic=topic,
            partition=number,
            high_watermark=max(known) if known else None,
            log_start=(side.log_starts or {}).get(key),
            recovery_point=(side.recovery_points or {}).get(key),
            cleaner_checkpoint=(side.cleaner or {}).get(key),
            has_cleaner_checkpoint=side.cleaner is not None,
            clean_shutdown=side.clean_shutdown,
            copied_at_ms=copied.at_ms if copied else None,
            cluster_id=side.cluster_id,
        )
        self.dump.partitions.append(partition)
        return partition

    def leave_out_second_copies(self) -> None:
        """Of a partition that lies in several log directories of one broker, only one is audited.

        A broker refuses to start with two; what lies in a `-future` folder is not meant. The one
        whose newest segment begins last, or is larger, is the log that was still written.
        """
        copies: dict[tuple[object, ...], list[DumpPartition]] = defaultdict(list)
        for one in self.dump.partitions:
            if one.broker is not None:
                copies[one.cluster_id, one.broker, one.topic, one.partition].append(one)
        left_out = {
            one.partition_index
            for several in copies.values()
            for one in sorted(several, key=_newest, reverse=True)[1:]
        }
        if not left_out:
            return
        for file in self.dump.files:
            if file.partition_index in left_out:
                file.partition_index, file.status, file.note = None, "skipped", SECOND_COPY
        self.dump.partitions = [
            one for one in self.dump.partitions if one.partition_index not in left_out
        ]
        number = {one.partition_index: i for i, one in enumerate(self.dump.partitions)}
        for one in self.dump.partitions:
            one.partition_index = number[one.partition_index]
        for file in self.dump.files:
            if file.partition_index is not None:
                file.partition_index = number[file.partition_index]

    def find_replicas(self) -> None:
        """Numbers the partitions that several brokers have; reads what is told of them together."""
        for number, copies in enumerate(replica_sets(self.dump)):
            reach = max(cleaned_below(copy) for copy in copies)
            for copy in copies:
                copy.replica_set, copy.cleaner_reach = number, reach
        for file in self.dump.files:
            if file.kind == "partition_metadata" and file.partition_index is not None:
                copy = self.dump.partitions[file.partition_index]
                if copy.replica_set is not None and file.size <= MAX_METADATA_BYTES:
                    self._read_topic_id(file, copy)

    def _read_topic_id(self, file: DumpFile, copy: DumpPartition) -> None:
        text = self._text(self._paths[file.file_index], file.path)
        if text is None:
            return
        try:
            copy.topic_id = checkpoints.parse_properties(text).get("topic_id")
        except WireError as error:
            self.dump.unreadable.append(f"{file.path}: {error.reason}: {error.detail}")
            return
        copy.metadata_file = file.file_index
        file.status = "audited"

    def _add_file(
        self,
        path: DumpPath,
        label: str,
        broker: int | None,
        partition: DumpPartition | None,
        note: str | None,
        name: str | None = None,
    ) -> DumpFile | None:
        """Lists a file; None, and a line in `unreadable`, where it cannot be looked at.

        `name`: what it is taken for, where that is not its own name.
        """
        named = name_file(name or path.name)
        try:
            status = path.stat()
        except OSError as error:
            self.dump.unreadable.append(f"{label}: {error.strerror}")
            return None
        note = note or named.note
        if not path.is_file():
            note = NO_REGULAR_FILE
        return self._add_row(
            path, label, named._replace(note=note), broker, partition, status.st_size
        )

    def _add_row(
        self,
        path: DumpPath,
        label: str,
        named: NamedFile,
        broker: int | None,
        partition: DumpPartition | None,
        size: int = 0,
        text: Section | None = None,
    ) -> DumpFile:
        outside = named.kind == "segment" and partition is None
        root, below_root = root_and_below(path)
        file = DumpFile(
            file_index=len(self.dump.files),
            root=root,
            below_root=below_root,
            path=label,
            broker=broker,
            topic=partition.topic if partition else None,
            partition=partition.partition if partition else None,
            partition_index=partition.partition_index if partition else None,
            kind=named.kind,
            base_offset=named.base_offset,
            size=size,
            status=_status(named.kind, named.note, outside),
            note=named.note,
            text=text,
        )
        self.dump.files.append(file)
        self._paths.append(path)
        if partition is not None and named.kind == "segment" and named.note is None:
            partition.segments.append(file)
        return file


def _coordinator_partitions(side: LogDirectory) -> frozenset[int] | None:
    if side.high_watermarks is None:
        return None
    return frozenset(number for topic, number in side.high_watermarks if topic == TXN_LOG_TOPIC)


def _newest(partition: DumpPartition) -> tuple[int, int, int]:
    """What tells the log that is written from one that is left behind."""
    if not partition.segments:
        return -1, 0, -partition.partition_index
    newest = partition.segments[-1]
    return newest.base_offset or 0, newest.size, -partition.partition_index


def _chain(partition: DumpPartition, files: list[DumpFile]) -> None:
    """Orders the segments, and tells them and their indexes where the next segment begins."""
    partition.segments.sort(key=lambda segment: segment.base_offset or 0)
    following = {one.base_offset: later.base_offset for one, later in pairwise(partition.segments)}
    for file in files:
        if file.kind in CHAINED_KINDS:
            file.next_base_offset = following.get(file.base_offset)


def _why_no_partition(named: tuple[str, int, str | None] | None) -> str | None:
    """Why a folder is no partition to audit; None for one that is."""
    if named is None:
        return "no partition folder"
    retired = named[2]
    return f"folder marked -{retired}" if retired else None


def _why_no_text(folder: str, kind: str, section: Section) -> str | None:
    """Why a section of a text is not audited; None for one that is."""
    topic = folder.rpartition("-")[0]
    if topic == METADATA_TOPIC:
        return NO_TRANSACTIONS
    if topic == TXN_LOG_TOPIC and (section.lacks_records or not section.decoded):
        return "text of __transaction_state without --transaction-log-decoder"
    if kind in SIDE_KINDS_IN_TEXTS and not section.of_side_file:
        return "text without an entry: the file has none, or the tool could not read it"
    return None if kind in KINDS_IN_TEXTS else "text of a file that is judged by its bytes alone"


def _status(kind: str, note: str | None, outside: bool) -> str:
    if note is not None or outside:
        return "skipped"
    if kind in (*AUDITED_KINDS, *READ_ON_THE_DRIVER):
        return "audited"
    return "digest_only"


def _labels(dumps: Sequence[DumpPath]) -> Iterator[tuple[DumpPath, str]]:
    """Each dump with the prefix of its paths: none for one dump, its name for several."""
    seen: dict[str, int] = {}
    for dump in dumps:
        if len(dumps) == 1:
            yield dump, ""
            continue
        name = dump.resolve().name
        seen[name] = seen.get(name, 0) + 1
        yield dump, f"{name}/" if seen[name] == 1 else f"{name}#{seen[name]}/"


def collect(dumps: Sequence[DumpPath]) -> Dump:
    """Lists every file of the given dumps. Raises UsageError where one is no dump."""
    collector = _Collector()
    for dump, label in _labels(dumps):
        try:
            found = log_directories(dump)
        except UsageError:
            texts, others = text_files(dump) if isinstance(dump, Path) else ([], [])
            if not isinstance(dump, Path) or not texts:
                raise
            collector.add_texts(dump, label, texts)
            for path in others:
                below = path.relative_to(dump).as_posix()
                collector.add_other_file(path, f"{label}{below}")
            continue
        for folder, inner, single in found:
            if single:
                collector.add_partition_folder(folder, label + inner)
            else:
                collector.add_directory(folder, label + inner)
        known = {label + inner for _, inner, _ in found}
        if label not in known and not found[0][2]:
            collector.add_outside(dump, known, label)
    collector.leave_out_second_copies()
    collector.find_replicas()
    return collector.dump
