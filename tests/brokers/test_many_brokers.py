"""take_dump.py --bootstrap against more brokers: only for `make test-brokers`, a few minutes."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from brokers.kafka_broker import Cluster, free_ports
from brokers.test_fetched_dump import (
    ROOT,
    create,
    differing,
    manifest,
    take,
    write_transactions,
)
from pyspark.sql import SparkSession

from jobs.main import main

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")
pytestmark = pytest.mark.skipif(
    "EOSAUDIT_BROKERS" not in os.environ, reason="make test-brokers runs it"
)

from kafka import KafkaAdminClient, KafkaProducer  # noqa: E402
from kafka.admin import NewTopic  # noqa: E402

VERSIONS = ("3.9.1", "4.1.0")


@pytest.fixture(params=VERSIONS)
def one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(request.param, tmp_path)
    try:
        yield started.start_all()
    finally:
        started.stop_all()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster("4.1.0", tmp_path, brokers=3)
    try:
        yield started.start_all()
    finally:
        started.stop_all()


def findings(dump: Path, out: Path, as_of: int) -> list[Any]:
    """Code, verdict, topic, partition and offsets of every finding of an audit."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = main(["audit", "--dump", str(dump), "--out", str(out), "--as-of", str(as_of),
                     "--quiet"])  # fmt: skip
    assert code in (0, 1)
    rows = SparkSession.getActiveSession().read.format("delta").load(str(out / "violation"))
    return sorted(
        (row.code, row.verdict, row.topic, row.partition, row.offset_first, row.offset_last)
        for row in rows.collect()
    )


def test_an_audit_finds_what_it_finds_on_the_brokers_disk(
    one: Cluster, tmp_path: Path, spark: SparkSession
) -> None:
    create(one, orders=3)
    write_transactions(one, "orders", 8)
    # A producer that dies in a transaction, which is old at the audit's moment.
    dies = (
        "import os, sys; from kafka import KafkaProducer\n"
        "p = KafkaProducer(bootstrap_servers=sys.argv[1], transactional_id='open',\n"
        "                  transaction_timeout_ms=600000)\n"
        "p.init_transactions(); p.begin_transaction()\n"
        "p.send('orders', b'1', partition=1); p.flush(); os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", dies, one.bootstrap], check=True)
    take(one, tmp_path / "fetched")
    time.sleep(2)  # until the high watermarks are in the checkpoint
    copy = [sys.executable, str(ROOT / "scripts/take_dump.py"), "--to", str(tmp_path / "disk")]
    subprocess.run([*copy, str(one.data())], check=True, capture_output=True)
    later = time.time_ns() // 1_000_000 + 3_600_000
    over_protocol = findings(tmp_path / "fetched", tmp_path / "out-1", later)
    assert over_protocol == findings(tmp_path / "disk", tmp_path / "out-2", later)
    # Both copies end before its timeout, so nothing tells that the coordinator was idle since.
    assert [found[0] for found in over_protocol] == ["lso_stuck"]


def test_leaders_move_and_brokers_stop_while_producers_write(
    three: Cluster, tmp_path: Path
) -> None:
    create(three, moving=6)
    write_transactions(three, "moving", 2, "first")
    writing = threading.Thread(target=write_transactions, args=(three, "moving", 60, "moving"))
    writing.start()
    told: list[str] = []
    for number in (1, 2, 3):
        dump = threading.Thread(
            target=lambda: told.append(take(three, tmp_path / "d", "--topics", "moving"))
        )
        dump.start()
        time.sleep(0.5)
        three.stop(number, signal.SIGKILL)
        time.sleep(8)
        three.start(number)
        three.wait()
        dump.join(100)
        time.sleep(5)
    writing.join()
    take(three, tmp_path / "d", "--topics", "moving")
    assert manifest(tmp_path / "d")["events"] == []
    leaders = {
        entry["path"]: entry["leader"]
        for entry in manifest(tmp_path / "d")["directories"]
        if entry["topic"] == "moving"
    }
    for number in (1, 2, 3):
        three.stop(number)
    for path, leader in leaders.items():
        fetched = b"".join(
            file.read_bytes() for file in sorted((tmp_path / "d/cluster" / path).glob("*.log"))
        )
        stored = b"".join(
            file.read_bytes() for file in sorted((three.data(leader) / path).glob("*.log"))
        )
        # The broker stopped cleanly later: it may have appended, and took nothing back.
        assert fetched and stored.startswith(fetched), path


def test_a_compacted_log_is_what_the_cleaner_left(one: Cluster, tmp_path: Path) -> None:
    settings = {"cleanup.policy": "compact", "segment.bytes": "1048576", "segment.ms": "1000",
                "min.cleanable.dirty.ratio": "0.01"}  # fmt: skip
    admin = KafkaAdminClient(bootstrap_servers=one.bootstrap)
    admin.create_topics([NewTopic("keys", 1, 1, topic_configs=settings)])
    producer = KafkaProducer(bootstrap_servers=one.bootstrap)
    for number in range(10):
        producer.send("keys", b"early", key=b"%d" % number)
    producer.flush()
    take(one, tmp_path / "early", "--topics", "keys")
    for turn in range(2):
        for number in range(20_000):
            producer.send("keys", b"x" * 100, key=b"%d" % (number % 10))
        producer.flush()
        time.sleep(2 * turn)
    until = time.monotonic() + 60
    size = sum(path.stat().st_size for path in (one.data() / "keys-0").glob("*.log"))
    while time.monotonic() < until:
        now = sum(path.stat().st_size for path in (one.data() / "keys-0").glob("*.log"))
        if now < size // 2:
            break
        producer.send("keys", b"x", key=b"0")
        producer.flush()
        time.sleep(2)
    time.sleep(3)
    take(one, tmp_path / "late", "--topics", "keys")
    assert differing(one, tmp_path / "late") == []
    # What was fetched early is followed by what the cleaner left of the rest.
    take(one, tmp_path / "early", "--topics", "keys")
    assert [event["kind"] for event in manifest(tmp_path / "early")["events"]] == ["compacted"]


def test_tls_and_scram_by_the_client_properties_of_kafkas_tools(tmp_path: Path) -> None:
    key, chain, both = (tmp_path / name for name in ("key.pem", "chain.pem", "both.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=broker", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", chain],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_text(key.read_text() + chain.read_text())
    plain, secure, controller = free_ports(3)
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    properties = {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{secure},"
        f"CONTROLLER://127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,"
        "CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{scram};",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": both,
    }
    users = ["SCRAM-SHA-512=[name=ann,password=secret]"]
    cluster = Cluster("4.1.0", tmp_path, properties=properties, users=users)
    cluster.ports = [plain]
    try:
        cluster.start_all()
        create(cluster, orders=2)
        write_transactions(cluster, "orders", 4)
        cluster.ports = [secure]
        for password, code in (("wrong", 2), ("secret", 0)):
            config = tmp_path / "client.properties"
            config.write_text(
                "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
                f'sasl.jaas.config={scram} username="ann" password="{password}";\n'
                f"ssl.truststore.type=PEM\nssl.truststore.location={chain}\n"
            )
            said = take(cluster, tmp_path / "d", "--config", str(config), code=code)
            assert "Traceback" not in said
        assert differing(cluster, tmp_path / "d") == []
    finally:
        cluster.stop_all()
