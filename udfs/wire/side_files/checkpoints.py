"""Text files of a log directory (`CheckpointFileWithFailureHandler` version 0, `PropertiesUtils`).

Offset checkpoints and `leader-epoch-checkpoint` hold a version line, a count line and one entry
a line; an empty file means no entries. `meta.properties` is a Java properties file.
"""

import re
from collections.abc import Iterator
from itertools import islice

from udfs.rules import limits
from udfs.wire.errors import WireError

VERSION = 0
INTEGER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
MAX_INT64 = (1 << 63) - 1
MAX_INT32 = (1 << 31) - 1

PROPERTY_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
PROPERTY_SEPARATORS = "=: \t\f"
UNICODE_ESCAPE = re.compile(r"[0-9A-Fa-f]{4}", re.ASCII)


def _lines(text: str) -> list[str]:
    """Lines without their ends; a last line without an end counts, as in Java's readLine."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _integer(word: str, line: int, largest: int = MAX_INT64) -> int:
    if not INTEGER.fullmatch(word) or not -largest - 1 <= int(word) <= largest:
        raise WireError("not_a_number", f"line {line}: {word[:40]!r}, expected an integer")
    return int(word)


def _offset(word: str, line: int) -> int:
    """One that can be reckoned with (`udfs.wire.bounds`)."""
    return min(max(_integer(word, line), limits.LOWEST), limits.HIGHEST)


def _entries(text: str, words_per_line: int) -> Iterator[tuple[int, list[str]]]:
    """(line number, words) of every entry; version and count are checked first."""
    lines = _lines(text)
    if not lines:
        return
    version = _integer(lines[0].strip(), 1)
    if version != VERSION:
        raise WireError("unknown_version", f"checkpoint version {version}, expected {VERSION}")
    if len(lines) == 1:
        raise WireError("count_mismatch", "no count line")
    expected = _integer(lines[1].strip(), 2)
    for number, line in enumerate(islice(lines, 2, None), start=3):
        words = line.split()
        if len(words) != words_per_line:
            raise WireError(
                "malformed_line", f"line {number}: {len(words)} words, expected {words_per_line}"
            )
        yield number, words
    if len(lines) - 2 != expected:
        raise WireError("count_mismatch", f"{len(lines) - 2} entries, expected {expected}")


def parse_offset_checkpoint(text: str) -> dict[tuple[str, int], int]:
    """Offsets by (topic, partition) of an offset checkpoint of a log directory."""
    offsets: dict[tuple[str, int], int] = {}
    for number, (topic, partition, offset) in _entries(text, words_per_line=3):
        key = (topic, _integer(partition, number, MAX_INT32))
        if key in offsets:
            raise WireError(
                "duplicate_entry", f"line {number}: {topic[:250]} {partition} a second time"
            )
        offsets[key] = _offset(offset, number)
    return offsets


def parse_leader_epochs(text: str) -> list[tuple[int, int]]:
    """(epoch, start offset) in file order; whether both increase is left to the checks."""
    return [
        (_integer(epoch, number, MAX_INT32), _offset(offset, number))
        for number, (epoch, offset) in _entries(text, words_per_line=2)
    ]


def _logical_lines(text: str) -> list[str]:
    """Properties lines with continuations joined; no comments and no blank lines."""
    logical: list[str] = []
    pending: list[str] = []
    continued = False
    for natural in _lines(text):
        line = natural.lstrip(" \t\f")
        if not continued and (not line or line[0] in "#!"):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        continued = backslashes % 2 == 1
        pending.append(line[:-1] if continued else line)
        if not continued:
            logical.append("".join(pending))
            pending = []
    return [*logical, "".join(pending)] if pending else logical


def _unescape(raw: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(raw):
        if raw[at] != "\\" or at + 1 == len(raw):
            parts.append(raw[at])
            at += 1
        elif raw[at + 1] == "u":
            digits = UNICODE_ESCAPE.fullmatch(raw[at + 2 : at + 6])
            if digits is None:
                raise WireError("bad_escape", f"{raw[at : at + 6]!r}, expected four hex digits")
            parts.append(chr(int(digits.group(), 16)))
            at += 6
        else:
            parts.append(PROPERTY_ESCAPES.get(raw[at + 1], raw[at + 1]))
            at += 2
    # Two escapes may be one character; half of one is none.
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def parse_properties(text: str) -> dict[str, str]:
    """Keys and values of a Java properties file; the last value of a key counts, as in Java."""
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        end = 0
        while end < len(line) and line[end] not in PROPERTY_SEPARATORS:
            end += 2 if line[end] == "\\" else 1
        rest = line[end:].lstrip(" \t\f")
        if rest and rest[0] in "=:":
            rest = rest[1:].lstrip(" \t\f")
        properties[_unescape(line[:end])] = _unescape(rest)
    return properties
