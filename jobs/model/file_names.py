"""Names on a broker's disk: which file is what (docs/kafka-rules.md, Files)."""

import re
from typing import NamedTuple

from udfs.rules.limits import HIGHEST

PARTITION_FOLDER = re.compile(r"^(?P<topic>[A-Za-z0-9._-]{1,249})-(?P<partition>[0-9]{1,10})$")
RETIRED_FOLDER = re.compile(r"\.[0-9a-f]{32}-(?P<why>delete|future|stray)$")
DATA_FILE = re.compile(
    r"^(?P<base>[0-9]{20})(?P<suffix>\.log|\.index|\.timeindex|\.txnindex|\.snapshot)$"
)
# The state of __cluster_metadata before an offset, and the epoch of the record before it.
METADATA_SNAPSHOT = re.compile(r"^(?P<end>[0-9]{20})-[0-9]{10}\.checkpoint$")
MAX_PARTITION = (1 << 31) - 1
LEFTOVER_SUFFIXES = {
    ".deleted": "renamed to be deleted, no part of the log",
    ".cleaned": "written by a pass of the cleaner that did not end, no part of the log",
    ".swap": "of a swap that a broker would take back, no part of the log",
    ".tmp": "being written, no part of the log",
}

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
    ".lock": "lock_file",
    "dump-manifest.json": "dump_manifest",
    "broker-answers.json": "broker_answers",
}
# What a file is by the place where it lies, not by its name alone.
METADATA_LOG = "metadata_log"
METADATA_SNAPSHOT_KIND = "metadata_snapshot"
EARLIER_COORDINATOR_LOG = "earlier_coordinator_log"
LEFTOVER = "leftover"
UNKNOWN_FOLDER = "folder"
OTHER = "other"
KINDS = (
    *KINDS_BY_SUFFIX.values(),
    *KINDS_BY_NAME.values(),
    METADATA_LOG,
    METADATA_SNAPSHOT_KIND,
    EARLIER_COORDINATOR_LOG,
    LEFTOVER,
    UNKNOWN_FOLDER,
    OTHER,
)
# Read by the tasks that decode the segments, too.
BESIDE_A_SEGMENT = ("offset_index", "time_index", "leader_epoch_checkpoint")
# Of these one task needs all bytes to judge any.
JUDGED_AS_A_WHOLE = ("txn_index", "producer_snapshot", *BESIDE_A_SEGMENT)
AUDITED_KINDS = ("segment", *JUDGED_AS_A_WHOLE)
READ_ON_THE_DRIVER = (
    "meta_properties",
    "high_watermark_checkpoint",
    "log_start_checkpoint",
    "recovery_point_checkpoint",
    "cleaner_checkpoint",
    "clean_shutdown_marker",
    "dump_manifest",
    "broker_answers",
)


class NamedFile(NamedTuple):
    """Facts from a file name: kind, base offset where it has one, note where it is left out."""

    kind: str
    base_offset: int | None
    note: str | None


def name_file(name: str) -> NamedFile:
    """Reads a file name of a partition folder or of a log directory."""
    match = DATA_FILE.fullmatch(name)
    if match and int(match["base"]) <= HIGHEST:
        return NamedFile(KINDS_BY_SUFFIX[match["suffix"]], int(match["base"]), None)
    snapshot = METADATA_SNAPSHOT.fullmatch(name)
    if snapshot and int(snapshot["end"]) <= HIGHEST:
        return NamedFile(METADATA_SNAPSHOT_KIND, int(snapshot["end"]), None)
    for suffix, why in LEFTOVER_SUFFIXES.items():
        if name.endswith(suffix):
            return NamedFile(LEFTOVER, None, f"{suffix} file: {why}")
    return NamedFile(KINDS_BY_NAME.get(name, OTHER), None, None)


def name_folder(name: str) -> tuple[str, int, str | None] | None:
    """(topic, partition, why it is retired or None) of a partition folder; None for another."""
    retired = RETIRED_FOLDER.search(name)
    match = PARTITION_FOLDER.fullmatch(name[: retired.start()] if retired else name)
    if not match or int(match["partition"]) > MAX_PARTITION:
        return None
    return match["topic"], int(match["partition"]), retired["why"] if retired else None
