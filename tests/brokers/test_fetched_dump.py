"""take_dump.py --bootstrap against a real broker: its own bytes, whatever happens meanwhile."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from brokers.kafka_broker import ROOT, Cluster

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")

from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic

NEWEST = "4.1.0"
KILLS = 20


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(NEWEST, tmp_path_factory.mktemp("brokers"))
    try:
        yield started.start_all()
    finally:
        started.stop_all()


def create(cluster: Cluster, **partitions: int) -> None:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    copies = min(len(cluster.ports), 3)
    admin.create_topics([NewTopic(name, number, copies) for name, number in partitions.items()])
    admin.close()


def write_transactions(cluster: Cluster, topic: str, number: int, name: str = "tx") -> None:
    """Every fourth one is aborted."""
    producer = KafkaProducer(
        bootstrap_servers=cluster.bootstrap, transactional_id=name, compression_type="gzip"
    )
    producer.init_transactions()
    for turn in range(number):
        producer.begin_transaction()
        for key in range(20):
            producer.send(topic, os.urandom(500), key=b"%d" % key)
        producer.flush()
        (producer.abort_transaction if turn % 4 == 3 else producer.commit_transaction)()
    producer.close()
    # The producer has its answer before the coordinator has written that the transaction is over.
    time.sleep(1)


def command(cluster: Cluster, to: Path, *options: str) -> list[str]:
    return [
        sys.executable, str(ROOT / "scripts/take_dump.py"), "--bootstrap", cluster.bootstrap,
        "--to", str(to), *options,
    ]  # fmt: skip


def take(cluster: Cluster, to: Path, *options: str, code: int = 0) -> str:
    """Runs it to its end; what it said."""
    done = subprocess.run(
        command(cluster, to, *options), check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == code, done.stderr
    return done.stderr


def content(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def manifest(to: Path) -> dict[str, Any]:
    return dict(json.loads((to / "cluster/dump-manifest.json").read_text()))


def differing(cluster: Cluster, to: Path) -> list[str]:
    """Fetched partitions that are not, byte for byte, those of the broker's disk."""
    fetched = [entry["path"] for entry in manifest(to)["directories"]]
    assert fetched
    return [
        path
        for path in fetched
        if content(to / "cluster" / path) != content(cluster.data() / path.removeprefix("before/"))
    ]


def test_fetched_segments_are_the_brokers_own_bytes(cluster: Cluster, tmp_path: Path) -> None:
    create(cluster, orders=3, quiet=1)
    write_transactions(cluster, "orders", 12)
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=PLAINTEXT\nclient.id=audit\n")
    some = ("--topics", "ord*", "quiet", "--config", str(config), "--jobs", "4")
    take(cluster, tmp_path, *some, "--max-rate", "50M")
    assert differing(cluster, tmp_path) == []
    told = manifest(tmp_path)
    assert (told["finished"], told["events"], told["not_fetched"]) == (True, [], [])
    orders = [entry for entry in told["directories"] if entry["topic"] == "orders"]
    assert {entry["high_watermark"] == entry["end_offset"] for entry in orders} == {True}
    assert {(entry["log_start"], entry["leader"]) for entry in orders} == {(0, 1)}
    assert len([e for e in told["directories"] if e["role"] == "before"]) == 3


def test_killed_at_any_moment_while_producers_write_and_resumed(
    cluster: Cluster, tmp_path: Path
) -> None:
    create(cluster, busy=2)
    write_transactions(cluster, "busy", 2, "first")
    writing = threading.Thread(target=write_transactions, args=(cluster, "busy", 120, "busy"))
    writing.start()
    chance = random.Random(20)
    for _ in range(KILLS):
        process = subprocess.Popen(
            command(cluster, tmp_path, "--topics", "busy"), stderr=subprocess.DEVNULL
        )
        time.sleep(0.3 + chance.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
    writing.join()
    take(cluster, tmp_path, "--topics", "busy")
    assert differing(cluster, tmp_path) == []
    assert manifest(tmp_path)["events"] == []


def test_a_second_run_appends_and_a_topic_made_again_is_told(
    cluster: Cluster, tmp_path: Path
) -> None:
    create(cluster, again=1)
    write_transactions(cluster, "again", 4, "again")
    take(cluster, tmp_path, "--topics", "again")
    file = tmp_path / f"cluster/again-0/{0:020}.log"
    first, inode = file.read_bytes(), file.stat().st_ino
    write_transactions(cluster, "again", 4, "again")
    take(cluster, tmp_path, "--topics", "again")
    assert file.stat().st_ino == inode
    assert file.read_bytes().startswith(first)
    assert differing(cluster, tmp_path) == []

    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    admin.delete_topics(["again"])
    time.sleep(1)
    create(cluster, again=1)
    said = take(cluster, tmp_path, "--topics", "again")
    assert "again-0: the topic was made again" in said
    (event,) = manifest(tmp_path)["events"]
    assert (tmp_path / "cluster" / event["kept_as"] / file.name).read_bytes().startswith(first)


def test_what_brokers_say_is_kept(cluster: Cluster, tmp_path: Path) -> None:
    take(cluster, tmp_path)
    told = json.loads((tmp_path / "cluster/broker-answers.json").read_text())
    answered = {one["request"] for one in told["answers"] if "answer" in one}
    assert answered >= {
        "ApiVersions", "DescribeConfigs", "DescribeLogDirs", "DescribeProducers", "ListOffsets",
        "ListTransactions",
    }  # fmt: skip
    assert {one["moment"] for one in told["answers"]} == {"before", "after"}
    assert told["partitions"]["__transaction_state"] == 3


def test_nothing_of_the_cluster_is_changed(cluster: Cluster, tmp_path: Path) -> None:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    before = sorted(admin.list_topics()), admin.list_groups()
    said = take(cluster, tmp_path, "--topics", "never-there", code=2)
    assert "--topic never-there: no topic of the sources matches" in said
    assert (sorted(admin.list_topics()), admin.list_groups()) == before


def test_while_producers_go_on_no_high_watermark_is_behind_the_copy(
    cluster: Cluster, tmp_path: Path
) -> None:
    create(cluster, on=1)
    writing = threading.Thread(target=write_transactions, args=(cluster, "on", 40, "on"))
    writing.start()
    while writing.is_alive():
        take(cluster, tmp_path, "--topics", "on")
        for entry in manifest(tmp_path)["directories"]:
            assert entry["high_watermark"] <= entry["end_offset"]
    writing.join()
    take(cluster, tmp_path, "--topics", "on")
    assert differing(cluster, tmp_path) == []
