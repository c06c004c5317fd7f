"""A dump in memory: what the brokers have on disk, as bytes that a law may change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from udfs.wire.side_files.checkpoints import parse_leader_epochs, parse_offset_checkpoint

META = "meta.properties"
MANIFEST = "dump-manifest.json"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
HIGH_WATERMARK = "replication-offset-checkpoint"
RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
CLEANER = "cleaner-offset-checkpoint"
CHECKPOINTS = (HIGH_WATERMARK, RECOVERY_POINT, LOG_START, CLEANER)
LEADER_EPOCHS = "leader-epoch-checkpoint"
TOPIC_ID = "partition.metadata"
TXN_LOG, OFFSETS, METADATA = "__transaction_state", "__consumer_offsets", "__cluster_metadata"
INTERNAL = (TXN_LOG, OFFSETS, METADATA)
# Of one segment, by its base offset; a snapshot may also stand for itself.
OF_SEGMENT = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
LEFT_BEHIND = (".deleted", ".cleaned", ".swap", ".tmp")
ZEROS = {".index": 8, ".timeindex": 12}

TopicPartition = tuple[str, int]


@dataclass
class Partition:
    """One copy of a partition: the files of its folder by name."""

    topic: str
    number: int
    files: dict[str, bytes]

    @property
    def place(self) -> TopicPartition:
        return self.topic, self.number

    def copy(self) -> "Partition":
        return Partition(self.topic, self.number, dict(self.files))

    def bases(self) -> list[int]:
        """Base offsets of the segments, in order."""
        return sorted(int(name[:20]) for name in self.files if name.endswith(".log"))

    def snapshots(self) -> list[int]:
        """Offsets of the producer snapshots, in order."""
        return sorted(int(name[:20]) for name in self.files if name.endswith(".snapshot"))

    def segment(self, base: int) -> bytes:
        return self.files[f"{base:020}.log"]

    def drop(self, base: int, suffixes: Sequence[str] = OF_SEGMENT) -> None:
        """Removes files of the segment that are there."""
        for suffix in suffixes:
            self.files.pop(f"{base:020}{suffix}", None)

    def leader_epochs(self) -> list[tuple[int, int]] | None:
        """(epoch, start offset); None without the file."""
        if LEADER_EPOCHS not in self.files:
            return None
        return parse_leader_epochs(self.files[LEADER_EPOCHS].decode())

    def set_leader_epochs(self, epochs: Sequence[tuple[int, int]]) -> None:
        lines = [f"{epoch} {start}\n" for epoch, start in epochs]
        self.files[LEADER_EPOCHS] = f"0\n{len(lines)}\n{''.join(lines)}".encode()


@dataclass
class Directory:
    """One log directory of a broker: the files at its root, and its partitions."""

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    partitions: list[Partition] = field(default_factory=list)

    def copy(self) -> "Directory":
        return Directory(self.name, dict(self.files), [one.copy() for one in self.partitions])

    def broker(self) -> str:
        """The number that `meta.properties` tells; the name of the folder without one."""
        for line in self.files.get(META, b"").decode().splitlines():
            name, _, value = line.partition("=")
            if name in ("node.id", "broker.id"):
                return value.strip()
        return self.name

    def checkpoint(self, name: str) -> dict[TopicPartition, int]:
        return parse_offset_checkpoint(self.files.get(name, b"").decode())

    def set_checkpoint(self, name: str, offsets: dict[TopicPartition, int]) -> None:
        lines = [f"{topic} {number} {offset}\n" for (topic, number), offset in offsets.items()]
        self.files[name] = f"0\n{len(lines)}\n{''.join(lines)}".encode()

    def put(self, name: str, place: TopicPartition, offset: int | None) -> None:
        """Sets an entry of a checkpoint, or removes it; a file that is not there stays so."""
        if name in self.files or offset is not None:
            offsets = self.checkpoint(name)
            offsets.pop(place, None)
            self.set_checkpoint(name, offsets if offset is None else offsets | {place: offset})


@dataclass
class Dump:
    """All log directories of a dump."""

    directories: list[Directory]

    def not_stopped(self, broker: Directory) -> None:
        """The broker of a directory was not stopped cleanly, whatever disks it has."""
        for one in self.directories:
            if one.broker() == broker.broker():
                one.files.pop(CLEAN_SHUTDOWN, None)

    def copy(self) -> "Dump":
        return Dump([one.copy() for one in self.directories])

    def copies(self) -> Iterator[tuple[Directory, Partition]]:
        """Every copy of every partition, with where it lies."""
        for directory in self.directories:
            for partition in directory.partitions:
                yield directory, partition

    def write(self, folder: Path) -> None:
        for directory in self.directories:
            root = folder / directory.name
            root.mkdir(parents=True)
            for name, content in directory.files.items():
                (root / name).write_bytes(content)
            for one in directory.partitions:
                inside = root / f"{one.topic}-{one.number}"
                inside.mkdir()
                for name, content in one.files.items():
                    (inside / name).write_bytes(content)


def _content(path: Path) -> bytes:
    """What a file holds; what is preallocated behind the entries of an index is left out."""
    content = path.read_bytes()
    size = ZEROS.get(path.suffix)
    if size and len(content) > 1 << 20:
        filled = len(content.rstrip(b"\0"))
        content = content[: -(-filled // size) * size]
    return content


def read_dump(folder: Path) -> Dump:
    """Reads what lies under `folder`: every folder with a `meta.properties` or partitions."""
    directories = []
    for root in sorted(path for path in folder.iterdir() if path.is_dir()):
        directory = Directory(root.name)
        for path in sorted(root.iterdir()):
            if path.is_file() and path.name != ".lock":
                directory.files[path.name] = path.read_bytes()
            elif path.is_dir() and any(path.glob("*.log")):
                topic, _, number = path.name.rpartition("-")
                if not number.isdigit():
                    continue
                files = {
                    one.name: _content(one)
                    for one in sorted(path.iterdir())
                    if one.is_file() and not one.name.endswith(LEFT_BEHIND)
                }
                directory.partitions.append(Partition(topic, int(number), files))
        directories.append(directory)
    return Dump(directories)
