"""A real broker takes what the model wrote: it recovers the logs, consumers get what is owed.

And its coordinators load the model's internal topics: they tell the state of each transactional
id, and the offsets of each group.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from brokers.kafka_broker import ROOT, Cluster

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")

from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaError
from laws.dump_files import CLEAN_SHUTDOWN, OFFSETS, RECOVERY_POINT, TXN_LOG
from model.log import Log
from model.world import Plan, World

NEWEST = "4.1.0"
CONSUMER = ROOT / "tests/brokers/Consume.java"
PLAN = Plan(ids=8, transactions=25, batches=60, segment_bytes=20_000)
SEEDS = (1, 2, 3)
# What the coordinator calls the status bytes of its records.
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
LOADED_SECONDS = 60
# The end that a consumer is told, and the offsets that it gets.
Received = tuple[int, list[int]]


# Years have passed since the model's clients were there: nothing of theirs is to end by itself.
NOTHING_ENDS = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 86_400_000,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 86_400_000,
    "transactional.id.expiration.ms": (1 << 31) - 1,
    "offsets.retention.minutes": (1 << 31) - 1,
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    properties = {"log.retention.ms": -1, "log.segment.bytes": 1 << 30} | NOTHING_ENDS
    made = Cluster(NEWEST, tmp_path, properties=properties)
    try:
        yield made.start_all()
    finally:
        made.stop_all()


def received(cluster: Cluster, isolation: str, logs: list[Log]) -> dict[tuple[str, int], Received]:
    """What the Java consumer gets of each partition at an isolation level."""
    named = [f"{log.topic}:{log.number}" for log in logs]
    done = subprocess.run(
        ["java", "-cp", cluster.classes, CONSUMER, cluster.bootstrap, isolation, *named],
        check=True, capture_output=True, text=True, timeout=900,
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines()]
    return {
        (topic, int(number)): (int(end), [int(offset) for offset in offsets])
        for topic, number, end, *offsets in lines
    }


def put_logs(root: Path, logs: list[Log]) -> None:
    """Puts the segments alone into the folders that the broker has made."""
    for log in logs:
        folder = root / f"{log.topic}-{log.number}"
        for path in folder.iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        for name, content in log.files().files.items():
            if name.endswith(".log"):
                (folder / name).write_bytes(content)


def taken_up(cluster: Cluster, topics: list[NewTopic], logs: list[Log]) -> None:
    """Lets the broker make the topics, and start again with the segments of the model in them."""
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    admin.create_topics(topics)
    admin.close()
    cluster.stop(1)
    root = cluster.data()
    put_logs(root, logs)
    # Without them the broker reads every log again, checks it, and makes all side files anew.
    for name in (CLEAN_SHUTDOWN, RECOVERY_POINT):
        (root / name).unlink(missing_ok=True)
    cluster.start()
    cluster.wait()


def test_consumers_get_what_the_model_tells(cluster: Cluster) -> None:
    worlds = [World(f"broker {seed}", PLAN, seed, 9) for seed in SEEDS]
    topics = [NewTopic(world.topics[0].topic, PLAN.partitions, 1) for world in worlds]
    logs = [log for world in worlds for log in world.topics]
    taken_up(cluster, topics, logs)
    committed = received(cluster, "read_committed", logs)
    assert committed == {log.place: (log.stable, log.committed()) for log in logs}
    everything = received(cluster, "read_uncommitted", logs)
    assert everything == {log.place: (log.end, log.written()) for log in logs}
    for log in logs:
        folder = cluster.data() / f"{log.topic}-{log.number}"
        made = {path.name: path.read_bytes() for path in folder.glob("*.txnindex")}
        told = {n: c for n, c in log.files().files.items() if n.endswith(".txnindex")}
        assert {name: content for name, content in made.items() if content} == told


def answered(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer, once the coordinators have loaded their logs."""
    give_up = time.monotonic() + LOADED_SECONDS
    while True:
        try:
            return ask()
        except KafkaError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.5)


def test_coordinators_load_what_the_model_tells(cluster: Cluster) -> None:
    worlds = [World(f"loaded {n}", PLAN, n, len(SEEDS)) for n in range(len(SEEDS))]
    logs = [
        log for world in worlds for log in (*world.coordinators.values(), *world.groups.values())
    ]
    compacted = {"cleanup.policy": "compact"}
    topics = [
        NewTopic(name, len(worlds), 1, topic_configs=compacted) for name in (TXN_LOG, OFFSETS)
    ]
    taken_up(cluster, topics, logs)
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    states = {name: state for world in worlds for name, state in world.states.items()}
    loaded = answered(lambda: admin.describe_transactions(states))
    assert {name: (one.producer_id, one.state.value) for name, one in loaded.items()} == {
        name: (producer_id, STATES[state]) for name, (producer_id, state) in states.items()
    }
    waiting = [one for world in worlds for one in world.left]
    assert waiting
    for one in waiting:
        description = loaded[one.name]
        assert description.producer_epoch == one.epoch
        assert description.transaction_start_time_ms == one.began
        assert description.topic_partitions == {TopicPartition(*log.place) for log in one.listed}
    committed = {group: at for world in worlds for group, at in world.committed.items()}
    of_groups = answered(lambda: admin.list_group_offsets(list(committed)))
    admin.close()
    assert len(committed) > len(worlds)
    assert {
        group: {place: one.offset for place, one in offsets.items()}
        for group, offsets in of_groups.items()
    } == {
        group: {TopicPartition(*world.topics[0].place): at}
        for world in worlds
        for group, at in world.committed.items()
    }
