"""What a broker answered about a dump, and a consumer that replays it from the audit's tables."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from schemas.coordinator_states import STATE_NAMES
from udfs.arrow.byte_range import ByteRange
from udfs.arrow.frames import FrameWalker
from udfs.wire.batches.batch_headers import read_headers
from udfs.wire.batches.batch_records import iter_batch
from udfs.wire.coordinator import txn_log
from udfs.wire.legacy.legacy_wrappers import check_messages
from udfs.wire.side_files import txn_index

LIMIT = 1 << 28


class StoredBatch(NamedTuple):
    """One batch of a partition folder with the offsets of its records."""

    first_offset: int
    last_offset: int
    producer_id: int
    transactional: bool
    control: bool
    commit: bool | None
    offsets: tuple[int, ...]


def folder_of(scenario: Path, broker: int, name: str) -> Path:
    """The folder of a partition of a broker, in whichever of its log directories it lies."""
    (found,) = (scenario / "dump").glob(f"broker*-{broker}/{name}")
    return found


def _records(path: Path) -> Iterator[Any]:
    """All records of a segment, of control batches too."""
    size = path.stat().st_size
    with path.open("rb", buffering=0) as file:
        source = ByteRange(file, 0, size, size)
        frames = FrameWalker(source, LIMIT, 0, 1 << 62).walk()
    headers = read_headers(source.data, frames.positions)
    for i in range(headers.record_count.size):
        at, end = int(headers.position[i]), int(headers.position[i] + headers.length[i])
        if headers.record_count[i]:
            yield from iter_batch(source.data[at:end].tobytes(), LIMIT)


def stored_batches(folder: Path) -> Iterator[StoredBatch]:
    """Every batch of a partition folder in log order, decoded without Spark."""
    for path in sorted(folder.glob("*.log")):
        size = path.stat().st_size
        with path.open("rb", buffering=0) as file:
            source = ByteRange(file, 0, size, size)
            frames = FrameWalker(source, LIMIT, 0, 1 << 62).walk()
        headers = read_headers(source.data, frames.positions)
        check_messages(source.data, headers, LIMIT)
        for i in range(headers.record_count.size):
            at, end = int(headers.position[i]), int(headers.position[i] + headers.length[i])
            batch = source.data[at:end].tobytes()
            records = list(iter_batch(batch, LIMIT)) if headers.record_count[i] else []
            base, control = int(headers.base_offset[i]), bool(headers.control[i])
            kind = records[0].key[3] if control and records and records[0].key else None
            yield StoredBatch(
                base,
                int(headers.last_offset[i]),
                int(headers.producer_id[i]),
                bool(headers.transactional[i]),
                control,
                None if kind is None else kind == 1,
                tuple(base + record.offset_delta for record in records),
            )


def visible_offsets(
    batches: list[StoredBatch], aborted: list[dict[str, Any]], start: int, end: int, committed: bool
) -> list[int]:
    """Offsets that a consumer of [start, end) receives (`CompletedFetch`).

    `aborted`: producer_id, first_offset, last_offset of the aborted transactions.
    """
    pending = sorted(aborted, key=lambda entry: entry["first_offset"])
    hidden: set[int] = set()
    seen: list[int] = []
    for batch in batches:
        if batch.first_offset >= end:
            break
        while committed and pending and pending[0]["first_offset"] <= batch.last_offset:
            hidden.add(pending.pop(0)["producer_id"])
        if batch.control:
            if batch.commit is False:
                hidden.discard(batch.producer_id)
            continue
        if batch.transactional and batch.producer_id in hidden:
            continue
        seen += [offset for offset in batch.offsets if start <= offset < end]
    return seen


def index_entries(folder: Path) -> list[txn_index.AbortedTxnEntry]:
    """All entries of the `.txnindex` files of a partition folder."""
    return [
        txn_index.AbortedTxnEntry(*entry)
        for path in sorted(folder.glob("*.txnindex"))
        for entry in txn_index.decode(path.read_bytes())[0].tolist()
    ]


def read_offsets(path: Path) -> list[int]:
    """Offsets of an oracle file, one a line."""
    return [int(line) for line in path.read_text().split()]


def about(scenario: Path) -> dict[str, Any]:
    """The scenario's description."""
    content: dict[str, Any] = json.loads((scenario / "about.json").read_text())
    return content


def partitions(scenario: Path) -> list[dict[str, Any]]:
    """Leader, log start, log end and last stable offset of every partition."""
    content: list[dict[str, Any]] = json.loads((scenario / "oracle/partitions.json").read_text())
    return content


def told_by_coordinators(scenario: Path, broker: int, transactional_id: str) -> list[Any]:
    """State, producer id and epoch, timeout and sorted partitions, in every record of an id."""
    found = []
    for folder in sorted((scenario / "dump").glob(f"broker*-{broker}/__transaction_state-*")):
        for path in sorted(folder.glob("*.log")):
            for record in _records(path):
                if not record.key or not record.value:
                    continue
                if txn_log.decode_key(record.key).transactional_id != transactional_id:
                    continue
                value = txn_log.decode_value(record.value)
                found.append(
                    (STATE_NAMES[value.status], value.producer_id, value.producer_epoch,
                     value.timeout_ms, sorted(txn_log.partition_names(value.partitions or [])))
                )  # fmt: skip
    return found


def hanging(answer: Path) -> set[tuple[str, int, int, int]]:
    """What `kafka-transactions.sh find-hanging` printed: topic, partition, producer id, offset."""
    rows = [line.split("\t") for line in answer.read_text().splitlines()[1:]]
    return {(row[0].strip(), int(row[1]), int(row[2]), int(row[5])) for row in rows if len(row) > 5}


def open_transactions(answers: Path) -> set[tuple[str, int, int, int, int]]:
    """What leaders remember: topic, partition, producer id, producer epoch, first offset.

    Kafka's AdminClient tells null where nothing is open, the protocol itself -1, by other names.
    """
    told = json.loads(answers.read_text())
    names = ("producer_id", "producer_epoch", "current_txn_start_offset")
    if told and "producerId" in told[0]:
        names = ("producerId", "producerEpoch", "currentTransactionStartOffset")
    producer, epoch, start = names
    return {
        (one["topic"], one["partition"], one[producer], one[epoch], one[start])
        for one in told
        if one[start] is not None and one[start] >= 0
    }
