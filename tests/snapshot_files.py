"""Producer snapshots of built logs: the right ones, replayed batch by batch, and wrong ones.

Lines of the option `snapshots` of a case, each one file:
    5                       the right snapshot at offset 5
    5 pid=1 seq=9           of producer 1 another last sequence; also epoch, last (last offset),
                            delta, at (s relative to T0), cepoch, txn (first offset of the open
                            transaction). A producer that the log has not is added
    5 drop=1                without producer 1
    5 nothing=1             with an entry for producer 1 that tells nothing of it
    5 twice=1               with producer 1 twice
    5 flip=20 | cut=3 | bytes=00ff    an inverted byte, the last 3 bytes missing, other contents
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tests.wire_writer import producer_snapshot as snapshot_writer
from udfs.wire.batches import records
from udfs.wire.batches.batch_headers import read_headers
from udfs.wire.side_files.producer_snapshot import ProducerSnapshotEntry

NAMES = {
    "epoch": "producer_epoch",
    "seq": "last_sequence",
    "last": "last_offset",
    "delta": "offset_delta",
    "cepoch": "coordinator_epoch",
    "txn": "current_txn_first_offset",
}
EMPTY = ProducerSnapshotEntry(-1, -1, -1, -1, 0, -1, -1, -1)


def replay(
    logs: Iterable[bytes], known: Iterable[ProducerSnapshotEntry], start: int, end: int
) -> list[ProducerSnapshotEntry]:
    """State of all producers behind the batches from `start` (inclusive) to `end` (exclusive).

    As `ProducerAppendInfo` has it, one batch after the other; `known`: the state before.
    """
    states = {entry.producer_id: entry for entry in known}
    for log in logs:
        data = np.frombuffer(log, dtype=np.uint8)
        headers = read_headers(data, positions(log))
        told = records.check_plain_batches(data, headers, True)
        for i in range(headers.position.size):
            inside = headers.base_offset[i] >= start and headers.last_offset[i] < end
            if not inside or headers.producer_id[i] < 0:
                continue
            producer_id, epoch = int(headers.producer_id[i]), int(headers.producer_epoch[i])
            state = states.get(producer_id, EMPTY)._replace(producer_id=producer_id)
            if state.producer_epoch != epoch:
                state = state._replace(
                    producer_epoch=epoch, last_sequence=-1, last_offset=-1, offset_delta=0
                )
            if not headers.control[i]:
                states[producer_id] = _behind_data(state, headers, i)
            elif told[records.CONTROL_TYPE, i] >= 0:
                states[producer_id] = state._replace(
                    # One record: its own timestamp, or that of the broker's append.
                    timestamp=int(headers.max_timestamp[i]),
                    coordinator_epoch=int(told[records.COORDINATOR_EPOCH, i]),
                    current_txn_first_offset=-1,
                )
    return list(states.values())


def _behind_data(state: ProducerSnapshotEntry, headers: Any, i: int) -> ProducerSnapshotEntry:
    first = state.current_txn_first_offset
    if headers.transactional[i] and first < 0:
        first = int(headers.base_offset[i])
    return state._replace(
        last_sequence=int(headers.last_sequence[i]),
        last_offset=int(headers.last_offset[i]),
        offset_delta=int(headers.last_offset_delta[i]),
        timestamp=int(headers.max_timestamp[i]),
        current_txn_first_offset=first,
    )


def positions(log: bytes) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Where batches of magic 2 begin, as far as they are whole."""
    found, at = [], 0
    while at + 61 <= len(log):
        size = 12 + int.from_bytes(log[at + 8 : at + 12], "big", signed=True)
        if size < 61 or at + size > len(log) or log[at + 16] != 2:
            break
        found.append(at)
        at += size
    return np.array(found, dtype=np.int64)


def snapshot_files(
    lines: Iterable[str],
    segments: dict[int, bytearray],
    pid: Callable[[int], int],
    moment: Callable[[float], int],
) -> dict[int, bytes]:
    """Contents of the `.snapshot` files by offset. `pid`, `moment`: as they are in the dump."""
    files: dict[int, bytes] = {}
    logs = [bytes(content) for _, content in sorted(segments.items())]
    for line in lines:
        offset, *words = str(line).split()
        given = dict(word.split("=", 1) for word in words)
        right = replay(logs, [], 0, int(offset))
        entries = {entry.producer_id: entry for entry in right}
        if "drop" in given:
            del entries[pid(int(given["drop"]))]
        if "pid" in given:
            producer_id = pid(int(given["pid"]))
            entry = entries.get(producer_id, EMPTY._replace(producer_epoch=0))
            changed = {NAMES[name]: int(value) for name, value in given.items() if name in NAMES}
            if "at" in given:
                changed["timestamp"] = moment(float(given["at"]))
            entries[producer_id] = entry._replace(producer_id=producer_id, **changed)
        if "nothing" in given:
            producer_id = pid(int(given["nothing"]))
            entries[producer_id] = EMPTY._replace(producer_id=producer_id)
        stored = list(entries.values())
        if "twice" in given:
            stored.append(entries[pid(int(given["twice"]))])
        files[int(offset)] = _damaged(snapshot_writer.encode(stored), given)
    return files


def _damaged(content: bytes, given: dict[str, str]) -> bytes:
    if "bytes" in given:
        return bytes.fromhex(given["bytes"])
    damaged = bytearray(content[: len(content) - int(given.get("cut", 0))])
    if "flip" in given:
        damaged[int(given["flip"])] ^= 0xFF
    return bytes(damaged)
