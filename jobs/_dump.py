"""What a listed dump is: files, partitions, and what could not be read."""

from dataclasses import dataclass, field

from jobs._dump_layout import CLEANED_TOPICS


@dataclass
class DumpFile:
    """One file. `path` is relative to the dump, `root` / `below_root` is where it is opened."""

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


@dataclass
class DumpPartition:
    """One partition on one broker. Offsets are those of the checkpoint files, None if absent.

    `has_checkpoints`: the log directory holds a cleaner checkpoint, so that a partition it does
    not list is known not to be compacted. `clean_shutdown`: the broker had stopped cleanly.
    `copied_at_ms`: all that was appended before this moment is in the copy (dump-manifest.json).
    """

    partition_index: int
    broker: int | None
    topic: str
    partition: int
    high_watermark: int | None
    log_start: int | None
    cleaner_checkpoint: int | None
    has_cleaner_checkpoint: bool
    clean_shutdown: bool
    copied_at_ms: int | None = None
    segments: list[DumpFile] = field(default_factory=list)


@dataclass
class Dump:
    """All files and partitions of an audit, and the files or folders that could not be read."""

    files: list[DumpFile] = field(default_factory=list)
    partitions: list[DumpPartition] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def cleaned_below(partition: DumpPartition) -> int:
    """Offsets below this are known to be cleaned; 0 where nothing says so."""
    newest = partition.segments[-1].base_offset if partition.segments else None
    if partition.topic in CLEANED_TOPICS and partition.cleaner_checkpoint is None:
        return newest or 0
    return partition.cleaner_checkpoint or 0
