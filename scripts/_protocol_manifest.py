"""dump-manifest.json of a dump over the protocol: one log directory for the whole cluster."""

import json
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from _dump_source import CopyError

from jobs import __version__

FORMAT = 1
NAME = "dump-manifest.json"
SAVE_SECONDS = 5.0


@dataclass
class FetchedManifest:
    """Content of dump-manifest.json; docs/operations.md and docs/live-clusters.md define it.

    `begun_ms`: when the run began, ms since 1970. `broker` is null: a partition is of its leader,
    which its entry names.
    """

    cluster_id: str | None
    source: str
    topics: list[str]
    begun_ms: int
    broker: int | None = None
    fetched: bool = True
    taken_at_ms: int | None = None
    steps: list[str] = field(default_factory=list)
    finished: bool = False
    side_files_ms: int | None = None
    directories: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    not_fetched: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


class ManifestFile:
    """The manifest in its folder; its methods may be called by several threads."""

    def __init__(self, folder: Path, content: FetchedManifest) -> None:
        """Goes on with the one that is there. Raises CopyError if it is of another cluster."""
        self._file = folder / NAME
        self._lock = threading.Lock()
        self._saved = time.monotonic()
        self.content = content
        if self._file.exists():
            self._read()
        elif any(path.name != ".lock" for path in folder.iterdir()):
            raise CopyError(f"{folder} is not empty and has no {NAME}")
        self.save()

    def _read(self) -> None:
        stored = json.loads(self._file.read_text("utf-8"))
        if stored.get("format") != FORMAT or not stored.get("fetched"):
            raise CopyError(f"{self._file} is of another kind of copy; give another --to")
        if stored["cluster_id"] != self.content.cluster_id:
            raise CopyError(
                f"{self._file} is of another cluster: {stored['cluster_id']}, here it is "
                f"{self.content.cluster_id}; give another --to"
            )
        self.content.directories = stored["directories"]
        self.content.events = stored["events"]

    def entry(self, path: str) -> dict[str, Any] | None:
        """Of a partition folder, None where it was never fetched."""
        return next((one for one in self.content.directories if one["path"] == path), None)

    def enter(self, entry: dict[str, Any], events: list[dict[str, Any]]) -> None:
        """Replaces the entry of a partition folder."""
        with self._lock:
            kept = [one for one in self.content.directories if one["path"] != entry["path"]]
            self.content.directories = [*kept, entry]
            self.content.events += events
        if time.monotonic() - self._saved > SAVE_SECONDS:
            self.save()

    def refuse(self, topic: str, partition: int, reason: str) -> None:
        """Notes a partition that could not be fetched, and why."""
        with self._lock:
            self.content.not_fetched.append(
                {"topic": topic, "partition": partition, "reason": reason}
            )

    def save(self) -> None:
        """Writes it; a reader sees the old one or the new one."""
        with self._lock:
            head = {"format": FORMAT, "tool": f"eosaudit {__version__}"}
            part = self._file.with_name(f"{NAME}.part")
            part.write_text(json.dumps(head | asdict(self.content), indent=1) + "\n", "utf-8")
            part.replace(self._file)
            self._saved = time.monotonic()
