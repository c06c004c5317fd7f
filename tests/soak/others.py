"""Clients that are not Java's, for so many seconds: librdkafka's and those of kafka-python.

    python -m soak.others KIND BOOTSTRAP SEED SECONDS TOPIC…

Topics as soak/Load.java has them. Each kind has two producers of transactions, an idempotent and a
plain one. It ends as a process that was killed; what it did goes to standard output, a line each.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

TIMEOUT_SECONDS = 9
NEVER_MS = 600_000
CODECS = ("none", "gzip", "snappy", "lz4")


class Producer(Protocol):
    """What both kinds of producers do."""

    def init(self) -> None: ...
    def begin(self) -> None: ...
    def send(self, topic: str, partition: int, key: bytes, value: bytes | None) -> None: ...
    def flush(self) -> None: ...
    def offsets(self, group: str, topic: str, partition: int, offset: int) -> None: ...
    def end(self, commit: bool) -> None: ...


class OfLibrdkafka:
    """A producer of confluent-kafka. Words: configuration of librdkafka."""

    def __init__(
        self, bootstrap: str, name: str | None, idempotent: bool, timeout_ms: int, codec: str
    ) -> None:
        import confluent_kafka  # noqa: PLC0415

        self._of, self._bootstrap = confluent_kafka, bootstrap
        given: dict[str, Any] = {
            "bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 3,
            "enable.idempotence": idempotent, "log_level": 0,
            "message.timeout.ms": 1000 * TIMEOUT_SECONDS if name is None else 2000,
        }  # fmt: skip
        if name is not None:
            given |= {"transactional.id": name, "transaction.timeout.ms": timeout_ms}
        self._producer = confluent_kafka.Producer(given)

    def init(self) -> None:
        self._producer.init_transactions(TIMEOUT_SECONDS)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, key: bytes, value: bytes | None) -> None:
        self._producer.produce(topic, value, key, partition)

    def flush(self) -> None:
        self._producer.flush(TIMEOUT_SECONDS)

    def offsets(self, group: str, topic: str, partition: int, offset: int) -> None:
        of = self._of
        consumer = of.Consumer({"bootstrap.servers": self._bootstrap, "group.id": group})
        self._producer.send_offsets_to_transaction(
            [of.TopicPartition(topic, partition, offset)],
            consumer.consumer_group_metadata(), TIMEOUT_SECONDS,
        )  # fmt: skip
        consumer.close()

    def end(self, commit: bool) -> None:
        ends = self._producer.commit_transaction if commit else self._producer.abort_transaction
        ends(TIMEOUT_SECONDS)


class OfKafkaPython:
    """A producer of kafka-python."""

    def __init__(
        self, bootstrap: str, name: str | None, idempotent: bool, timeout_ms: int, codec: str
    ) -> None:
        import kafka  # noqa: PLC0415

        given: dict[str, Any] = {"enable_idempotence": idempotent}
        if name is not None:
            given = {"transactional_id": name, "transaction_timeout_ms": timeout_ms}
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, linger_ms=3, max_block_ms=1000 * TIMEOUT_SECONDS,
            compression_type="gzip" if codec == "gzip" else None, **given,
        )  # fmt: skip

    def init(self) -> None:
        self._producer.init_transactions()

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, topic: str, partition: int, key: bytes, value: bytes | None) -> None:
        self._producer.send(topic, value, key, partition=partition)

    def flush(self) -> None:
        self._producer.flush(TIMEOUT_SECONDS)

    def offsets(self, group: str, topic: str, partition: int, offset: int) -> None:
        from kafka.structs import OffsetAndMetadata, TopicPartition  # noqa: PLC0415

        committed = {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)}
        self._producer.send_offsets_to_transaction(committed, group)

    def end(self, commit: bool) -> None:
        (self._producer.commit_transaction if commit else self._producer.abort_transaction)()


KINDS: dict[str, Callable[..., Producer]] = {
    "librdkafka": OfLibrdkafka,
    "kafka_python": OfKafkaPython,
}


class Load:
    """Clients of one kind, each in a thread of its own."""

    def __init__(self, kind: str, bootstrap: str, seed: int, topics: Sequence[str]) -> None:
        self._kind, self._bootstrap, self._seed = kind, bootstrap, seed
        self._places = [
            (name, number)
            for name, partitions, *_ in (topic.split(":") for topic in topics)
            for number in range(int(partitions))
        ]

    def start(self) -> None:
        """Starts all of them."""
        for name, live in (
            (f"{self._kind}-0", self._transactional), (f"{self._kind}-1", self._transactional),
            (f"{self._kind}-i", self._idempotent), (f"{self._kind}-p", self._plain),
        ):  # fmt: skip
            chance = Random(f"{self._seed} {name}")
            threading.Thread(target=self._again, args=(live, name, chance), daemon=True).start()

    def _again(self, live: Callable[[str, Random], None], name: str, chance: Random) -> None:
        while True:
            try:
                live(name, chance)
            except Exception as error:  # whatever a client says of chaos
                say(name, f"again after {error!r}")
                time.sleep(0.3)

    def _producer(
        self, chance: Random, name: str | None, idempotent: bool, timeout_ms: int = NEVER_MS
    ) -> Producer:
        made = KINDS[self._kind]
        return made(self._bootstrap, name, idempotent, timeout_ms, chance.choice(CODECS))

    def _transactional(self, name: str, chance: Random) -> None:
        brief = chance.random() < 0.3
        timeout_ms = chance.randint(2000, 6000) if brief else NEVER_MS
        producer = self._producer(chance, name, True, timeout_ms)
        producer.init()
        say(name, "initialised")
        for _ in range(chance.randint(3, 40)):
            producer.begin()
            self._write(producer, chance)
            if chance.random() < 0.25:
                producer.offsets(f"g-{name}", *chance.choice(self._places), chance.randrange(1000))
            if chance.random() < 0.05:
                producer.flush()
                say(name, "left")
                return
            if brief and chance.random() < 0.1:
                time.sleep(8)
            commit = chance.random() < 0.8
            producer.end(commit)
            say(name, "committed" if commit else "aborted")
            time.sleep(chance.random() / 8)

    def _idempotent(self, name: str, chance: Random) -> None:
        self._without_transactions(name, chance, True)

    def _plain(self, name: str, chance: Random) -> None:
        self._without_transactions(name, chance, False)

    def _without_transactions(self, name: str, chance: Random, idempotent: bool) -> None:
        producer = self._producer(chance, None, idempotent)
        say(name, "begins")
        for _ in range(chance.randint(20, 100)):
            self._write(producer, chance)
            time.sleep(chance.random() / 5)

    def _write(self, producer: Producer, chance: Random) -> None:
        for _ in range(chance.randint(1, 8)):
            value = None if chance.random() < 0.05 else chance.randbytes(chance.randrange(200))
            key = b"key-%d" % chance.randrange(12)
            producer.send(*chance.choice(self._places), key, value)
        if chance.random() < 0.5:
            producer.flush()


def say(who: str, what: str) -> None:
    """A line of the journal."""
    line = what.replace("\n", " ")
    sys.stdout.write(f"{time.time_ns() // 1_000_000}\t{who}\t{line}\n")
    sys.stdout.flush()


def main(words: Sequence[str]) -> None:
    kind, bootstrap, seed, seconds, *topics = words
    Load(kind, bootstrap, int(seed), topics).start()
    time.sleep(float(seconds))
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
