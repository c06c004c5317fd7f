"""Reads the text of kafka-dump-log: its lines as items, in bounded memory (`DumpLogSegments`).

Nothing in such a text is escaped. A value may hold line breaks, and lines that look like those of
a batch, so a record is followed to its end by the sizes that its line prints. Bytes that are no
text are printed as signs of other sizes: there the end must lie within what the sizes allow, and
where several lines could be the next one the record takes all of them but the last, and is UNSURE.
"""

import codecs
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from udfs.wire.text import text_shapes as shapes

# Kinds of items.
DUMPING, BATCH, OLD_BATCH, RECORD, LONE_RECORD, ABORTED, INVALID_BYTES, OTHER, CUT = range(9)
BARE_RECORD, UNSURE, PRODUCER, BAD_SNAPSHOT, OFFSET_ENTRY, TIME_ENTRY, COMPLAINT, EXCEPTION = range(
    9, 17
)

BLOCK_BYTES = 1 << 22
# A record of a longer text is not followed to its end.
MAX_ITEM_BYTES = 1 << 28
BRACKETS_TRIED = 64
# U+FFFD and ?, which Java prints for what is no text: of one to three, and one to four bytes.
REPLACED, QUESTION = "\ufffd".encode(), b"?"
# Of these topics the tool prints something else than the bytes: at least as long as the names in
# them, which are all that a client chooses. These bytes of key and value are no names.
DECODED_TOPICS = (b"__transaction_state-", b"__consumer_offsets-", b"__cluster_metadata-",
                  b"__share_group_state-")  # fmt: skip
KEY_OVERHEAD, VALUE_OVERHEAD = 4, 28
OF_GROUPS = b" key: group_metadata::", b' key: {"type":"2"'
# No line of the tool is longer, but for keys and values.
LOOK_AHEAD = 1 << 16


class Tail(NamedTuple):
    """What a record line prints after its numbers; `end`: index after its line break.

    `marker`: (is commit, coordinator epoch); `control_type`: of another control record, -1 for
    one that is printed by name; both None where there is none. `content`: index where ` key: ` or
    ` payload: ` begins, None where nothing was printed. `sure`: no other end is possible.
    """

    end: int
    marker: tuple[bool, int] | None = None
    control_type: int | None = None
    content: int | None = None
    sure: bool = True


class Item(NamedTuple):
    """One line of the tool with what belongs to it.

    `line` is the number of its first line, from 1, `lines` how many it has; `at` its byte
    position in the file. `match` is that of `udfs.wire.text.text_shapes`, None for OTHER and CUT.
    `tail` and `printed` (key and value as they were printed) belong to records.
    """

    kind: int
    line: int
    lines: int
    at: int
    match: re.Match[bytes] | None = None
    tail: Tail | None = None
    printed: bytes | None = None


class _NeedMoreError(Exception):
    """The item may go on after the bytes that were read."""


def is_text_dump(head: bytes) -> bool:
    """Whether one of these first lines of a file is `Dumping …`."""
    return any(shapes.DUMPING.match(head, at) for at in _starts_of_lines(head))


def is_utf_16_text_dump(head: bytes) -> bool:
    """Whether it is one in two bytes a character, as PowerShell writes what a command prints."""
    if head[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return False
    return is_text_dump(head.decode("utf-16", "replace").encode())


def _starts_of_lines(data: bytes) -> Iterator[int]:
    yield 0
    at = data.find(b"\n")
    while at >= 0:
        yield at + 1
        at = data.find(b"\n", at + 1)


class TextDump:
    """The items of `size` bytes of an open text from `start` on, the first line being `line`."""

    def __init__(self, file: BinaryIO, start: int, size: int, line: int) -> None:
        """Nothing is read yet."""
        self._file, self._left, self._line = file, size, line
        self._base, self._data, self._at = start, b"", 0
        # Records of the batch that are still to come; None where its line does not say.
        self._missing: int | None = None
        self._decoded = False
        # What ends a line of this section.
        self._line_break = b"\n"
        self.shrank = False
        file.seek(start)

    def read(self, size: int) -> bytes:
        """The next bytes of the text; a subclass may look at them."""
        return self._file.read(size)

    def items(self) -> Iterator[Item]:
        """All items in order."""
        while self._fill(BLOCK_BYTES) > self._at:
            item = self._next()
            self._at += item[1]
            self._line += item[0].lines
            self._note(item[0])
            yield item[0]

    def _fill(self, ahead: int) -> int:
        """Makes `ahead` bytes available where the text has them; returns the index of their end."""
        if len(self._data) - self._at < ahead and self._left:
            self._base += self._at
            parts, self._at = [self._data[self._at :]], 0
            missing = max(ahead - len(parts[0]), 0) + BLOCK_BYTES
            while missing > 0 and self._left:
                part = self.read(min(missing, self._left))
                if not part:
                    self._left, self.shrank = 0, True
                    break
                parts.append(part)
                self._left -= len(part)
                missing -= len(part)
            self._data = b"".join(parts)
        return len(self._data)

    def _next(self) -> tuple[Item, int]:
        """The next item and its size in bytes."""
        ahead = BLOCK_BYTES
        while True:
            try:
                kind, end, match, tail = self._parse(ahead < MAX_ITEM_BYTES and self._left > 0)
                break
            except _NeedMoreError:
                ahead *= 4
                self._fill(ahead)
        data, at = self._data, self._at
        lines = data.count(b"\n", at, end) or 1
        if data[end - 1 : end] != b"\n":
            return Item(CUT, self._line, 1, self._base + at), end - at
        printed = None
        if tail is not None and not tail.sure:
            kind = UNSURE
        elif tail is not None and tail.content is not None:
            printed = data[tail.content : end].removesuffix(self._line_break)
        item = Item(kind, self._line, lines, self._base + at, match, tail, printed)
        return item, end - at

    def _parse(self, more: bool) -> tuple[int, int, re.Match[bytes] | None, Tail | None]:
        """(kind, index after the item, match, tail) of the item at hand.

        `more`: the text goes on after the bytes that were read, and may be asked for.
        """
        data, at = self._data, self._at
        if more and len(data) - at < LOOK_AHEAD:
            raise _NeedMoreError
        first = data[at : at + 1]
        for kind, pattern in _BY_FIRST_BYTE.get(first, ()):
            match = pattern.match(data, at)
            if match is None:
                continue
            if kind in (RECORD, LONE_RECORD):
                tail = self._tail(match, kind, more)
                return kind, tail.end, match, tail
            if kind == BARE_RECORD:
                return kind, self._line_end(match.end(), more), match, None
            return kind, match.end(), match, None
        return OTHER, self._line_end(at, more), None, None

    def _line_end(self, at: int, more: bool) -> int:
        end = self._data.find(b"\n", at) + 1
        if not end and more:
            raise _NeedMoreError
        return end or len(self._data)

    def _note(self, item: Item) -> None:
        if item.match is None:
            return
        if item.kind == BATCH:
            count = item.match[shapes.COUNT]
            self._missing = None if count is None else int(count)
        elif item.kind == RECORD and self._missing is not None:
            self._missing -= 1
        elif item.kind in (OLD_BATCH, DUMPING):
            self._missing = None
            if item.kind == DUMPING:
                folder = item.match[1].replace(b"\\", b"/").rpartition(b"/")[0]
                self._decoded = folder.rpartition(b"/")[2].startswith(DECODED_TOPICS)
                self._line_break = b"\r\n" if item.match[0].endswith(b"\r\n") else b"\n"

    def _tail(self, match: re.Match[bytes], kind: int, more: bool) -> Tail:
        """What follows the numbers of a record line, up to the end of key and value."""
        key_size, value_size = sizes(match, kind)
        data, at = self._data, match.end()
        if more and at + max(key_size, 0) + max(value_size, 0) + LOOK_AHEAD > len(data):
            raise _NeedMoreError
        likely = None
        has_headers = data[at - 1 : at] == b"["
        for after in self._after_brackets(at) if has_headers else (at,):
            found = self._tail_at(after, key_size, value_size)
            if found is not None and found.end:
                return found
            likely = likely or found
            if likely is not None and after == at + 1:
                break  # no header keys, most likely
        if likely is not None and likely.content is not None:
            end, sure = self._probable_end(likely.content, key_size, value_size, more)
            return likely._replace(end=end, sure=sure)
        return Tail(self._line_end(at, more))

    def _after_brackets(self, at: int) -> Iterator[int]:
        """Where the list of header keys may end: their names may hold brackets themselves."""
        for _ in range(BRACKETS_TRIED):
            at = self._data.find(b"]", at) + 1
            if not at:
                return
            yield at

    def _tail_at(self, at: int, key_size: int, value_size: int) -> Tail | None:
        """The tail at an index; `end` is 0 where key and value could not be counted off."""
        data, line_break = self._data, self._line_break
        after = len(line_break)
        if data.startswith(line_break, at):
            return Tail(at + after)
        if data.startswith(b" key: ", at) and key_size >= 0:
            value = at + 6 + key_size
            if value_size < 0 and data.startswith(line_break, value):
                return Tail(value + after, content=at)
            end = value + 10 + value_size
            exact = value_size >= 0 and data.startswith(b" payload: ", value)
            exact = exact and data.startswith(line_break, end)
            return Tail(end + after if exact else 0, content=at)
        if data.startswith(b" payload: ", at):
            end = at + 10 + value_size
            exact = value_size >= 0 and data.startswith(line_break, end)
            return Tail(end + after if exact else 0, content=at)
        if marker := shapes.MARKER.match(data, at):
            return Tail(marker.end(), marker=(marker[1] == b"COMMIT", int(marker[2])))
        if other := shapes.OTHER_CONTROL.match(data, at):
            return Tail(other.end(), control_type=int(other[1] or -1))
        return None

    def _probable_end(
        self, content: int, key_size: int, value_size: int, more: bool
    ) -> tuple[int, bool]:
        """(index after a line break after which the next line fits, whether no other may be it).

        Where the sizes allow none, a decoder of the user's printed something else: the first one.
        """
        data, size = self._data, max(key_size, 0) + max(value_size, 0)
        allowed: list[int] = []
        first = fitting = data.find(b"\n", content) + 1
        end = data.find(b"\n", content + self._least(content, key_size, value_size)) + 1
        found = False
        while end:
            if more and end + LOOK_AHEAD > len(data):
                raise _NeedMoreError
            if end == len(data) or self._fits(end):
                if self._decoded:
                    return end, True
                fitting, found = fitting if found else end, True
                if self._may_end(content, end - len(self._line_break), size):
                    allowed.append(end)
            if end - content > 3 * size + LOOK_AHEAD and found:
                break
            end = data.find(b"\n", end) + 1
        if not found and more:
            raise _NeedMoreError
        if allowed:
            return allowed[-1], len(allowed) == 1
        return (fitting or first or len(data)), True

    def _least(self, content: int, key_size: int, value_size: int) -> int:
        """How many bytes key and value have at least, as they were printed."""
        if not self._decoded:
            return 0
        least = max(key_size - KEY_OVERHEAD, 0)
        if not self._data.startswith(OF_GROUPS, content):
            least += max(value_size - VALUE_OVERHEAD, 0)
        return least

    def _may_end(self, content: int, end: int, size: int) -> bool:
        """Whether what is printed in [content, end) may be a key and value of that size."""
        printed = self._data[content:end]
        shown = len(printed) - 10 * (b" payload: " in printed) - 6 * printed.startswith(b" key: ")
        if printed.isascii():
            return shown <= size <= shown + 3 * printed.count(QUESTION)
        return shown - 2 * printed.count(REPLACED) <= size <= shown

    def _fits(self, at: int) -> bool:
        if self._missing is not None and self._missing > 1:
            return shapes.RECORD.match(self._data, at) is not None
        return self._data.startswith(shapes.FOLLOWS_RECORD, at)


_BY_FIRST_BYTE = {
    b"b": ((BATCH, shapes.BATCH),),
    b"|": ((RECORD, shapes.RECORD), (BARE_RECORD, shapes.WITHOUT_METADATA)),
    b" ": ((BARE_RECORD, shapes.WITHOUT_METADATA),),
    b"o": (
        (LONE_RECORD, shapes.LONE_RECORD),
        (OLD_BATCH, shapes.OLD_BATCH),
        (OFFSET_ENTRY, shapes.OFFSET_ENTRY),
    ),
    b"t": ((TIME_ENTRY, shapes.TIME_ENTRY),),
    b"p": ((PRODUCER, shapes.PRODUCER),),
    b"S": ((BAD_SNAPSHOT, shapes.BAD_SNAPSHOT),),
    b"D": ((DUMPING, shapes.DUMPING),),
    b"\xef": ((DUMPING, shapes.DUMPING),),
    b"v": ((ABORTED, shapes.ABORTED),),
    b"F": ((INVALID_BYTES, shapes.INVALID_BYTES), (COMPLAINT, shapes.COMPLAINT)),
    b"M": ((COMPLAINT, shapes.COMPLAINT),),
    b"N": ((COMPLAINT, shapes.COMPLAINT),),
    b"I": ((COMPLAINT, shapes.COMPLAINT),),
    b"E": ((EXCEPTION, shapes.EXCEPTION),),
}


def sizes(match: re.Match[bytes], kind: int) -> tuple[int, int]:
    """Sizes of key and value in bytes, -1 for null, of a record line."""
    if kind == LONE_RECORD:
        return int(match[shapes.LONE_KEY_SIZE]), int(match[shapes.LONE_VALUE_SIZE])
    key = match[shapes.KEY_SIZE] or match[shapes.KEY_SIZE_2_8]
    value = match[shapes.VALUE_SIZE] or match[shapes.VALUE_SIZE_2_8]
    return int(key or -1), int(value or -1)
