"""The second opinion, held against what brokers answered about their own dumps."""

import json
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from second_opinion.replay import Opinion, RefusedError, batches_of, opinion

TXNINDEX_ENTRY = struct.Struct(">hqqqq")
# Retention took the head between the broker's answers and the copy.
ANSWERED_EARLIER = {("aged-tv0-1", "lat"), ("aged-tv2-1", "lat")}


class Answer(NamedTuple):
    """One answer of a broker beside that of the opinion."""

    place: str
    what: str
    broker: Any
    opinion: Any

    @property
    def differs(self) -> bool:
        return bool(self.broker != self.opinion)


def unpacked(archive: Path, folder: Path) -> Path:
    """The scenario of an archive."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def folder_of(scenario: Path, broker: int, name: str) -> Path:
    (found,) = (scenario / "dump").glob(f"broker*-{broker}/{name}")
    return found


def answers(scenario: Path) -> Iterator[Answer]:
    """All answers of a dump that was copied as the brokers were asked; none of others."""
    about = json.loads((scenario / "about.json").read_text())
    asked = scenario / "oracle/partitions.json"
    if about["dump"] != "clean_stop" or not asked.exists():
        return
    for told in json.loads(asked.read_text()):
        if (scenario.name, told["topic"]) in ANSWERED_EARLIER:
            continue
        name = f"{told['topic']}-{told['partition']}"
        folder = folder_of(scenario, told["leader"], name)
        place = f"{scenario.name} {name} on broker {told['leader']}"
        try:
            ours = opinion(folder)
        except RefusedError as error:
            yield Answer(place, "loads", True, str(error))
            continue
        yield from _of_partition(place, told, ours)
        answer = scenario / "oracle/read_committed" / f"{name}.txt"
        if answer.exists():
            wanted = [int(line) for line in answer.read_text().split()]
            yield Answer(place, "read_committed offsets", wanted, ours.received)
        yield from _of_index(place, folder, ours)


def _of_partition(place: str, told: dict[str, Any], ours: Opinion) -> Iterator[Answer]:
    yield Answer(place, "log start", told["log_start_offset"], ours.log_start)
    yield Answer(place, "log end", told["log_end_offset"], ours.log_end)
    yield Answer(place, "last stable offset", told["last_stable_offset"], ours.last_stable)


def _of_index(place: str, folder: Path, ours: Opinion) -> Iterator[Answer]:
    """Entries of the `.txnindex` files whose data and marker lie in the log."""
    aborted = {(one.producer, one.last): one for one in ours.aborted}
    there = {one.base for one in batches_of(folder)[0]}
    for path in sorted(folder.glob("*.txnindex")):
        data = path.read_bytes()
        for entry in TXNINDEX_ENTRY.iter_unpack(data[: len(data) // 34 * 34]):
            _, producer, first, last, stable = entry
            mine = aborted.get((producer, last))
            if mine is None or mine.first < ours.log_start or first not in there:
                # The cleaner and the log start take data; their entry may remain.
                continue
            yield Answer(place, f"first offset of the abort at {last}", first, mine.first)
            # A follower appends a whole fetch, and counts what begins later in it.
            later = stable > last and mine.last_stable == last + 1
            # The cleaner may have taken what was open then.
            if not later and (stable in there or stable > last):
                yield Answer(place, f"LSO of the abort at {last}", stable, mine.last_stable)
