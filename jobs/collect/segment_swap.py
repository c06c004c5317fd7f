"""What a swap of segments that was cut short leaves, and what a broker that starts makes of it.

The cleaner writes new segments as `.cleaned`, renames them to `.swap`, and then to their final
names while it deletes those that they replace. A broker that starts takes a `.swap` file for the
segment where no `.cleaned` file at or below it shows that others were still to come, and deletes
the plain segments whose offsets it holds (LogLoader). The same is decided here, without a write, so
that no offset is read twice and none is lost.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from jobs.model.batch_heads import batch_heads
from udfs.storage.dump_path import DumpPath, root_and_below
from udfs.storage.open_file import open_file

PLAIN = r"(?P<plain>(?P<base>[0-9]{20})(\.log|\.index|\.timeindex|\.txnindex))"
UNFINISHED = re.compile(PLAIN + r"(?P<suffix>\.swap|\.cleaned)")
REPLACED_FILE = re.compile(PLAIN)


class Swap(NamedTuple):
    """`adopted`: name of a `.swap` file -> the name it gets; `replaced`: files that give way."""

    adopted: dict[str, str]
    replaced: set[str]


def interrupted_swap(folder: DumpPath, names: Sequence[str]) -> Swap:
    """What becomes of the files `names` of a partition folder. Raises OSError."""
    unfinished = [match for name in names if (match := UNFINISHED.fullmatch(name))]
    if not unfinished:
        return Swap({}, set())
    incomplete = [int(one["base"]) for one in unfinished if one["suffix"] == ".cleaned"]
    limit = min(incomplete, default=None)
    valid = [
        one
        for one in unfinished
        if one["suffix"] == ".swap" and (limit is None or int(one["base"]) < limit)
    ]
    adopted = {one.string: one["plain"] for one in valid}
    logs = [one for one in valid if one["plain"].endswith(".log")]
    replaced = set(adopted.values()) & set(names)
    if logs:
        first = min(int(one["base"]) for one in logs)
        end = max(end_of_segment(folder / one.string, int(one["base"])) for one in logs)
        for name in names:
            plain = REPLACED_FILE.fullmatch(name)
            if plain and first <= int(plain["base"]) < end:
                replaced.add(name)
    return Swap(adopted, replaced)


def end_of_segment(path: DumpPath, base_offset: int) -> int:
    """The offset after the last whole batch, by the headers; its base for an empty segment."""
    size = path.stat().st_size
    with open_file(*root_and_below(path)) as file:
        ends = (one.last_offset + 1 for one in batch_heads(file, size))
        return max(base_offset, max(ends, default=base_offset))
