"""What a busy leader says is what its log says: dumps under load, compared without Spark."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from brokers.kafka_broker import Cluster
from brokers.test_fetched_dump import create, take
from wire.test_wire_told_differences import differences

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")
pytestmark = pytest.mark.skipif(
    "EOSAUDIT_BROKERS" not in os.environ, reason="make test-brokers runs it"
)

DUMPS = 8
PRODUCERS = 3


@pytest.fixture(params=["3.9.1", "4.1.0"])
def one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(request.param, tmp_path)
    try:
        yield started.start_all()
    finally:
        started.stop_all()


def write(cluster: Cluster, number: int) -> "subprocess.Popen[bytes]":
    """Short transactions of a Java client, which raises its epoch with each one since 4.0."""
    options = [
        "--topic", "busy", "--num-records", "100000000", "--record-size", "100",
        "--throughput", "300", "--transactional-id", f"busy-{number}",
        "--transaction-duration-ms", "40",
        "--producer-props", f"bootstrap.servers={cluster.bootstrap}",
    ]  # fmt: skip
    return subprocess.Popen(
        ["java", "-Xmx128m", "-cp", cluster.classes, "org.apache.kafka.tools.ProducerPerformance",
         *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def proves(row: dict[str, Any]) -> bool:
    """Whether no excuse of the checks holds for it here: nothing is trimmed, missing or damaged."""
    return bool(row["log_ahead"] or row["passed"] or row["fault"] in FAULTS_OF_MEMORY)


FAULTS_OF_MEMORY = ("open_in_memory", "stable_behind")


def test_answers_of_a_busy_broker_are_those_of_its_log(one: Cluster, tmp_path: Path) -> None:
    create(one, busy=3)
    writers = [write(one, number) for number in range(PRODUCERS)]
    try:
        until = time.monotonic() + 60
        while sum(path.stat().st_size for path in one.data().glob("busy-*/*.log")) < 10_000:
            assert time.monotonic() < until
            time.sleep(0.2)
        for _ in range(DUMPS):
            take(one, tmp_path / "d", "--topics", "busy")
            found = differences(tmp_path / "d", 1 << 20)
            assert {"busy", "__transaction_state"} <= set(found)
            assert [row for rows in found.values() for row in rows if proves(row)] == []
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    log = tmp_path / f"d/cluster/busy-0/{0:020}.log"
    assert log.stat().st_size > 10_000
    # The producers are dead, and one of them perhaps in a transaction: nothing moves any more.
    take(one, tmp_path / "d", "--topics", "busy")
    found = differences(tmp_path / "d", 1 << 20)
    assert [row for rows in found.values() for row in rows] == []
    set_epochs_back(tmp_path / "d/cluster/broker-answers.json")
    ahead = [row["log_ahead"] for row in differences(tmp_path / "d", 1 << 20)["busy"]]
    assert len(ahead) >= PRODUCERS and all(ahead)


def set_epochs_back(answers: Path) -> None:
    """As if the leader had not seen the newest epoch of any producer."""
    told = json.loads(answers.read_text())
    for one in told["answers"]:
        for topic in one.get("answer", {}).get("topics") or ():
            for partition in topic.get("partitions", ()):
                for producer in partition.get("active_producers", ()):
                    producer["producer_epoch"] -= 1
    answers.write_text(json.dumps(told))
