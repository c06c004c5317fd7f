"""What a folder of a dump is: a partition, a broker's log directory, or one with such in it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jobs.collect.manifest import BEFORE
from jobs.model.errors import UsageError
from jobs.model.file_names import OTHER, name_file, name_folder
from schemas.topics import METADATA_TOPIC
from udfs.storage.dump_path import DumpPath

ARCHIVES = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".zst", ".zip", ".7z")
EXPECTED = (
    "expected a broker's log directory (with folders like orders-0 that have .log files), a folder "
    "of such directories or of brokers with several of them, one partition folder, or texts of "
    "kafka-dump-log"
)
# Log directories are searched so many folders deep.
DEEPEST = 6
PROPERTIES = "meta.properties"
# In the root of a file system; only root may list it.
LOST_AND_FOUND = "lost+found"
DELETED_SEGMENT, SWAPPED_SEGMENT = ".log.deleted", ".log.swap"


class FoundFolder(NamedTuple):
    """A folder that is audited. `label`: of what lies in it, below the dump; "" for the dump.

    `partition`: it is taken as a partition folder alone, else as a log directory.
    """

    folder: DumpPath
    label: str
    partition: bool


def is_text(name: str) -> bool:
    """Whether a name is UTF-8: what a broker names always is."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def printable_name(name: str) -> str:
    """A name of any bytes as text."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def names_in(folder: DumpPath) -> list[str]:
    """Names in a folder; none where it cannot be listed, which `collect` reports."""
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def subfolders(folder: DumpPath) -> list[DumpPath]:
    """The folders in a folder, in the order of their names. Raises OSError.

    Names of a partition's own files are not asked: there are many, and no folder has one.
    """
    return sorted(
        entry
        for entry in folder.iterdir()
        if name_file(entry.name).kind == OTHER and is_text(entry.name) and entry.is_dir()
    )


def holds_a_segment(names: list[str]) -> bool:
    """Whether one of the names is that of a segment, or of one that takes its place."""
    return any(
        name_file(name.removesuffix(".swap")).kind == "segment"
        for name in names
        if name.endswith((".log", SWAPPED_SEGMENT))
    )


def is_partition_folder(folder: DumpPath) -> bool:
    """Whether a folder is a partition, retired or not: by its name, and by a segment in it.

    Of `__cluster_metadata` a snapshot is enough. A meta.properties makes it a log directory.
    """
    named = name_folder(folder.name)
    names = names_in(folder) if named else []
    if named is None or PROPERTIES in names:
        return False
    if named[0] == METADATA_TOPIC:
        return any(name_file(name).base_offset is not None for name in names)
    return holds_a_segment(names)


def _was_partition_folder(folder: DumpPath) -> bool:
    return name_folder(folder.name) is not None and any(
        name_file(name.removesuffix(".deleted")).kind == "segment"
        for name in names_in(folder)
        if name.endswith(DELETED_SEGMENT)
    )


def _is_closed_partition(folder: DumpPath) -> bool:
    """Whether a folder has the name of a partition, and cannot be listed."""
    if name_folder(folder.name) is None:
        return False
    try:
        next(iter(folder.iterdir()), None)
    except OSError:
        return True
    return False


def is_log_directory(folder: DumpPath) -> bool:
    """Whether a folder is a broker's, whatever it is called itself: by what lies in it.

    Raises OSError where it cannot be listed.
    """
    inside = subfolders(folder)
    if (folder / PROPERTIES).is_file():
        return True
    kinds = (is_partition_folder, _was_partition_folder, _is_closed_partition)
    return any(is_one(entry) for entry in inside for is_one in kinds)


def _below(
    folder: DumpPath, label: str, depth: int, in_broker: bool, tell: Callable[[str], None]
) -> Iterator[FoundFolder]:
    """The log directories below a folder, those of a broker that lie in another one included."""
    for entry in subfolders(folder):
        # The first copy of the coordinator's log, which take_dump.py puts there.
        if in_broker and entry.name == BEFORE:
            continue
        inner = f"{label}{entry.name}/"
        try:
            directory = is_log_directory(entry)
        except OSError as error:
            # It may be a broker's.
            if entry.name != LOST_AND_FOUND:
                tell(f"{inner.rstrip('/')}: {error.strerror}")
            continue
        if directory:
            yield FoundFolder(entry, inner, False)
        if depth < DEEPEST and not is_partition_folder(entry):
            yield from _below(entry, inner, depth + 1, directory, tell)


def log_directories(dump: DumpPath, tell: Callable[[str], None]) -> list[FoundFolder]:
    """All folders of a dump that are audited, outer ones first.

    A folder may be both: a partition with others in it, unless a `meta.properties` says what it is.
    `tell`: gets a message of each folder that cannot be listed. Raises UsageError when the folder
    is no dump.
    """
    try:
        if not dump.is_dir():
            problem = "is neither a folder nor a text" if dump.exists() else "does not exist"
            if dump.exists() and str(dump).endswith(ARCHIVES):
                problem = "is an archive, unpack it first"
            raise UsageError(f"--dump {dump} {problem}: {EXPECTED}.")
        if not is_text(str(dump)):
            raise UsageError(
                f"--dump {printable_name(str(dump))}: its path is not valid UTF-8; rename it."
            )
        directory = is_log_directory(dump)
        if is_partition_folder(dump):
            found = [FoundFolder(dump, dump.name, True)]
            if directory:
                found.append(FoundFolder(dump, f"{dump.name}/", False))
            return found
        found = [FoundFolder(dump, "", False)] if directory else []
        found += _below(dump, "", 1, directory, tell)
    except OSError as error:
        raise UsageError(f"--dump {error.filename}: {error.strerror}.") from error
    if not found:
        raise UsageError(f"--dump {dump} is not a dump: {EXPECTED}.")
    return found
