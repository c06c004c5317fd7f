"""Names on a broker's disk: which file is what (kafka-reference part 1)."""

import re
from dataclasses import dataclass

PARTITION_FOLDER = re.compile(r"^(?P<topic>[A-Za-z0-9._-]{1,249})-(?P<partition>\d{1,10})$")
RETIRED_FOLDER = re.compile(r"\.[0-9a-f]{32}-(?P<why>delete|future|stray)$")
DATA_FILE = re.compile(
    r"^(?P<base>\d{20})(?P<suffix>\.log|\.index|\.timeindex|\.txnindex|\.snapshot)$"
)
# The state of __cluster_metadata before an offset, and the epoch of the record before it.
METADATA_SNAPSHOT = re.compile(r"^(?P<end>\d{20})-\d{10}\.checkpoint$")
LEFTOVER_SUFFIXES = (".deleted", ".cleaned", ".swap", ".tmp")

KINDS_BY_SUFFIX = {
    ".log": "segment",
    ".index": "offset_index",
    ".timeindex": "time_index",
    ".txnindex": "txn_index",
    ".snapshot": "producer_snapshot",
}
KINDS_BY_NAME = {
    "meta.properties": "meta_properties",
    "replication-offset-checkpoint": "high_watermark_checkpoint",
    "log-start-offset-checkpoint": "log_start_checkpoint",
    "cleaner-offset-checkpoint": "cleaner_checkpoint",
    "recovery-point-offset-checkpoint": "recovery_point_checkpoint",
    "leader-epoch-checkpoint": "leader_epoch_checkpoint",
    "partition.metadata": "partition_metadata",
    ".kafka_cleanshutdown": "clean_shutdown_marker",
    "dump-manifest.json": "dump_manifest",
}
AUDITED_KINDS = ("segment", "txn_index", "producer_snapshot")
READ_ON_THE_DRIVER = (
    "meta_properties",
    "high_watermark_checkpoint",
    "log_start_checkpoint",
    "cleaner_checkpoint",
    "clean_shutdown_marker",
    "dump_manifest",
)


@dataclass(frozen=True)
class NamedFile:
    """What a file name tells: kind, base offset where it has one, note where it is left out."""

    kind: str
    base_offset: int | None
    note: str | None


def name_file(name: str) -> NamedFile:
    """Reads a file name of a partition folder or of a log directory."""
    match = DATA_FILE.match(name)
    if match:
        return NamedFile(KINDS_BY_SUFFIX[match["suffix"]], int(match["base"]), None)
    snapshot = METADATA_SNAPSHOT.match(name)
    if snapshot:
        return NamedFile("metadata_snapshot", int(snapshot["end"]), None)
    for suffix in LEFTOVER_SUFFIXES:
        if name.endswith(suffix):
            return NamedFile("leftover", None, f"{suffix} file: no part of the log")
    return NamedFile(KINDS_BY_NAME.get(name, "other"), None, None)


def name_folder(name: str) -> tuple[str, int, str | None] | None:
    """(topic, partition, why it is retired or None) of a partition folder; None for another."""
    retired = RETIRED_FOLDER.search(name)
    match = PARTITION_FOLDER.match(name[: retired.start()] if retired else name)
    if not match:
        return None
    return match["topic"], int(match["partition"]), retired["why"] if retired else None
