"""A seeded cluster in which everything is legal: clients, coordinator, partitions, brokers.

Worlds lie side by side in one dump, each a broker (or two) of one large cluster with its own
topics, ids, groups, producer ids and its own partitions of the internal topics, as the copies of a
dump do in `laws.rename`. So an audit takes many of them, and what is wrong in one accuses no other.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from laws.dump_files import (
    CHECKPOINTS,
    CLEAN_SHUTDOWN,
    HIGH_WATERMARK,
    META,
    METADATA,
    OFFSETS,
    RECOVERY_POINT,
    TXN_LOG,
    Directory,
    Partition,
)
from laws.rename import BROKER_STEP, PRODUCER_STEP
from log_builder import LogBuilder

from model.clients import TransactionalId, idempotent, plain
from model.log import Log
from model.old_format import old_format
from tests.wire_writer.txn_log import partition_for

T0 = 1_700_000_000_000
# No history goes on so long.
METADATA_UNTIL_S = 10 * 86_400
STEPS_MS = (0, 1, 1, 2, 5, 20, 300)
FIRST_PRODUCER_ID = 1_000
CLUSTER = "model"


@dataclass(frozen=True)
class Plan:
    """How large a world is, and what it does.

    `copies`: replicas of each client partition, and with `internal_copies` of the internal topics.
    `pace`: how much slower than `STEPS_MS` it goes; `rest_ms`: before each of the two transactions
    that end it; `older_ms`: behind one that begins it, none if 0. `old`: partitions of a topic in
    the message formats before 2.
    """

    ids: int = 4
    transactions: int = 8
    partitions: int = 3
    idempotent: int = 1
    plain: int = 1
    batches: int = 10
    each: int = 1
    copies: int = 1
    internal_copies: bool = False
    old: int = 0
    segment_bytes: int = 3_000
    left_open: float = 0.3
    leader_changes: float = 0.01
    versions: tuple[int, ...] = (0, 1, 2, 2)
    pace: int = 1
    rest_ms: int = 65_000
    older_ms: int = 0
    codecs: tuple[int, ...] = (0, 0, 0, 0, 1, 2, 3, 4)


class World:
    """World `index` of `count`; `each`: how many partitions of either internal topic it has."""

    def __init__(self, seed: int | str, plan: Plan, index: int = 0, count: int = 1) -> None:
        self.chance, self.plan, self.index, self.count = Random(f"{seed}"), plan, index, count
        self.now = T0
        self._next_id = FIRST_PRODUCER_ID + index * PRODUCER_STEP
        self.topics = [self._log(topic_of(index), n) for n in range(plan.partitions)]
        mine = range(index * plan.each, (index + 1) * plan.each)
        self.coordinators = {n: self._log(TXN_LOG, n) for n in mine}
        self.groups = {n: self._log(OFFSETS, n) for n in mine}
        # Clients that have a transaction open and do nothing; how many others there are.
        self.waiting, self.alive = 0, 0
        self.left: list[TransactionalId] = []
        # How many records of each state the coordinator wrote; (producer id, state) of the last
        # one of each transactional id.
        self.decided: Counter[int] = Counter()
        self.states: dict[str, tuple[int, int]] = {}
        # The offset of partition 0 that each group has committed.
        self.committed: dict[str, int] = {}
        self._run()

    @property
    def busy(self) -> bool:
        return self.alive > self.waiting

    def _log(self, topic: str, number: int) -> Log:
        return Log(topic, number, self.plan.segment_bytes, self.chance)

    @property
    def logs(self) -> list[Log]:
        return [*self.topics, *self.coordinators.values(), *self.groups.values()]

    def next_producer_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _placed(self, name: str) -> str:
        """A name that its hash puts into one of the partitions of this world."""
        total, mine, suffix = self.plan.each * self.count, self.coordinators, 0
        while partition_for(f"{name}~{suffix}", total) not in mine:
            suffix += 1
        return f"{name}~{suffix}"

    def coordinator_of(self, name: str) -> Log:
        return self.coordinators[partition_for(name, self.plan.each * self.count)]

    def offsets_of(self, group: str) -> Log:
        return self.groups[partition_for(group, self.plan.each * self.count)]

    def _clients(self) -> list[Iterator[None]]:
        plan, chance, made = self.plan, self.chance, []
        for number in range(plan.ids):
            group = self._placed(f"group-{self.index}-{number}") if number % 2 == 0 else None
            name = self._placed(f"id-{self.index}-{number}")
            one = TransactionalId(self, name, chance.choice(plan.versions), group)
            made.append(one.life(plan.transactions))
        made += [idempotent(self, plan.batches) for _ in range(plan.idempotent)]
        made += [plain(self, plan.batches) for _ in range(plan.plain)]
        return made

    def _run(self) -> None:
        """All clients to their ends, step by step; then one that shows twice that time went on."""
        if self.plan.older_ms:
            self._alone(TransactionalId(self, self._placed(f"first-{self.index}"), 2, None), True)
            self.now += self.plan.older_ms
        chance, alive = self.chance, self._clients()
        while alive:
            self.alive = len(alive)
            chosen = chance.randrange(len(alive))
            try:
                next(alive[chosen])
            except StopIteration:
                alive[chosen] = alive[-1]
                alive.pop()
            self.now += chance.choice(STEPS_MS) * self.plan.pace
            if chance.random() < self.plan.leader_changes:
                chance.choice(self.logs).leader_epoch += 1
        last = TransactionalId(self, self._placed(f"last-{self.index}"), 2, None)
        for first in (True, False):
            self.now += self.plan.rest_ms
            self._time_out()
            self._alone(last, first)

    def _alone(self, one: TransactionalId, first: bool) -> None:
        """A transaction over all partitions of topics, while nobody else does anything."""
        for _ in one.closing(first):
            self.now += 1

    def _time_out(self) -> None:
        """The coordinator aborts what lasts too long although no client asks."""
        for one in [one for one in self.left if one.expired]:
            self.left.remove(one)
            for _ in one.end("timeout"):
                self.now += 1

    def directories(self) -> Iterator[Directory]:
        """The log directories of the brokers of this world, after a clean shutdown of all."""
        for copy in range(self.plan.copies):
            broker = self.index * BROKER_STEP + copy + 1
            told = Directory(f"{self.index:03}-broker-{copy + 1}", {CLEAN_SHUTDOWN: b""})
            told.files[META] = f"version=1\nnode.id={broker}\ncluster.id={CLUSTER}\n".encode()
            logs = self.logs if copy == 0 or self.plan.internal_copies else self.topics
            ends = {log.place: log.end for log in logs}
            told.partitions = [log.files() for log in logs]
            for number in range(self.plan.old if copy == 0 else 0):
                old, end = old_format(f"old.{self.index:02}", number, self.index)
                ends[old.place] = end
                told.partitions.append(old)
            for name in CHECKPOINTS:
                told.set_checkpoint(name, ends if name in (HIGH_WATERMARK, RECOVERY_POINT) else {})
            yield told


def metadata_of(copies: Sequence[int]) -> Partition:
    """`__cluster_metadata` of worlds: brokers, topics and their policy, producer ids.

    `copies`: how many brokers each world has.
    """
    log = LogBuilder()
    for index, brokers in enumerate(copies):
        for copy in range(brokers):
            log.register_broker(index * BROKER_STEP + copy + 1)
    for index in range(len(copies)):
        log.create_topic(topic_of(index), "delete")
    # A controller writes a record every half second, so its copy is as late as all others.
    log.add(f"ids {(1 + len(copies)) * PRODUCER_STEP} at={METADATA_UNTIL_S}")
    files = {f"{base:020}.log": bytes(content) for base, content in log.segments.items()}
    return Partition(METADATA, 0, files)


def topic_of(index: int) -> str:
    """The topic of a world."""
    return f"orders.{index:02}"
