"""Makes a healthy dump of N transactions, fast: the input of the benchmark.

Each transaction is one data batch and one marker under transaction.version 2 (marker epoch is
data epoch + 1, sequences restart at 0). In each partition, rounds follow one another: every
producer writes its batch, then every producer's marker is written, so that all transactions of a
round overlap. 5 % of the transactions abort; the `.txnindex` files are right.

    python benchmarks/make_dump.py --transactions 200000 --out build/bench/200k
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.blocks import put, seal
from benchmarks.make_coordinator import Coordinator
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches import writer
from udfs.wire.batches.walk import CRC32C_TABLE
from udfs.wire.side_files import txn_index

T0 = 1_700_000_000_000
PRODUCERS = 200
ABORT_EVERY = 20
MAX_EPOCH = 32_000
SEGMENT_BYTES = 1 << 30
MARKER_BYTES = 78
VALUE = b"order-0000000000;customer-000000;amount=00000;currency=EUR;status=NEW"


def _templates() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    data = writer.batch(
        0,
        [writer.record(0, 0, b"key-0000000000", VALUE, ())],
        producer_id=0,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
        base_timestamp=T0,
    )
    marker = writer.marker(0, 0, 0, True, 0, T0)
    return np.frombuffer(data, dtype=np.uint8), np.frombuffer(marker, dtype=np.uint8)


def aborts_of(rounds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the transaction of each (round, producer) aborts."""
    return (rounds[:, None] * PRODUCERS + np.arange(PRODUCERS)) % ABORT_EVERY == 0


class Partition:
    """One partition: rounds of PRODUCERS transactions each, written chunk by chunk."""

    def __init__(self, folder: Path, number: int, rounds: int) -> None:
        self.folder, self.number, self.rounds = folder, number, rounds
        self.data, self.marker = _templates()
        self.bytes = 0
        folder.mkdir(parents=True, exist_ok=True)

    def write(self) -> int:
        """Writes all segments and indexes; returns the log end offset."""
        per_round = PRODUCERS * (self.data.size + MARKER_BYTES)
        a_segment = max(SEGMENT_BYTES // per_round, 1)
        a_chunk = max((32 << 20) // per_round, 1)
        for first in range(0, self.rounds, a_segment):
            last = min(first + a_segment, self.rounds)
            name = f"{first * 2 * PRODUCERS:020d}"
            with (self.folder / f"{name}.log").open("wb") as log:
                for start in range(first, last, a_chunk):
                    chunk = self._chunk(np.arange(start, min(start + a_chunk, last)))
                    self.bytes += log.write(chunk)
            aborted = self._aborted(np.arange(first, last))
            (self.folder / f"{name}.txnindex").write_bytes(txn_index.encode(aborted))
        return self.rounds * 2 * PRODUCERS

    def _chunk(self, rounds: NDArray[np.int64]) -> memoryview:
        producers = np.arange(PRODUCERS)
        shape = (rounds.size, PRODUCERS)
        base = rounds[:, None] * (2 * PRODUCERS) + producers
        generation = rounds[:, None] // MAX_EPOCH
        producer_id = generation * 1_000_000 + self.number * 1_000 + producers
        epoch = np.broadcast_to(rounds[:, None] % MAX_EPOCH, shape)
        data = np.broadcast_to(self.data, (*shape, self.data.size)).copy()
        marker = np.broadcast_to(self.marker, (*shape, MARKER_BYTES)).copy()
        for block, offset, of_epoch in ((data, base, epoch), (marker, base + PRODUCERS, epoch + 1)):
            put(block, layout.BASE_OFFSET, offset, 8)
            put(block, layout.PRODUCER_ID, producer_id, 8)
            put(block, layout.PRODUCER_EPOCH, of_epoch, 2)
            put(block, layout.BASE_TIMESTAMP, T0 + offset, 8)
            put(block, layout.MAX_TIMESTAMP, T0 + offset, 8)
        aborts = aborts_of(rounds)
        # Last byte of the marker's key: control type 0 ABORT, 1 COMMIT.
        marker[..., layout.HEADER_SIZE + 8] = np.where(aborts, 0, 1)
        joined = np.concatenate(
            [data.reshape(rounds.size, -1), marker.reshape(rounds.size, -1)], axis=1
        ).reshape(-1)
        in_round = np.concatenate(
            [
                np.arange(PRODUCERS) * self.data.size,
                PRODUCERS * self.data.size + np.arange(PRODUCERS) * MARKER_BYTES,
            ]
        )
        starts = np.arange(rounds.size)[:, None] * (joined.size // rounds.size) + in_round
        sizes = np.repeat([self.data.size, MARKER_BYTES], PRODUCERS)
        all_sizes = np.broadcast_to(sizes, starts.shape).reshape(-1).astype(np.int64)
        seal(joined, starts.reshape(-1).astype(np.int64), all_sizes, CRC32C_TABLE)
        return memoryview(joined)

    def _aborted(self, rounds: NDArray[np.int64]) -> list[txn_index.AbortedTxnEntry]:
        entries = []
        for row, producer in zip(*np.nonzero(aborts_of(rounds)), strict=True):
            number, base = int(rounds[row]), int(rounds[row]) * 2 * PRODUCERS
            first, last = base + int(producer), base + PRODUCERS + int(producer)
            oldest_open = first + 1 if producer + 1 < PRODUCERS else last + 1
            producer_id = (number // MAX_EPOCH) * 1_000_000 + self.number * 1_000 + int(producer)
            entries.append(txn_index.AbortedTxnEntry(0, producer_id, first, last, oldest_open))
        return entries


def make_dump(out: Path, transactions: int, partitions: int, coordinator: bool = False) -> int:
    """Writes a broker directory; returns the bytes of its segments.

    `coordinator`: with the whole, never compacted `__transaction_state`.
    """
    rounds = max(transactions // (partitions * PRODUCERS), 1)
    total, ends = 0, {}
    for number in range(partitions):
        partition = Partition(out / f"orders-{number}", number, rounds)
        ends[f"orders {number}"] = partition.write()
        total += partition.bytes
    if coordinator:
        log = Coordinator(out, T0, PRODUCERS)
        for generation, first in enumerate(range(0, rounds, MAX_EPOCH)):
            of_generation = np.arange(first, min(first + MAX_EPOCH, rounds))
            log.generation(generation, of_generation, aborts_of(of_generation), partitions)
        ends |= log.close()
        total += log.bytes
    lines = "".join(f"{place} {end}\n" for place, end in ends.items())
    (out / "replication-offset-checkpoint").write_text(f"0\n{len(ends)}\n{lines}")
    (out / "cleaner-offset-checkpoint").write_text("0\n0\n")
    (out / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=benchmark\n")
    (out / ".kafka_cleanshutdown").write_text("")
    return total


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--transactions", type=int, required=True)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--coordinator", action="store_true", help="with a whole __transaction_state"
    )
    given = parser.parse_args()
    total = make_dump(given.out, given.transactions, given.partitions, given.coordinator)
    print(f"{given.transactions:,} transactions, {total:,} bytes in {given.out}")


if __name__ == "__main__":
    main()
