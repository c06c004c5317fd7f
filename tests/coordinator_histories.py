"""A dump whose coordinator's log is whole: many transactions of a few ids, a fault here and there.

Long enough that records of the coordinator are folded away when the log is read in one piece.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

from schemas.coordinator_states import ONGOING, PREPARE_ABORT, PREPARE_COMMIT
from tests.wire_writer import batches as writer
from tests.wire_writer import txn_log as txn_writer
from udfs.wire.coordinator import txn_log

T0 = 1_700_000_000_000
IDS = 8
TRANSACTIONS = 25
TOPICS = ("orders-0", "orders-1", "payments-0")
FAULT_RATE = 0.012
COORDINATOR = "__transaction_state-0"


@dataclass
class Log:
    """The batches of one partition."""

    parts: list[bytes] = field(default_factory=list)

    @property
    def end(self) -> int:
        """Its log end offset: each batch has one record."""
        return len(self.parts)


class Id:
    """A transactional id, its producer and its partitions."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.name, self.producer_id = f"id-{number}", 4_000 + number
        self.version = chance.choice((0, 2))
        self.epoch = 0
        self.sequences = dict.fromkeys(TOPICS, 0)


class History:
    """Writes transactions as brokers and their coordinator do."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.logs = {name: Log() for name in (*TOPICS, COORDINATOR)}
        self.now = T0

    def faulty(self) -> bool:
        """Whether what comes next goes wrong."""
        return self.chance.random() < FAULT_RATE

    def state(self, one: Id, status: int, listed: list[str], began: int) -> None:
        """A record of the coordinator."""
        chance = self.chance
        groups: dict[str, list[int]] = {}
        for place in listed:
            groups.setdefault(place[:-2], []).append(int(place[-1]))
        value = txn_log.TxnLogValue(
            1,
            one.producer_id + (1 if self.faulty() else 0),
            one.epoch + (chance.choice((-1, 2)) if self.faulty() else 0),
            60_000 + (1 if self.faulty() else 0),
            chance.randrange(6) if self.faulty() else status,
            tuple((topic, tuple(numbers)) for topic, numbers in groups.items()) or None,
            self.now,
            -1 if self.faulty() else began,
            client_transaction_version=one.version,
        )
        stored = None if chance.random() < 0.002 else txn_writer.encode_value(value)
        record = writer.record(0, 0, txn_writer.encode_key(one.name), stored)
        log = self.logs[COORDINATOR]
        log.parts.append(writer.batch(log.end, [record], base_timestamp=self.now))
        self.now += chance.choice((1, 5, 90_000))

    def transaction(self, one: Id) -> None:
        """Data in some partitions, the decision, its markers, and Complete."""
        chance, began = self.chance, self.now
        listed = chance.sample(TOPICS, chance.randint(1, len(TOPICS)))
        for count in range(1, len(listed) + 1):
            if count == 1 or chance.random() < 0.5:
                self.state(one, ONGOING, listed[:count], began)
        for place in listed:
            log = self.logs[place]
            log.parts.append(
                writer.batch(
                    log.end, [writer.record(0)], base_timestamp=self.now, transactional=True,
                    producer_id=one.producer_id, producer_epoch=one.epoch,
                    base_sequence=one.sequences[place],
                )
            )  # fmt: skip
            one.sequences[place] += 1
        commit = chance.random() < 0.7
        if one.version:
            one.epoch += 1
            one.sequences = dict.fromkeys(TOPICS, 0)
        prepared = PREPARE_COMMIT if commit else PREPARE_ABORT
        self.state(one, prepared, listed, began)
        for place in listed:
            if self.faulty():
                continue
            log, told = self.logs[place], commit is not self.faulty()
            log.parts.append(writer.marker(log.end, one.producer_id, one.epoch, told, 0, self.now))
        self.state(one, prepared + 2, [], began)


def write_history(folder: Path, seed: int) -> None:
    """Writes the log directory of one broker."""
    history = History(seed)
    ids = [Id(number, history.chance) for number in range(IDS)]
    for _ in range(TRANSACTIONS * IDS):
        history.transaction(history.chance.choice(ids))
    for name, log in history.logs.items():
        partition = folder / name
        partition.mkdir(parents=True)
        (partition / f"{0:020d}.log").write_bytes(b"".join(log.parts))
    (folder / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=c\n")
