"""The whole, never compacted `__transaction_state` of a dump of `make_dump`.

Each transactional id begins with a record Empty. Each transaction left three records, a batch each:
Ongoing, PrepareCommit or PrepareAbort, and Complete, under transaction.version 2. A producer has a
transactional id for each of its producer ids, which lies in the partition that its hash tells.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.blocks import put, seal
from schemas.coordinator_states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from tests.wire_writer import batches as writer
from tests.wire_writer import txn_log as txn_writer
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.walk import CRC32C_TABLE
from udfs.wire.coordinator import txn_log

PARTITIONS = 5
TIMEOUT_MS = 60_000
# Of fields in an encoded value (txn_writer.encode_value); the others are found by sentinels.
VALUE_PRODUCER_ID, VALUE_PRODUCER_EPOCH, VALUE_STATUS = 2, 10, 16
UPDATED, STARTED = 0x0102030405060708, 0x1112131415161718


class Ids(NamedTuple):
    """Transactional ids of one coordinator partition: names, and who they are in the dump."""

    names: list[str]
    partition: NDArray[np.int64]
    producer: NDArray[np.int64]


class Template(NamedTuple):
    """An encoded batch of one record a transactional id, and where its fields lie."""

    batches: NDArray[np.uint8]
    value: int
    updated: int
    started: int | None


def _template(names: list[str], topics: NDArray[np.int64], status: int) -> Template:
    listed = status in (ONGOING, PREPARE_COMMIT, PREPARE_ABORT)
    batches, value = [], b""
    for name, number in zip(names, topics, strict=True):
        value = txn_writer.encode_value(
            txn_log.TxnLogValue(
                1, 0, 0, TIMEOUT_MS, status,
                (("orders", (int(number),)),) if listed else None,
                UPDATED, STARTED, client_transaction_version=2,
            )
        )  # fmt: skip
        one = writer.record(0, 0, txn_writer.encode_key(name), value)
        batches.append(writer.batch(0, [one], base_timestamp=0))
    last = batches[-1]
    at = last.index(value)
    return Template(
        np.stack([np.frombuffer(batch, dtype=np.uint8) for batch in batches]),
        at,
        last.index(UPDATED.to_bytes(8, "big")),
        last.index(STARTED.to_bytes(8, "big")),
    )


def ids_of(generation: int, partitions: int, producers: int) -> list[Ids]:
    """The transactional ids of one generation of producer ids, by coordinator partition."""
    placed: list[list[tuple[str, int, int]]] = [[] for _ in range(PARTITIONS)]
    for partition in range(partitions):
        for producer in range(producers):
            name = f"bench-{generation:03d}-{partition:03d}-{producer:05d}"
            home = txn_writer.partition_for(name, PARTITIONS)
            placed[home].append((name, partition, producer))
    return [
        Ids(
            [name for name, _, _ in rows],
            np.array([partition for _, partition, _ in rows], dtype=np.int64),
            np.array([producer for _, _, producer in rows], dtype=np.int64),
        )
        for rows in placed
    ]


class Coordinator:
    """Writes the partitions of `__transaction_state` round by round."""

    def __init__(self, out: Path, t0: int, producers: int) -> None:
        self.t0, self.producers, self.bytes = t0, producers, 0
        self.ends = [0] * PARTITIONS
        self.logs = []
        for number in range(PARTITIONS):
            folder = out / f"__transaction_state-{number}"
            folder.mkdir(parents=True, exist_ok=True)
            self.logs.append((folder / f"{0:020d}.log").open("wb"))

    def generation(
        self, number: int, rounds: NDArray[np.int64], aborts: NDArray[np.bool_], partitions: int
    ) -> None:
        """All rounds of one generation of producer ids; `aborts`: of (round, producer)."""
        for home, ids in enumerate(ids_of(number, partitions, self.producers)):
            if not ids.names:
                continue
            templates = {
                status: _template(ids.names, ids.partition, status)
                for status in (
                    EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT
                )
            }  # fmt: skip
            producer_ids = number * 1_000_000 + ids.partition * 1_000 + ids.producer
            self._initialized(home, templates[EMPTY], producer_ids, int(rounds[0]))
            for epoch, row in enumerate(rounds):
                began = self.t0 + int(row) * 2 * self.producers + ids.producer
                aborted = aborts[epoch, ids.producer]
                steps = (
                    (0, epoch, [ONGOING] * 2),
                    (self.producers // 2, epoch + 1, [PREPARE_COMMIT, PREPARE_ABORT]),
                    (self.producers + 50, epoch + 1, [COMPLETE_COMMIT, COMPLETE_ABORT]),
                )
                for late, of_epoch, (commit, abort) in steps:
                    made = [
                        self._filled(templates[status], home, mine, producer_ids, of_epoch,
                                     began + late, began)
                        for status, mine in ((commit, ~aborted), (abort, aborted))
                        if mine.any()
                    ]  # fmt: skip
                    self.bytes += self.logs[home].write(b"".join(made))

    def _initialized(
        self, home: int, template: Template, producer_ids: NDArray[np.int64], first_round: int
    ) -> None:
        """InitProducerId of every transactional id, just before its first round."""
        everyone = np.ones(producer_ids.size, dtype=np.bool_)
        moment = np.full(producer_ids.size, self.t0 + first_round * 2 * self.producers - 1)
        never = np.full(producer_ids.size, -1)
        empty = self._filled(template, home, everyone, producer_ids, 0, moment, never)
        self.bytes += self.logs[home].write(empty)

    def _filled(
        self,
        template: Template,
        home: int,
        mine: NDArray[np.bool_],
        producer_ids: NDArray[np.int64],
        epoch: int,
        moment: NDArray[np.int64],
        began: NDArray[np.int64],
    ) -> bytes:
        block = template.batches[mine].copy()
        count = block.shape[0]
        offsets = self.ends[home] + np.arange(count)
        self.ends[home] += count
        put(block, layout.BASE_OFFSET, offsets, 8)
        put(block, layout.BASE_TIMESTAMP, moment[mine], 8)
        put(block, layout.MAX_TIMESTAMP, moment[mine], 8)
        put(block, template.value + VALUE_PRODUCER_ID, producer_ids[mine], 8)
        put(block, template.value + VALUE_PRODUCER_EPOCH, np.full(count, epoch), 2)
        put(block, template.updated, moment[mine], 8)
        put(block, template.started, began[mine], 8)
        flat = block.reshape(-1)
        starts = np.arange(count) * block.shape[1]
        seal(flat, starts, np.full(count, block.shape[1]), CRC32C_TABLE)
        return flat.tobytes()

    def close(self) -> dict[str, int]:
        """Ends the files; returns the log end offset of each partition by its folder's name."""
        for log in self.logs:
            log.close()
        return {f"__transaction_state {number}": end for number, end in enumerate(self.ends)}
