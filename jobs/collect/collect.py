"""Lists a dump: which files there are, to which partition each belongs, what the side files say.

Only names, sizes and the few small text files of a log directory are read here, on the driver.
Nothing is ever written to the dump. The flow, over the values of listed.py:

folders.py        which folders of a dump are log directories, or a partition alone
log_directory.py  their side files
walk.py           every file in them; listed_texts.py: of texts of kafka-dump-log
classification.py what each of these is
copied_folders.py which folders an operator copied beside the partitions
second_copies.py  which of two copies on a broker counts, and what is missing
rows.py           the `Dump`: files and partitions with their numbers
replica_sets.py   which partitions are replicas
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from jobs.collect.folders import FoundFolder, log_directories
from jobs.collect.listed import Item
from jobs.collect.listed_texts import files_in_texts
from jobs.collect.log_directory import LogDirectory, Tell, read_log_directory
from jobs.collect.replica_sets import number_replicas
from jobs.collect.rows import dump_of, listing_of
from jobs.collect.texts import text_files
from jobs.collect.walk import Walk
from jobs.model.dump import Dump
from jobs.model.errors import UsageError
from udfs.storage.dump_path import DumpPath

NO_TEXT = "not a text of kafka-dump-log"


def collect(dumps: Sequence[DumpPath]) -> Dump:
    """Lists every file of the given dumps. Raises UsageError where one is no dump.

    What cannot be read gets a message in `unreadable`, in the order of the listing.
    """
    messages: list[str] = []
    listing = listing_of(
        item for dump, label in _labels(dumps) for item in _items(dump, label, messages.append)
    )
    dump = dump_of(listing)
    number_replicas(dump, [file.path for file in listing.files], messages.append)
    dump.unreadable = list(dict.fromkeys(messages))
    return dump


def _labels(dumps: Sequence[DumpPath]) -> Iterator[tuple[DumpPath, str]]:
    """Each dump with the prefix of its paths: none for one dump, its name for several."""
    seen: dict[str, int] = {}
    for dump in dumps:
        if len(dumps) == 1:
            yield dump, ""
            continue
        name = dump.resolve().name
        seen[name] = seen.get(name, 0) + 1
        yield dump, f"{name}/" if seen[name] == 1 else f"{name}#{seen[name]}/"


def _items(dump: DumpPath, label: str, tell: Tell) -> Iterator[Item]:
    """The listing of one dump: of a broker's files, or else of texts of kafka-dump-log."""
    try:
        found = log_directories(dump, lambda told: tell(label + told))
    except UsageError:
        texts, others = text_files(dump) if isinstance(dump, Path) else ([], [])
        if not isinstance(dump, Path) or not texts:
            raise
        yield from files_in_texts(dump, label, texts)
        walk = Walk(frozenset(), tell)
        for path in others:
            yield from walk.other_file(path, f"{label}{path.relative_to(dump).as_posix()}", NO_TEXT)
    else:
        yield from _of_folders(dump, label, found, tell)


def _of_folders(
    dump: DumpPath, label: str, found: Sequence[FoundFolder], tell: Tell
) -> Iterator[Item]:
    """The listing of the folders `found` of a dump, and of what lies outside of them."""
    walk = Walk(frozenset(label + one.label for one in found if not one.partition), tell)
    directories: list[LogDirectory] = []
    for folder, inner, is_partition in found:
        place = label + inner
        if is_partition:
            # Nothing is known of its broker.
            yield from walk.partition(folder, place, LogDirectory())
            continue
        around = [one for one in directories if place.startswith(one.label)]
        outer = max(around, key=lambda one: len(one.label), default=None)
        directory = read_log_directory(folder, place, tell, outer)
        directories.append(directory)
        yield directory
        yield from walk.log_directory(folder, directory)
    if all(one.label for one in found) and not found[0].partition:
        yield from walk.outside(dump, label)
