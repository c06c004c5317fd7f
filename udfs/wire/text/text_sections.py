"""Which files a text of kafka-dump-log prints, and where in it (`DumpLogSegments`).

One text may join the dumps of many files. The stretch from one `Dumping …` to the next is a
section. The first one begins with the text, the last one ends with it.
"""

from typing import BinaryIO, NamedTuple

from udfs.wire.text import text_dump, text_offsets, text_txn_log
from udfs.wire.text import text_shapes as shapes

# Kinds of lines that say where a batch lies, and the group that does.
POSITION_OF = {
    text_dump.BATCH: shapes.POSITION,
    text_dump.OLD_BATCH: shapes.OLD_POSITION,
    text_dump.LONE_RECORD: shapes.LONE_POSITION,
}


OF_SIDE_FILES = (
    text_dump.PRODUCER,
    text_dump.BAD_SNAPSHOT,
    text_dump.OFFSET_ENTRY,
    text_dump.TIME_ENTRY,
)


class Section(NamedTuple):
    """The dump of one file in a text.

    `path`: of the dumped file, as the tool was given it. `first_byte`, `end_byte` (exclusive),
    `first_line` (from 1), `end_line` (exclusive): its place. `batch_line`: line of the batch at
    the start of the file, 0 without any. `with_records`: record lines are printed
    (--deep-iteration); `lacks_records`: they are not, though there are some; `without_metadata`:
    by --skip-record-metadata; `decoded`: by --transaction-log-decoder or --offsets-decoder, or it
    holds nothing to be decoded; `lacks_starts`: so that it leaves out when transactions began (up
    to 3.9); `of_side_file`: it has lines that only side files give; `complaints`: of the tool
    itself about what it read.
    """

    path: str
    first_byte: int
    end_byte: int
    first_line: int
    end_line: int
    batch_line: int
    with_records: bool
    lacks_records: bool
    without_metadata: bool
    decoded: bool
    lacks_starts: bool
    of_side_file: bool
    complaints: int


class _Open:
    """The section at hand."""

    def __init__(self, path: str, first_byte: int, first_line: int) -> None:
        self._path, self._first_byte, self._first_line = path, first_byte, first_line
        self._batch_line = 0
        self._records = self._bare = self._decoded = self._data = self._announced = False
        self._of_side_file = self._lacks_starts = False
        self._complaints = 0

    def see(self, item: text_dump.Item) -> None:
        """Notes what kinds of lines there are."""
        if not self._batch_line and item.match is not None and item.kind in POSITION_OF:
            starts = int(item.match[POSITION_OF[item.kind]]) == 0
            self._batch_line = item.line if starts else 0
        if item.kind == text_dump.BATCH and item.match is not None:
            self._announced |= item.match[shapes.COUNT] != b"0"
        self._records |= item.kind in (text_dump.RECORD, text_dump.LONE_RECORD)
        self._bare |= item.kind == text_dump.BARE_RECORD
        self._of_side_file |= item.kind in OF_SIDE_FILES
        self._complaints += item.kind in (text_dump.COMPLAINT, text_dump.EXCEPTION)
        tail = item.tail
        if tail is not None and tail.marker is None and tail.control_type is None:
            self._data = True
            printed = item.printed or b""
            self._lacks_starts |= text_txn_log.lacks_start(printed)
            self._decoded = self._decoded or any(
                decoder.is_decoded(printed) for decoder in (text_txn_log, text_offsets)
            )

    def close(self, end_byte: int, end_line: int) -> Section:
        """The section, which ends here."""
        return Section(
            self._path,
            self._first_byte,
            end_byte,
            self._first_line,
            end_line,
            self._batch_line,
            self._records,
            self._announced and not self._records,
            self._bare,
            self._decoded or not self._data,
            self._lacks_starts,
            self._of_side_file,
            self._complaints,
        )


def sections(file: BinaryIO, size: int) -> list[Section]:
    """The sections of an open text of `size` bytes; none where it is no such text."""
    found: list[Section] = []
    at_hand: _Open | None = None
    line = 1
    for item in text_dump.TextDump(file, 0, size, 1).items():
        if item.kind == text_dump.DUMPING and item.match is not None:
            if at_hand is not None:
                found.append(at_hand.close(item.at, item.line))
            path = item.match[1].decode("utf-8", "replace").strip()
            begins = at_hand is not None
            at_hand = _Open(path, item.at if begins else 0, item.line if begins else 1)
        elif at_hand is not None:
            at_hand.see(item)
        line = item.line + item.lines
    return found if at_hand is None else [*found, at_hand.close(size, line)]
