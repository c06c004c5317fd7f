"""Lists a dump: which files there are, to which partition each belongs, what the side files say.

Only names, sizes and the few small text files of a log directory are read here, on the driver.
Nothing is ever written to the dump.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jobs._dump import Dump, DumpDirectory, DumpFile, DumpMetadataLog, DumpPartition
from jobs._dump_layout import AUDITED_KINDS, READ_ON_THE_DRIVER, name_file, name_folder
from jobs._errors import UsageError
from jobs._manifest import BEFORE, NAME, Copied, ManifestError, read_manifest
from jobs._replicas import replica_sets
from schemas.topics import METADATA_TOPIC, TXN_LOG_TOPIC
from udfs.storage.dump_path import DumpPath, root_and_below
from udfs.wire import checkpoints
from udfs.wire.errors import WireError

EXPECTED = (
    "expected a broker's log directory (with folders like orders-0 that hold .log files), a folder "
    "of such directories, one per broker, or one partition folder"
)


# A partition.metadata has some 45 bytes.
MAX_METADATA_BYTES = 4096
NO_TRANSACTIONS = "metadata log of KRaft: no transactions in it"
METADATA_KINDS = {"segment": "metadata_log", "metadata_snapshot": "metadata_snapshot"}


@dataclass
class LogDirectory:
    """Side files of one broker directory."""

    broker: int | None = None
    cluster_id: str | None = None
    high_watermarks: dict[tuple[str, int], int] | None = None
    log_starts: dict[tuple[str, int], int] | None = None
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


def log_directories(dump: DumpPath) -> list[tuple[DumpPath, bool]]:
    """(folder, is a single partition folder) of everything that `dump` holds.

    Raises UsageError when the folder is no dump.
    """
    try:
        if not dump.is_dir():
            problem = "is not a folder" if dump.exists() else "does not exist"
            raise UsageError(f"--dump {dump} {problem}: {EXPECTED}.")
        if _is_partition_folder(dump):
            return [(dump, True)]
        if _is_log_directory(dump):
            return [(dump, False)]
        inner = [(folder, False) for folder in _subfolders(dump) if _is_log_directory(folder)]
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

    def _read_side_files(self, folder: DumpPath, label: str) -> LogDirectory:
        side = LogDirectory(clean_shutdown=(folder / ".kafka_cleanshutdown").exists())
        properties = self._text(folder / "meta.properties", label)
        if properties is not None:
            parsed = checkpoints.parse_properties(properties)
            number = parsed.get("node.id", parsed.get("broker.id", ""))
            side.broker = int(number) if number.isdigit() else None
            side.cluster_id = parsed.get("cluster.id")
        self.dump.directories.append(
            DumpDirectory(
                f"{label}meta.properties", len(properties or ""), side.broker, side.cluster_id
            )
        )
        side.copies = self._copies(folder, label)
        for name, attribute in (
            ("replication-offset-checkpoint", "high_watermarks"),
            ("log-start-offset-checkpoint", "log_starts"),
            ("cleaner-offset-checkpoint", "cleaner"),
        ):
            text = self._text(folder / name, label)
            if text is not None:
                try:
                    setattr(side, attribute, checkpoints.parse_offset_checkpoint(text))
                except WireError as error:
                    self.dump.unreadable.append(f"{label}{name}: {error.reason}: {error.detail}")
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
                    file.kind, file.status = "earlier_coordinator_log", "audited"
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
            paths = sorted(path for path in folder.iterdir() if path.is_file())
        except OSError as error:
            self.dump.unreadable.append(f"{label}: {error.strerror}")
            return
        note = _why_no_partition(named)
        if named is None or note is not None:
            for path in paths:
                self._add_file(path, f"{label}/{path.name}", side.broker, None, note)
            return
        if named[0] == METADATA_TOPIC:
            self._add_metadata_log(named[1], paths, label, side)
            return
        topic, number, _ = named
        partition = self._new_partition(topic, number, side, side.copies.get(folder.name))
        for path in paths:
            self._add_file(path, f"{label}/{path.name}", side.broker, partition, None)
        for segment, following in zip(
            partition.segments, [*partition.segments[1:], None], strict=True
        ):
            segment.next_base_offset = following.base_offset if following else None

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
            cleaner_checkpoint=(side.cleaner or {}).get(key),
            has_cleaner_checkpoint=side.cleaner is not None,
            clean_shutdown=side.clean_shutdown,
            copied_at_ms=copied.at_ms if copied else None,
            cluster_id=side.cluster_id,
        )
        self.dump.partitions.append(partition)
        return partition

    def find_replicas(self) -> None:
        """Numbers the partitions that several brokers have, and reads their topic ids."""
        for number, copies in enumerate(replica_sets(self.dump)):
            for copy in copies:
                copy.replica_set = number
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
    ) -> DumpFile | None:
        """Lists a file; None, and a line in `unreadable`, where it cannot be looked at."""
        named = name_file(path.name)
        note = note or named.note
        outside = named.kind == "segment" and partition is None
        try:
            size = path.stat().st_size
        except OSError as error:
            self.dump.unreadable.append(f"{label}: {error.strerror}")
            return None
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
            status=_status(named.kind, note, outside),
            note=note,
        )
        self.dump.files.append(file)
        self._paths.append(path)
        if partition is not None and named.kind == "segment" and note is None:
            partition.segments.append(file)
        return file


def _why_no_partition(named: tuple[str, int, str | None] | None) -> str | None:
    """Why a folder is no partition to audit; None for one that is."""
    if named is None:
        return "no partition folder"
    retired = named[2]
    return f"folder marked -{retired}" if retired else None


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
        found = log_directories(dump)
        for folder, single in found:
            if single:
                collector.add_partition_folder(folder, f"{label}{folder.name}")
            else:
                inner = "" if folder == dump else f"{folder.name}/"
                collector.add_directory(folder, label + inner)
    collector.find_replicas()
    return collector.dump
