"""The repair plan of an incident, applied to a real broker, mends it: for `make test-brokers`."""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from brokers.kafka_broker import Cluster
from brokers.test_fetched_dump import create, write_transactions
from brokers.test_live_audit import CLOCKS_DIFFER, audit, kafkas_tool, neighbour, plans

pytest.importorskip("kafka", reason="the clients of these tests are those of kafka-python")
pytestmark = pytest.mark.skipif(
    "EOSAUDIT_BROKERS" not in os.environ, reason="make test-brokers runs it"
)

BATCH_HEADER_BYTES = 12  # base offset and length, in front of what the length counts


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster("4.1.0", tmp_path_factory.mktemp("brokers"))
    try:
        yield started.start_all()
    finally:
        started.stop_all()


def lose_last_batch(partition: Path) -> None:
    """The log ends before its newest batch, as if that had never been written."""
    segment = partition / f"{0:020}.log"
    stored, at, last = segment.read_bytes(), 0, 0
    while at < len(stored):
        last, at = at, at + BATCH_HEADER_BYTES + int.from_bytes(stored[at + 8 : at + 12])
    segment.write_bytes(stored[:last])
    for side_file in (*partition.glob("*index"), *partition.glob("*.snapshot")):
        side_file.unlink()


def test_the_plan_for_a_skipped_marker_mends_it(cluster: Cluster, tmp_path: Path) -> None:
    """A transaction that its coordinator aborted, and whose marker the partition never got.

    The logs begin and end further from it than the clocks of two brokers may differ, so what the
    partition lacks is neither older than the log nor under way.
    """
    create(cluster, skipped=1)
    write_transactions(cluster, "skipped", 1, neighbour("skips"))
    time.sleep(CLOCKS_DIFFER)
    write_transactions(cluster, "skipped", 4, "skips")
    cluster.stop(1)
    lose_last_batch(cluster.data() / "skipped-0")
    cluster.start_all()
    time.sleep(CLOCKS_DIFFER)
    write_transactions(cluster, "skipped", 2, neighbour("skips"))
    out, live = tmp_path / "audits", ["--bootstrap", cluster.bootstrap, "--topics", "skipped"]

    found = audit(out, *live, code=1)
    violations = {f["code"] for f in found["findings"] if f["verdict"] == "violation"}
    assert "missing_marker_in_listed_partition" in violations
    ((kind, commands),) = plans(out)
    assert kind == "skipped_markers"
    (abort,) = commands
    assert re.search(r" abort --topic skipped --partition 0 --start-offset 84$", abort)
    kafkas_tool(cluster, abort)
    assert audit(out, *live, code=0)["verdict"] == "clean"
