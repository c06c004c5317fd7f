"""What a listed dump is: files, partitions, and what could not be read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise

from jobs.model.told import BrokersTold, PartitionTold
from schemas.topics import CLEANED_TOPICS, COORDINATOR_TOPICS, TXN_LOG_TOPIC
from udfs.wire.text.text_sections import Section

CHAINED_KINDS = ("segment", "txn_index", "offset_index", "time_index")


@dataclass(slots=True)
class DumpFile:
    """One file. `path` is relative to the dump.

    `root` and `below_root` are where `open_file` finds it: a folder and a name in it, or the URI of
    a remote dump, which is not to be shown as it is, and a path below that.

    `text`: the file itself is not there, but this section of a text of kafka-dump-log.
    """

    file_index: int
    root: str
    below_root: str
    path: str
    broker: int | None
    topic: str | None
    partition: int | None
    partition_index: int | None
    kind: str
    base_offset: int | None
    size: int
    status: str
    note: str | None
    next_base_offset: int | None = None
    text: Section | None = None


@dataclass
class DumpPartition:
    """One partition on one broker. Offsets are those of the checkpoint files, None if absent.

    `has_cleaner_checkpoint`: the log directory holds a cleaner checkpoint, so that a partition it
    does not list is known not to be compacted. `clean_shutdown`: the broker had stopped cleanly.
    `copied_at_ms`: all that was appended before this moment is in the copy (dump-manifest.json);
    `copied_until_ms`: nothing of it was read after this moment.
    `cluster_id`: of its log directory. `replica_set`: equal for copies of other brokers
    (jobs/model/replicas.py), None without any. `topic_id`, `metadata_file`: what partition.metadata
    says and its number, None where nobody asks (jobs/collect/replica_sets.py). `incarnation`:
    tells topics of one name apart whose partition the dump has, 0 where it knows one only.
    `cleaner_reach`: offset below which the cleaner of any of the copies came, 0 without a
    replica_set. `fetched_end`: the offset behind a
    copy that was fetched over the protocol: its segments are not the broker's; `fetched_from`: the
    first offset that its newest run fetched, None where nobody says so. `compacted`: a broker said
    that the topic is. `told`: what its leader said of a fetched copy, None for nothing.
    `rolled_at`: all that the copy has was closed, and the newest segment begins at this offset or
    later; None where the last one of the copy is the newest (jobs/model/superseded.py).
    """

    partition_index: int
    broker: int | None
    topic: str
    partition: int
    high_watermark: int | None
    log_start: int | None
    recovery_point: int | None
    cleaner_checkpoint: int | None
    has_cleaner_checkpoint: bool
    has_log_start_checkpoint: bool
    clean_shutdown: bool
    copied_at_ms: int | None = None
    copied_until_ms: int | None = None
    cluster_id: str | None = None
    replica_set: int | None = None
    topic_id: str | None = None
    metadata_file: int | None = None
    incarnation: int = 0
    cleaner_reach: int = 0
    fetched_end: int | None = None
    fetched_from: int | None = None
    compacted: bool = False
    told: PartitionTold | None = None
    rolled_at: int | None = None
    segments: list[DumpFile] = field(default_factory=list)

    @property
    def newest_base(self) -> int | None:
        """Base offset of the newest (active) segment, None without any."""
        last = self.segments[-1].base_offset if self.segments else None
        return last if self.rolled_at is None else self.rolled_at

    def chain(self, files: Iterable[DumpFile]) -> None:
        """Orders the segments, and tells them and their indexes where the next segment begins.

        `files`: all of the partition.
        """
        self.segments.sort(key=lambda segment: segment.base_offset or 0)
        behind = {one.base_offset: later.base_offset for one, later in pairwise(self.segments)}
        if self.segments and self.rolled_at is not None:
            behind[self.segments[-1].base_offset] = self.rolled_at
        for file in files:
            if file.kind in CHAINED_KINDS:
                file.next_base_offset = behind.get(file.base_offset)


@dataclass(frozen=True)
class DumpDirectory:
    """A log directory of a broker. `path` is that of its `meta.properties`, relative to the dump.

    `size`: of that file, bytes; 0 where there is none. `coordinator_partitions`: those of
    `__transaction_state` that its replication-offset-checkpoint lists, None without that file.
    """

    path: str
    size: int
    broker: int | None
    cluster_id: str | None
    coordinator_partitions: frozenset[int] | None = None


@dataclass(frozen=True)
class MissingPartition:
    """A partition that the checkpoint `listed_in` lists, and of which the dump has no folder.

    Or the topic `__cluster_metadata`. `asked`: False where the dump was not to have the topic.
    """

    topic: str
    partition: int
    broker: int | None
    listed_in: str
    asked: bool = True


@dataclass(frozen=True)
class DumpBroker:
    """A broker of the dump: partitions (topic and number) that there are folders of.

    `topics`: patterns of the topics that the dump was asked for (dump-manifest.json).
    """

    cluster_id: str
    broker: int
    partitions: frozenset[tuple[str, int]]
    topics: frozenset[str]

    def was_asked_for(self, topic: str) -> bool:
        """Whether the dump was to have the topic; it always has those of the coordinators."""
        return topic in COORDINATOR_TOPICS or any(
            fnmatchcase(topic, pattern) for pattern in self.topics
        )


@dataclass
class DumpMetadataLog:
    """A copy of `__cluster_metadata`: its segments and snapshots, in the order of their names.

    `broker`: of its log directory; a controller has a number too.
    """

    cluster_id: str | None
    broker: int | None = None
    files: list[DumpFile] = field(default_factory=list)


@dataclass
class Dump:
    """Files, partitions and log directories of an audit, and what could not be read."""

    files: list[DumpFile] = field(default_factory=list)
    directories: list[DumpDirectory] = field(default_factory=list)
    partitions: list[DumpPartition] = field(default_factory=list)
    metadata_logs: list[DumpMetadataLog] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    missing: list[MissingPartition] = field(default_factory=list)
    brokers: list[DumpBroker] = field(default_factory=list)
    told: list[BrokersTold] = field(default_factory=list)
    # Topic and partition of copies that were left out, as they were not read as they were listed,
    # or as nothing tells which of two is that of the broker.
    unread: set[tuple[str, int]] = field(default_factory=set)
    # By log directory, what the broker that wrote its checkpoints had not loaded (`was_loaded`).
    not_loaded: dict[str, list[str]] = field(default_factory=dict)


def coordinator_partitions(dump: Dump) -> int | None:
    """How many partitions of `__transaction_state` the dump has; None where it leaves one out."""
    numbers = {one.partition for one in dump.partitions if one.topic == TXN_LOG_TOPIC}
    return len(numbers) if numbers == set(range(len(numbers))) and numbers else None


def one_moment_from(partition: DumpPartition) -> int | None:
    """From which offset on the files of a copy are of one moment, for all that a cleaner does.

    Else it may have passed between one file and the next: the data of a transaction may be of
    before two passes, and the place of its marker of after them. Of one moment are the copy of a
    broker that had stopped, one whose files were not replaced while it was made
    (dump-manifest.json), the newest segment, which no cleaner passes, and what one run has fetched.
    None where nothing is.
    """
    if partition.fetched_end is not None:
        return partition.fetched_from
    settled = partition.clean_shutdown or partition.copied_at_ms is not None
    return 0 if settled else partition.newest_base


def cleaned_below(partition: DumpPartition) -> int:
    """Offsets below this are known to be cleaned; 0 where nothing says so.

    A broker never cleans its newest segment. Of a fetched copy nobody knows where that begins.
    """
    if partition.fetched_end is not None:
        compacted = partition.compacted or partition.topic in CLEANED_TOPICS
        return partition.fetched_end if compacted else 0
    if partition.topic in CLEANED_TOPICS and partition.cleaner_checkpoint is None:
        return partition.newest_base or 0
    return _rewritten_below(partition, partition.cleaner_checkpoint or 0)


def files_cleaned_below(partition: DumpPartition) -> int:
    """The same of offsets that lie in no file, between two others; 0 where nothing says so.

    How far the file in front of them was cleaned does not show. So the checkpoint is asked, which
    the cleaner writes after every pass: a partition that it does not list had none by its broker.
    """
    if partition.has_cleaner_checkpoint:
        return partition.cleaner_checkpoint or 0
    return cleaned_below(partition)


def _rewritten_below(partition: DumpPartition, checkpoint: int) -> int:
    """Offset behind the segments that a pass to `checkpoint` has rewritten.

    They are whole ones. Where the map of keys was full inside of one, the checkpoint lies inside,
    and behind it that segment lost aborted data and their markers, too (`Cleaner.doClean`). A
    checkpoint up to the log start may show no pass, and `__transaction_state` has no aborted data.
    """
    begins = [segment.base_offset or 0 for segment in partition.segments]
    if checkpoint <= (partition.log_start or 0) or partition.topic == TXN_LOG_TOPIC:
        return checkpoint
    behind = [begin for begin in begins if begin >= checkpoint]
    return behind[0] if behind and begins[0] < checkpoint else checkpoint
