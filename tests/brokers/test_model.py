"""A real broker takes what the model wrote: it recovers the logs, consumers get what is owed."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from brokers.kafka_broker import ROOT, Cluster

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")

from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from laws.dump_files import CLEAN_SHUTDOWN, RECOVERY_POINT
from model.log import Log
from model.world import Plan, World

NEWEST = "4.1.0"
CONSUMER = ROOT / "tests/brokers/Consume.java"
PLAN = Plan(ids=8, transactions=25, batches=60, segment_bytes=20_000)
SEEDS = (1, 2, 3)
# The end that a consumer is told, and the offsets that it gets.
Received = tuple[int, list[int]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    properties = {"log.retention.ms": -1, "log.segment.bytes": 1 << 30}
    made = Cluster(NEWEST, tmp_path_factory.mktemp("brokers"), properties=properties)
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


def put_logs(root: Path, world: World) -> None:
    """Puts the segments alone into the folders that the broker has made."""
    for log in world.topics:
        folder = root / f"{log.topic}-{log.number}"
        for path in folder.iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        for name, content in log.files().files.items():
            if name.endswith(".log"):
                (folder / name).write_bytes(content)


def test_consumers_get_what_the_model_tells(cluster: Cluster) -> None:
    worlds = [World(f"broker {seed}", PLAN, seed, 9) for seed in SEEDS]
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    admin.create_topics([NewTopic(w.topics[0].topic, PLAN.partitions, 1) for w in worlds])
    admin.close()
    cluster.stop(1)
    root = cluster.data()
    for world in worlds:
        put_logs(root, world)
    # Without them the broker reads every log again, checks it, and makes all side files anew.
    for name in (CLEAN_SHUTDOWN, RECOVERY_POINT):
        (root / name).unlink(missing_ok=True)
    cluster.start()
    cluster.wait()
    logs = [log for world in worlds for log in world.topics]
    committed = received(cluster, "read_committed", logs)
    assert committed == {log.place: (log.stable, log.committed()) for log in logs}
    everything = received(cluster, "read_uncommitted", logs)
    assert everything == {log.place: (log.end, log.written()) for log in logs}
    for log in logs:
        folder = root / f"{log.topic}-{log.number}"
        made = {path.name: path.read_bytes() for path in folder.glob("*.txnindex")}
        told = {n: c for n, c in log.files().files.items() if n.endswith(".txnindex")}
        assert {name: content for name, content in made.items() if content} == told
