"""Makes a healthy dump of N transactions, fast: the input of the benchmark.

Each transaction is one data batch, or as many as the shape has, and one marker under
transaction.version 2 (marker epoch is data epoch + 1, sequences restart at 0). In each partition,
rounds follow one another: every producer writes its batches, then every producer's marker is
written, so that all transactions of a round overlap. 5 % of the transactions abort; the
`.txnindex` files are right.

    python benchmarks/make_dump.py --transactions 200000 --out build/bench/200k
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.blocks import put, seal
from benchmarks.make_coordinator import Coordinator
from tests.wire_writer import batches as writer
from tests.wire_writer import producer_snapshot as snapshot_writer
from tests.wire_writer import txn_index as index_writer
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.walk import CRC32C_TABLE
from udfs.wire.codecs import NONE, ZSTD
from udfs.wire.side_files import txn_index
from udfs.wire.side_files.producer_snapshot import ProducerSnapshotEntry
from udfs.wire.side_files.sparse_index import TIME_ENTRY

T0 = 1_700_000_000_000
ABORT_EVERY = 20
MAX_EPOCH = 32_000
MARKER_BYTES = 78
VALUE = b"order-0000000000;customer-000000;amount=00000;currency=EUR;status=NEW"


@dataclass(frozen=True)
class Shape:
    """How the transactions lie: `producers` of each partition, `batches` of each transaction.

    `records` of each batch with values of `value_bytes`, text where it is compressed; `cleaned`:
    every other transaction of the segments before the newest has lost its data to the cleaner;
    `side_files`: each segment has all files that a broker writes beside it, for rounds whose
    segments are too small for an entry in the offset index.
    """

    partitions: int = 8
    producers: int = 200
    batches: int = 1
    records: int = 1
    value_bytes: int = len(VALUE)
    codec: int = NONE
    segment_bytes: int = 1 << 30
    cleaned: bool = False
    side_files: bool = False

    @property
    def data_offsets(self) -> int:
        """Offsets of the data of one round in a partition."""
        return self.producers * self.batches * self.records

    @property
    def offsets(self) -> int:
        """Offsets of one round in a partition, those of markers included."""
        return self.data_offsets + self.producers


PLAIN = Shape()
# A batch of about 1 MB, 2.8 MB before it is compressed.
LARGE = Shape(producers=10, records=40, value_bytes=70_000, codec=ZSTD)
# Of about as many batches as 2,000,000 plain transactions, if not fewer: transactions, shape.
SHAPES = {
    "plain": (2_000_000, PLAIN),
    "one-partition": (2_000_000, Shape(partitions=1)),
    "one-producer": (2_000_000, Shape(partitions=1, producers=1)),
    "one-transaction": (1, Shape(partitions=1, producers=1, batches=2_000_000)),
    "million-producers": (2_000_000, Shape(producers=125_000)),
    "10000-partitions": (10_000, Shape(partitions=10_000, producers=1, batches=2)),
    "large-batches": (1_000, LARGE),
    "50000-segments": (200_000, Shape(producers=4, segment_bytes=1)),
    "million-side-files": (1_000_000, Shape(producers=4, segment_bytes=1, side_files=True)),
    "cleaned": (2_000_000, Shape(segment_bytes=32 << 20, cleaned=True)),
}


def _text(size: int) -> bytes:
    """Text of random words, which a codec makes about a third of."""
    words = np.array([f"{word:x} " for word in range(4_000, 24_000)])
    return "".join(np.random.default_rng(1).choice(words, size // 5 + 1)).encode()[:size]


def _templates(shape: Shape) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    size = shape.value_bytes
    text = VALUE * shape.records if shape.codec == NONE else _text(size * shape.records)
    values = [text[number * size : (number + 1) * size] for number in range(shape.records)]
    data = writer.batch(
        0,
        [writer.record(number, 0, b"key-0000000000", one) for number, one in enumerate(values)],
        producer_id=0,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
        base_timestamp=T0,
        codec=shape.codec,
        last_offset_delta=shape.records - 1,
    )
    marker = writer.marker(0, 0, 0, True, 0, T0)
    return np.frombuffer(data, dtype=np.uint8), np.frombuffer(marker, dtype=np.uint8)


def aborts_of(rounds: NDArray[np.int64], producers: int) -> NDArray[np.bool_]:
    """Whether the transaction of each (round, producer) aborts."""
    return (rounds[:, None] * producers + np.arange(producers)) % ABORT_EVERY == 0


class Partition:
    """One partition: rounds of a transaction of each producer, written chunk by chunk."""

    def __init__(self, folder: Path, number: int, rounds: int, shape: Shape) -> None:
        self.folder, self.rounds, self.shape = folder, rounds, shape
        self.first_id = number * max(shape.producers, 1_000)
        self.data, self.marker = _templates(shape)
        self.bytes, self.cleaned_below = 0, 0
        folder.mkdir(parents=True, exist_ok=True)

    def write(self) -> int:
        """Writes all segments and indexes; returns the log end offset."""
        shape = self.shape
        per_round = shape.producers * (shape.batches * self.data.size + MARKER_BYTES)
        a_segment = max(shape.segment_bytes // per_round, 1)
        a_chunk = max((32 << 20) // per_round, 1)
        for first in range(0, self.rounds, a_segment):
            last = min(first + a_segment, self.rounds)
            name = f"{first * shape.offsets:020d}"
            with (self.folder / f"{name}.log").open("wb") as log:
                for start in range(first, last, a_chunk):
                    rounds = np.arange(start, min(start + a_chunk, last))
                    chunk = self._chunk(rounds, shape.cleaned and last < self.rounds)
                    self.bytes += log.write(chunk)
            aborted = self._aborted(np.arange(first, last))
            (self.folder / f"{name}.txnindex").write_bytes(index_writer.encode(aborted))
            if shape.side_files:
                self._write_side_files(name, first, last)
            if shape.cleaned:
                self.cleaned_below = first * shape.offsets
        return self.rounds * shape.offsets

    def _write_side_files(self, name: str, first: int, last: int) -> None:
        """Both indexes of a segment, and the producer state in front of it."""
        shape, end = self.shape, last * self.shape.offsets - 1
        (self.folder / f"{name}.index").write_bytes(b"")
        newest = np.array([(T0 + end, end - first * shape.offsets)], dtype=TIME_ENTRY)
        (self.folder / f"{name}.timeindex").write_bytes(newest.tobytes())
        if first > 0:
            self._write_snapshot(first)
        if last == self.rounds:
            self._write_snapshot(last)

    def _write_snapshot(self, rounds: int) -> None:
        """What the broker knows of the producers after so many rounds, of one generation of ids.

        A marker that raises the epoch forgets the batches (`ProducerStateEntry`).
        """
        producers = self.shape.producers
        marker = T0 + rounds * self.shape.offsets - producers
        entries = [
            ProducerSnapshotEntry(self.first_id + number, rounds, -1, -1, 0, marker + number, 0, -1)
            for number in range(producers)
        ]
        path = self.folder / f"{rounds * self.shape.offsets:020d}.snapshot"
        path.write_bytes(snapshot_writer.encode(entries))

    def _chunk(self, rounds: NDArray[np.int64], cleaned: bool) -> memoryview:
        number, producers = rounds.size, np.arange(self.shape.producers)
        of_batch = np.arange(self.shape.batches)
        ids = (rounds[:, None] // MAX_EPOCH) * 1_000_000 + self.first_id + producers
        first = rounds[:, None] * self.shape.offsets
        in_round = (of_batch[:, None] * producers.size + producers) * self.shape.records
        # (round, batch, producer), and (round, producer) of the markers behind.
        data = np.broadcast_to(self.data, (number, *in_round.shape, self.data.size)).copy()
        marker = np.broadcast_to(self.marker, (*ids.shape, MARKER_BYTES)).copy()
        epoch = np.broadcast_to(rounds[:, None] % MAX_EPOCH, ids.shape)
        base = first[:, None] + in_round
        _numbered(data, base, np.broadcast_to(ids[:, None], base.shape), epoch[:, None])
        sequence = of_batch[:, None] * self.shape.records
        put(data, layout.BASE_SEQUENCE, np.broadcast_to(sequence, base.shape), 4)
        _numbered(marker, first + self.shape.data_offsets + producers, ids, epoch + 1)
        aborts = aborts_of(rounds, producers.size)
        # Last byte of the marker's key: control type 0 ABORT, 1 COMMIT.
        marker[..., layout.HEADER_SIZE + 8] = np.where(aborts, 0, 1)
        joined = np.concatenate([data.reshape(number, -1), marker.reshape(number, -1)], axis=1)
        sizes = np.repeat([self.data.size, MARKER_BYTES], [in_round.size, producers.size])
        starts = np.arange(number)[:, None] * joined.shape[1] + np.cumsum(sizes) - sizes
        all_sizes = np.broadcast_to(sizes, starts.shape).reshape(-1).astype(np.int64)
        flat = joined.reshape(-1)
        seal(flat, starts.reshape(-1).astype(np.int64), all_sizes, CRC32C_TABLE)
        if cleaned:
            flat = joined[:, self._retained(sizes)].reshape(-1)
        return memoryview(flat)

    def _retained(self, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which bytes of a round a cleaner left that took the data of every other producer.

        Those that abort are among them: aborted data go first. `sizes`: of its batches.
        """
        data = np.arange(sizes.size) < self.shape.producers * self.shape.batches
        taken = data & (np.arange(sizes.size) % self.shape.producers % 2 == 0)
        return np.repeat(~taken, sizes)

    def _aborted(self, rounds: NDArray[np.int64]) -> list[txn_index.AbortedTxnEntry]:
        entries, producers = [], self.shape.producers
        for row, producer in zip(*np.nonzero(aborts_of(rounds, producers)), strict=True):
            number = int(rounds[row])
            first = number * self.shape.offsets + int(producer) * self.shape.records
            last = number * self.shape.offsets + self.shape.data_offsets + int(producer)
            oldest_open = first + self.shape.records if producer + 1 < producers else last + 1
            producer_id = (number // MAX_EPOCH) * 1_000_000 + self.first_id + int(producer)
            entries.append(txn_index.AbortedTxnEntry(0, producer_id, first, last, oldest_open))
        return entries


def _numbered(
    block: NDArray[np.uint8],
    base: NDArray[np.int64],
    producer_id: NDArray[np.int64],
    epoch: NDArray[np.int64],
) -> None:
    """Puts offsets, producers, and times that follow the offsets into headers."""
    put(block, layout.BASE_OFFSET, base, 8)
    put(block, layout.PRODUCER_ID, producer_id, 8)
    put(block, layout.PRODUCER_EPOCH, np.broadcast_to(epoch, base.shape), 2)
    put(block, layout.BASE_TIMESTAMP, T0 + base, 8)
    put(block, layout.MAX_TIMESTAMP, T0 + base, 8)


def make_dump(
    out: Path, transactions: int, shape: Shape = PLAIN, coordinator: bool = False, node: int = 1
) -> int:
    """Writes a broker directory; returns the bytes of its segments.

    `coordinator`: with the whole, never compacted `__transaction_state`; `node`: of the broker.
    """
    rounds = max(transactions // (shape.partitions * shape.producers), 1)
    total, ends, cleaned = 0, {}, {}
    for number in range(shape.partitions):
        partition = Partition(out / f"orders-{number}", number, rounds, shape)
        ends[f"orders {number}"] = partition.write()
        if shape.cleaned:
            cleaned[f"orders {number}"] = partition.cleaned_below
        total += partition.bytes
    if coordinator:
        log = Coordinator(out, T0, shape.producers)
        for generation, first in enumerate(range(0, rounds, MAX_EPOCH)):
            of_generation = np.arange(first, min(first + MAX_EPOCH, rounds))
            aborts = aborts_of(of_generation, shape.producers)
            log.generation(generation, of_generation, aborts, shape.partitions)
        ends |= log.close()
        total += log.bytes
    for name, offsets in (("replication", ends), ("cleaner", cleaned)):
        lines = "".join(f"{place} {offset}\n" for place, offset in offsets.items())
        (out / f"{name}-offset-checkpoint").write_text(f"0\n{len(offsets)}\n{lines}")
    (out / "meta.properties").write_text(f"version=1\nnode.id={node}\ncluster.id=benchmark\n")
    (out / ".kafka_cleanshutdown").write_text("")
    return total


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--transactions", type=int, required=True)
    parser.add_argument("--partitions", type=int, default=PLAIN.partitions)
    parser.add_argument("--producers", type=int, default=PLAIN.producers, help="of each partition")
    parser.add_argument("--batches", type=int, default=PLAIN.batches, help="of each transaction")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--coordinator", action="store_true", help="with a whole __transaction_state"
    )
    given = parser.parse_args()
    shape = Shape(given.partitions, given.producers, given.batches)
    total = make_dump(given.out, given.transactions, shape, given.coordinator)
    print(f"{given.transactions:,} transactions, {total:,} bytes in {given.out}")


if __name__ == "__main__":
    main()
