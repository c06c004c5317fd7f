"""`audit --bootstrap` against a real broker, through spark-submit.sh: for `make test-brokers`."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from brokers.kafka_broker import ROOT, Cluster
from brokers.test_fetched_dump import create, take, write_transactions

from tests.wire_writer import batches as writer
from tests.wire_writer.txn_log import partition_for

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")
pytestmark = pytest.mark.skipif(
    "EOSAUDIT_BROKERS" not in os.environ, reason="make test-brokers runs it"
)


COORDINATORS = 3  # transaction.state.log.num.partitions of these brokers
CLOCKS_DIFFER = 65.0  # s; clock_tolerance_ms of conf/audit.toml, and some more
# Transactions until it is killed, in one of them.
WRITES_ON = """
import sys; from kafka import KafkaProducer
p = KafkaProducer(bootstrap_servers=sys.argv[1], transactional_id="on")
p.init_transactions()
while True:
    p.begin_transaction()
    for number in range(10): p.send("orders", b"on")
    p.flush()
    p.commit_transaction()
"""


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    # As brokers up to 3.5, and those whose operator turned KIP-890's check off.
    careless = {"transaction.partition.verification.enable": "false"}
    started = Cluster("4.1.0", tmp_path_factory.mktemp("brokers"), properties=careless)
    try:
        yield started.start_all()
    finally:
        started.stop_all()


def tool(*words: object, code: int = 0) -> str:
    """Runs spark-submit.sh; what it says."""
    command = [str(ROOT / "spark-submit.sh"), *map(str, words)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def audit(out: Path, *options: str, code: int = 0) -> dict[str, Any]:
    """Runs the command of the manual; the verdict."""
    tool("audit", *options, "--out", out, "--quiet", code=code)
    return dict(json.loads((out / "verdict.json").read_text()))


def test_a_live_cluster_is_audited_by_one_command_and_again_by_what_is_new(
    cluster: Cluster, tmp_path: Path
) -> None:
    create(cluster, orders=2, payments=1, others=1)
    write_transactions(cluster, "orders", 8)
    out = tmp_path / "audits"
    first = audit(out, "--bootstrap", cluster.bootstrap)
    assert (first["verdict"], first["totals"]["transactions"]) == ("clean", 16)
    segment = out / f"fetched/cluster/orders-0/{0:020}.log"
    size, inode = segment.stat().st_size, segment.stat().st_ino
    write_transactions(cluster, "orders", 4)
    second = audit(out, "--bootstrap", cluster.bootstrap)
    assert (second["verdict"], second["totals"]["transactions"]) == ("clean", 24)
    assert segment.stat().st_ino == inode and segment.stat().st_size > size
    assert second["as_of_ms"] > first["as_of_ms"]

    properties, cache = tmp_path / "client.properties", tmp_path / "live"
    properties.write_text("security.protocol=PLAINTEXT\n")
    audit(
        tmp_path / "some", "--bootstrap", cluster.bootstrap, "--command-config", str(properties),
        "--cache", str(cache), "--topics", "ord*", "payments", "--jobs", "4", "--max-rate", "50M",
    )  # fmt: skip
    fetched = {path.name for path in (cache / "cluster").glob("*-0")}
    assert fetched >= {"orders-0", "payments-0"} and "others-0" not in fetched


def write_late(cluster: Cluster, topic: str, sequence: int) -> None:
    """A batch of producer 0 that arrives after the marker of its transaction.

    The request of a client whose answer was lost, repeated by a network that held it back.
    """
    sys.path.insert(1, str(ROOT / "scripts"))
    from _protocol_client import Cluster as Brokers  # noqa: PLC0415
    from kafka.protocol.producer.produce import ProduceRequest  # noqa: PLC0415

    of = ProduceRequest.TopicProduceData
    late = writer.batch(
        0, [writer.record(0, value=b"late")], base_timestamp=time.time_ns() // 1_000_000,
        producer_id=0, producer_epoch=0, base_sequence=sequence, transactional=True,
    )  # fmt: skip
    brokers = Brokers([cluster.bootstrap], {})
    request = ProduceRequest(
        transactional_id="hangs", acks=-1, timeout_ms=10_000, max_version=9,
        topic_data=[
            of(name=topic, partition_data=[of.PartitionProduceData(index=0, records=late)])
        ],
    )  # fmt: skip
    answer = brokers.ask(request, 1)
    brokers.close()
    assert [one.error_code for one in answer.responses[0].partition_responses] == [0]


def neighbour(transactional_id: str) -> str:
    """Another id of the same coordinator partition."""
    place = partition_for(transactional_id, COORDINATORS)
    return next(one for one in map(str, count()) if partition_for(one, COORDINATORS) == place)


def leave_hanging(cluster: Cluster, topic: str) -> None:
    """A transaction that hangs from offset 42 on, provably: its logs go on for a minute.

    So much the clocks of two brokers may differ.
    """
    write_transactions(cluster, topic, 2, "hangs")
    write_late(cluster, topic, 40)
    write_transactions(cluster, topic, 2, neighbour("hangs"))
    time.sleep(CLOCKS_DIFFER)
    write_transactions(cluster, topic, 2, neighbour("hangs"))


def kafkas_tool(cluster: Cluster, words: str) -> str:
    """Runs a command of kafka-transactions.sh as it is printed."""
    given = words.replace("HOST:PORT", cluster.bootstrap).split()
    assert given[0] == "kafka-transactions.sh"
    main = "org.apache.kafka.tools.TransactionsCommand"
    done = subprocess.run(
        ["java", "-cp", cluster.classes, main, *given[1:]],
        check=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done.stdout


def plans(out: Path) -> list[tuple[str, list[str]]]:
    """Of each incident its kind and the commands of its plan, without comments."""
    (file,) = out.rglob("repair.json")
    return [
        (
            one["kind"],
            [
                line
                for step in one["steps"]
                for line in (step["command"] or "").splitlines()
                if not line.startswith("#")
            ],
        )
        for one in json.loads(file.read_text())["incidents"]
    ]


def test_a_hanging_transaction_is_found_explained_aborted_and_gone(
    cluster: Cluster, tmp_path: Path
) -> None:
    create(cluster, hanging=1)
    leave_hanging(cluster, "hanging")
    out = tmp_path / "audits"
    live = ["--bootstrap", cluster.bootstrap, "--topics", "hanging"]
    later = str(time.time_ns() // 1_000_000 + 3_600_000)

    found = audit(out, *live, "--as-of", later, code=1)
    violations = {f["code"] for f in found["findings"] if f["verdict"] == "violation"}
    assert violations == {"hanging_transaction"}
    said = tool("explain", "--out", out, "--topic", "hanging", "--partition", 0)
    commands = re.findall(r"kafka-transactions.sh --bootstrap-server [^;\n]*", said)
    (abort,) = {one.strip() for one in commands if " abort " in one and "start-offset" in one}
    assert abort.endswith("abort --topic hanging --partition 0 --start-offset 42")
    ((kind, planned),) = plans(out)
    assert (kind, planned[-1]) == ("late_write", abort)
    # Its records are saved, and the transaction looked at, before.
    assert [one for one in planned if " export " in one or " describe" in one] == planned[:-1]
    kafkas_tool(cluster, abort)

    again = audit(out, *live, "--as-of", later, code=0)
    assert again["verdict"] == "clean"
    assert "nothing" in tool("explain", "--out", out, "--topic", "hanging", "--partition", 0)


def alter(dump: Path, topic: str, **facts: int) -> None:
    """Changes what the leader said of partition 0 of a topic, at both moments."""
    file = dump / "cluster/broker-answers.json"
    told = json.loads(file.read_text())
    altered = 0
    for one in told["answers"]:
        if one["request"] != "DescribeProducers":
            continue
        for there in one["answer"]["topics"]:
            if there["name"] == topic:
                (partition,) = there["partitions"]
                partition["active_producers"][0] |= facts
                altered += 1
    assert altered == 2
    file.write_text(json.dumps(told))


def test_what_the_leader_says_is_what_its_log_says_and_a_lie_is_found(
    cluster: Cluster, tmp_path: Path
) -> None:
    create(cluster, orders=1)
    write_transactions(cluster, "orders", 4)
    writes = [sys.executable, "-c", WRITES_ON, cluster.bootstrap]
    writer_of_both = subprocess.Popen(writes)
    try:
        live = audit(tmp_path / "live", "--bootstrap", cluster.bootstrap)
    finally:
        writer_of_both.kill()
        writer_of_both.wait()
    assert live["verdict"] == "clean"
    take(cluster, tmp_path / "quiet", "--topics", "orders")
    quiet = audit(tmp_path / "out", "--dump", str(tmp_path / "quiet"))
    assert not [one for one in quiet["findings"] if one["code"].startswith("told_")]
    for facts, code in (
        ({"last_sequence": 5}, "told_producer_mismatch"),
        ({"current_txn_start_offset": 21}, "told_open_mismatch"),
    ):
        lie = tmp_path / code
        shutil.copytree(tmp_path / "quiet", lie / "dump")
        alter(lie / "dump", "orders", **facts)
        told = audit(lie / "out", "--dump", str(lie / "dump"), code=1)
        accused = {one["code"] for one in told["findings"] if one["verdict"] == "violation"}
        assert accused == {code}
