"""What one run is: all that is drawn from its seed, before anything is started."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

# Releases, each with what the others have not: 2.8 has ZooKeeper and no way to ask for producers;
# 3.3 is the first KRaft of production; 3.7 verifies partitions of transactions (KIP-890, part 1);
# 4.0 has transaction.version 2.
VERSIONS = ("2.8.2", "3.3.2", "3.7.2", "3.9.1", "4.0.0", "4.1.0", "4.3.0")
NEWEST = VERSIONS[-1]
OF_ZOOKEEPER = ("2.8.2",)
# KRaft has several log directories since KIP-858, in 3.7 as a preview.
WITHOUT_SECOND_DIRECTORY = ("3.3.2", "3.7.2")
FAULTS = ("delete_records", "recreate", "partitions", "fence", "zombie", "event_times", "aborts")
# Faults of some runs only.
LEADERS, DIRECTORIES, EPOCHS = "leaders", "dirs", "epochs"
OTHER_CLIENTS = ("librdkafka", "kafka_python")
# Transactions that hang are a fault until an operator ends them, so the copy is one of the end.
HANGS = "hangs"
# How the log directories are copied: all brokers stopped and asked before; under load, one
# directory after another; by the tool, under load; after all brokers were killed; under load, over
# the protocol, with what the brokers say beside it.
COPIES = ("clean_stop", "clean_stop", "clean_stop", "staggered", "take_dump", "killed", "fetched")


@dataclass(frozen=True)
class Plan:
    """One run.

    `properties`: of the brokers. `topics`: words of Load. `kills`: moments (s) at which a broker is
    ended without warning. `restarts`: the same, cleanly. `versions_of_transactions`: what
    `transaction.version` becomes at a moment (s). `clocks`: moment (s), broker, and what its clock
    is apart from the machine's from then on (s).
    """

    seed: int
    version: str
    brokers: int
    directories: int
    seconds: int
    faults: tuple[str, ...]
    properties: Mapping[str, object]
    topics: tuple[str, ...]
    kills: tuple[float, ...]
    restarts: tuple[float, ...]
    versions_of_transactions: tuple[tuple[float, int], ...]
    copied: str
    clocks: tuple[tuple[float, int, float], ...]

    @property
    def zookeeper(self) -> bool:
        return self.version in OF_ZOOKEEPER


def plan_of(seed: int, version: str | None = None, seconds: int | None = None) -> Plan:
    """The run of a seed; a version or a length that is given takes the place of the drawn one."""
    chance = Random(f"soak {seed}")
    chosen = version or chance.choice(VERSIONS)
    brokers = chance.choice((1, 1, 3))
    directories = 2 if brokers == 1 and chance.random() < 0.25 else 1
    if chosen in WITHOUT_SECOND_DIRECTORY:
        directories = 1
    length = seconds or chance.choice((20, 30, 40))
    faults = tuple(one for one in FAULTS if chance.random() < 0.5)
    if directories > 1:
        faults += (DIRECTORIES,)
    if brokers > 1 and chance.random() < 0.7:
        faults += (LEADERS,)
    if chance.random() < 0.15:
        faults += (EPOCHS,)
    faults += tuple(kind for kind in OTHER_CLIENTS if chance.random() < 0.3)
    moments = sorted(chance.uniform(3, length - 4) for _ in range(2))
    kills = tuple(moments[:1]) if chance.random() < 0.5 else ()
    restarts = tuple(moments[1:]) if chance.random() < 0.4 else ()
    versions: tuple[tuple[float, int], ...] = ()
    if chosen >= "4" and chance.random() < 0.4:
        versions = ((0, chance.choice((0, 1))), (length / 2, 2))
        versions = versions if chance.random() < 0.5 else ((length / 2, chance.choice((0, 1))),)
    properties, topics = _properties(chance), _topics(chance, brokers)
    copied = chance.choice(COPIES)
    if copied == "clean_stop" and chance.random() < 0.3:
        faults += (HANGS,)
        properties["transaction.partition.verification.enable"] = "false"
    return Plan(
        seed, chosen, brokers, directories, length, faults or ("pause",), properties, topics, kills,
        restarts, versions, copied, _clocks(Random(f"clocks {seed}"), brokers, length),
    )  # fmt: skip


def _clocks(chance: Random, brokers: int, seconds: int) -> tuple[tuple[float, int, float], ...]:
    """Clocks that are apart from the start on in half of the runs, and set again in some of these.

    Two brokers differ by less than the minute that operations.md asks for.
    """
    if chance.random() < 0.5:
        return ()
    numbers = range(1, brokers + 1)
    first = [(0.0, number, chance.choice((0.0, 0.05, 2, 20)) * chance.uniform(-1, 1))
             for number in numbers]  # fmt: skip
    steps = [(chance.uniform(3, seconds - 4), chance.choice(numbers), chance.uniform(-8, 8))
             for _ in range(chance.randint(0, 3))]  # fmt: skip
    return tuple(first + sorted(steps))


def _properties(chance: Random) -> dict[str, object]:
    """Settings that age a log within seconds."""
    drawn: dict[str, object] = {
        "log.retention.check.interval.ms": 1000,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
        "auto.create.topics.enable": "false",
        "log.message.timestamp.difference.max.ms": 1 << 60,
    }
    if chance.random() < 0.4:
        # Longer than the retries of a batch, which a leader that forgot the producer stores twice.
        drawn["producer.id.expiration.ms"] = chance.choice((13_000, 16_000))
        drawn["producer.id.expiration.check.interval.ms"] = 1000
    if chance.random() < 0.3:
        drawn["transactional.id.expiration.ms"] = 8_000
        drawn["transaction.remove.expired.transaction.cleanup.interval.ms"] = 1000
    if chance.random() < 0.5:
        # Applies to the internal topics too: they are cleaned as a log of months is.
        drawn["log.roll.ms"] = chance.choice((2_000, 5_000))
        drawn["log.cleaner.min.cleanable.ratio"] = "0.01"
    if chance.random() < 0.3:
        drawn["log.cleaner.delete.retention.ms"] = 2_000
    return drawn


def _topics(chance: Random, brokers: int) -> tuple[str, ...]:
    """Topics of each policy; `again` is deleted and made again, `grows` gets partitions."""
    policies = {
        "plain": "",
        "grows": "",
        "again": "",
        "rolls": "segment.ms=2000",
        "trimmed": "segment.ms=1500;retention.ms=6000",
        "keys": "cleanup.policy=compact;segment.ms=1500;min.cleanable.dirty.ratio=0.01",
        "both": "cleanup.policy=compact,delete;segment.ms=1500;min.cleanable.dirty.ratio=0.01"
        ";retention.ms=8000",
    }
    extra = [name for name in ("rolls", "trimmed", "keys", "both") if chance.random() < 0.6]
    return tuple(
        f"{name}:{chance.choice((1, 2))}:{brokers}:{policies[name]}"
        for name in ["plain", "grows", "again", *extra]
    )
