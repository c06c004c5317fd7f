"""What the small files of a broker's log directory say of it and of its partitions."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from jobs.collect.folders import PROPERTIES
from jobs.collect.manifest import NAME, Copied, ManifestError, read_manifest
from udfs.storage.dump_path import DumpPath
from udfs.storage.small_file import LARGEST_BYTES, read_small
from udfs.wire.errors import WireError
from udfs.wire.side_files import checkpoints

# Some 100 bytes.
LARGEST_PROPERTIES = 1 << 16
BROKER_ID = re.compile(r"[0-9]{1,10}")
LARGEST_BROKER_ID = (1 << 31) - 1
# name of the file, attribute of LogDirectory
CHECKPOINTS = (
    ("replication-offset-checkpoint", "high_watermarks"),
    ("log-start-offset-checkpoint", "log_starts"),
    ("recovery-point-offset-checkpoint", "recovery_points"),
    ("cleaner-offset-checkpoint", "cleaner"),
)

Key = tuple[str, int]
Tell = Callable[[str], None]


@dataclass
class LogDirectory:
    """Side files of one broker directory, and `present`: the partitions that it has folders of."""

    broker: int | None = None
    cluster_id: str | None = None
    high_watermarks: dict[Key, int] | None = None
    log_starts: dict[Key, int] | None = None
    recovery_points: dict[Key, int] | None = None
    cleaner: dict[Key, int] | None = None
    clean_shutdown: bool = False
    copies: dict[str, Copied] = field(default_factory=dict)
    properties_bytes: int | None = None
    present: set[Key] = field(default_factory=set)

    def listed(self) -> dict[Key, str]:
        """Partitions that a checkpoint lists, and the first one that does."""
        return {
            key: name
            for name, attribute in reversed(CHECKPOINTS)
            for key in getattr(self, attribute) or ()
        }


def read_text(path: DumpPath, label: str, tell: Tell, largest: int = LARGEST_BYTES) -> str | None:
    """Text of a small file; None where there is none, or where it cannot be read, which is told."""
    try:
        return read_small(path, largest).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        tell(f"{label}: {error.strerror}")
        return None


def read_log_directory(
    folder: DumpPath, label: str, tell: Tell, outer: LogDirectory | None = None
) -> LogDirectory:
    """Reads them. What cannot be used is told, and counts as not there.

    `label`: of what lies in the folder. `outer`: the log directory in which this one lies; without
    a meta.properties it is of the same broker.
    """
    side = LogDirectory(clean_shutdown=(folder / ".kafka_cleanshutdown").is_file())
    _read_properties(side, folder / PROPERTIES, f"{label}{PROPERTIES}", tell)
    if side.properties_bytes is None and outer is not None:
        side.broker, side.cluster_id = outer.broker, outer.cluster_id
    try:
        side.copies = read_manifest(folder)
    except ManifestError as error:
        tell(f"{label}{NAME} {error}; the times in it are not used")
    for name, attribute in CHECKPOINTS:
        text = read_text(folder / name, f"{label}{name}", tell)
        if text is not None:
            try:
                setattr(side, attribute, checkpoints.parse_offset_checkpoint(text))
            except WireError as error:
                tell(f"{label}{name}: {error.reason}: {error.detail}")
    return side


def _read_properties(side: LogDirectory, path: DumpPath, label: str, tell: Tell) -> None:
    text = read_text(path, label, tell, LARGEST_PROPERTIES)
    if text is None:
        return
    side.properties_bytes = len(text.encode())
    try:
        parsed = checkpoints.parse_properties(text)
    except WireError as error:
        tell(f"{label}: {error.reason}: {error.detail}")
        return
    side.cluster_id = parsed.get("cluster.id")
    name = "node.id" if "node.id" in parsed else "broker.id"
    number = parsed.get(name)
    if number is None:
        return
    if BROKER_ID.fullmatch(number) and int(number) <= LARGEST_BROKER_ID:
        side.broker = int(number)
    else:
        tell(f"{label}: {name}={number[:40]!r} is not a broker id")
