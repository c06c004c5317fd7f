"""One section of a text of kafka-dump-log: the same rows that its segment would give.

Positions are line numbers and lengths are lines: a finding from a text names the line.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from schemas import log_row
from schemas.topics import COORDINATOR_TOPICS, OFFSETS_TOPIC, TXN_LOG_TOPIC
from udfs.arrow.aborted_entries import entry_rows
from udfs.arrow.batches import DecodedBatches, DecodeOptions, record_faults
from udfs.arrow.frames import Damage, Frames
from udfs.arrow.offset_rows import offset_rows
from udfs.arrow.producer_states import changed_states, fault_row, held_states
from udfs.arrow.rows import RowBuilder, Rows
from udfs.arrow.run_rows import replayable, run_rows
from udfs.arrow.segment import (
    discontinuity_rows,
    failure_rows,
    frame_rows,
    missing_ranges,
    running_numbers,
    summary_row,
)
from udfs.arrow.side_files import Index
from udfs.arrow.text_index_rows import indexes_beside, text_index_faults, text_index_rows
from udfs.arrow.text_offsets_split import text_offsets_split
from udfs.arrow.text_txn_log_rows import text_txn_log_rows
from udfs.wire import bounds
from udfs.wire.batches import records
from udfs.wire.batches.batch_headers import header_faults
from udfs.wire.errors import WireError
from udfs.wire.side_files import txn_index
from udfs.wire.text import text_dump
from udfs.wire.text.text_batch import LONG, SHORT
from udfs.wire.text.text_batches import Gathered, Gatherer
from udfs.wire.text.text_side_files import read_states

# So many batches are held at a time; each such stretch is a split of its own.
BATCHES_AT_ONCE = 1 << 16
MISSING_LINES = "lines of the text are missing at line {}"


class _Section(text_dump.TextDump):
    """The lines of a section, and the digest of its bytes."""

    def __init__(self, file: BinaryIO, split: dict[str, Any]) -> None:
        super().__init__(file, split["first_byte"], split["file_size"], split["first_line"])
        self._digest = hashlib.sha256()
        self.length = 0

    def read(self, size: int) -> bytes:
        part = super().read(size)
        self._digest.update(part)
        self.length += len(part)
        return part

    def summary(self) -> dict[str, Any]:
        """What the summary says of the bytes."""
        return {"length": self.length, "digests": self._digest.digest(), "shrank": self.shrank}


def decoded_text(
    gathered: Gathered, topic: str, with_records: bool, options: DecodeOptions
) -> DecodedBatches:
    """The batches of a text with their faults; `with_records`: it prints records."""
    stored = gathered.headers
    headers = stored.bounded()
    fault = header_faults(headers, topic in COORDINATOR_TOPICS)
    if with_records and options.with_records:
        known = (gathered.counted > 0) & ((headers.magic == 2) | (headers.codec > 0))
        delta = bounds.timestamps(gathered.largest_timestamp) - headers.base_timestamp
        delta = np.where(known, delta, np.int64(records.NO_TIMESTAMP))
        fault |= gathered.fault
        fault = record_faults(headers, fault, delta, gathered.tombstones)
    return DecodedBatches(
        headers,
        fault,
        gathered.control_type,
        gathered.coordinator_epoch,
        headers.max_timestamp,
        bounds.timestamps(gathered.largest_timestamp),
        stored,
    )


def read_text_section(
    file: BinaryIO, split: dict[str, Any], options: DecodeOptions
) -> Iterator[Rows]:
    """Rows of one section; `split` has the fields of `schemas.log_row.SPLIT`."""
    section = _Section(file, split)
    yield from READERS[split["kind"]](section, split, options)


def _read_segment(
    section: _Section, split: dict[str, Any], options: DecodeOptions
) -> Iterator[Rows]:
    gatherer = Gatherer(
        with_records=split["with_records"],
        keep_printed=split["decoded"] and split["topic"] in (TXN_LOG_TOPIC, OFFSETS_TOPIC),
    )
    start, indexes = split["first_line"], indexes_beside(split)
    for item in section.items():
        if len(gatherer) >= BATCHES_AT_ONCE:
            part = gatherer.take()
            yield from _rows(part, split | {"start": start}, options, {}, indexes)
            start = part.next_line or start
        gatherer.add(item)
    gatherer.end()
    part = gatherer.take()
    of_section = section.summary()
    if gatherer.cut_line is not None:
        of_section["error"] = MISSING_LINES.format(gatherer.cut_line)
    yield from _rows(part, split | {"start": start}, options, of_section, indexes)


def _rows(
    part: Gathered,
    split: dict[str, Any],
    options: DecodeOptions,
    of_section: dict[str, Any],
    indexes: list[Index],
) -> Iterator[Rows]:
    """Rows of a stretch of a section that begins at line `split["start"]`."""
    start, lines = split["start"], part.headers.position
    part = part._replace(headers=part.headers._replace(position=lines - start))
    decoded = decoded_text(part, split["topic"], split["with_records"], options)
    damages = [
        Damage(gap.first - start, None if gap.end is None else gap.end - start, gap.reason,
               gap.lines)
        for gap in part.gaps
    ]  # fmt: skip
    frames = Frames(decoded.headers.position, damages)
    frames.first = int(frames.positions[0]) if frames.positions.size else None
    frames.end = None if part.next_line is None else part.next_line - start
    builder = RowBuilder(split)
    given, absent = replayable(decoded), running_numbers(decoded, split["topic"])
    yield from run_rows(builder, decoded, given, absent, split, options.producer_expiration_ms)
    yield from changed_states(builder, decoded, given, split)
    left_out = yield from text_index_faults(builder, indexes, part, start)
    of_topic: dict[str, Any] = {}
    if split["topic"] == TXN_LOG_TOPIC:
        of_topic = yield from text_txn_log_rows(builder, decoded.headers, split, part.records)
    if split["topic"] == OFFSETS_TOPIC and split["decoded"] and options.with_records:
        of_topic = yield from offset_rows(builder, text_offsets_split(part.records, decoded, split))
    ends = np.array([damage.end for damage in damages if damage.end is not None])
    after_damage = np.isin(frames.positions, ends)
    discontinuities, more = discontinuity_rows(decoded, after_damage, split)
    left_out += more
    for kind, column, rows in (
        (log_row.FRAME, "frame", frame_rows(decoded, split)),
        (log_row.OFFSET_DISCONTINUITY, "offset_discontinuity", discontinuities),
        (log_row.FAILURE, "failure", failure_rows(frames, decoded.headers, start)),
    ):
        if rows:
            yield builder.nested(kind, column, rows)
    missing = missing_ranges(decoded, after_damage, split["topic"])
    alone = split | {"next_base_offset": None}
    summary = summary_row(start, frames, decoded, left_out, missing, absent, alone) | of_topic
    summary |= {"length": 0, "digests": b""} | of_section
    if part.alone:
        # Any gap may be batches that the cleaner emptied.
        summary["cleaner_traces"] = True
    yield builder.nested(log_row.SUMMARY, "summary", [summary])


def _read_txn_index(section: _Section, split: dict[str, Any], _: DecodeOptions) -> Iterator[Rows]:
    """Entries of a `.txnindex`, which has a line for each abort."""
    numbers_of, lines = [], []
    for item in section.items():
        if item.kind == text_dump.ABORTED and item.match is not None:
            numbers = tuple(int(number) for number in item.match.groups())
            possible = all(-LONG <= number < LONG for number in numbers)
            if possible and -SHORT <= numbers[0] < SHORT:
                numbers_of.append(numbers)
                lines.append(item.line)
    builder = RowBuilder(split)
    entries = np.array(numbers_of, dtype=txn_index.STORED)
    yield from entry_rows(builder, entries, np.array(lines, dtype=np.int64), 1)
    yield builder.nested(log_row.SUMMARY, "summary", [section.summary() | {"trailing_bytes": 0}])


def _side_summary(section: _Section, items: list[text_dump.Item]) -> dict[str, Any]:
    """Summary of a side file that was read; a line cut short may be an entry."""
    cut = next((item.line for item in items if item.kind == text_dump.CUT), None)
    error = None if cut is None else MISSING_LINES.format(cut)
    return section.summary() | {"error": error}


def _read_snapshot(section: _Section, split: dict[str, Any], _: DecodeOptions) -> Iterator[Rows]:
    """A `.snapshot`: its states, or what the tool said of it."""
    builder, items = RowBuilder(split), list(section.items())
    for item in items:
        if item.kind == text_dump.BAD_SNAPSHOT and item.match is not None:
            said = item.match[0].decode("utf-8", "replace").strip()
            yield fault_row(builder, split, WireError("told_unreadable", said), item.line, 1)
    states = [item for item in items if item.kind == text_dump.PRODUCER]
    if states:
        try:
            held = read_states(states, split["file_index"])
            yield from held_states(builder, held, split, in_text=True)
        except WireError as error:
            yield fault_row(builder, split, error, states[0].line, len(states))
    yield builder.nested(log_row.SUMMARY, "summary", [_side_summary(section, items)])


def _read_index(section: _Section, split: dict[str, Any], _: DecodeOptions) -> Iterator[Rows]:
    """An `.index` or `.timeindex`: what its entries say against each other."""
    builder, items = RowBuilder(split), list(section.items())
    of_entries = yield from text_index_rows(builder, items, split)
    summary = _side_summary(section, items) | of_entries
    yield builder.nested(log_row.SUMMARY, "summary", [summary])


READERS = {
    "segment": _read_segment,
    "txn_index": _read_txn_index,
    "producer_snapshot": _read_snapshot,
    "offset_index": _read_index,
    "time_index": _read_index,
}
