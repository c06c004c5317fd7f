"""The folders that were audited: their log directories, copies, and logs of the coordinator."""

import os
from collections import Counter
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

from jobs.report.recheck.coordinator_logs import (
    Entry,
    entries_of,
    first_of_later,
    reach_of,
    told_by,
)
from jobs.report.recheck.copies import END_OF_OFFSETS, Copy, copy_of
from jobs.report.recheck.internal_topics import TXN_LOG, placed
from jobs.report.recheck.results import HoldsError, LostRecordsError, MissingError, UndecidedError

# In the root of a file system; only root may list it.
LOST_AND_FOUND = "lost+found"


@cache
def folders_of(root: Path) -> dict[str, list[Path]]:
    """The folders below one, itself among them, by name; links are followed, each folder once.

    Raises OSError where one cannot be listed.
    """

    def refuse(error: OSError) -> None:
        if Path(error.filename).name != LOST_AND_FOUND:
            raise error

    found: dict[str, list[Path]] = {}
    seen: set[str] = set()
    for folder, below, _ in os.walk(root, onerror=refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        below.sort()
        found.setdefault(Path(folder).name, []).append(Path(folder))
    return found


@cache
def properties_of(log_directory: Path) -> dict[str, str]:
    """What the `meta.properties` of a log directory says, empty without one."""
    path = log_directory / "meta.properties"
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    told = (line.partition("=")[::2] for line in lines)
    return {name.strip(): value.strip() for name, value in told}


def broker_of(log_directory: Path) -> int | None:
    """The broker id of a log directory."""
    told = properties_of(log_directory)
    number = told.get("node.id", told.get("broker.id", ""))
    return int(number) if number.isdigit() else None


def may_be_of_one_cluster(one: Path, other: Path) -> bool:
    """Whether two log directories may be; a folder without a `meta.properties` may be of any."""
    told = [properties_of(each).get("cluster.id") for each in (one, other)]
    return None in told or told[0] == told[1]


class Dump:
    """The folders that were audited.

    `evidence_only`: nothing but evidence is read. `as_of`: the moment of the audit, ms, if known.
    """

    def __init__(
        self, roots: list[Path], evidence_only: bool = False, as_of: int | None = None
    ) -> None:
        """`roots` in the order of the audit."""
        # A folder that is given as `.` has a name, too; that of a link is the link's.
        self.roots = [root.absolute() for root in roots]
        self.evidence_only, self.as_of = evidence_only, as_of
        self.read: list[str] = []

    def places(self, file: str) -> Iterator[Path]:
        """Where a file may lie: below the folder, or, of several, below the one of that name.

        Files of an audited partition folder are told with the folder's name.
        """
        for root, inner in self._inside(file):
            yield root / inner
            if inner.startswith(f"{root.name}/"):
                yield root / inner.removeprefix(f"{root.name}/")

    def _inside(self, file: str) -> Iterator[tuple[Path, str]]:
        """The folders in which a file may lie, and its path there."""
        if len(self.roots) == 1:
            yield self.roots[0], file
            return
        seen: Counter[str] = Counter()
        for root in self.roots:
            name = root.resolve().name
            seen[name] += 1
            label = name if seen[name] == 1 else f"{name}#{seen[name]}"
            if file.startswith(f"{label}/"):
                yield root, file.removeprefix(f"{label}/")

    def _has(self, folder: Path) -> bool:
        """Whether a folder is one that was audited, or lies in one."""
        return any(folder.is_relative_to(root) for root in self.roots)

    def beside(self, what: str) -> None:
        """Notes that something beside the evidence is read; raises HoldsError where it must not."""
        if self.evidence_only:
            raise HoldsError(f"the bytes are there and whole; {what} were not read")
        if what not in self.read:
            self.read.append(what)

    def copy(self, folder: Path) -> Copy:
        """All batch headers of a partition's folder."""
        self.beside(f"all batch headers of {folder.name}")
        return copy_of(folder)

    def folders(self, name: str) -> list[Path]:
        """Folders of that name."""
        return [one for root in self.roots for one in folders_of(root).get(name, [])]

    def copies_of(self, topic: str) -> list[Path]:
        """The copies of all partitions of a topic."""
        names = {name for root in self.roots for name in folders_of(root)}
        mine_ = [
            n for n in names if n.rpartition("-")[0] == topic and n.rpartition("-")[2].isdigit()
        ]
        return sorted(folder for name in mine_ for folder in self.folders(name))

    def folder(self, place: tuple[str, int], broker: int | None) -> Path:
        """That of a partition; raises HoldsError where it is not the only one of the broker."""
        name = f"{place[0]}-{place[1]}"
        found = self.folders(name)
        if broker is not None and len(found) > 1:
            found = [one for one in found if broker_of(one.parent) == broker]
        if len(found) != 1:
            raise HoldsError(f"{len(found)} folders of {name} may be meant")
        return found[0]

    @cached_property
    def txn_logs(self) -> list[Path]:
        """The copies of partitions of `__transaction_state`."""
        return self.copies_of(TXN_LOG)

    def entries(
        self, folders: list[Path], transactional_id: str | None, producer: int | None = None
    ) -> list[Entry]:
        """Records of an id in such copies, of all without one; `producer`: of copies that name it.

        Raises HoldsError where one of them cannot be read.
        """
        if not folders:
            raise HoldsError(f"no copy of {TXN_LOG} is in the dump")
        several = f"{len(folders)} copies of partitions of {TXN_LOG}"
        self.beside(f"all records of {folders[0].name if len(folders) == 1 else several}")
        entries: list[Entry] = []
        for folder in folders:
            if transactional_id is None and producer is not None:
                told = told_by(folder)
                if told.unreadable:
                    raise LostRecordsError(told.unreadable)
                if producer not in told.producers:
                    continue
            found, copy = entries_of(folder)
            try:
                copy.require_readable()
            except MissingError as error:
                raise LostRecordsError(str(error)) from None
            # Without a name the key cannot be read.
            ours = (transactional_id, "")
            mine_ = [o for o in found if transactional_id is None or o.transactional_id in ours]
            if not all(one.readable for one in mine_):
                raise LostRecordsError(f"{folder.name} has a record that cannot be read")
            entries += mine_
        return entries

    def logs_of(self, transactional_id: str | None) -> list[Path]:
        """Copies of the partition that an id belongs to, if its records are there, else of all."""
        numbers = {int(one.name.rpartition("-")[2]) for one in self.txn_logs}
        if transactional_id is None or numbers != set(range(len(numbers))) or not numbers:
            return self.txn_logs
        name = f"{TXN_LOG}-{placed(transactional_id, len(numbers))}"
        own = [one for one in self.txn_logs if one.name == name]
        there = (e.transactional_id for one in own for e in entries_of(one)[0])
        return own if transactional_id in there else self.txn_logs

    def logs_of_producer(self, producer: int) -> list[Path]:
        """Copies of the partitions whose records name a producer, if any does, else of all."""
        names = {one.name for one in self.txn_logs if producer in told_by(one).producers}
        return [one for one in self.txn_logs if one.name in names or not names]

    def newest(self, transactional_id: str) -> Entry | None:
        """The last record of an id; of copies the one that is furthest."""
        mine_ = self.entries(self.logs_of(transactional_id), transactional_id)
        return max(mine_, key=self._order, default=None)

    def _order(self, one: Entry) -> tuple[bool, int, int]:
        """Of copies' records of an id, the newest is the greatest."""
        return not self.told_by_another(one), one.leader, one.offset

    def told_by_another(self, one: Entry) -> bool:
        """Whether a record lies above the high watermark of a copy that another one outlasts.

        The other copy has it, too, or a later leader has another one there, and it is truncated.
        Without a mark, what lies where a later leader begins in another copy is not replicated.
        """
        reach = reach_of(one.folder)
        others = [o for o in self.folders(one.folder.name) if reach_of(o) > reach]
        mark = self.mark_of(one.folder) if others else None
        if mark is None:
            mark = min((first_of_later(o, reach[0]) for o in others), default=END_OF_OFFSETS)
        return one.offset >= mark and any(
            first_of_later(other, one.leader) <= one.offset
            or any(
                (e.transactional_id == one.transactional_id and e.offset >= one.offset)
                or e.offset == one.offset
                for e in entries_of(other)[0]
                if e.readable
            )
            for other in others
        )

    def mark_of(self, folder: Path) -> int | None:
        """The high watermark of a copy of the coordinator's log, None where it is not known."""
        place = (TXN_LOG, int(folder.name.rpartition("-")[2]))
        try:
            return self.checkpoint(folder.parent, "replication-offset-checkpoint", place)
        except UndecidedError:
            return None

    def checkpoint(self, log_directory: Path, name: str, place: tuple[str, int]) -> int | None:
        """The entry of a partition in an offset checkpoint, None where it has none."""
        path = log_directory / name
        self.beside(f"the {name}")
        # What lies around a partition folder that was audited alone is of no audit.
        if not path.is_file() or not self._has(log_directory):
            raise UndecidedError(f"{name} is not in the dump")
        for line in path.read_text("utf-8", "replace").splitlines()[2:]:
            words = line.split()
            if len(words) == 3 and (words[0], words[1]) == (place[0], str(place[1])):
                return int(words[2])
        return None
