"""Files and folders of a dump while it is listed: local paths, and remote ones that look alike."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, Self

from udfs.storage.places import is_remote
from udfs.storage.remote_path import RemotePath, RemoteTree


class Sized(Protocol):
    """What is asked of `stat()`."""

    @property
    def st_size(self) -> int:
        """Bytes."""


class DumpPath(Protocol):
    """What listing a dump asks of a path. `pathlib.Path` has it, and `RemotePath`."""

    @property
    def name(self) -> str:
        """The last part."""

    @property
    def suffix(self) -> str:
        """The end of the name, from its last dot on."""

    def __truediv__(self, key: str) -> Self:
        """What lies in the folder under a name."""

    def __lt__(self, other: Self) -> bool:
        """Order within a folder."""

    def iterdir(self) -> Iterator[Self]:
        """What lies in the folder."""

    def is_dir(self) -> bool:
        """Whether it is a folder."""

    def is_file(self) -> bool:
        """Whether it is a file."""

    def exists(self) -> bool:
        """Whether it is there."""

    def resolve(self) -> Self:
        """Without links and dots."""

    def stat(self) -> Sized:
        """Its size, for one. Raises OSError where it is not there."""

    def read_bytes(self) -> bytes:
        """All of a small file. Raises OSError."""


def dump_at(place: str) -> DumpPath:
    """The dump at a URI, or at a path, which is made absolute: executors have other folders."""
    return RemotePath(RemoteTree(place)) if is_remote(place) else Path(place).absolute()


def root_and_below(path: DumpPath) -> tuple[str, str]:
    """Where `open_file` finds a file; for a remote one the root is the URI of the dump."""
    if isinstance(path, RemotePath):
        return path.tree.uri, path.below
    return str(path.parent), path.name  # type: ignore[attr-defined]


def address(dump: DumpPath) -> str:
    """What another process needs to find the dump. Not to be shown: a URI may have options."""
    return dump.tree.uri if isinstance(dump, RemotePath) else str(dump)
