"""`audit --bootstrap` against a real broker, through spark-submit.sh: for `make test-brokers`."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from brokers.kafka_broker import ROOT, Cluster
from brokers.test_fetched_dump import create, write_transactions

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")
pytestmark = pytest.mark.skipif(
    "EOSAUDIT_BROKERS" not in os.environ, reason="make test-brokers runs it"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster("4.1.0", tmp_path_factory.mktemp("brokers"))
    try:
        yield started.start_all()
    finally:
        started.stop_all()


def audit(out: Path, *options: str, code: int = 0) -> dict[str, Any]:
    """Runs the command of the manual; the verdict."""
    done = subprocess.run(
        [ROOT / "spark-submit.sh", "audit", *options, "--out", str(out), "--quiet"],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
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
