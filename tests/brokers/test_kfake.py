"""take_dump.py --bootstrap against a broker that is not Kafka: for `make test-kfake`, with Go."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from brokers.kafka_broker import ROOT
from brokers.test_fetched_dump import manifest, take, write_transactions

from jobs.collect.collect import collect

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")
pytestmark = [
    pytest.mark.skipif("EOSAUDIT_KFAKE" not in os.environ, reason="make test-kfake runs it"),
    pytest.mark.skipif(shutil.which("go") is None, reason="kfake is built with Go"),
]

from kafka import KafkaConsumer  # noqa: E402

sys.path.insert(1, str(ROOT / "scripts"))
from _protocol_log import batches  # noqa: E402


@pytest.fixture(scope="module")
def kfake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    program = tmp_path_factory.mktemp("kfake") / "kfake"
    source = ROOT / "tests/brokers/kfake"
    subprocess.run(["go", "build", "-o", program, "."], cwd=source, check=True)
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    yield SimpleNamespace(bootstrap=process.stdout.readline().strip())
    process.stdin.close()
    process.wait(20)


def received(bootstrap: str) -> int:
    """How many records of all a consumer gets, those of aborted transactions included."""
    consumer = KafkaConsumer(
        "orders", bootstrap_servers=bootstrap, auto_offset_reset="earliest",
        consumer_timeout_ms=3000, group_id=None,
    )  # fmt: skip
    number = sum(1 for _ in consumer)
    consumer.close()
    return number


def test_batches_of_another_engine_arrive_and_a_second_run_fetches_nothing(
    kfake: Any, tmp_path: Path
) -> None:
    write_transactions(kfake, "orders", 8)
    take(kfake, tmp_path, "--topics", "orders")
    told = manifest(tmp_path)
    assert (told["finished"], told["not_fetched"], told["events"]) == (True, [], [])
    records = controls = 0
    for entry in told["directories"]:
        content = (tmp_path / "cluster" / entry["path"] / f"{0:020}.log").read_bytes()
        there = list(batches(content))
        assert there[-1].end == len(content)
        ends = [0, *(one.last + 1 for one in there)]
        assert [one.first for one in there] == ends[:-1] and ends[-1] == entry["end_offset"]
        for one in there:
            control = content[one.start + 22] & 0x20 != 0
            controls += control
            records += 0 if control else int.from_bytes(content[one.start + 57 : one.start + 61])
    assert records == received(kfake.bootstrap) == 160
    assert controls == 16
    assert collect([tmp_path]).unreadable == []

    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.log")}
    assert "0 MB" in take(kfake, tmp_path, "--topics", "orders")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.log")} == files
    answers = json.loads((tmp_path / "cluster/broker-answers.json").read_text())["answers"]
    assert {one["request"] for one in answers if "answer" in one} >= {"ListOffsets", "ApiVersions"}
