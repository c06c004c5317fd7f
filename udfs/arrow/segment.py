"""One split of one segment: batches, faults, damage, runs, records of the coordinator as rows."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from schemas import log_row
from schemas.topics import OFFSETS_TOPIC, TXN_LOG_TOPIC
from udfs.arrow.batches import DecodedBatches, DecodeOptions, decode_batches
from udfs.arrow.broker_moments import broker_moments
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import Frames, FrameWalker
from udfs.arrow.offset_rows import offset_rows
from udfs.arrow.offsets_split import offsets_split
from udfs.arrow.producer_states import changed_states
from udfs.arrow.replica_blocks import block_rows, stored_batches
from udfs.arrow.retained_records import retained_record_rows
from udfs.arrow.rows import RowBuilder, Rows
from udfs.arrow.run_rows import replayable, run_rows
from udfs.arrow.side_files import faults_beside
from udfs.arrow.txn_log_rows import txn_log_rows
from udfs.rules import absence, batch_order
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import faults
from udfs.wire.batches.batch_headers import BatchHeaders

# So many of a kind in a split are rows; of the rest the gaps are one range.
MAX_DISCONTINUITIES = 10_000


def frame_rows(decoded: DecodedBatches, split: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the batches with a fault; what the cleaner leaves in its range is none."""
    headers = decoded.headers
    fault = decoded.fault.copy()
    below = absence.within_reach(headers.base_offset, split["cleaned_below"] or 0)
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


def discontinuity_rows(
    decoded: DecodedBatches, after_damage: NDArray[np.bool_], split: dict[str, Any]
) -> tuple[list[dict[str, Any]], int]:
    """Rows where offsets or leader epochs of neighbours do not follow, and how many were left out.

    Gaps that the cleaner explains are none; a gap that damage explains is reported as damage. In
    front of a wrapper that cannot be read a gap is not known. Gaps that were left out are one row
    of their own kind, from the first to the last: what it spans may be missing.
    """
    headers = decoded.headers
    previous_last, base = headers.last_offset[:-1], headers.base_offset[1:]
    epoch_before, epoch = (
        headers.partition_leader_epoch[:-1],
        headers.partition_leader_epoch[1:],
    )
    gap = _gaps(decoded, after_damage)
    gap &= ~absence.within_reach(previous_last + 1, split["cleaned_below"] or 0)
    overlap = batch_order.goes_back(previous_last, base)
    regressed = batch_order.leader_epoch_fell(epoch_before, epoch)
    rows, left_out = [], 0
    for discontinuity, where in (("gap", gap), ("overlap", overlap), ("leader_epoch", regressed)):
        indices = np.flatnonzero(where)
        rest = indices[MAX_DISCONTINUITIES:]
        left_out += rest.size
        steps = [(discontinuity, i, i) for i in indices[:MAX_DISCONTINUITIES]]
        if discontinuity == "gap" and rest.size:
            steps.append((log_row.GAPS_LEFT_OUT, rest[0], rest[-1]))
        for kind, first, last in steps:
            rows.append(
                {
                    "discontinuity": kind,
                    "previous_last_offset": int(previous_last[first]),
                    "base_offset": int(base[last]),
                    "previous_leader_epoch": int(epoch_before[first]),
                    "leader_epoch": int(epoch[last]),
                    "previous_position": int(headers.position[first]) + split["start"],
                    "position": int(headers.position[last + 1]) + split["start"],
                    "length": int(headers.length[last + 1]),
                }
            )
    return rows, left_out


def _gaps(decoded: DecodedBatches, after_damage: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Between which neighbours offsets are missing that are not damaged; one fewer than batches."""
    headers = decoded.headers
    gap: NDArray[np.bool_] = absence.is_gap(headers.last_offset[:-1], headers.base_offset[1:])
    return gap & ~after_damage[1:] & ~decoded.not_opened[1:]


def running_numbers(decoded: DecodedBatches, topic: str) -> absence.Running:
    """How many offsets are missing up to each batch, all that `missing_ranges` has among them."""
    headers = decoded.headers
    lacking = ((decoded.fault & faults.NOT_REPLAYED) != 0) | decoded.unread_markers
    if topic == TXN_LOG_TOPIC:
        lacking |= _lack_records(headers) & (headers.magic == 2)
    return absence.running(headers.base_offset, headers.last_offset, lacking)


def missing_ranges(
    decoded: DecodedBatches, after_damage: NDArray[np.bool_], topic: str
) -> list[dict[str, Any]]:
    """All offsets that are missing between batches of the split, whatever took them.

    Of `__transaction_state`, where each record counts, also those of batches that lack some; and,
    apart from them, markers that were emptied, each with its producer and epoch, and batches that
    the replay leaves out, of which nobody knows what they did; `lost` are those that may be a
    marker, or records of the coordinator. Of too many of a kind, neighbours become one
    (`absence.widest_apart`).
    """
    headers = decoded.headers
    gaps = np.flatnonzero(_gaps(decoded, after_damage))
    first, end = headers.last_offset[gaps] + 1, headers.base_offset[gaps + 1]
    if topic == TXN_LOG_TOPIC:
        partly = _lack_records(headers) & (headers.magic == 2)
        first = np.concatenate([first, headers.base_offset[partly]])
        end = np.concatenate([end, headers.last_offset[partly] + 1])
        order = np.argsort(end, kind="stable")
        first, end = first[order], end[order]
    # Old texts do not say how many records a batch has.
    untold = headers.control & (decoded.control_type < 0)
    emptied = absence.is_emptied_marker(untold, headers.record_count)
    out = (decoded.fault & faults.NOT_REPLAYED) != 0
    lost = decoded.unread_markers
    if topic == TXN_LOG_TOPIC:
        lost = lost | out
    nobody = {"lost": False, "emptied": False, "producer_id": None, "producer_epoch": None}
    apart, _ = absence.widest_apart(first, end)
    return [
        *[one._asdict() | nobody for one in apart],
        *_of_batches(headers, lost, {"lost": True, "emptied": False}),
        *_of_batches(headers, out & ~lost, {"lost": False, "emptied": False}),
        # The header of an emptied batch keeps both (`DefaultRecordBatch.writeEmptyHeader`).
        *_of_batches(headers, emptied, {"lost": False, "emptied": True}),
    ]


def _of_batches(
    headers: BatchHeaders, chosen: NDArray[np.bool_], kind: dict[str, bool]
) -> list[dict[str, Any]]:
    """Ranges of `missing_ranges` that are batches, with producer and epoch.

    Null where the header has none, and where batches that became one range have several.
    """
    apart, starts = absence.widest_apart(
        headers.base_offset[chosen], headers.last_offset[chosen] + 1
    )

    def told(values: NDArray[np.integer[Any]]) -> list[int | None]:
        lowest = np.minimum.reduceat(values[chosen], starts).tolist()
        highest = np.maximum.reduceat(values[chosen], starts).tolist()
        both = zip(lowest, highest, strict=True)
        return [low if 0 <= low == high else None for low, high in both]

    return [
        one._asdict() | kind | {"producer_id": owner, "producer_epoch": epoch}
        for one, owner, epoch in zip(
            apart, told(headers.producer_id), told(headers.producer_epoch), strict=True
        )
    ]


def _lack_records(headers: BatchHeaders) -> NDArray[np.bool_]:
    """Which data batches have fewer records than offsets."""
    lack: NDArray[np.bool_] = absence.lacks_records(headers.record_count, headers.last_offset_delta)
    return lack & ~headers.control


def failure_rows(frames: Frames, headers: BatchHeaders, start: int) -> list[dict[str, Any]]:
    """Rows of the damaged stretches, with the offsets of the batches around them."""
    rows, positions = [], frames.positions
    first_offset, last_offset = headers.base_offset, headers.last_offset
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
    start: int,
    frames: Frames,
    decoded: DecodedBatches,
    left_out: int,
    missing: list[dict[str, Any]],
    absent: absence.Running,
    split: Mapping[str, Any],
) -> dict[str, Any]:
    """What the split that begins at `start` holds, and where the chain of batches runs.

    `left_out`: faults that are only counted; `missing`: see `missing_ranges`; `absent`: see
    `running_numbers`; `split`: its topic, its high watermark, and the base offset of the next
    segment, None for the newest.
    """
    headers, next_base = decoded.headers, split["next_base_offset"]
    row: dict[str, Any] = {
        "first_found": None if frames.first is None else frames.first + start,
        "end": None if frames.end is None else frames.end + start,
        "batches": int(headers.record_count.size),
        "records": int(np.maximum(headers.record_count, 0).sum()),
        "faults_left_out": left_out,
        "missing": missing,
        "absent": absent.total,
    }
    if not headers.record_count.size:
        return row
    low, high = int(headers.base_offset.argmin()), int(headers.last_offset.argmax())
    legacy = headers.last_offset[headers.magic < 2]
    thinned = headers.last_offset[_lack_records(headers) & ~headers.control]
    reached = next_base is not None and int(headers.last_offset[high]) >= next_base
    return (
        row
        | {
            "reaches_next": reached,
            "first_offset": None if decoded.not_opened[0] else int(headers.base_offset[0]),
            "last_offset": int(headers.last_offset[high]),
            "final_last_offset": int(headers.last_offset[-1]),
            "final_position": int(headers.position[-1]) + start,
            "final_length": int(headers.length[-1]),
            "first_leader_epoch": int(headers.partition_leader_epoch[0]),
            "final_leader_epoch": int(headers.partition_leader_epoch[-1]),
            "first_length": int(headers.length[0]),
            "lowest_offset": int(headers.base_offset[low]),
            "lowest_position": int(headers.position[low]) + start,
            "highest_position": int(headers.position[high]) + start,
            "newest_timestamp": int(headers.max_timestamp.max()),
            "last_legacy_offset": int(legacy.max()) if legacy.size else None,
            "cleaner_traces": bool(
                headers.delete_horizon.any()
                or (headers.record_count == 0).any()
                or _lack_records(headers).any()
            ),
            "thinned_to": int(thinned.max()) if thinned.size else None,
        }
        | broker_moments(decoded, split["topic"], split["high_watermark"])
    )


def segment_frames(source: ByteRange, split: dict[str, Any], options: DecodeOptions) -> Frames:
    """The batches of a split of a segment, and the damage between them."""
    limit = split["next_base_offset"]
    offset_max = split["base_offset"] + layout.MAX_OFFSET_SPAN + 1 if limit is None else limit
    return FrameWalker(source, options.max_batch_bytes, split["base_offset"], offset_max).walk()


def read_segment(
    source: ByteRange, split: dict[str, Any], options: DecodeOptions
) -> Iterator[Rows]:
    """All rows of one split of a `.log` file. Bad bytes become rows, never exceptions."""
    topic = split["topic"]
    frames = segment_frames(source, split, options)
    decoded = decode_batches(source, frames.positions, topic, options)
    builder = RowBuilder(split)

    given, absent = replayable(decoded), running_numbers(decoded, topic)
    yield from run_rows(builder, decoded, given, absent, split, options.producer_expiration_ms)
    yield from changed_states(builder, decoded, given, split)
    limit = options.max_decompressed_bytes
    of_topic: dict[str, Any] = {}
    if topic == TXN_LOG_TOPIC:
        foldable = bool(split["single_copy"])
        place = split["partition"], split.get("coordinator_partitions")
        of_topic = yield from txn_log_rows(builder, source, decoded.headers, limit, foldable, place)
    if topic == OFFSETS_TOPIC and options.with_records:
        records = offsets_split(source, decoded, split, limit)
        of_topic = yield from offset_rows(builder, records)

    ends = np.array([damage.end for damage in frames.damages if damage.end is not None])
    damaged = failure_rows(frames, decoded.headers, source.start)
    after_damage = np.isin(frames.positions, ends)
    discontinuities, left_out = discontinuity_rows(decoded, after_damage, split)
    for kind, column, rows in (
        (log_row.FRAME, "frame", frame_rows(decoded, split)),
        (log_row.OFFSET_DISCONTINUITY, "offset_discontinuity", discontinuities),
        (log_row.FAILURE, "failure", damaged),
    ):
        if rows:
            yield builder.nested(kind, column, rows)
    left_out += yield from faults_beside(builder, source, split, frames, decoded)
    if split["cuts"]:
        batches = stored_batches(decoded.headers)
        yield from block_rows(builder, source, batches, split["cuts"])
    if split["cleaner_reach"] and options.with_records:
        yield from retained_record_rows(
            builder, source, decoded, len(damaged), split["cleaner_reach"], split["buckets"], limit
        )
    missing = missing_ranges(decoded, after_damage, topic)
    summary = summary_row(source.start, frames, decoded, left_out, missing, absent, split)
    summary |= of_topic
    summary |= {"length": source.length, "digests": source.digests(), "shrank": source.shrank}
    yield builder.nested(log_row.SUMMARY, "summary", [summary])
