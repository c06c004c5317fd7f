"""What the small files of a broker's log directory say of it and of its partitions."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jobs.collect import broker_answers
from jobs.collect.folders import PROPERTIES
from jobs.collect.manifest import (
    ALL_TOPICS,
    NAME,
    Copied,
    Manifest,
    ManifestError,
    NotFetched,
    read_manifest,
)
from jobs.model.told import BrokersTold
from udfs.storage.dump_path import DumpPath
from udfs.storage.small_file import LARGEST_BYTES, read_small
from udfs.wire.errors import WireError
from udfs.wire.side_files import checkpoints

# Some 100 bytes.
LARGEST_PROPERTIES = 1 << 16
BROKER_ID = re.compile(r"[0-9]{1,10}")
LARGEST_BROKER_ID = (1 << 31) - 1
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
# name of the file, attribute of LogDirectory
CHECKPOINTS = (
    ("replication-offset-checkpoint", "high_watermarks"),
    ("log-start-offset-checkpoint", "log_starts"),
    ("recovery-point-offset-checkpoint", "recovery_points"),
    ("cleaner-offset-checkpoint", "cleaner"),
)

Key = tuple[str, int]
Tell = Callable[[str], None]


class Properties(NamedTuple):
    """What a meta.properties says, and its size in bytes; None for what it does not say."""

    size: int
    broker: int | None = None
    cluster_id: str | None = None


@dataclass(frozen=True)
class LogDirectory:
    """A log directory of a broker: what its side files say, None for a file that is not there.

    `label`: of what lies in it, below the dump. `outer`: the log directory in which it lies.
    `broker`, `cluster_id`: of its `properties`, or of `outer` where it has none. Checkpoints:
    (topic, partition) -> offset. `broker_epoch`: of the run after which the broker stopped cleanly,
    from 3.7 on (`CleanShutdownFileHandler`); it rises with each start. `copies`, `not_fetched`,
    `topics`: of its manifest (manifest.py). `told`: what brokers said beside it
    (broker_answers.py).
    """

    label: str = ""
    outer: "LogDirectory | None" = None
    properties: Properties | None = None
    high_watermarks: dict[Key, int] | None = None
    log_starts: dict[Key, int] | None = None
    recovery_points: dict[Key, int] | None = None
    cleaner: dict[Key, int] | None = None
    clean_shutdown: bool = False
    broker_epoch: int | None = None
    copies: Mapping[str, Copied] = field(default_factory=dict)
    not_fetched: Sequence[NotFetched] = ()
    topics: Sequence[str] = ALL_TOPICS
    told: BrokersTold | None = None

    @property
    def broker(self) -> int | None:
        """The broker id, where it is known."""
        around = self.properties or self.outer
        return around.broker if around else None

    @property
    def cluster_id(self) -> str | None:
        """The cluster of the broker, where it is known."""
        around = self.properties or self.outer
        return around.cluster_id if around else None

    @property
    def owner(self) -> object:
        """Equal for the log directories of one broker."""
        return self.label if self.broker is None else (self.cluster_id, self.broker)

    def was_loaded(self, key: Key) -> bool:
        """Whether the broker that wrote the checkpoints when it stopped had loaded the partition.

        It lists the recovery point of each log that it has (`LogManager.shutdown`), and a log start
        that DeleteRecords had raised. One whose start fails stops, too: it lists those that were
        loaded by then, none where it finds no controller (`BrokerServer.startup`). The mark of the
        clean stop before stays; up to 3.5.1 it is even written by that start, whatever was before
        (KAFKA-15375). Before a running broker lists what it has just made a minute may go by.
        """
        return (
            not self.clean_shutdown or self.recovery_points is None or key in self.recovery_points
        )

    def listed(self) -> dict[Key, str]:
        """Partitions that a checkpoint lists, and the first one that does."""
        return {
            key: name
            for name, attribute in reversed(CHECKPOINTS)
            for key in getattr(self, attribute) or ()
        }


def read_text(path: DumpPath, label: str, tell: Tell, largest: int = LARGEST_BYTES) -> str | None:
    """Text of a small file; None where there is none, or, with a message, where it is unreadable.

    `largest`: bytes; a larger file is unreadable.
    """
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
    """Reads the side files. A file that cannot be used gets a message, and counts as not there."""
    properties = _properties(folder / PROPERTIES, f"{label}{PROPERTIES}", tell)
    try:
        manifest = read_manifest(folder)
    except ManifestError as error:
        manifest = Manifest()
        tell(f"{label}{NAME} {error}; the times in it are not used")
    stopped = (folder / CLEAN_SHUTDOWN).is_file()
    return LogDirectory(
        label=label,
        outer=outer,
        properties=properties,
        clean_shutdown=stopped,
        broker_epoch=_broker_epoch(folder / CLEAN_SHUTDOWN) if stopped else None,
        copies=manifest.copies,
        not_fetched=manifest.not_fetched,
        topics=manifest.topics,
        told=_told(folder, label, tell),
        **{
            attribute: _checkpoint(folder / name, f"{label}{name}", tell)
            for name, attribute in CHECKPOINTS
        },
    )


def _told(folder: DumpPath, label: str, tell: Tell) -> BrokersTold | None:
    try:
        return broker_answers.read_answers(folder)
    except broker_answers.AnswersError as error:
        tell(f"{label}{broker_answers.NAME} {error}; what brokers said in it is not used")
        return None


def _broker_epoch(path: DumpPath) -> int | None:
    """What the file says, if it says anything; older brokers write an empty one."""
    try:
        epoch = json.loads(read_small(path, LARGEST_PROPERTIES))["brokerEpoch"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return epoch if type(epoch) is int and epoch >= 0 else None


def _checkpoint(path: DumpPath, label: str, tell: Tell) -> dict[Key, int] | None:
    text = read_text(path, label, tell)
    if text is None:
        return None
    try:
        return checkpoints.parse_offset_checkpoint(text)
    except WireError as error:
        tell(f"{label}: {error.reason}: {error.detail}")
        return None


def _properties(path: DumpPath, label: str, tell: Tell) -> Properties | None:
    text = read_text(path, label, tell, LARGEST_PROPERTIES)
    if text is None:
        return None
    size = len(text.encode())
    try:
        parsed = checkpoints.parse_properties(text)
    except WireError as error:
        tell(f"{label}: {error.reason}: {error.detail}")
        return Properties(size)
    cluster_id = parsed.get("cluster.id")
    name = "node.id" if "node.id" in parsed else "broker.id"
    number = parsed.get(name)
    if number is None:
        return Properties(size, None, cluster_id)
    if BROKER_ID.fullmatch(number) and int(number) <= LARGEST_BROKER_ID:
        return Properties(size, int(number), cluster_id)
    tell(f"{label}: {name}={number[:40]!r} is not a broker id")
    return Properties(size, None, cluster_id)
