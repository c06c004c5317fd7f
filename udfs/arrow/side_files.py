"""Side files of a segment, compared with its batches in the task that decodes them.

A task opens the few small files beside its segment itself, so that thousands of them cost the
driver nothing. Only contradictions become rows.
"""

from collections.abc import Generator, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas import log_row
from udfs.arrow.batches import DecodedBatches
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import SMALLEST_BATCH, Frames
from udfs.arrow.rows import RowBuilder, Rows
from udfs.wire.batches.batch_headers import Int64s
from udfs.wire.errors import WireError
from udfs.wire.side_files import index_rules, leader_epochs, sparse_index
from udfs.wire.side_files.index_rules import Batches, Fault
from udfs.wire.side_files.sparse_index import SparseIndex

LEADER_EPOCHS = "leader_epoch_checkpoint"
OFFSET_INDEX = "offset_index"
TIME_INDEX = "time_index"
JUDGED_ALONE = (LEADER_EPOCHS, OFFSET_INDEX, TIME_INDEX)
ENTRY_BYTES = {
    OFFSET_INDEX: sparse_index.OFFSET_ENTRY.itemsize,
    TIME_INDEX: sparse_index.TIME_ENTRY.itemsize,
}
READERS = {OFFSET_INDEX: sparse_index.offset_index, TIME_INDEX: sparse_index.time_index}
# A leader epoch is a line of some ten bytes.
MAX_EPOCHS_BYTES = 1 << 22
# So many faults of a file in a split are rows, the rest is only counted.
MAX_FAULTS = 1_000

Row = dict[str, Any]


class SideFile(NamedTuple):
    """A side file as it was read: its kind, its number in the listing, and its bytes."""

    kind: str
    file_index: int
    content: NDArray[np.uint8]


def _files_beside(split: Row) -> Iterator[SideFile]:
    """The side files of a segment, without most of the zeros of a preallocated one.

    Raises OSError for one that cannot be read: next time, for its digest, it may be there.
    """
    # No two entries of an index are closer than two batches.
    entries = split["file_size"] // SMALLEST_BATCH + 2
    for named in split.get("beside") or ():
        limit = ENTRY_BYTES.get(named["kind"], MAX_EPOCHS_BYTES)
        limit *= entries if named["kind"] in ENTRY_BYTES else 1
        try:
            with named["opened"]() as file:
                yield SideFile(
                    named["kind"],
                    named["file_index"],
                    np.frombuffer(file.read(limit), dtype=np.uint8),
                )
        except OSError as error:
            said = f"{named['path']}, which is read with it: {error.strerror}"
            raise OSError(error.errno, said) from None


def _text(content: NDArray[np.uint8]) -> str:
    return content.tobytes().decode("utf-8", "replace")


def _batches(source: ByteRange, frames: Frames, decoded: DecodedBatches) -> Batches:
    """The batches of a split as the rules of the indexes see them."""
    start, headers = source.start, decoded.headers
    damaged = [(one.first + start, one.end) for one in frames.damages]
    covered = frames.damages[-1].first if frames.end is None and damaged else frames.end or 0
    at_end = source.length == source.file_left and not source.shrank
    return Batches(
        position=headers.position + start,
        base_offset=headers.base_offset,
        last_offset=headers.last_offset,
        max_timestamp=headers.max_timestamp,
        opened=~decoded.not_opened,
        first=start + (frames.first or 0),
        end=start + covered,
        damaged=[(first, end + start) for first, end in damaged if end is not None],
        file_end=start + source.length if at_end else None,
    )


class Index(NamedTuple):
    """An `.index` or `.timeindex`: its kind, its number in the listing, its entries.

    `positions`: where each entry lies, `entry_length`: how long each is; bytes, or lines of a text.
    """

    kind: str
    file_index: int
    entries: SparseIndex
    positions: Int64s
    entry_length: int


def _index(side: SideFile, base_offset: int) -> Index:
    entries, size = READERS[side.kind](side.content, base_offset), ENTRY_BYTES[side.kind]
    positions = np.arange(entries.offsets.size, dtype=np.int64) * size
    return Index(side.kind, side.file_index, entries, positions, size)


def _entry(index: Index, fault: Fault) -> Row:
    """What a row says of an entry of an index."""
    return {
        "side_kind": index.kind,
        "side_file_index": index.file_index,
        "fault": fault.what,
        "ordinal": fault.ordinal,
        "entry_position": int(index.positions[fault.ordinal]),
        "entry_bytes": index.entry_length,
        "entry_offset": int(index.entries.offsets[fault.ordinal]),
        "entry_value": int(index.entries.values[fault.ordinal]),
    }


def index_faults(
    builder: RowBuilder, index: Index, log: Batches, positions: Int64s, lengths: Int64s
) -> Generator[Rows, None, int]:
    """Entries of an index that contradict the batches of a split, which lie at `positions`.

    Returns how many were left out.
    """
    rule = (
        index_rules.offset_index_faults
        if index.kind == OFFSET_INDEX
        else index_rules.time_index_faults
    )
    rows = []
    for fault in rule(index.entries, log):
        row = _entry(index, fault)
        if fault.batch is not None:
            row |= {
                "log_offset": int(log.base_offset[fault.batch]),
                "log_timestamp": int(log.max_timestamp[fault.batch]),
                "position": int(positions[fault.batch]),
                "length": int(lengths[fault.batch]),
            }
        rows.append(row)
    return (yield from _as_rows(builder, rows))


def index_faults_alone(
    builder: RowBuilder, index: Index, split: Row
) -> Generator[Rows, None, dict[str, int]]:
    """What the entries of an index say against each other; returns what its summary tells."""
    times = index.kind == TIME_INDEX
    found = index_rules.faults_alone(
        index.entries, split["base_offset"], split["next_base_offset"], times
    )
    left_out = yield from _as_rows(builder, (_entry(index, fault) for fault in found))
    return _compared(index.entries.offsets.size, left_out)


def _epoch_entry(side: SideFile, entries: leader_epochs.LeaderEpochs, ordinal: int) -> Row:
    """What a row says of an entry of a leader-epoch-checkpoint."""
    return {
        "side_kind": side.kind,
        "side_file_index": side.file_index,
        "fault": index_rules.ORDER,
        "ordinal": ordinal,
        "entry_offset": int(entries.starts[ordinal]),
        "entry_value": int(entries.epochs[ordinal]),
        "newest_epoch": int(entries.epochs[-1]),
    }


def _epoch_faults(side: SideFile, split: Row, decoded: DecodedBatches) -> Iterator[Row]:
    """Batches of another leader epoch than the checkpoint says."""
    headers = decoded.headers
    try:
        entries = leader_epochs.decode(_text(side.content))
    except WireError:
        return  # reported where the file is read for its digest
    for ordinal, first, last in leader_epochs.contradictions(entries, headers):
        yield _epoch_entry(side, entries, ordinal) | {
            "fault": leader_epochs.LEADER_EPOCH,
            "leader_epoch": int(headers.partition_leader_epoch[first]),
            "batches": last - first + 1,
            "log_offset": int(headers.base_offset[first]),
            "position": int(headers.position[first]) + split["start"],
            "length": int(headers.length[first]),
        }


def faults_beside(
    builder: RowBuilder, source: ByteRange, split: Row, frames: Frames, decoded: DecodedBatches
) -> Generator[Rows, None, int]:
    """Rows of `log_row.SIDE_FAULT`: what the files beside a segment say against its batches.

    Returns how many were left out.
    """
    log, left_out = _batches(source, frames, decoded), 0
    for side in _files_beside(split):
        if side.kind == LEADER_EPOCHS:
            left_out += yield from _as_rows(builder, _epoch_faults(side, split, decoded))
        else:
            index, lengths = _index(side, split["base_offset"]), decoded.headers.length
            left_out += yield from index_faults(builder, index, log, log.position, lengths)
    return left_out


def _as_rows(builder: RowBuilder, faults: Iterable[Row]) -> Generator[Rows, None, int]:
    """The first faults of a file; returns how many were left out."""
    rows = list(faults)
    if rows:
        yield builder.nested(log_row.SIDE_FAULT, "side_fault", rows[:MAX_FAULTS])
    return max(len(rows) - MAX_FAULTS, 0)


def _compared(entries: int, left_out: int) -> dict[str, int]:
    """What the summary of a side file tells: how many entries it has, and faults left out."""
    return {"side_file_entries": int(entries), "faults_left_out": left_out}


def faults_alone(
    builder: RowBuilder, split: Row, content: NDArray[np.uint8]
) -> Generator[Rows, None, dict[str, int]]:
    """Rows of `log_row.SIDE_FAULT`: what the entries of one side file say against each other.

    Returns what its summary tells. Raises WireError where a broker could not read it either.
    """
    side = SideFile(split["kind"], split["file_index"], content)
    if side.kind == LEADER_EPOCHS:
        entries = leader_epochs.decode(_text(content[:MAX_EPOCHS_BYTES]))
        wrong = leader_epochs.out_of_order(entries)
        rows = [_epoch_entry(side, entries, one) for one in wrong]
        if entries.epochs.size:
            # Where the log begins is not known here: `side_fault_context` compares.
            first = _epoch_entry(side, entries, 0)
            rows.append(first | {"fault": leader_epochs.LOG_BEGINS_LATER})
        left_out = yield from _as_rows(builder, rows)
        return _compared(entries.epochs.size, left_out)
    return (yield from index_faults_alone(builder, _index(side, split["base_offset"]), split))
