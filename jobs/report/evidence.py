"""Takes the bytes of evidence apart, field by field, from the dump itself.

Only what a header needs is read, with a bound: a record batch header is 61 bytes, an entry of a
transaction index 34, of the other indexes 8 or 12. A file that is gone, shorter, or no regular
file is reported, not raised.
"""

import stat
import struct
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from jobs.model.moment import moment
from jobs.report.facts import Evidence, Field, Finding
from schemas.dump_file import IN_TEXT
from udfs.storage.open_file import open_file
from udfs.storage.places import is_remote
from udfs.storage.remote_path import READERS
from udfs.wire.batches import batch_layout as layout
from udfs.wire.legacy import legacy_layout

# Examples whose evidence is read, and bytes that are read of each and shown of unknown ones.
MAX_PROOFS = 500
READ_BYTES = 128
SHOWN_BYTES = 32
NO_DUMP = "the bytes were not read: the dump was not available when this report was made"
IS_TEXT = "are lines of a text, not bytes of a log: the command below prints them"

# Where a file of the dump is opened: see DumpFile.
Place = tuple[str, str]
# (name, first byte, struct format) of each field.
Layout = tuple[tuple[str, int, str], ...]
HEADER: Layout = (
    ("base offset", layout.BASE_OFFSET, ">q"),
    ("length", layout.LENGTH, ">i"),
    ("partition leader epoch", layout.PARTITION_LEADER_EPOCH, ">i"),
    ("magic", layout.MAGIC, ">b"),
    ("CRC-32C", layout.CRC, ">I"),
    ("attributes", layout.ATTRIBUTES, ">h"),
    ("last offset delta", layout.LAST_OFFSET_DELTA, ">i"),
    ("base timestamp", layout.BASE_TIMESTAMP, ">q"),
    ("max timestamp", layout.MAX_TIMESTAMP, ">q"),
    ("producer id", layout.PRODUCER_ID, ">q"),
    ("producer epoch", layout.PRODUCER_EPOCH, ">h"),
    ("base sequence", layout.BASE_SEQUENCE, ">i"),
    ("record count", layout.RECORDS_COUNT, ">i"),
)
BEFORE_MAGIC_2: Layout = HEADER[:2]
MESSAGE_V0: Layout = (
    ("offset", layout.BASE_OFFSET, ">q"),
    ("length", layout.LENGTH, ">i"),
    ("CRC-32", legacy_layout.CRC, ">I"),
    ("magic", layout.MAGIC, ">b"),
    ("message attributes", legacy_layout.ATTRIBUTES, ">B"),
)
MESSAGE_V1: Layout = (*MESSAGE_V0, ("timestamp", legacy_layout.TIMESTAMP, ">q"))
INDEX_ENTRY: Layout = (
    ("version", 0, ">h"),
    ("producer id", 2, ">q"),
    ("first offset", 10, ">q"),
    ("last offset", 18, ">q"),
    ("last stable offset", 26, ">q"),
)
ENTRIES: dict[str, Layout] = {
    ".txnindex": INDEX_ENTRY,
    ".index": (("relative offset", 0, ">i"), ("position", 4, ">i")),
    ".timeindex": (("timestamp", 0, ">q"), ("relative offset", 8, ">i")),
}
# Behind the header of a marker: length, attributes, timestamp delta, offset delta and key length of
# its one record take a byte each, then key (version, type), value length, value (version, epoch).
MARKER_KEY = layout.HEADER_SIZE + 5
MARKER_SIZE = MARKER_KEY + 4 + 1 + 6 + 1
MARKER: Layout = (
    ("control key version", MARKER_KEY, ">h"),
    ("control type", MARKER_KEY + 2, ">h"),
    ("control value version", MARKER_KEY + 5, ">h"),
    ("coordinator epoch", MARKER_KEY + 7, ">i"),
)
CONTROL_TYPES = {0: "ABORT", 1: "COMMIT", 2: "LEADER_CHANGE"}


def with_bytes(
    findings: Iterable[Finding], place: Callable[[str], Place | None]
) -> tuple[Finding, ...]:
    """The findings with their evidence taken apart; `place` gives the location of a file."""
    found = list(findings)
    wanted = [proof for finding in found for proof in finding.evidence][:MAX_PROOFS]
    with ThreadPoolExecutor(READERS) as readers:
        dumped = readers.map(lambda proof: _dumped(proof, place), wanted)
        return tuple(
            replace(finding, evidence=tuple(next(dumped, proof) for proof in finding.evidence))
            for finding in found
        )


def _dumped(proof: Evidence, place: Callable[[str], Place | None]) -> Evidence:
    if IN_TEXT in proof.file:
        return replace(proof, unread=IS_TEXT)
    where = place(proof.file)
    if where is None:
        return replace(proof, unread=NO_DUMP)
    try:
        data = _read(where, proof.byte_position, min(proof.byte_length, READ_BYTES))
    except OSError as error:
        return replace(proof, unread=f"the bytes could not be read: {error.strerror}")
    if not data:
        return replace(proof, unread="the file now ends before these bytes")
    return replace(proof, fields=tuple(fields_of(proof, data)))


def _read(place: Place, position: int, length: int) -> bytes:
    root, below_root = place
    if not is_remote(root) and not stat.S_ISREG(Path(root, below_root).stat().st_mode):
        raise OSError(0, "not a regular file")
    with open_file(root, below_root) as file:
        file.seek(position)
        return file.read(length)


def fields_of(proof: Evidence, data: bytes) -> Iterator[Field]:
    """Fields of a batch header, a marker or an index entry; raw bytes where it is none of them."""
    kind = Path(proof.file.removesuffix(".swap")).suffix
    entry = ENTRIES.get(kind, ())
    if entry and len(data) >= struct.calcsize(">" + "".join(form[1:] for _, _, form in entry)):
        yield from _fields(entry, data, proof.byte_position)
    elif kind == ".log" and len(data) > layout.MAGIC:
        names = _names_of_batch(data)
        whole = names == HEADER
        if whole and _is_marker(data) and proof.byte_length == MARKER_SIZE:
            names += MARKER
        yield from _fields(names, data, proof.byte_position)
        if not whole:
            behind = names[-1][1] + struct.calcsize(names[-1][2])
            yield _raw(data[behind:], proof.byte_position + behind)
    else:
        yield _raw(data, proof.byte_position)


def _names_of_batch(data: bytes) -> Layout:
    """The fields that a batch of this magic has, as far as they are there."""
    magic, size = data[layout.MAGIC], len(data)
    if magic == 2 and size >= layout.HEADER_SIZE:
        return HEADER
    if magic == 1 and size >= legacy_layout.KEY_V1:
        return MESSAGE_V1
    if magic == 0 and size >= legacy_layout.KEY_V0:
        return MESSAGE_V0
    return BEFORE_MAGIC_2


def _is_marker(data: bytes) -> bool:
    (attributes,) = struct.unpack_from(">h", data, layout.ATTRIBUTES)
    return bool(attributes & layout.CONTROL_MASK)


def _fields(names: Layout, data: bytes, start: int) -> Iterator[Field]:
    for name, at, form in names:
        (number,) = struct.unpack_from(form, data, at)
        raw = data[at : at + struct.calcsize(form)]
        yield Field(start + at, name, raw.hex(" "), _meaning(name, number))


def _raw(data: bytes, start: int) -> Field:
    shown = data[:SHOWN_BYTES]
    more = "" if len(data) <= SHOWN_BYTES else f"the first {SHOWN_BYTES} bytes"
    return Field(start, "bytes", shown.hex(" "), more)


def _meaning(name: str, number: int) -> str:
    if name == "attributes":
        return f"{number}: {', '.join(attribute_names(number))}"
    if name == "message attributes":
        known = number & legacy_layout.KNOWN_ATTRIBUTES_V1
        return f"{number}: {', '.join(attribute_names(known))}"
    if name.startswith("CRC-32"):
        return f"0x{number:08x}"
    if name == "control type":
        return f"{number}: {CONTROL_TYPES.get(number, 'unknown')}"
    if name.endswith("timestamp"):
        return f"{number} ({moment(number)})"
    return str(number)


def attribute_names(attributes: int) -> list[str]:
    """What the attribute bits of a batch say, codec first."""
    codec = attributes & layout.CODEC_MASK
    known = codec < len(layout.CODECS)
    names = [f"codec {layout.CODECS[codec] if known else codec}"]
    flags = (
        (layout.TIMESTAMP_TYPE_MASK, "log append time"),
        (layout.TRANSACTIONAL_MASK, "transactional"),
        (layout.CONTROL_MASK, "control"),
        (layout.DELETE_HORIZON_MASK, "delete horizon"),
        (layout.UNUSED_ATTRIBUTES_MASK, "unknown bits"),
    )
    return names + [name for mask, name in flags if attributes & mask]
