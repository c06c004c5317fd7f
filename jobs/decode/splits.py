"""Which bytes of which file one task reads, and what it must know to read them."""

from bisect import bisect_left, bisect_right
from collections import defaultdict

from jobs.model.dump import (
    Dump,
    DumpFile,
    DumpPartition,
    cleaned_below,
    coordinator_partitions,
)
from jobs.model.file_names import BESIDE_A_SEGMENT, EARLIER_COORDINATOR_LOG, JUDGED_AS_A_WHOLE
from jobs.model.replicas import Cleaned, cleaned, coordinator_copies, cuts
from schemas.topics import OFFSETS_TOPIC, TXN_LOG_TOPIC
from udfs.arrow.byte_range import DIGEST_BLOCK_BYTES

# offsets.topic.num.partitions by default.
USUAL_OFFSETS_PARTITIONS = 50
# Reading a small file costs about as much as decoding this many bytes.
COST_OF_A_FILE = 65_536
# These are one split each, whatever their size.
NOT_SPLIT = (*JUDGED_AS_A_WHOLE, EARLIER_COORDINATOR_LOG)


def plan_splits(dump: Dump, split_bytes: int) -> list[dict[str, object]]:
    """Splits of all files that are read: segments in pieces, everything else whole."""
    step = max(split_bytes - split_bytes % DIGEST_BLOCK_BYTES, 1) if split_bytes else 1
    if split_bytes < DIGEST_BLOCK_BYTES:
        step = max(split_bytes, 1)
    partitions = {p.partition_index: p for p in dump.partitions}
    of_offsets, of_coordinator = offsets_partitions(dump), coordinator_partitions(dump)
    compared = offsets_compared(dump)
    cleaned_copies = copies_cleaned(dump)
    copied = coordinator_copies(dump)
    beside = files_beside(dump)
    bounds = snapshot_bounds(dump)
    cleaned_to = {p.partition_index: cleaned_below(p) for p in dump.partitions}
    splits = []
    for file in dump.files:
        if file.status == "skipped":
            continue
        owner = None if file.partition_index is None else partitions[file.partition_index]
        size = max(file.size, 1)
        # Of what is not judged, or by its small beginning, only the digest is taken.
        piece = size if file.kind in NOT_SPLIT or file.text is not None else step
        for start in range(0, size, piece):
            split = _split(file, owner, start, min(piece, file.size - start))
            split["cleaned_below"] = 0 if owner is None else cleaned_to[owner.partition_index]
            split["cuts"] = compared.get(file.partition_index)
            passed = cleaned_copies.get(file.partition_index)
            split["cleaner_reach"] = passed.reach if passed else None
            split["buckets"] = passed.buckets if passed else None
            split["single_copy"] = file.partition_index not in copied
            split["beside"] = beside.get(file.file_index)
            split["snapshots"] = _bounds_of(file, bounds.get(file.partition_index, []))
            split |= {"topic_partitions": of_offsets, "coordinator_partitions": of_coordinator}
            splits.append(split)
    return splits


def files_beside(dump: Dump) -> dict[int, list[dict[str, object]]]:
    """file_index of a segment -> the side files that are held against its batches."""
    named: dict[tuple[int | None, int | None], list[dict[str, object]]] = defaultdict(list)
    for file in dump.files:
        if file.kind in BESIDE_A_SEGMENT and file.status == "audited":
            named[file.partition_index, file.base_offset].append(
                {
                    "kind": file.kind,
                    "file_index": file.file_index,
                    "path": file.below_root,
                    "size": file.size,
                    "first_byte": file.text.first_byte if file.text else None,
                    "first_line": file.text.first_line if file.text else None,
                }
            )
    return {
        segment.file_index: [
            *named[one.partition_index, None],
            *named[one.partition_index, segment.base_offset],
        ]
        for one in dump.partitions
        for segment in one.segments
    }


def _compared_sets(dump: Dump) -> list[list[DumpPartition]]:
    """Copies of one partition that are compared with each other.

    `__transaction_state` is not: its records are (context `coordinator_copies`).
    """
    sets: dict[int, list[DumpPartition]] = defaultdict(list)
    for one in dump.partitions:
        if one.replica_set is not None and one.topic != TXN_LOG_TOPIC:
            sets[one.replica_set].append(one)
    return list(sets.values())


def offsets_compared(dump: Dump) -> dict[int | None, list[int]]:
    """partition_index -> where its blocks end, for all that are compared with other replicas."""
    bounded = [(copies, cuts(copies)) for copies in _compared_sets(dump)]
    return {one.partition_index: cut for copies, cut in bounded for one in copies if cut}


def copies_cleaned(dump: Dump) -> dict[int | None, Cleaned]:
    """partition_index -> how far the cleaner came, for all with several copies of what it left."""
    passed = [(copies, cleaned(copies)) for copies in _compared_sets(dump)]
    return {one.partition_index: reach for copies, reach in passed if reach for one in copies}


def snapshot_bounds(dump: Dump) -> dict[int | None, list[int]]:
    """partition_index -> offsets at which ranges of its producers' states begin and end, in order.

    Those of its producer snapshots, and the one where its log begins: what its producers were there
    is known where that is 0, or where a snapshot lies there. Of a fetched copy also its end, where
    a leader said what it remembers.
    """
    bases = {p.partition_index: p.segments[0].base_offset for p in dump.partitions if p.segments}
    found: dict[int | None, set[int]] = defaultdict(set)
    for file in dump.files:
        if file.kind != "producer_snapshot" or file.partition_index is None:
            continue
        base, offset = bases.get(file.partition_index), file.base_offset
        if base is not None and offset is not None and offset >= base:
            found[file.partition_index] |= {offset, base}
    for one in dump.partitions:
        if one.told is not None and one.segments:
            found[one.partition_index] |= {bases[one.partition_index] or 0, one.fetched_end or 0}
    return {partition: sorted(offsets) for partition, offsets in found.items()}


def _bounds_of(file: DumpFile, bounds: list[int]) -> list[int] | None:
    """Those in a segment or beside a snapshot, with the nearest before and after.

    A partition may have thousands, and as many files. Of a segment one more before: its name may be
    wrong, and its batches lie below it.
    """
    if file.base_offset is None or file.kind not in ("segment", "producer_snapshot"):
        return None
    first, last = file.base_offset, file.next_base_offset
    if file.kind == "producer_snapshot":
        first, last = file.base_offset - 1, file.base_offset + 1
    further = file.kind == "segment"
    start = max(bisect_right(bounds, first) - 1 - further, 0)
    return bounds[start:] if last is None else bounds[start : bisect_left(bounds, last) + 1]


def offsets_partitions(dump: Dump) -> int | None:
    """How many partitions `__consumer_offsets` seems to have; None where the dump has none.

    A dump with all numbers up to its highest counts as complete.
    """
    numbers = {p.partition for p in dump.partitions if p.topic == OFFSETS_TOPIC}
    if not numbers:
        return None
    seen = max(numbers) + 1
    return seen if len(numbers) == seen else max(seen, USUAL_OFFSETS_PARTITIONS)


def seams_of_offsets(splits: list[dict[str, object]]) -> bool:
    """Whether a partition of `__consumer_offsets` is read in more than one split.

    A text is one split, but the decoder makes several of a long one.
    """
    of_topic = [
        split
        for split in splits
        if split["topic"] == OFFSETS_TOPIC and split["kind"] == "segment" and split["length"]
    ]
    read = [split["partition_index"] for split in of_topic]
    in_text = any(split["first_line"] is not None for split in of_topic)
    return in_text or len(read) > len(set(read))


def _split(
    file: DumpFile, owner: DumpPartition | None, start: int, length: int
) -> dict[str, object]:
    return {
        "partition_index": file.partition_index,
        "file_index": file.file_index,
        "root": file.root,
        "path": file.below_root,
        "kind": file.kind,
        "topic": file.topic,
        "partition": file.partition,
        "file_size": file.size,
        "base_offset": file.base_offset,
        "next_base_offset": file.next_base_offset,
        "high_watermark": None if owner is None else owner.high_watermark,
        "log_base": owner.segments[0].base_offset if owner and owner.segments else None,
        "log_start": None if owner is None else owner.log_start,
        "start": start,
        "length": length,
        "first_byte": file.text.first_byte if file.text else None,
        "first_line": file.text.first_line if file.text else None,
        "with_records": file.text.with_records if file.text else None,
        "decoded": file.text.decoded if file.text else None,
    }


def pack_splits(splits: list[dict[str, object]], tasks: int) -> list[list[dict[str, object]]]:
    """Spreads splits over about `tasks` packs of equal cost, keeping files of a folder together."""
    costs = [int(str(split["length"])) + COST_OF_A_FILE for split in splits]
    target = max(sum(costs) / max(tasks, 1), COST_OF_A_FILE * 16)
    packs: list[list[dict[str, object]]] = []
    filled = target
    for split, cost in zip(splits, costs, strict=True):
        if filled + cost / 2 > target:
            packs.append([])
            filled = 0
        packs[-1].append(split)
        filled += cost
    return packs
