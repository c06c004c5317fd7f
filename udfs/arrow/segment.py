"""One split of one segment: batches, faults, damage, runs and transaction log entries as rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from schemas import log_row
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import Frames, FrameWalker
from udfs.arrow.rows import RowBuilder
from udfs.arrow.txn_log_rows import txn_log_rows
from udfs.wire import batch_layout as layout
from udfs.wire import codecs, faults, records
from udfs.wire.batch_headers import BatchHeaders, Int64s, header_faults, read_headers
from udfs.wire.errors import WireError
from udfs.wire.fold import Runs, fold

TXN_LOG_TOPIC = "__transaction_state"
COORDINATOR_TOPICS = (
    "__consumer_offsets",
    TXN_LOG_TOPIC,
    "__share_group_state",
    "__cluster_metadata",
)
MAX_STEPS = 10_000


@dataclass(frozen=True)
class DecodeOptions:
    """Limits and depth of the decoder; times in ms, sizes in bytes."""

    max_batch_bytes: int
    max_decompressed_bytes: int
    producer_expiration_ms: int
    with_records: bool


class Decoded(NamedTuple):
    """Batches of a split with everything the records told: one array element a batch.

    `fault`: bits; `control_type`, `coordinator_epoch`: of markers; `marker_timestamp`,
    `record_timestamp` (largest of the data records, where they were read): ms.
    """

    headers: BatchHeaders
    fault: Int64s
    control_type: Int64s
    coordinator_epoch: Int64s
    marker_timestamp: Int64s
    record_timestamp: Int64s


def _compressed_results(
    source: ByteRange,
    headers: BatchHeaders,
    results: NDArray[np.int64],
    options: DecodeOptions,
) -> None:
    """Fills the columns of compressed data batches; a codec that cannot be read is a fault."""
    wanted = (
        (headers.codec >= 1) & (headers.codec <= 4) & ~headers.control & (headers.record_count > 0)
    )
    for i in np.flatnonzero(wanted):
        start = int(headers.position[i]) + layout.HEADER_SIZE
        end = int(headers.position[i] + headers.length[i])
        try:
            section = codecs.decompress(
                int(headers.codec[i]),
                source.data[start:end].tobytes(),
                options.max_decompressed_bytes,
            )
        except WireError as error:
            too_large = error.reason == "decompressed_size_limit"
            results[records.FAULTS, i] = (
                faults.DECOMPRESSED_SIZE_LIMIT if too_large else faults.DECOMPRESSION_FAILED
            )
            continue
        mask, delta, tombstones, _ = records.check_section(
            np.frombuffer(section, dtype=np.uint8),
            0,
            len(section),
            int(headers.record_count[i]),
            int(headers.last_offset_delta[i]),
        )
        results[records.FAULTS, i] = mask
        results[records.MAX_TIMESTAMP, i] = delta
        results[records.TOMBSTONES, i] = tombstones


def decode_batches(
    source: ByteRange, positions: Int64s, topic: str, options: DecodeOptions
) -> Decoded:
    """Reads headers and records of the magic-2 batches at `positions`."""
    headers = read_headers(source.data, positions)
    fault = header_faults(headers, topic in COORDINATOR_TOPICS)
    results = records.check_plain_batches(source.data, headers, options.with_records)
    if options.with_records:
        _compressed_results(source, headers, results, options)
    fault |= results[records.FAULTS]
    control = headers.control
    record_delta = results[records.MAX_TIMESTAMP].copy()
    record_delta[record_delta == records.NO_TIMESTAMP] = 0
    if options.with_records:
        delta = np.where(control, records.NO_TIMESTAMP, results[records.MAX_TIMESTAMP])
        fault |= records.timestamp_faults(headers, delta)
        whole = ~control & (headers.record_count == headers.last_offset_delta + 1)
        pointless = headers.delete_horizon & whole & (results[records.TOMBSTONES] == 0)
        fault[pointless & (fault == 0)] |= faults.HORIZON_WITHOUT_CAUSE
        fault[headers.delete_horizon] |= faults.DELETE_HORIZON
    marker_delta = np.where(control & (headers.record_count == 1), record_delta, 0)
    marker_timestamp = np.where(
        headers.log_append_time, headers.max_timestamp, headers.base_timestamp + marker_delta
    )
    return Decoded(
        headers,
        fault,
        results[records.CONTROL_TYPE],
        results[records.COORDINATOR_EPOCH],
        marker_timestamp,
        headers.base_timestamp + record_delta,
    )


def _pick(values: Int64s, index: Int64s) -> Int64s:
    return values[np.maximum(index, 0)] if values.size else index


def run_columns(
    decoded: Decoded, runs: Runs, start: int
) -> dict[str, tuple[NDArray[Any], NDArray[np.bool_] | None]]:
    """Columns of the run rows; `start` is the byte position of the split in its file."""
    headers = decoded.headers
    no_data, no_marker = runs.first < 0, runs.marker < 0
    owner = np.where(no_data, runs.marker, runs.first)
    data: dict[str, Int64s] = {
        "producer_epoch": _pick(headers.producer_epoch, runs.first),
        "transactional": _pick(headers.transactional.astype(np.int64), runs.first),
        "first_offset": _pick(headers.base_offset, runs.first),
        "last_offset": _pick(headers.last_offset, runs.last),
        "first_sequence": _pick(headers.base_sequence, runs.first),
        "last_sequence": _pick(headers.last_sequence, runs.last),
        "first_batch_last_sequence": _pick(headers.last_sequence, runs.first),
        "first_timestamp": _pick(headers.max_timestamp, runs.first),
        "last_timestamp": _pick(headers.max_timestamp, runs.last),
        "log_append_time": _pick(headers.log_append_time.astype(np.int64), runs.last),
        "first_position": _pick(headers.position, runs.first) + start,
        "first_length": _pick(headers.length, runs.first),
        "last_position": _pick(headers.position, runs.last) + start,
        "last_length": _pick(headers.length, runs.last),
        "batches": runs.batches,
    }
    marker: dict[str, Int64s] = {
        "marker_offset": _pick(headers.base_offset, runs.marker),
        "marker_epoch": _pick(headers.producer_epoch, runs.marker),
        "marker_commit": (_pick(decoded.control_type, runs.marker) == records.COMMIT).astype(
            np.int64
        ),
        "coordinator_epoch": _pick(decoded.coordinator_epoch, runs.marker),
        "marker_timestamp": _pick(decoded.marker_timestamp, runs.marker),
        "marker_position": _pick(headers.position, runs.marker) + start,
        "marker_length": _pick(headers.length, runs.marker),
    }
    columns: dict[str, tuple[NDArray[Any], NDArray[np.bool_] | None]] = {
        "producer_id": (_pick(headers.producer_id, owner), None),
    }
    columns |= {name: (values, no_data) for name, values in data.items()}
    columns |= {name: (values, no_marker) for name, values in marker.items()}
    return columns


def fold_runs(decoded: Decoded, sequenced: bool, expiration_ms: int) -> tuple[Runs, Int64s]:
    """Runs of the replayable batches and the records in each; indices are those of `decoded`."""
    headers = decoded.headers
    markers = headers.control & (
        (decoded.control_type == records.ABORT) | (decoded.control_type == records.COMMIT)
    )
    usable = (headers.producer_id >= 0) & ((decoded.fault & faults.NOT_REPLAYED) == 0)
    chosen = np.flatnonzero(usable & (markers | ~headers.control))
    fault = np.where(headers.control, 0, decoded.fault)
    local = fold(
        headers.producer_id[chosen],
        headers.producer_epoch[chosen],
        headers.base_sequence[chosen],
        headers.last_sequence[chosen],
        headers.max_timestamp[chosen],
        headers.control[chosen],
        headers.transactional[chosen],
        fault[chosen],
        sequenced,
        expiration_ms,
    )
    counts = np.where(headers.control, 0, np.maximum(headers.record_count, 0))[chosen]
    order = np.argsort(headers.producer_id[chosen], kind="stable")
    cumulative = np.concatenate(([0], np.cumsum(counts[order])))
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    has_data = local.first >= 0
    in_run = np.zeros(local.first.size, dtype=np.int64)
    first, last = local.first[has_data], local.last[has_data]
    in_run[has_data] = cumulative[rank[last] + 1] - cumulative[rank[first]]

    def original(index: Int64s) -> Int64s:
        return np.where(index < 0, np.int64(-1), _pick(chosen, index))

    runs = Runs(
        original(local.first),
        original(local.last),
        original(local.marker),
        local.batches,
    )
    return runs, in_run


def frame_rows(decoded: Decoded, split: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the batches with a fault; what the cleaner leaves in its range is none."""
    headers = decoded.headers
    fault = decoded.fault.copy()
    below = headers.base_offset < (split["cleaned_below"] or 0)
    fault[below] &= ~np.int64(faults.CLEANER_TRACES)
    for cause, implied in faults.IMPLIED:
        fault[(fault & cause) != 0] &= ~np.int64(implied)
    rows = []
    for i in np.flatnonzero(fault):
        control = bool(headers.control[i])
        rows.append(
            {
                "position": int(headers.position[i]) + split["start"],
                "length": int(headers.length[i]),
                "base_offset": int(headers.base_offset[i]),
                "last_offset": int(headers.last_offset[i]),
                "count": int(headers.record_count[i]),
                "attributes": int(headers.attributes[i]),
                "producer_id": int(headers.producer_id[i]),
                "producer_epoch": int(headers.producer_epoch[i]),
                "base_sequence": int(headers.base_sequence[i]),
                "base_timestamp": int(headers.base_timestamp[i]),
                "max_timestamp": int(headers.max_timestamp[i]),
                "fault_mask": int(fault[i]),
                "found": int((decoded.control_type if control else decoded.record_timestamp)[i]),
            }
        )
    return rows


def step_rows(
    headers: BatchHeaders, after_damage: NDArray[np.bool_], split: dict[str, Any]
) -> tuple[list[dict[str, Any]], int]:
    """Rows where offsets or leader epochs of neighbours do not follow, and how many were left out.

    Gaps that the cleaner explains are none; a gap that damage explains is reported as damage.
    """
    previous_last, base = headers.last_offset[:-1], headers.base_offset[1:]
    epoch_before, epoch = (
        headers.partition_leader_epoch[:-1],
        headers.partition_leader_epoch[1:],
    )
    gap = (base > previous_last + 1) & ~after_damage[1:]
    gap &= previous_last + 1 >= (split["cleaned_below"] or 0)
    overlap = base <= previous_last
    regressed = (epoch >= 0) & (epoch < epoch_before)
    rows, dropped = [], 0
    for what, where in (("gap", gap), ("overlap", overlap), ("leader_epoch", regressed)):
        indices = np.flatnonzero(where)
        dropped += max(0, indices.size - MAX_STEPS)
        for i in indices[:MAX_STEPS]:
            rows.append(
                {
                    "what": what,
                    "previous_last_offset": int(previous_last[i]),
                    "base_offset": int(base[i]),
                    "previous_leader_epoch": int(epoch_before[i]),
                    "leader_epoch": int(epoch[i]),
                    "previous_position": int(headers.position[i]) + split["start"],
                    "position": int(headers.position[i + 1]) + split["start"],
                    "length": int(headers.length[i + 1]),
                }
            )
    return rows, dropped


def offset_bounds(
    data: NDArray[np.uint8], positions: Int64s, of_magic_2: NDArray[np.bool_], headers: BatchHeaders
) -> tuple[Int64s, Int64s]:
    """(first, last) offset of all batches; the first of an old wrapper counts as its last."""
    stored = data[positions[:, None] + np.arange(layout.LENGTH)]
    first = np.ascontiguousarray(stored).view(">i8").reshape(-1).astype(np.int64)
    last = first.copy()
    last[of_magic_2] = headers.last_offset
    return first, last


def failure_rows(
    frames: Frames, first_offset: Int64s, last_offset: Int64s, start: int
) -> list[dict[str, Any]]:
    """Rows of the damaged stretches, with the offsets of the batches around them."""
    rows, positions = [], frames.positions
    for damage in frames.damages:
        before = int(np.searchsorted(positions, damage.first)) - 1
        after = before + 1
        rows.append(
            {
                "first_byte": damage.first + start,
                "end_byte": None if damage.end is None else damage.end + start,
                "reason": damage.reason,
                "frame_bytes": damage.frame,
                "previous_last_offset": int(last_offset[before]) if before >= 0 else None,
                "next_offset": int(first_offset[after]) if after < positions.size else None,
            }
        )
    return rows


def summary_row(
    source: ByteRange, frames: Frames, decoded: Decoded, last_offset: Int64s, dropped: int
) -> dict[str, Any]:
    """What the split holds, and where the chain of batches enters and leaves it.

    `last_offset`: that of every batch, old formats included.
    """
    headers, start = decoded.headers, source.start
    row: dict[str, Any] = {
        "length": source.length,
        "digests": source.digests(),
        "shrank": source.shrank,
        "first_found": None if frames.first is None else frames.first + start,
        "end": None if frames.end is None else frames.end + start,
        "batches": int(headers.record_count.size),
        "legacy_batches": int(last_offset.size - headers.record_count.size),
        "records": int(np.maximum(headers.record_count, 0).sum()),
        "control_batches": int(headers.control.sum()),
        "steps_dropped": dropped,
        "last_offset": int(last_offset.max()) if last_offset.size else None,
    }
    if not headers.record_count.size:
        return row
    low, high = int(headers.base_offset.argmin()), int(headers.last_offset.argmax())
    markers = decoded.control_type >= 0
    broker_clock = np.where(markers, decoded.marker_timestamp, -1)
    broker_clock = np.where(headers.log_append_time, headers.max_timestamp, broker_clock)
    partly = ~headers.control & (headers.record_count < headers.last_offset_delta + 1)
    return row | {
        "first_offset": int(headers.base_offset[0]),
        "final_last_offset": int(headers.last_offset[-1]),
        "final_position": int(headers.position[-1]) + start,
        "final_length": int(headers.length[-1]),
        "first_leader_epoch": int(headers.partition_leader_epoch[0]),
        "final_leader_epoch": int(headers.partition_leader_epoch[-1]),
        "first_length": int(headers.length[0]),
        "lowest_offset": int(headers.base_offset[low]),
        "lowest_position": int(headers.position[low]) + start,
        "highest_position": int(headers.position[high]) + start,
        "broker_timestamp": int(broker_clock.max()) if broker_clock.max() >= 0 else None,
        "cleaner_traces": bool(
            headers.delete_horizon.any() or (headers.record_count == 0).any() or partly.any()
        ),
    }


def read_segment(
    source: ByteRange, split: dict[str, Any], options: DecodeOptions
) -> Iterator[pa.RecordBatch]:
    """All rows of one split of a `.log` file. Bad bytes become rows, never exceptions."""
    topic = split["topic"]
    limit = split["next_base_offset"]
    offset_max = split["base_offset"] + layout.MAX_OFFSET_SPAN + 1 if limit is None else limit
    frames = FrameWalker(source, options.max_batch_bytes, split["base_offset"], offset_max).walk()
    magic = source.data[frames.positions + layout.MAGIC]
    positions = frames.positions[magic == 2]
    decoded = decode_batches(source, positions, topic, options)
    builder = RowBuilder(split)

    runs, run_records = fold_runs(
        decoded, topic not in COORDINATOR_TOPICS, options.producer_expiration_ms
    )
    if runs.first.size:
        columns = run_columns(decoded, runs, source.start)
        columns["records"] = (run_records, runs.first < 0)
        yield builder.flat(log_row.RUN, columns)
    if topic == TXN_LOG_TOPIC:
        yield from txn_log_rows(builder, source, decoded.headers, options.max_decompressed_bytes)

    ends = np.array([damage.end for damage in frames.damages if damage.end is not None])
    first_offset, last_offset = offset_bounds(
        source.data, frames.positions, magic == 2, decoded.headers
    )
    damaged = failure_rows(frames, first_offset, last_offset, source.start)
    steps, dropped = step_rows(decoded.headers, np.isin(positions, ends), split)
    for kind, column, rows in (
        (log_row.FRAME, "frame", frame_rows(decoded, split)),
        (log_row.STEP, "step", steps),
        (log_row.FAILURE, "failure", damaged),
    ):
        if rows:
            yield builder.nested(kind, column, rows)
    yield builder.nested(
        log_row.SUMMARY, "summary", [summary_row(source, frames, decoded, last_offset, dropped)]
    )
