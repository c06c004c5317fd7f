"""The functions for `mapInArrow`: packs of splits in, rows of `schemas.log_row.LOG_ROW` out."""

import errno
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from schemas import log_row
from udfs.arrow.aborted_entries import entry_rows
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.log_ends import end_of_log
from udfs.arrow.metadata_rows import metadata_rows
from udfs.arrow.producer_states import snapshot_rows
from udfs.arrow.rows import RowBuilder, Rows, whole_rows
from udfs.arrow.segment import read_segment
from udfs.arrow.side_files import JUDGED_ALONE, faults_alone
from udfs.arrow.text_section import read_text_section
from udfs.storage.ahead import Opener, opened_ahead
from udfs.wire.errors import WireError
from udfs.wire.side_files import txn_index

SEGMENT = "segment"
TXN_INDEX = "txn_index"
METADATA = ("metadata_log", "metadata_snapshot")
PRODUCER_SNAPSHOT = "producer_snapshot"
EARLIER_COORDINATOR_LOG = "earlier_coordinator_log"
# What waits for others to be joined with: little memory, and little time until it is seen.
JOINED_BYTES = 4 << 20
JOINED_PARTS = 1_000
LONGER = "became longer, though another segment follows it: it was replaced while it was audited"


def _side_file_summary(source: ByteRange) -> dict[str, Any]:
    return {"length": source.length, "digests": source.digests(), "shrank": source.shrank}


def _read_txn_index(source: ByteRange, split: dict[str, Any]) -> Iterator[Rows]:
    """Entries of a `.txnindex`, small enough to be read whole (34 bytes an abort)."""
    entries, trailing = txn_index.decode(source.data[: source.length])
    builder = RowBuilder(split)
    position = np.arange(entries.size, dtype=np.int64) * txn_index.ENTRY_SIZE
    yield from entry_rows(builder, entries, position, txn_index.ENTRY_SIZE)
    summary = _side_file_summary(source) | {"trailing_bytes": trailing}
    yield builder.nested(log_row.SUMMARY, "summary", [summary])


def _read_side_file(source: ByteRange, split: dict[str, Any]) -> Iterator[Rows]:
    """What the entries of a side file say against each other, and its summary."""
    builder, summary = RowBuilder(split), _side_file_summary(source)
    try:
        summary |= yield from faults_alone(builder, split, source.data[: source.length])
    except WireError as error:
        summary["error"] = f"{error.reason}: {error.detail}"
    yield builder.nested(log_row.SUMMARY, "summary", [summary])


def _read_snapshot(source: ByteRange, split: dict[str, Any]) -> Iterator[Rows]:
    """A `.snapshot`, small enough to be read whole (46 bytes a producer)."""
    builder = RowBuilder(split)
    summary = _side_file_summary(source)
    if split["partition_index"] is not None:
        data = source.data[: source.length].tobytes()
        summary |= yield from snapshot_rows(builder, data, split)
    yield builder.nested(log_row.SUMMARY, "summary", [summary])


def read_split(file: BinaryIO, split: dict[str, Any], options: DecodeOptions) -> Iterator[Rows]:
    """Rows of one split of an open file; the last one is its summary."""
    if split.get("first_line") is not None:
        yield from read_text_section(file, split, options)
        return
    source = ByteRange(file, split["start"], split["length"], split["file_size"])
    if split["kind"] == SEGMENT:
        yield from read_segment(source, split, options)
    elif split["kind"] == TXN_INDEX:
        yield from _read_txn_index(source, split)
    elif split["kind"] in JUDGED_ALONE:
        yield from _read_side_file(source, split)
    elif split["kind"] in METADATA:
        yield from metadata_rows(source, split, options)
    elif split["kind"] == PRODUCER_SNAPSHOT:
        yield from _read_snapshot(source, split)
    elif split["kind"] == EARLIER_COORDINATOR_LOG:
        summary = _side_file_summary(source) | end_of_log(source, split, options)
        yield RowBuilder(split).nested(log_row.SUMMARY, "summary", [summary])
    else:
        yield RowBuilder(split).nested(log_row.SUMMARY, "summary", [_side_file_summary(source)])


def _refuse_replaced(file: BinaryIO, split: dict[str, Any]) -> None:
    """Raises OSError where a file of a closed segment is longer than when it was listed.

    Only the newest segment grows. Of a longer one its first bytes are of another state of the log
    than the files that were read before: the cleaner merged the segments behind it into it, or a
    follower truncated it and fetched on.
    """
    if split["next_base_offset"] is None or split.get("first_line") is not None:
        return
    file.seek(split["file_size"])
    if file.read(1):
        raise OSError(errno.ESTALE, LONGER)


def _read_or_report(
    split: dict[str, Any], opened: Opener, options: DecodeOptions
) -> Iterator[Rows]:
    """A file that cannot be read as it was listed is a summary with an error, not a failed task.

    Rows that it gave before are of no use either: see `jobs.model.unread`.
    """
    try:
        with opened() as file:
            _refuse_replaced(file, split)
            yield from read_split(file, split, options)
    except OSError as error:
        said = f"{type(error).__name__}: {error.strerror}"
        row = {"length": 0, "shrank": True, "error": said}
        yield RowBuilder(split).nested(log_row.SUMMARY, "summary", [row])


def read_packs(
    packs: Iterable[list[dict[str, Any]]], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """Rows of `schemas.log_row.LOG_ROW` of packs of splits (`schemas.log_row.SPLIT`)."""
    for splits in packs:
        yield from _joined(_rows_of_pack(splits, options))


def _rows_of_pack(splits: list[dict[str, Any]], options: DecodeOptions) -> Iterator[Rows]:
    for split, opened in opened_ahead(splits):
        yield from _read_or_report(split, opened, options)


def _joined(parts: Iterator[Rows]) -> Iterator[pa.RecordBatch]:
    """The rows in few record batches: each costs the JVM a millisecond, however small it is."""
    held: list[Rows] = []
    size = 0
    for part in parts:
        held.append(part)
        size += part.held_bytes()
        if size >= JOINED_BYTES or len(held) >= JOINED_PARTS:
            yield whole_rows(held)
            held, size = [], 0
    if held:
        yield whole_rows(held)
