"""The near side of take_dump.py: one copied log directory with its manifest."""

import json
import os
import shutil
import tarfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from _dump_source import CopyError, Look, Seen, Source, VanishedError

from jobs import __version__
from jobs.model.file_names import KINDS_BY_NAME, LEFTOVER, OTHER, name_file

# Beside the partitions: what tells an audit nothing.
NOT_COPIED = (OTHER, LEFTOVER, KINDS_BY_NAME[".lock"])

FORMAT = 1
MANIFEST = "dump-manifest.json"
JOURNAL = "copy-journal.jsonl"
SHUTDOWN_MARKER = ".kafka_cleanshutdown"
# What the broker is about to remove, and what it has not finished writing.
UNWANTED = (".deleted", ".cleaned", ".tmp")
PASSES = 5
CHUNK = 1 << 20
SAVE_SECONDS = 5.0
# They travel as arguments of one command.
NAMES_AT_ONCE = 1000


@dataclass(frozen=True)
class Directory:
    """A partition folder to copy, and in which role."""

    name: str
    topic: str
    partition: int
    role: str

    @property
    def path(self) -> str:
        """Where it lies in the copied log directory."""
        return f"before/{self.name}" if self.role == "before" else self.name


@dataclass
class Manifest:
    """Content of dump-manifest.json; docs/operations.md defines it."""

    broker: int
    cluster_id: str | None
    source: str
    topics: list[str]
    taken_at_ms: int | None
    steps: list[str] = field(default_factory=list)
    finished: bool = False
    side_files_ms: int | None = None
    directories: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)

    def as_json(self) -> str:
        """The file, ready to be written."""
        head = {"format": FORMAT, "tool": f"eosaudit {__version__}"}
        return json.dumps(head | asdict(self), indent=1) + "\n"


class LogDirectoryCopy:
    """A copied log directory."""

    def __init__(self, source: Source, target: Path, manifest: Manifest) -> None:
        """Goes on with the copy in `target`, if there is one. Raises CopyError if of another."""
        self.source = source
        self.target = target
        self.manifest = manifest
        self._saved = time.monotonic()
        self._journal: dict[tuple[str, str], Seen] = {}
        target.mkdir(parents=True, exist_ok=True)
        self._read_manifest()
        self._read_journal()

    def _read_manifest(self) -> None:
        file = self.target / MANIFEST
        if not file.exists():
            if any(self.target.iterdir()):
                raise CopyError(f"{self.target} is not empty and has no {MANIFEST}")
            self.save()
            return
        stored = json.loads(file.read_text("utf-8"))
        wanted = json.loads(self.manifest.as_json())
        for key in ("format", "broker", "cluster_id", "source", "topics", "taken_at_ms"):
            if stored.get(key) != wanted[key]:
                raise CopyError(
                    f"{file} is of another copy: its {key} is {stored.get(key)}, here it is "
                    f"{wanted[key]}; give another --to"
                )
        for key in ("steps", "finished", "side_files_ms", "directories", "left_out"):
            setattr(self.manifest, key, stored[key])

    def _read_journal(self) -> None:
        file = self.target / JOURNAL
        for line in file.read_text("utf-8").splitlines() if file.exists() else []:
            try:
                path, name, *seen = json.loads(line)
            except ValueError:  # the last line of a copy that was killed
                continue
            self._journal[path, name] = Seen(*seen)

    def save(self) -> None:
        """Writes the manifest; a reader sees the old one or the new one."""
        part = self.target / f"{MANIFEST}.part"
        part.write_text(self.manifest.as_json(), "utf-8")
        part.replace(self.target / MANIFEST)
        self._saved = time.monotonic()

    def note_step(self, step: str, *, last: bool) -> None:
        """Notes that a step is done, and with the last one that the copy is whole."""
        self.manifest.steps.append(step)
        self.manifest.finished = last
        self.save()
        if last:
            (self.target / JOURNAL).unlink(missing_ok=True)

    def has(self, directory: Directory) -> bool:
        """Whether this directory is copied already."""
        return any(entry["path"] == directory.path for entry in self.manifest.directories)

    def leave_out(self, name: str, reason: str) -> None:
        """Notes a folder of the source that is not part of the dump."""
        entry = {"name": name, "reason": reason}
        if entry not in self.manifest.left_out:
            self.manifest.left_out.append(entry)

    def copy_side_files(self) -> None:
        """Copies the checkpoints and properties beside the partitions, once."""
        if self.manifest.side_files_ms is not None:
            return
        look = self.source.look()
        names = {n for n in look.files if name_file(n).kind not in NOT_COPIED}
        for _ in self._received(".", names, self.target):
            pass
        self.manifest.side_files_ms = self.manifest.taken_at_ms or look.moment
        self.save()

    def drop_stale_shutdown_marker(self) -> None:
        """A broker that was started during the copy had not stopped cleanly behind all of it."""
        if SHUTDOWN_MARKER not in self.source.look().files:
            (self.target / SHUTDOWN_MARKER).unlink(missing_ok=True)

    def copy(self, directory: Directory) -> None:
        """Copies a partition folder until a look at the source confirms what was received.

        A file that was replaced or cut during the copy is taken again, one that is gone is
        dropped, so that the copy holds the segments of one moment. What was appended after the
        first look may be missing: the copy promises what was there before.
        """
        key = (directory.topic, directory.partition)
        try:
            first = look = self.source.look(directory.name, key)
            wanted = {n: s for n, s in look.files.items() if not n.endswith(UNWANTED)}
            stale = {n for n, seen in wanted.items() if not self._is_kept(directory, n, seen)}
            for _ in range(PASSES):
                self._receive(directory, {name: wanted[name] for name in stale})
                look = self.source.look(directory.name, key)
                wanted = {name: look.files[name] for name in wanted if name in look.files}
                stale = {n for n, seen in wanted.items() if self._was_replaced(directory, n, seen)}
                if not stale:
                    break
        except VanishedError:
            shutil.rmtree(self.target / directory.path, ignore_errors=True)
            self.leave_out(directory.name, "vanished while it was copied")
            return
        self._note(directory, first, look, set(wanted), settled=not stale)

    def _is_kept(self, directory: Directory, name: str, seen: Seen) -> bool:
        """Whether an earlier try received this very file, and it has not changed since."""
        there = (self.target / directory.path / name).exists()
        return there and self._journal.get((directory.path, name)) == seen

    def _was_replaced(self, directory: Directory, name: str, now: Seen) -> bool:
        received = self._journal.get((directory.path, name))
        return received is None or received.inode != now.inode or received.size > now.size

    def _receive(self, directory: Directory, files: dict[str, Seen]) -> None:
        folder = self.target / directory.path
        folder.mkdir(parents=True, exist_ok=True)
        with (self.target / JOURNAL).open("a", encoding="utf-8") as journal:
            for name, size, mtime in self._received(directory.name, set(files), folder):
                self._journal[directory.path, name] = Seen(files[name].inode, size, mtime)
                line = [directory.path, name, files[name].inode, size, mtime]
                journal.write(json.dumps(line) + "\n")
                journal.flush()

    def _received(
        self, source_folder: str, names: set[str], folder: Path
    ) -> Iterator[tuple[str, int, int]]:
        """Writes these files of a folder of the source; (name, bytes, mtime in s) of each."""
        ordered = sorted(names, key=_order)
        for start in range(0, len(ordered), NAMES_AT_ONCE):
            asked = ordered[start : start + NAMES_AT_ONCE]
            with (
                self.source.send(source_folder, asked) as stream,
                tarfile.open(fileobj=stream, mode="r|") as archive,
            ):
                for member in archive:
                    name = member.name.removeprefix("./")
                    content = archive.extractfile(member) if name in names else None
                    if content is None:
                        raise CopyError(f"{self.source} sends {name}, which was not asked for")
                    _write(content, member, folder / name)
                    yield name, member.size, int(member.mtime)

    def _note(
        self, directory: Directory, first: Look, last: Look, names: set[str], *, settled: bool
    ) -> None:
        """Drops what the source dropped, and enters the directory into the manifest."""
        sizes = []
        for path in (self.target / directory.path).iterdir():
            if path.name in names:
                sizes.append(path.stat().st_size)
            else:
                path.unlink()
        entry = {
            "path": directory.path,
            "topic": directory.topic,
            "partition": directory.partition,
            "role": directory.role,
            "copy_start_ms": self.manifest.taken_at_ms or first.moment,
            "copy_end_ms": self.manifest.taken_at_ms or last.moment + 1000,
            "settled": settled,
            "high_watermark": first.high_watermark,
            "files": len(sizes),
            "bytes": sum(sizes),
        }
        self.manifest.directories.append(entry)
        if time.monotonic() - self._saved > SAVE_SECONDS:
            self.save()


def _order(name: str) -> tuple[bool, str]:
    """Segments last: a broker too appends to the log before it writes index and snapshot."""
    return name_file(name).kind == "segment", name


def _write(content: IO[bytes], member: tarfile.TarInfo, final: Path) -> None:
    """Writes a file under another name first. Stretches of zeros become holes."""
    part = final.with_name(f"{final.name}.part")
    with part.open("wb") as file:
        while chunk := content.read(CHUNK):
            if chunk.count(0) == len(chunk):
                file.seek(len(chunk), os.SEEK_CUR)
            else:
                file.write(chunk)
        if file.tell() != member.size:
            raise tarfile.ReadError(f"{file.tell()} of {member.size} bytes of {member.name}")
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    os.utime(part, (member.mtime, member.mtime))
    part.replace(final)
