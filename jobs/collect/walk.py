"""Lists the folders of a dump of a broker's files, in the order of their names.

Each file gets what it is on the way (classification.py). What cannot be listed or looked at gets a
message, so that no part of a dump is omitted silently.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.collect.classification import (
    GONE,
    NO_REGULAR_FILE,
    OUTSIDE,
    REPLACED,
    TOO_LARGE,
    classify,
    earlier_folder,
    folder_without_segments,
    partition_folder,
    unknown_folder,
    why_not_read,
)
from jobs.collect.folders import is_partition_folder, is_text, printable_name
from jobs.collect.listed import Folder, Item, ListedFile, Role
from jobs.collect.log_directory import LogDirectory, Tell
from jobs.collect.manifest import BEFORE
from jobs.collect.segment_swap import Swap, interrupted_swap
from jobs.model.file_names import AUDITED_KINDS, name_file
from udfs.storage.dump_path import DumpPath

ELSEWHERE = Folder(Role.NOT_AUDITED, LogDirectory(), note=OUTSIDE)


@dataclass(frozen=True)
class Walk:
    """The methods yield what lies in a folder. `label`: its path below the dump, as it is shown.

    `known`: labels of the log directories of the dump, each of which is listed by itself. `tell`
    takes the messages.
    """

    known: frozenset[str]
    tell: Tell

    def log_directory(self, folder: DumpPath, directory: LogDirectory) -> Iterator[Item]:
        """A log directory: its files, and the partitions and other folders in it."""
        also_partition = is_partition_folder(folder)
        as_folder = Folder(Role.LOG_DIRECTORY, directory)
        for path, inner in self._entries(folder, directory.label):
            if not path.is_dir():
                # A folder that is a partition, too, is listed as that.
                if not also_partition:
                    yield from self._file(path, inner, as_folder)
            elif path.name == BEFORE:
                yield from self._earlier_copies(path, inner, directory)
            elif not is_text(path.name):
                yield from self._inner_folder(path, inner)
            elif is_partition_folder(path):
                yield from self.partition(path, inner, directory)
            else:
                yield from self._without_segments(path, inner, directory)

    def partition(self, folder: DumpPath, label: str, directory: LogDirectory) -> Iterator[Item]:
        """A partition folder: itself, the folders in it, then its files."""
        entries = list(self._entries(folder, f"{label}/"))
        if not entries:
            return  # it held a segment a moment ago; what became of it has been told
        as_folder = partition_folder(folder.name, directory)
        yield as_folder
        swap = self._swap(folder, label, [path.name for path, _ in entries])
        for path, inner in entries:
            if path.is_dir() and f"{label}/" not in self.known:
                yield from self._inner_folder(path, inner)
        if as_folder.role is not Role.PARTITION:
            swap = Swap({}, set())  # only its message counts
        for path, inner in entries:
            if not path.is_dir():
                problem = REPLACED if path.name in swap.replaced else None
                name = swap.adopted.get(path.name, path.name)
                yield from self._file(path, inner, as_folder, name, problem)

    def outside(self, folder: DumpPath, label: str) -> Iterator[Item]:
        """A folder outside the log directories. `label`: of what lies in it."""
        for path, inner in self._entries(folder, label):
            if path.is_dir():
                yield from self._inner_folder(path, inner)
            else:
                yield from self._file(path, inner, ELSEWHERE)

    def other_file(self, path: DumpPath, label: str, note: str) -> Iterator[ListedFile]:
        """A file that is not audited, for a reason."""
        yield from self._file(path, label, ELSEWHERE, problem=note)

    def _earlier_copies(
        self, before: DumpPath, label: str, directory: LogDirectory
    ) -> Iterator[Item]:
        """The copy of `__transaction_state` that was taken before the data."""
        for folder, place in self._entries(before, f"{label}/"):
            if folder.is_dir():
                as_folder = earlier_folder(folder.name, directory)
                for path, inner in self._entries(folder, f"{place}/"):
                    if not path.is_dir():
                        yield from self._file(path, inner, as_folder)

    def _without_segments(
        self, folder: DumpPath, label: str, directory: LogDirectory
    ) -> Iterator[Item]:
        """A folder of a log directory in which no segment lies, or of another name."""
        if self._holds_known(label):
            yield from self._inner_folder(folder, label)
            return
        as_folder = folder_without_segments(folder.name, directory)
        for path, inner in self._entries(folder, f"{label}/"):
            if path.is_dir():
                yield from self._inner_folder(path, inner)
            else:
                yield from self._file(path, inner, as_folder)

    def _inner_folder(self, folder: DumpPath, label: str) -> Iterator[Item]:
        """A folder that is no partition: searched for log directories in it, else one row."""
        if f"{label}/" in self.known:
            return
        if self._holds_known(label):
            yield from self.outside(folder, f"{label}/")
        else:
            yield ListedFile(folder, label, ELSEWHERE, unknown_folder(folder.name))

    def _holds_known(self, label: str) -> bool:
        return any(one.startswith(f"{label}/") for one in self.known)

    def _entries(self, folder: DumpPath, label: str) -> Iterator[tuple[DumpPath, str]]:
        """What lies in a folder, and its label. `label`: the prefix of those."""
        try:
            paths = sorted(folder.iterdir())
        except OSError as error:
            self.tell(f"{label.rstrip('/')}: {error.strerror}")
            return
        for path in paths:
            yield path, f"{label}{printable_name(path.name)}"

    def _swap(self, folder: DumpPath, label: str, names: list[str]) -> Swap:
        try:
            return interrupted_swap(folder, names)
        except OSError as error:
            self.tell(f"{label}: a .swap file cannot be read: {error.strerror}")
            return Swap({}, set())

    def _file(
        self,
        path: DumpPath,
        label: str,
        folder: Folder,
        name: str | None = None,
        problem: str | None = None,
    ) -> Iterator[ListedFile]:
        """The file; a message where it cannot be looked at, and nothing where nobody misses it.

        `name`: what it is taken for, where that is not its own name. `problem`: why it is not
        audited.
        """
        name = name or path.name
        try:
            size = path.stat().st_size
        except OSError as error:
            self.tell(f"{label}: {error.strerror}")
            if classify(folder, name, problem).status == "audited":
                yield ListedFile(path, label, folder, classify(folder, name, GONE))
            return
        unreadable = why_not_read(path.name, name_file(name).kind, size, path.is_file())
        if unreadable == TOO_LARGE:
            self.tell(f"{label}: {size:,} bytes, {TOO_LARGE}")
        wanted = classify(folder, name, problem)
        missed = wanted.status == "audited" and wanted.kind in AUDITED_KINDS
        if unreadable == NO_REGULAR_FILE and missed:
            self.tell(f"{label}: {NO_REGULAR_FILE}")
        yield ListedFile(path, label, folder, classify(folder, name, unreadable or problem), size)
