"""Batches of a text of kafka-dump-log: its items gathered into headers (`text_batch`)."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults
from udfs.wire.batches.batch_headers import FIELDS, BatchHeaders, Int64s
from udfs.wire.batches.records import NO_TIMESTAMP
from udfs.wire.text import text_dump
from udfs.wire.text import text_shapes as shapes
from udfs.wire.text.text_batch import (
    LONG,
    NOTHING,
    Batch,
    batch_of,
    columns_of,
    is_possible,
    lone_batch_of,
    old_batch_of,
    read_checksum,
    read_marker,
)

# Reasons of damage that only a text has: lines that should be there are not; bytes at the end of
# the segment that the tool could not read.
TEXT_CUT, TOLD_INVALID = "text_cut", "told_invalid"


class PrintedRecord(NamedTuple):
    """Key and value of a record as they were printed; sizes in bytes, -1 for null.

    `batch`: number of its batch among those gathered.
    """

    batch: int
    offset: int
    timestamp: int
    key_size: int
    value_size: int
    printed: bytes | None


class Gap(NamedTuple):
    """Lines [first, end) that belong to no batch, or should; `end` None where nothing follows."""

    first: int
    end: int | None
    reason: str
    lines: int


class Gathered(NamedTuple):
    """Batches of a stretch of a text, one array element a batch, and what they hold.

    `fault`: bits that record lines alone show. `largest_timestamp`: of the record lines, ms, the
    base timestamp where there are none. `counted`: record lines. `gaps`: see Gap. `records`: what
    was printed of records, if asked for. `alone`: record lines are all there is (0.11 to 2.1), so
    that batches which the cleaner emptied are not printed. `next_line`: the line of the next batch
    or after the last one, None where the text breaks off.
    """

    headers: BatchHeaders
    fault: Int64s
    control_type: Int64s
    coordinator_epoch: Int64s
    largest_timestamp: Int64s
    counted: Int64s
    tombstones: Int64s
    stored_at: Int64s
    stored_size: Int64s
    alone: bool
    gaps: list[Gap]
    records: list[PrintedRecord]
    next_line: int | None


@dataclass
class Gatherer:
    """Takes the items of one dumped segment in order; `take` gives what was gathered so far.

    `with_records`: the text prints records, so that a batch without them is cut. `keep_printed`:
    keys and values are wanted. `cut_line`: the first line at which lines are missing, None for
    none.
    """

    with_records: bool
    keep_printed: bool
    cut_line: int | None = None
    _last_offset: int = NOTHING
    _expected_at: int = 0
    _open: Batch | None = None
    _batches: list[Batch] = field(default_factory=list)
    _records: list[PrintedRecord] = field(default_factory=list)
    _gaps: list[Gap] = field(default_factory=list)
    _cut_at: int | None = None
    _next_line: int = 1

    def add(self, item: text_dump.Item) -> None:
        """Takes the next item."""
        match = item.match
        if item.kind == text_dump.CUT:
            self._cut(item.line)
        elif item.kind == text_dump.UNSURE:
            # Its batch may be whole; what the lines after it are is not known.
            self._open = None
            self._cut(item.line)
        elif item.kind == text_dump.EXCEPTION:
            self._finish()
            self._cut(item.line)
        elif match is None:
            return
        elif item.kind == text_dump.RECORD:
            self._add_record(item, match)
        elif item.kind == text_dump.LONE_RECORD:
            self._add_lone(item, match)
        elif item.kind == text_dump.BATCH:
            self._begin(batch_of(item, match))
        elif item.kind == text_dump.OLD_BATCH:
            self._begin(old_batch_of(item, match))
        elif item.kind == text_dump.INVALID_BYTES:
            self._finish()
            self._gaps.append(Gap(item.line, None, TOLD_INVALID, 0))

    def __len__(self) -> int:
        return len(self._batches)

    def _cut(self, line: int) -> None:
        if self._cut_at is None:
            self._cut_at = line

    def _begin(self, batch: Batch) -> None:
        """A line of a batch stands where the batch before ends; elsewhere lines are missing.

        Half of a line may then have met half of another, or a batch the records of another: neither
        the batch before nor this one is believed. One that goes back is no line of the tool: a key
        or value imitates it.
        """
        if batch.stored_at < self._expected_at or not is_possible(batch):
            return
        batch.doubtful = batch.stored_at > self._expected_at
        self._finish(doubtful=batch.doubtful)
        if batch.doubtful:
            self._cut(batch.line)
        elif self._cut_at is not None:
            self._gaps.append(Gap(self._cut_at, batch.line, TEXT_CUT, 0))
            self._note_cut(self._cut_at)
        self._open = batch
        self._expected_at = batch.stored_at + batch.stored_size

    def _add_lone(self, item: text_dump.Item, match: re.Match[bytes]) -> None:
        at = int(match[shapes.LONE_POSITION])
        batch = self._open
        if batch is None or not batch.alone or at != batch.stored_at:
            if batch is not None and (at < batch.stored_at or not batch.alone):
                return
            opened = lone_batch_of(item, match)
            if not is_possible(opened):
                return
            self._finish()
            self._open = batch = opened
        self._count(
            batch, item, int(match[shapes.LONE_OFFSET]), int(match[shapes.LONE_TIMESTAMP]), match
        )

    def _add_record(self, item: text_dump.Item, match: re.Match[bytes]) -> None:
        batch = self._open
        if batch is None or 0 <= batch.announced <= batch.counted:
            return
        offset, stamp = int(match[shapes.RECORD_OFFSET]), int(match[shapes.RECORD_TIMESTAMP])
        previous = max(batch.final_offset, batch.base_offset - 1)
        if batch.magic == 2 and not previous < offset <= batch.last_offset:
            batch.fault |= faults.RECORD_OFFSET_ORDER
        self._count(batch, item, offset, stamp, match)

    def _count(
        self, batch: Batch, item: text_dump.Item, offset: int, stamp: int, match: re.Match[bytes]
    ) -> None:
        """Adds one record line to its batch."""
        if not (-LONG <= offset < LONG and -LONG <= stamp < LONG):
            return
        key_size, value_size = text_dump.sizes(match, item.kind)
        if batch.counted == 0:
            batch.first_timestamp = stamp
            if batch.magic < 2:
                batch.base_offset = offset
        batch.counted += 1
        batch.lines += item.lines
        batch.final_offset = offset
        batch.largest_timestamp = max(batch.largest_timestamp, stamp)
        batch.tombstones += value_size < 0 <= key_size
        tail = item.tail
        control = bool(batch.attributes & layout.CONTROL_MASK)
        if control and tail is not None:
            read_marker(batch, tail, key_size, value_size)
        if batch.alone:
            batch.last_offset = max(batch.last_offset, offset)
            batch.max_timestamp = max(batch.max_timestamp, stamp)
        if self.keep_printed and not control:
            here = len(self._batches)
            printed = item.printed
            self._records.append(PrintedRecord(here, offset, stamp, key_size, value_size, printed))

    def _finish(self, doubtful: bool = False) -> None:
        """The batch at hand is whole; one that is not valid, or lacks records, is none.

        `doubtful`: lines are missing after it.
        """
        batch, self._open = self._open, None
        if batch is None:
            return
        end = batch.line + batch.lines
        self._next_line = end
        missing = self.with_records and batch.counted < batch.announced
        if batch.valid and not self.with_records and batch.attributes & layout.CONTROL_MASK:
            missing = not read_checksum(batch)
        # The last message of a wrapper has its offset, and nothing else says how many there are.
        wrapper = batch.magic < 2 and batch.attributes & layout.CODEC_MASK
        counted = batch.counted or self.with_records
        missing |= bool(wrapper and counted and batch.final_offset < batch.last_offset)
        missing |= batch.doubtful or doubtful
        if not batch.valid:
            self._gaps.append(Gap(batch.line, end, "crc_mismatch", batch.lines))
        elif missing:
            self._cut(batch.line)
        if not batch.valid or missing:
            here = len(self._batches)
            while self._records and self._records[-1].batch == here:
                self._records.pop()
            return
        if batch.magic < 2 and not batch.counted and batch.attributes & layout.CODEC_MASK:
            # The offset where a wrapper begins is not known: no gap is claimed before it.
            batch.base_offset = min(batch.last_offset, self._last_offset + 1)
        self._last_offset = batch.last_offset
        self._batches.append(batch)

    def _note_cut(self, line: int) -> None:
        self.cut_line = line if self.cut_line is None else self.cut_line
        self._cut_at = None

    def end(self) -> None:
        """The section ends here; records that do not fit may be those of a missing batch."""
        batch = self._open
        self._finish(doubtful=batch is not None and bool(batch.fault & faults.RECORD_OFFSET_ORDER))
        if self._cut_at is not None:
            self._gaps.append(Gap(self._cut_at, None, TEXT_CUT, 0))
            self._note_cut(self._cut_at)

    def take(self) -> Gathered:
        """What was gathered since the last time, without the batch at hand."""
        open_end = bool(self._gaps) and self._gaps[-1].end is None
        next_line = self._next_line if self._open is None else self._open.line
        taken = gathered(self._batches, None if open_end else next_line)
        taken = taken._replace(gaps=self._gaps, records=self._records)
        self._batches, self._gaps, self._records = [], [], []
        return taken


def gathered(batches: list[Batch], next_line: int | None) -> Gathered:
    """The batches as arrays."""
    table = np.array([columns_of(one) for one in batches], dtype=np.int64)
    headers = BatchHeaders(*np.ascontiguousarray(table.reshape(-1, len(FIELDS)).T))

    def array(name: str) -> Int64s:
        return np.array([getattr(one, name) for one in batches], dtype=np.int64)

    largest = array("largest_timestamp")
    return Gathered(
        headers=headers,
        fault=array("fault"),
        control_type=array("control_type"),
        coordinator_epoch=array("coordinator_epoch"),
        largest_timestamp=np.where(largest == NO_TIMESTAMP, headers.base_timestamp, largest),
        counted=array("counted"),
        tombstones=array("tombstones"),
        stored_at=array("stored_at"),
        stored_size=array("stored_size"),
        alone=any(one.alone for one in batches),
        gaps=[],
        records=[],
        next_line=next_line,
    )
