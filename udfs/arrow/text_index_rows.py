"""Indexes in a text of kafka-dump-log beside the batches of their segment.

The tool compares them itself and reports errors of healthy ones, so its error lines are ignored.
"""

from collections.abc import Generator, Iterable
from typing import Any

import numpy as np

from udfs.arrow.rows import RowBuilder, Rows
from udfs.arrow.side_files import Index, index_faults, index_faults_alone
from udfs.wire.side_files.index_rules import Batches
from udfs.wire.text import text_dump
from udfs.wire.text.text_batches import Gathered
from udfs.wire.text.text_side_files import read_index


def _index(named: dict[str, Any], items: Iterable[text_dump.Item], base_offset: int) -> Index:
    index = read_index(items, base_offset)
    return Index(named["kind"], named["file_index"], index.entries, index.lines, entry_length=1)


def indexes_beside(split: dict[str, Any]) -> list[Index]:
    """The printed indexes of a segment; one that cannot be opened is reported elsewhere."""
    found = []
    for named in split.get("beside") or ():
        try:
            with named["opened"]() as file:
                section = text_dump.TextDump(
                    file, named["first_byte"], named["size"], named["first_line"]
                )
                found.append(_index(named, section.items(), split["base_offset"]))
        except OSError:
            continue
    return found


def _stored(part: Gathered) -> Batches:
    """The batches by their bytes in the segment, as the rules of the indexes see them."""
    headers, at, end = part.headers, part.stored_at, part.stored_at + part.stored_size
    gone = np.flatnonzero(at[1:] != end[:-1])
    return Batches(
        position=at,
        base_offset=headers.base_offset,
        last_offset=headers.last_offset,
        max_timestamp=headers.max_timestamp,
        # Only the messages in an old wrapper give the offset where it begins.
        opened=(headers.magic == 2) | (headers.codec == 0) | (part.counted > 0),
        first=int(at[0]),
        end=int(end[-1]),
        damaged=[(int(end[i]), int(at[i + 1])) for i in gone],
        file_end=None,
    )


def text_index_faults(
    builder: RowBuilder, indexes: list[Index], part: Gathered, start: int
) -> Generator[Rows, None, int]:
    """Rows of `log_row.SIDE_FAULT`: entries that contradict a stretch that begins at line `start`.

    Returns how many were left out. Where the text prints records alone (0.11 to 2.1), sizes of
    batches are not known.
    """
    if not indexes or not part.stored_at.size or part.alone:
        return 0
    log, headers = _stored(part), part.headers
    left_out = 0
    for index in indexes:
        at = headers.position + start
        left_out += yield from index_faults(builder, index, log, at, headers.length)
    return left_out


def text_index_rows(
    builder: RowBuilder, items: Iterable[text_dump.Item], split: dict[str, Any]
) -> Generator[Rows, None, dict[str, int]]:
    """What the entries of an index say against each other; returns what its summary tells."""
    index = _index(split, items, split["base_offset"])
    return (yield from index_faults_alone(builder, index, split))
