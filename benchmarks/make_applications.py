"""Makes a dump of applications that read, process and write, with one break at their head.

N transactions under transaction.version 2. Each is one record of output, one offset commit in
`__consumer_offsets`, and a marker in both; 5 % abort. Four applications have as many:

    orders ─▶ enrich ─▶ enriched ─▶ join ─▶ joined ─▶ total ─▶ totals      clicks ─▶ visit ─▶ visits

All topics have 12 partitions, and each partition of an input has 8 producers that take turns, so
that there are 384. They write to the partition of the number that they read, those of `join` to
as many as there are turns. In each partition rounds follow one another: every producer writes,
then every producer's marker is written.

The break: an aborted transaction of another producer has no marker in orders-0, at offset 0; its
next COMMIT makes the record visible. What must be suspect for it is told by `expected`.

`__transaction_state` is compacted: the last record of each transactional id. The partition of the
producer of the break is whole, and has no other.

    python benchmarks/make_applications.py --transactions 200000 --out build/bench/applications
"""

import argparse
import base64
import json
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.blocks import put, seal
from schemas.coordinator_states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from schemas.topics import OFFSETS_TOPIC, TXN_LOG_TOPIC
from tests.wire_writer import batches as writer
from tests.wire_writer import offsets_log as group_writer
from tests.wire_writer import txn_index as index_writer
from tests.wire_writer import txn_log as txn_writer
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.walk import CRC32C_TABLE
from udfs.wire.coordinator import txn_log
from udfs.wire.offsets import offsets_log
from udfs.wire.side_files import txn_index

Int64s = NDArray[np.int64]
Template = NDArray[np.uint8]

T0 = 1_700_000_000_000
ROUND_MS = 100
PARTITIONS, TURNS = 12, 8
OFFSETS_PARTITIONS, COORDINATORS = 50, 5
ABORT_EVERY = 20
# Epochs end at 32,767; a producer that goes on gets another id, which is not made here.
MOST_ROUNDS = 32_000
SEGMENT_BYTES, OFFSETS_SEGMENT_BYTES = 1 << 30, 100 << 20
CHUNK_BYTES = 32 << 20
RECORDS_A_BATCH = 100
VALUE = b"order-0000000000;customer-000000;amount=00000;currency=EUR;status=NEW"
COMMITTED, STAMP = 0x0102030405060708, 0x1112131415161718
SOURCE, SOURCE_ID = "source", 4_000
# The aborted record, one that is committed, and the marker of both.
HEAD_OFFSETS = 3


class Application(NamedTuple):
    """Reads one topic and writes another; `spread`: every turn to the partition beside."""

    name: str
    reads: str
    writes: str
    spread: bool = False


APPLICATIONS = (
    Application("enrich", "orders", "enriched"),
    Application("join", "enriched", "joined", spread=True),
    Application("total", "joined", "totals"),
    Application("visit", "clicks", "visits"),
)
INPUTS = ("orders", "clicks")


class Place(NamedTuple):
    """What is suspect of one partition."""

    first_offset: int
    last_offset: int
    transactions: int


def rounds_of(transactions: int) -> int:
    """In how many rounds about so many transactions are made."""
    rounds = max(transactions // (len(APPLICATIONS) * PARTITIONS * TURNS), 1)
    if rounds > MOST_ROUNDS:
        raise SystemExit(f"At most {MOST_ROUNDS * len(APPLICATIONS) * PARTITIONS * TURNS:,}.")
    return rounds


def aborts(rounds: Int64s, turns: Int64s) -> NDArray[np.bool_]:
    """Whether the transactions of (round, producer) abort, by the turns of the producers."""
    return (rounds[:, None] * TURNS + turns) % ABORT_EVERY == 0


def committed_offsets(one: Application, rounds: Int64s, read: Int64s, turns: Int64s) -> Int64s:
    """The input offsets that the transactions of (round, producer) commit."""
    if one.reads in INPUTS:
        head = np.where((read == 0) & (one.reads == "orders"), HEAD_OFFSETS, 0)
        return rounds[:, None] * TURNS + turns + head + 1
    return rounds[:, None] * (2 * TURNS) + turns + 1


def producer_ids(number: int, read: Int64s, turns: Int64s) -> Int64s:
    """Of application `number`, by the partition that a producer reads and its turn."""
    return 10_000 + number * 1_000 + read * TURNS + turns


def written_to(one: Application, read: Int64s, turns: Int64s) -> Int64s:
    """The partition that producers write to."""
    return (read + turns * one.spread) % PARTITIONS


def expected(rounds: int) -> dict[str, Place]:
    """What is suspect, by the name of its partition: followed transaction by transaction."""
    every = np.arange(rounds)
    begins, found = {"orders-0": 0}, {}
    for one in APPLICATIONS:
        written: dict[str, list[Int64s]] = {}
        for read, turn in np.ndindex(PARTITIONS, TURNS):
            begin = begins.get(f"{one.reads}-{read}")
            if begin is None:
                continue
            turns, mine = np.array([turn]), np.array([read])
            kept = ~aborts(every, turns)[:, 0]
            beyond = committed_offsets(one, every, mine, turns)[:, 0] > begin
            since = np.flatnonzero(kept & beyond)[:1]
            suspect = every[kept & (every >= since)] if since.size else every[:0]
            name = f"{one.writes}-{written_to(one, mine, turns)[0]}"
            written.setdefault(name, []).append(suspect * (2 * TURNS) + turn)
        for name, parts in written.items():
            offsets = np.concatenate(parts)
            if offsets.size:
                found[name] = Place(int(offsets.min()), int(offsets.max()), offsets.size)
                begins[name] = found[name].first_offset
    return found


class Log:
    """One partition: rounds in which every producer writes one batch, and then its marker.

    `data`: an encoded batch a producer, of one size; `turns`: the turn of each. `fields`: where
    the committed offset and the commit's timestamp lie in them, none of output.
    """

    def __init__(
        self, folder: Path, producers: Int64s, turns: Int64s, data: Template, fields: Int64s
    ) -> None:
        self.folder, self.producers, self.turns = folder, producers, turns
        self.data, self.fields = data, fields
        marker = np.frombuffer(writer.marker(0, 0, 0, True, 0, T0), dtype=np.uint8)
        self.marker = np.broadcast_to(marker, (producers.size, marker.size))
        self.a_round = self.data.size + self.marker.size
        self.bytes = 0
        folder.mkdir(parents=True)

    def write(self, rounds: int, committed: Int64s | None, segment_bytes: int) -> int:
        """Writes all segments and indexes; returns the log end offset. `committed`: see `fields`"""
        a_segment = max(segment_bytes // self.a_round, 1)
        a_chunk = max(CHUNK_BYTES // self.a_round, 1)
        for first in range(0, rounds, a_segment):
            last = min(first + a_segment, rounds)
            name = f"{first * 2 * self.producers.size:020d}"
            with (self.folder / f"{name}.log").open("wb") as log:
                for start in range(first, last, a_chunk):
                    some = np.arange(start, min(start + a_chunk, last))
                    self.bytes += log.write(
                        self._chunk(some, None if committed is None else committed[some])
                    )
            entries = index_writer.encode(list(self._aborted(np.arange(first, last))))
            (self.folder / f"{name}.txnindex").write_bytes(entries)
        return rounds * 2 * self.producers.size

    def _chunk(self, rounds: Int64s, committed: Int64s | None) -> memoryview:
        shape = (rounds.size, self.producers.size)
        base = rounds[:, None] * (2 * self.producers.size) + np.arange(self.producers.size)
        began = np.broadcast_to(T0 + rounds[:, None] * ROUND_MS, shape)
        epoch = np.broadcast_to(rounds[:, None], shape)
        data = np.broadcast_to(self.data, (rounds.size, *self.data.shape)).copy()
        marker = np.broadcast_to(self.marker, (rounds.size, *self.marker.shape)).copy()
        for block, offset, of_epoch, moment in (
            (data, base, epoch, began),
            (marker, base + self.producers.size, epoch + 1, began + ROUND_MS // 2),
        ):
            put(block, layout.BASE_OFFSET, offset, 8)
            put(block, layout.PRODUCER_ID, np.broadcast_to(self.producers, shape), 8)
            put(block, layout.PRODUCER_EPOCH, of_epoch, 2)
            put(block, layout.BASE_TIMESTAMP, moment, 8)
            put(block, layout.MAX_TIMESTAMP, moment, 8)
        if committed is not None:
            put(data, int(self.fields[0]), committed, 8)
            put(data, int(self.fields[1]), began, 8)
        # Last byte of the marker's key: control type 0 ABORT, 1 COMMIT.
        marker[..., layout.HEADER_SIZE + 8] = np.where(aborts(rounds, self.turns), 0, 1)
        parts = (data.reshape(rounds.size, -1), marker.reshape(rounds.size, -1))
        joined = np.concatenate(parts, axis=1).reshape(-1)
        sizes = np.repeat([self.data.shape[1], self.marker.shape[1]], self.producers.size)
        starts = np.arange(rounds.size)[:, None] * self.a_round + np.cumsum(sizes) - sizes
        seal(joined, starts.reshape(-1), np.tile(sizes, rounds.size), CRC32C_TABLE)
        return memoryview(joined)

    def _aborted(self, rounds: Int64s) -> Iterator[txn_index.AbortedTxnEntry]:
        number = self.producers.size
        for row, column in zip(*np.nonzero(aborts(rounds, self.turns)), strict=True):
            first = int(rounds[row]) * 2 * number + int(column)
            last = first + number
            oldest_open = first + 1 if column + 1 < number else last + 1
            owner = int(self.producers[column])
            yield txn_index.AbortedTxnEntry(0, owner, first, last, oldest_open)


def _data(record: bytes, sequence: int = 0) -> bytes:
    return writer.batch(
        0, [record], base_timestamp=T0, producer_id=0, producer_epoch=0, base_sequence=sequence,
        transactional=True,
    )  # fmt: skip


def _output(number: int) -> Template:
    """Batches of output of so many producers."""
    one = np.frombuffer(_data(writer.record(0, 0, b"key-0000000000", VALUE)), dtype=np.uint8)
    return np.broadcast_to(one, (number, one.size))


def _commits(one: Application, read: Int64s) -> tuple[Template, Int64s]:
    """Batches of one offset commit each, and where the offset and the timestamp lie in them."""
    value = group_writer.encode_offset_commit(offsets_log.OffsetCommit(3, COMMITTED, "", STAMP))
    keys = [offsets_log.GroupKey(1, one.name, one.reads, int(number)) for number in read]
    batches = [_data(writer.record(0, 0, group_writer.encode_key(key), value)) for key in keys]
    fields = [batches[0].index(mark.to_bytes(8, "big")) for mark in (COMMITTED, STAMP)]
    stacked = np.stack([np.frombuffer(batch, dtype=np.uint8) for batch in batches])
    return stacked, np.array(fields, dtype=np.int64)


class Broker:
    """The log directory of one broker that was stopped cleanly."""

    def __init__(self, out: Path, rounds: int) -> None:
        self.out, self.rounds = out, rounds
        self.ends: dict[str, int] = {}
        self.bytes = 0

    def application(self, number: int, one: Application) -> None:
        """All that an application wrote: its output, and its offset commits."""
        read, turns = (part.reshape(-1) for part in np.indices((PARTITIONS, TURNS)))
        producers, to = producer_ids(number, read, turns), written_to(one, read, turns)
        for partition in range(PARTITIONS):
            mine = np.flatnonzero(to == partition)
            mine = mine[np.argsort(turns[mine])]
            place = self.out / f"{one.writes}-{partition}"
            log = Log(place, producers[mine], turns[mine], _output(TURNS), np.empty(0, np.int64))
            self.ends[f"{one.writes} {partition}"] = log.write(self.rounds, None, SEGMENT_BYTES)
            self.bytes += log.bytes
        home = txn_writer.partition_for(one.name, OFFSETS_PARTITIONS)
        data, fields = _commits(one, read)
        log = Log(self.out / f"{OFFSETS_TOPIC}-{home}", producers, turns, data, fields)
        committed = committed_offsets(one, np.arange(self.rounds), read, turns)
        end = log.write(self.rounds, committed, OFFSETS_SEGMENT_BYTES)
        self.ends[f"{OFFSETS_TOPIC} {home}"] = end
        self.bytes += log.bytes

    def source(self, topic: str) -> None:
        """Plain records that applications read; in orders-0 behind those of the break."""
        records = [writer.record(n, 0, None, VALUE[:20]) for n in range(RECORDS_A_BATCH)]
        plain = np.frombuffer(writer.batch(0, records, base_timestamp=T0), dtype=np.uint8)
        number = -(-self.rounds * TURNS // RECORDS_A_BATCH)
        for partition in range(PARTITIONS):
            head = _head() if (topic, partition) == ("orders", 0) else b""
            begin = HEAD_OFFSETS if head else 0
            block = np.tile(plain, (number, 1))
            # Neither the base offset nor the leader epoch is under the checksum.
            put(block, layout.BASE_OFFSET, begin + np.arange(number) * RECORDS_A_BATCH, 8)
            folder = self.out / f"{topic}-{partition}"
            folder.mkdir()
            (folder / f"{0:020d}.log").write_bytes(head + block.tobytes())
            self.ends[f"{topic} {partition}"] = begin + number * RECORDS_A_BATCH
            self.bytes += len(head) + block.size

    def coordinators(self) -> None:
        """`__transaction_state`: the break whole, of others the last record of each id."""
        home = txn_writer.partition_for(SOURCE, COORDINATORS)
        cleaned = self._last_records(home)
        cleaned_to = {}
        for number in range(COORDINATORS):
            folder = self.out / f"{TXN_LOG_TOPIC}-{number}"
            folder.mkdir()
            place = f"{TXN_LOG_TOPIC} {number}"
            parts = _break() if number == home else cleaned[number]
            (folder / f"{0:020d}.log").write_bytes(b"".join(parts))
            self.ends[place] = len(parts)
            if number != home:
                self.ends[place] = cleaned_to[place] = len(parts) * 3 * self.rounds
                # The cleaner leaves the active segment alone.
                (folder / f"{self.ends[place]:020d}.log").write_bytes(b"")
        self._checkpoint("cleaner-offset-checkpoint", cleaned_to)

    def _last_records(self, home: int) -> list[list[bytes]]:
        """Batches of the coordinator's partitions but `home`, one record each."""
        found: list[list[bytes]] = [[] for _ in range(COORDINATORS)]
        moments = T0 + self.rounds * ROUND_MS, T0 + (self.rounds - 1) * ROUND_MS
        for number, one in enumerate(APPLICATIONS):
            for read, turn in np.ndindex(PARTITIONS, TURNS):
                names = (f"{one.name}-{read}-{turn}-{salt}" for salt in count())
                name = next(n for n in names if txn_writer.partition_for(n, COORDINATORS) != home)
                mine = found[txn_writer.partition_for(name, COORDINATORS)]
                turns = np.array([turn])
                aborted = aborts(np.array([self.rounds - 1]), turns)[0, 0]
                state = COMPLETE_ABORT if aborted else COMPLETE_COMMIT
                owner = int(producer_ids(number, np.array([read]), turns)[0])
                offset = (len(mine) + 1) * 3 * self.rounds - 1
                mine.append(_state(offset, name, owner, self.rounds, state, moments))
        return found

    def _checkpoint(self, name: str, offsets: dict[str, int]) -> None:
        lines = "".join(f"{place} {offset}\n" for place, offset in offsets.items())
        (self.out / name).write_text(f"0\n{len(offsets)}\n{lines}")

    def close(self) -> None:
        """The files beside the partitions, and their topic ids."""
        self._checkpoint("replication-offset-checkpoint", self.ends)
        self._checkpoint("recovery-point-offset-checkpoint", self.ends)
        for place in self.ends:
            topic, number = place.split()
            topic_id = base64.urlsafe_b64encode(f"{topic:16.16}".encode()).decode().rstrip("=")
            metadata = self.out / f"{topic}-{number}" / "partition.metadata"
            metadata.write_text(f"version: 0\ntopic_id: {topic_id}\n")
        (self.out / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=benchmark\n")
        (self.out / ".kafka_cleanshutdown").write_text("")


def _head() -> bytes:
    """What the source left in orders-0: an aborted record without a marker, and a commit."""
    data = [
        writer.batch(
            epoch, [writer.record(0, 0, None, VALUE)], base_timestamp=T0 - 50 + epoch * 20,
            producer_id=SOURCE_ID, producer_epoch=epoch, base_sequence=0, transactional=True,
        )
        for epoch in (0, 1)
    ]  # fmt: skip
    return b"".join([*data, writer.marker(2, SOURCE_ID, 2, True, 0, T0 - 20)])


def _break() -> list[bytes]:
    """The coordinator's log of the source, a batch a record."""
    steps = (
        (0, EMPTY, 60, 0), (0, ONGOING, 51, 51), (1, PREPARE_ABORT, 45, 51),
        (1, COMPLETE_ABORT, 40, 51), (1, ONGOING, 31, 31), (2, PREPARE_COMMIT, 25, 31),
        (2, COMPLETE_COMMIT, 20, 31),
    )  # fmt: skip
    return [
        _state(offset, SOURCE, SOURCE_ID, epoch, state, (T0 - before, T0 - began))
        for offset, (epoch, state, before, began) in enumerate(steps)
    ]


def _state(
    offset: int, name: str, owner: int, epoch: int, state: int, moments: tuple[int, int]
) -> bytes:
    """A record of the coordinator; `moments`: of its update, of the transaction's begin."""
    listed = state in (ONGOING, PREPARE_ABORT, PREPARE_COMMIT)
    moment, began = moments
    value = txn_log.TxnLogValue(
        1, owner, epoch, 60_000, state, (("orders", (0,)),) if listed else None,
        moment, -1 if state == EMPTY else began, client_transaction_version=2,
    )  # fmt: skip
    one = writer.record(0, 0, txn_writer.encode_key(name), txn_writer.encode_value(value))
    return writer.batch(offset, [one], base_timestamp=moment)


def make_applications(out: Path, transactions: int) -> tuple[int, int]:
    """Writes a broker directory and, beside it, expected.json; returns (transactions, bytes)."""
    broker = Broker(out / "broker-1", rounds_of(transactions))
    broker.out.mkdir(parents=True)
    for number, one in enumerate(APPLICATIONS):
        broker.application(number, one)
    for topic in INPUTS:
        broker.source(topic)
    broker.coordinators()
    broker.close()
    (out / "expected.json").write_text(json.dumps(expected(broker.rounds)))
    return broker.rounds * len(APPLICATIONS) * PARTITIONS * TURNS, broker.bytes


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transactions", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    made, size = make_applications(given.out, given.transactions)
    print(f"{made:,} transactions, {size:,} bytes in {given.out}")


if __name__ == "__main__":
    main()
