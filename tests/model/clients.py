"""Clients of the model: what each does next is drawn by seed, how it is done is Kafka's protocol.

Each client is a generator that stops after each step, so that steps of all clients interleave.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from schemas.coordinator_states import EMPTY, ONGOING, PREPARE_ABORT, PREPARE_COMMIT
from tests.wire_writer import batches as writer
from tests.wire_writer import offsets_log as group_writer
from tests.wire_writer import txn_log as txn_writer
from udfs.wire.coordinator import txn_log
from udfs.wire.offsets import offsets_log

if TYPE_CHECKING:
    from model.log import Log
    from model.world import World

TIMEOUT_MS = 900_000
SHORT_TIMEOUT_MS = 30_000
RECORDS = tuple(
    tuple(writer.record(i, i, b"key-%d" % (i * size % 7), b"v" * size) for i in range(4))
    for size in (1, 20, 70)
)


class Ending(NamedTuple):
    """How a transaction ends, and how often."""

    name: str
    weight: int


ENDINGS = (
    Ending("commit", 65),
    Ending("abort", 20),
    Ending("fence", 8),
    Ending("timeout", 3),
)


class TransactionalId:
    """A transactional id, its producer, and its state at the coordinator."""

    def __init__(self, world: "World", name: str, version: int, group: str | None) -> None:
        self.world, self.name, self.version, self.group = world, name, version, group
        self.producer_id, self.epoch = world.next_producer_id(), 0
        self.log = world.coordinator_of(name)
        self.short = min(SHORT_TIMEOUT_MS * world.plan.pace, TIMEOUT_MS)
        self.timeout = world.chance.choice((TIMEOUT_MS, TIMEOUT_MS, self.short))
        self.sequences: dict[tuple[str, int], int] = {}
        self.listed: list[Log] = []
        self.began = -1
        # The newest offset that the group was told, and whether the running transaction has it.
        self.position, self.told_group = 0, False

    def state(self, status: int, epoch: int, decided: int | None = None) -> None:
        """Appends a record of the coordinator; `decided`: moment of the decision, ms."""
        world = self.world
        groups: dict[str, list[int]] | None = None
        if status != EMPTY:
            groups = {}
            for log in self.listed if status in (ONGOING, PREPARE_COMMIT, PREPARE_ABORT) else ():
                groups.setdefault(log.topic, []).append(log.number)
        ended = status not in (EMPTY, ONGOING)
        value = txn_log.TxnLogValue(
            min(self.version, 1), self.producer_id, epoch, self.timeout, status,
            None if groups is None else tuple((t, tuple(n)) for t, n in groups.items()),
            world.now if decided is None else decided,
            -1 if status == EMPTY else self.began,
            client_transaction_version=2 if self.version == 2 and ended else 0,
        )  # fmt: skip
        world.decided[status] += 1
        world.states[self.name] = self.producer_id, status
        record = writer.record(
            0, 0, txn_writer.encode_key(self.name), txn_writer.encode_value(value)
        )
        self.log.data([record], world.now)

    def life(self, transactions: int) -> Iterator[None]:
        """InitProducerId, transactions, and perhaps one that is left open."""
        chance = self.world.chance
        self.state(EMPTY, 0)
        yield
        for _ in range(transactions):
            yield from self.begin_and_write()
            if not self.listed:
                continue
            (ending,) = chance.choices(
                [one.name for one in ENDINGS], [one.weight for one in ENDINGS]
            )
            yield from self.end(ending)
        if chance.random() < self.world.plan.left_open:
            yield from self.begin_and_write()
            yield from self._left_open()

    def _left_open(self) -> Iterator[None]:
        """The client is silent; the coordinator aborts what lasts too long while others work."""
        self.world.waiting += 1
        while self.listed and self.world.busy and not self.expired:
            yield
        self.world.waiting -= 1
        if self.listed and self.expired:
            yield from self.end("timeout")
        elif self.listed:
            self.world.left.append(self)

    def closing(self, first: bool) -> Iterator[None]:
        """One transaction over partitions of topics, after all others."""
        if first:
            self.state(EMPTY, 0)
        self.listed = []
        for log in self.world.topics:
            yield from self._join(log)
            self._write(log)
        yield from self.end("commit")

    @property
    def expired(self) -> bool:
        return self.world.now > self.began + self.timeout

    def begin_and_write(self) -> Iterator[None]:
        """Partitions are added as data come; offsets of the group go last, if any."""
        world, chance = self.world, self.world.chance
        self.listed = []
        for _ in range(chance.choice((1, 1, 2, 2, 3, 4))):
            log = chance.choice(world.topics)
            yield from self._join(log)
            if self.expired:
                return  # The coordinator aborts at its next look.
            if chance.random() < 0.03:
                continue  # Registered, and nothing reaches the partition.
            self._write(log)
            yield
        if self.group is not None and chance.random() < 0.5 and not self._late():
            log = world.offsets_of(self.group)
            yield from self._join(log)
            if not self.expired:
                self._commit_offsets(log)
            yield

    def _late(self) -> bool:
        return bool(self.listed) and self.expired

    def _join(self, log: "Log") -> Iterator[None]:
        if log not in self.listed:
            if not self.listed:
                self.began = self.world.now
            self.listed.append(log)
            self.state(ONGOING, self.epoch)
            yield

    def _write(self, log: "Log") -> None:
        chance = self.world.chance
        count = chance.choice((1, 1, 1, 2, 3, 4))
        sequence = self.sequences.get(log.place, 0)
        log.data(
            chance.choice(RECORDS)[:count], self.world.now - chance.choice((0, 0, 3, 400)),
            (self.producer_id, self.epoch, sequence), True, chance.choice(self.world.plan.codecs),
        )  # fmt: skip
        self.sequences[log.place] = sequence + count

    def _commit_offsets(self, log: "Log") -> None:
        world = self.world
        assert self.group is not None
        self.position += world.chance.randint(1, 5)
        source = world.topics[0]
        key = group_writer.encode_key(
            offsets_log.GroupKey(1, self.group, source.topic, source.number)
        )
        value = offsets_log.OffsetCommit(3, self.position, "", world.now)
        record = writer.record(0, 0, key, group_writer.encode_offset_commit(value))
        log.data([record], world.now, (self.producer_id, self.epoch, 0), True)
        self.told_group = True

    def end(self, ending: str) -> Iterator[None]:
        """The decision, its markers in any order, Complete; after a fence a new epoch."""
        world = self.world
        if self.expired:
            ending = "timeout"
        if ending == "timeout" and not self._timed_out():
            ending = "abort"
        fenced = ending in ("fence", "timeout")
        commit = ending == "commit"
        decided, epoch = world.now, self.epoch + (fenced or self.version == 2)
        self.state(PREPARE_COMMIT if commit else PREPARE_ABORT, epoch)
        yield
        for log in world.chance.sample(self.listed, len(self.listed)):
            log.marker(self.producer_id, epoch, commit, self.log.leader_epoch, world.now)
            yield
        self.state((PREPARE_COMMIT if commit else PREPARE_ABORT) + 2, epoch, decided)
        if commit and self.told_group:
            assert self.group is not None
            world.committed[self.group] = self.position
        self.told_group = False
        yield
        if epoch != self.epoch:
            self.epoch, self.sequences = epoch, {}
        if fenced:
            self.epoch += 1
            self.state(EMPTY, self.epoch)
            yield

    def _timed_out(self) -> bool:
        """Lets the time pass where it is short; else the client aborts."""
        if self.timeout != self.short and not self.expired:
            return False
        self.world.now = max(self.world.now, self.began + self.timeout + 5_000)
        return True


def idempotent(world: "World", batches: int) -> Iterator[None]:
    """An idempotent producer without a transactional id; at times it raises its epoch itself."""
    chance, producer_id, epoch = world.chance, world.next_producer_id(), 0
    sequences: dict[tuple[str, int], int] = {}
    for _ in range(batches):
        if chance.random() < 0.05:
            epoch, sequences = epoch + 1, {}
        log, count = chance.choice(world.topics), chance.choice((1, 2, 4))
        sequence = sequences.get(log.place, 0)
        log.data(
            chance.choice(RECORDS)[:count], world.now, (producer_id, epoch, sequence), False,
            chance.choice(world.plan.codecs),
        )  # fmt: skip
        sequences[log.place] = sequence + count
        yield


def plain(world: "World", batches: int) -> Iterator[None]:
    """A producer without an id, and a group that commits outside of transactions."""
    chance = world.chance
    for _ in range(batches):
        count = chance.choice((1, 2, 4))
        chance.choice(world.topics).data(
            chance.choice(RECORDS)[:count], world.now, codec=chance.choice(world.plan.codecs)
        )
        yield
