"""Files and folders of a remote dump: listed once, looked at like those of `pathlib`."""

import errno
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from udfs.storage.connections import connect
from udfs.storage.errors import NOT_THERE, as_os_errors
from udfs.storage.open_file import open_file
from udfs.storage.places import last_name, shown

# Requests for small files that are under way at a time.
READERS = 16
# Namesakes up to this size are read together; a partition.metadata has some 45 bytes.
SMALL_BYTES = 4096


@dataclass(frozen=True)
class Size:
    """All that a listing tells of a file."""

    st_size: int


class RemoteTree:
    """What lies below a URI, listed at first use with as few requests as the store takes.

    The listing and the small files that were read are kept, so that a dump that is listed again is
    the same, and is not asked for again.
    """

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._read: dict[str, bytes | OSError] = {}

    @cached_property
    def folders(self) -> dict[str, dict[str, int | None]]:
        """Folder below the URI -> name -> size of a file, bytes, or None of a folder.

        Empty where nothing is there. Raises OSError.
        """
        connection = connect(self.uri)
        from pyarrow.fs import FileSelector, FileType  # noqa: PLC0415 # see connect()

        with as_os_errors(self.uri):
            found: Iterable[Any] = connection.filesystem.get_file_info(
                FileSelector(connection.base, recursive=True, allow_not_found=True)
            )
        folders: dict[str, dict[str, int | None]] = {}
        for info in found:
            below = info.path.removeprefix(connection.base).strip("/")
            if info.type == FileType.File:
                folder, _, name = below.rpartition("/")
                folders.setdefault(folder, {})[name] = info.size
            else:
                folders.setdefault(below, {})
        # A store of objects has folders only in the names of its files.
        for folder in list(folders):
            while folder:
                folder, _, name = folder.rpartition("/")  # noqa: PLW2901
                folders.setdefault(folder, {}).setdefault(name, None)
        return folders

    def size(self, below: str) -> int | None:
        """Size of a file when it was listed, bytes; None for what is no file."""
        folder, _, name = below.rpartition("/")
        return self.folders.get(folder, {}).get(name)

    def read(self, below: str) -> bytes:
        """A file that is read whole, and ahead of time its small namesakes in other folders."""
        if below not in self._read:
            wanted = [below, *self._small_namesakes(below)]
            with ThreadPoolExecutor(READERS) as readers:
                self._read |= dict(zip(wanted, readers.map(self._content, wanted), strict=True))
        content = self._read[below]
        if isinstance(content, OSError):
            raise content
        return content

    def _small_namesakes(self, below: str) -> Iterator[str]:
        own, _, name = below.rpartition("/")
        for folder, names in self.folders.items():
            size = names.get(name)
            if folder != own and size is not None and size <= SMALL_BYTES:
                yield f"{folder}/{name}" if folder else name

    def _content(self, below: str) -> bytes | OSError:
        try:
            with open_file(self.uri, below) as file:
                return file.read()
        except OSError as error:
            return error


class RemotePath:
    """A file or folder of a remote dump, as it was listed."""

    def __init__(self, tree: RemoteTree, below: str = "") -> None:
        self.tree = tree
        self.below = below

    def __str__(self) -> str:
        return shown(self.tree.uri, self.below)

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: "RemotePath") -> bool:
        return self._key < other._key

    def __truediv__(self, key: str) -> "RemotePath":
        return RemotePath(self.tree, f"{self.below}/{key}" if self.below else key)

    @property
    def _key(self) -> tuple[str, ...]:
        return self.tree.uri, *self.below.split("/")

    @property
    def name(self) -> str:
        """The last part; that of the URI for the dump itself."""
        return self.below.rpartition("/")[2] or last_name(self.tree.uri)

    @property
    def suffix(self) -> str:
        """The end of the name, from its last dot on."""
        return PurePosixPath(self.name).suffix

    def iterdir(self) -> Iterator["RemotePath"]:
        """What lies in the folder; nothing where it is none."""
        for name in self.tree.folders.get(self.below, {}):
            yield self / name

    def is_dir(self) -> bool:
        """Whether files lie below it."""
        return self.below in self.tree.folders

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self.tree.size(self.below) is not None

    def exists(self) -> bool:
        """Whether it is there."""
        return self.is_dir() or self.is_file()

    def resolve(self) -> "RemotePath":
        """Itself: there are no links."""
        return self

    def stat(self) -> Size:
        """The size when it was listed. Raises FileNotFoundError."""
        size = self.tree.size(self.below)
        if size is None:
            raise _missing(self)
        return Size(size)

    def read_bytes(self) -> bytes:
        """All of a small file. Raises OSError."""
        if not self.is_file():
            raise _missing(self)
        return self.tree.read(self.below)


def _missing(path: RemotePath) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, NOT_THERE, str(path))
