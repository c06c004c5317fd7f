"""Lists a dump: which files there are, to which partition each belongs, what the side files say.

Only names, sizes and the few small text files of a log directory are read here, on the driver.
Nothing is ever written to the dump.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jobs.collect.folders import (
    PROPERTIES,
    is_partition_folder,
    is_text,
    log_directories,
    printable_name,
)
from jobs.collect.log_directory import Key, LogDirectory, read_log_directory, read_text
from jobs.collect.manifest import BEFORE, Copied
from jobs.collect.segment_swap import Swap, interrupted_swap
from jobs.collect.texts import dumped_file, sections_of, text_files
from jobs.model.dump import (
    Dump,
    DumpDirectory,
    DumpFile,
    DumpMetadataLog,
    DumpPartition,
    MissingPartition,
    cleaned_below,
)
from jobs.model.errors import UsageError
from jobs.model.file_names import (
    AUDITED_KINDS,
    BESIDE_A_SEGMENT,
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

# A partition.metadata has some 45 bytes.
MAX_METADATA_BYTES = 4096
NOT_LOOKED_INTO = "a folder that is not part of a log directory, not read"
OUTSIDE = "outside a log directory"
NO_REGULAR_FILE = "not a regular file"
NO_SEGMENT = "in a folder named like a partition, without a segment"
NO_TEXT_NAME = "a name that is not valid UTF-8, which no broker writes"
TOO_LARGE = "more than such a file can have"
# Read by one task as a whole; the index of a segment of 2 GiB full of aborts is smaller.
READ_WHOLE = ("txn_index", "producer_snapshot", *BESIDE_A_SEGMENT)
LARGEST_READ_WHOLE = 1 << 29
REPLACED = "replaced by a .swap file, as at the start of a broker"
SECOND_COPY = "a second copy of the partition on its broker, in another log directory"
NO_TRANSACTIONS = "metadata log of KRaft: it has no transactions"
SIDE_KINDS_IN_TEXTS = ("offset_index", "time_index", "producer_snapshot")
KINDS_IN_TEXTS = ("segment", "txn_index", *SIDE_KINDS_IN_TEXTS)
METADATA_KINDS = {"segment": METADATA_LOG, METADATA_SNAPSHOT_KIND: METADATA_SNAPSHOT_KIND}


class _Collector:
    """Numbers files and partitions in the order of their paths."""

    def __init__(self) -> None:
        self.dump = Dump()
        self._known: set[str] = set()  # labels of all log directories
        self._paths: list[DumpPath] = []  # of the files, in their order
        self._sides: dict[str, LogDirectory] = {}  # by label

    def know(self, labels: Iterable[str]) -> None:
        """Log directories that are going to be added: nothing else lists them."""
        self._known.update(labels)

    def _tell(self, problem: str) -> None:
        self.dump.unreadable.append(problem)

    def _entries(self, folder: DumpPath, label: str) -> list[DumpPath]:
        """What lies in a folder, in the order of the names; nothing, and a line, where hidden."""
        try:
            return sorted(folder.iterdir())
        except OSError as error:
            self._tell(f"{label.rstrip('/')}: {error.strerror}")
            return []

    def add_directory(self, folder: DumpPath, label: str) -> None:
        """A broker's log directory: its side files, then its partitions in name order."""
        around = [one for one in self._sides if label.startswith(one)]
        outer = self._sides[max(around, key=len)] if around else None
        side = self._sides[label] = read_log_directory(folder, label, self._tell, outer)
        if side.properties_bytes is not None or outer is None:
            size = side.properties_bytes or 0
            self.dump.directories.append(
                DumpDirectory(
                    f"{label}{PROPERTIES}",
                    size,
                    side.broker,
                    side.cluster_id,
                    _coordinator_partitions(side),
                )
            )
        also_partition = is_partition_folder(folder)
        for path in self._entries(folder, label):
            inner = f"{label}{printable_name(path.name)}"
            if not path.is_dir():
                # A folder that is a partition, too, is listed as that.
                if not also_partition:
                    self._add_file(path, inner, side.broker, None, None)
            elif path.name == BEFORE:
                self._add_earlier_copies(path, inner, side)
            elif is_text(path.name) and is_partition_folder(path):
                self._add_folder(path, inner, side)
            else:
                self._add_no_partition(path, inner, side.broker)

    def add_partition_folder(self, folder: DumpPath, label: str) -> None:
        """A partition folder alone: nothing is known of its broker."""
        self._add_folder(folder, label or folder.name, LogDirectory())

    def add_outside(self, folder: DumpPath, label: str) -> None:
        """Files of a dump outside its log directories, so that none is omitted silently.

        `label`: of what lies in `folder`.
        """
        for path in self._entries(folder, label):
            inner = f"{label}{printable_name(path.name)}"
            if path.is_dir():
                self._add_inner_folder(path, inner)
            else:
                self._add_file(path, inner, None, None, OUTSIDE)

    def _add_inner_folder(self, folder: DumpPath, label: str) -> None:
        """A folder that is no partition: searched for what is known in it, else one row."""
        inner = f"{label}/"
        if inner in self._known:
            return
        if any(one.startswith(inner) for one in self._known):
            self.add_outside(folder, inner)
        else:
            self._add_unknown_folder(folder, label)

    def _add_no_partition(self, folder: DumpPath, label: str, broker: int | None) -> None:
        """A folder of a log directory in which no segment lies, or of another name."""
        if any(one.startswith(f"{label}/") for one in self._known):
            self._add_inner_folder(folder, label)
            return
        note = "not a partition folder" if name_folder(folder.name) is None else NO_SEGMENT
        for path in self._entries(folder, label):
            inner = f"{label}/{printable_name(path.name)}"
            if path.is_dir():
                self._add_inner_folder(path, inner)
            else:
                self._add_file(path, inner, broker, None, note)

    def _add_unknown_folder(self, folder: DumpPath, label: str) -> None:
        """One row for a folder that nothing is known of; what lies in it is not listed."""
        self._add_row(folder, label, NamedFile(UNKNOWN_FOLDER, None, NOT_LOOKED_INTO), None, None)

    def _add_earlier_copies(self, before: DumpPath, label: str, side: LogDirectory) -> None:
        """The copy of `__transaction_state` that was taken before the data: only its end counts."""
        for folder in self._entries(before, label):
            if not folder.is_dir():
                continue
            named = name_folder(folder.name)
            earlier = named is not None and named[0] == TXN_LOG_TOPIC and named[2] is None
            inner = f"{label}/{printable_name(folder.name)}"
            for path in self._entries(folder, inner):
                if path.is_dir():
                    continue
                place = f"{inner}/{printable_name(path.name)}"
                file = self._add_file(path, place, side.broker, None, None)
                if not (earlier and file and named and file.kind == "segment"):
                    continue
                if file.note is None:
                    file.kind, file.status = EARLIER_COORDINATOR_LOG, "audited"
                    file.topic, file.partition = named[0], named[1]

    def _add_folder(self, folder: DumpPath, label: str, side: LogDirectory) -> None:
        named = name_folder(folder.name)
        entries = self._entries(folder, label)
        try:
            swap = interrupted_swap(folder, [path.name for path in entries])
        except OSError as error:
            self._tell(f"{label}: a .swap file cannot be read: {error.strerror}")
            swap = Swap({}, set())
        if named is not None:
            side.present.add(named[:2])
        paths = [path for path in entries if not path.is_dir()]
        also_directory = f"{label}/" in self._known
        for path in entries:
            if path.is_dir() and not also_directory:
                self._add_inner_folder(path, f"{label}/{printable_name(path.name)}")
        note = _why_no_partition(named)
        if named is None or note is not None:
            for path in paths:
                self._add_file(
                    path, f"{label}/{printable_name(path.name)}", side.broker, None, note
                )
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
            self._add_file(
                path,
                f"{label}/{printable_name(path.name)}",
                partition.broker,
                partition,
                note,
                name,
            )
        partition.chain(self.dump.files[first_file:])

    def add_texts(self, dump: Path, label: str, texts: list[Path]) -> None:
        """Texts of kafka-dump-log: the files that they print, as if those were present.

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
                    note = "already in another text of the dump"
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
                f"--dump {dump}: its texts do not name their partition; run kafka-dump-log with "
                "paths like /var/lib/kafka/orders-0/00000000000000000000.log."
            )
        for partition in known.values():
            partition.chain(files[partition.partition_index])

    def add_other_file(self, path: DumpPath, label: str) -> None:
        """A file among texts that is not a text."""
        self._add_file(path, label, None, None, "not a text of kafka-dump-log")

    def _add_metadata_log(
        self, number: int, paths: list[DumpPath], label: str, side: LogDirectory
    ) -> None:
        """A copy of `__cluster_metadata`: not audited, but a description of the cluster."""
        copy = DumpMetadataLog(side.cluster_id)
        for path in paths:
            kind = METADATA_KINDS.get(name_file(path.name).kind)
            why = None if kind else NO_TRANSACTIONS
            file = self._add_file(
                path, f"{label}/{printable_name(path.name)}", side.broker, None, why
            )
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

    def find_missing(self) -> None:
        """Notes the partitions that a checkpoint of a broker lists, but that have no folder."""
        present: dict[object, set[Key]] = defaultdict(set)
        for label, side in self._sides.items():
            present[_owner(label, side)] |= side.present
        for label, side in self._sides.items():
            there = present[_owner(label, side)]
            self.dump.missing += [
                MissingPartition(topic, partition, side.broker, f"{label}{name}")
                for (topic, partition), name in sorted(side.listed().items())
                if (topic, partition) not in there
            ]

    def find_replicas(self) -> None:
        """Numbers the partitions that several brokers have, and reads their facts together."""
        for number, copies in enumerate(replica_sets(self.dump)):
            reach = max(cleaned_below(copy) for copy in copies)
            for copy in copies:
                copy.replica_set, copy.cleaner_reach = number, reach
        for file in self.dump.files:
            if file.kind == "partition_metadata" and file.partition_index is not None:
                copy = self.dump.partitions[file.partition_index]
                if copy.replica_set is not None and file.note is None:
                    self._read_topic_id(file, copy)

    def _read_topic_id(self, file: DumpFile, copy: DumpPartition) -> None:
        path = self._paths[file.file_index]
        text = read_text(path, file.path, self._tell, MAX_METADATA_BYTES)
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
        elif not is_text(path.name):
            note = NO_TEXT_NAME
        elif named.kind in READ_WHOLE and status.st_size > LARGEST_READ_WHOLE:
            note = TOO_LARGE
            self._tell(f"{label}: {status.st_size:,} bytes, {TOO_LARGE}")
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
            below_root=printable_name(below_root),
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


def _owner(label: str, side: LogDirectory) -> object:
    """Equal for the log directories of one broker."""
    return label if side.broker is None else (side.cluster_id, side.broker)


def _coordinator_partitions(side: LogDirectory) -> frozenset[int] | None:
    if side.high_watermarks is None:
        return None
    return frozenset(number for topic, number in side.high_watermarks if topic == TXN_LOG_TOPIC)


def _newest(partition: DumpPartition) -> tuple[int, int, int]:
    """Distinguishes the log that is being written from one that was left over."""
    if not partition.segments:
        return -1, 0, -partition.partition_index
    newest = partition.segments[-1]
    return newest.base_offset or 0, newest.size, -partition.partition_index


def _why_no_partition(named: tuple[str, int, str | None] | None) -> str | None:
    """Why a folder is no partition to audit; None for one that is."""
    if named is None:
        return "not a partition folder"
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
        return "text without an entry: the file has none, or kafka-dump-log could not read it"
    return None if kind in KINDS_IN_TEXTS else "text of a file that is checked only by its bytes"


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
            collector.know(label + one.label for one in found if not one.partition)
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
        if all(one.label for one in found) and not found[0].partition:
            collector.add_outside(dump, label)
    collector.find_missing()
    collector.leave_out_second_copies()
    collector.find_replicas()
    return collector.dump
