"""What cases cannot say: a part of the coordinator's log, a shorter expiry of producer state."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cases import AuditedCases, difference
from log_builder import AS_OF, COORDINATOR_TOPIC, Case, DumpWriter
from pyspark.sql import SparkSession

from jobs.audit.audit import Request
from jobs.cli.progress import Progress
from jobs.main import audit
from jobs.model.settings import load

AN_HOUR_MS = 3_600_000

# The coordinator runs this transaction, in whichever partition of its log the id lies.
RUNNING: dict[str, Any] = {
    "log": ["txn pid=1 seq=0 n=2 at=-3600"],
    "coordinator": ["id=x pid=1 state=Ongoing partitions=this timeout=7200000 at=-3600"],
}
NOT_DUMPED: dict[str, Any] = {
    "name": "its coordinator's partition is not in the dump",
    "finds": [
        {"code": "hanging_transaction", "verdict": "inconclusive", "reason": "txnlog_not_dumped"},
        {"code": "lso_stuck", "verdict": "suspect"},
    ],
}
DUMPED: dict[str, Any] = {
    "name": "its coordinator's partition is in the dump",
    "finds": [
        {"code": "txnlog_timeout_invalid", "verdict": "inconclusive"},
    ],
}
TOO_FAR: dict[str, Any] = {
    "name": "two batches of one producer, two hours apart",
    "info": True,
    "log": ["data pid=1 seq=0 n=1 at=-7300", "data pid=1 seq=1 n=1 at=-100"],
    "finds": [{"code": "producer_timestamp_expired_state", "verdict": "suspect"}],
}
NEAR: dict[str, Any] = {
    "name": "two batches of one producer, less than an hour apart",
    "info": True,
    "log": ["data pid=1 seq=0 n=1 at=-3600", "data pid=1 seq=1 n=1 at=-100"],
    "finds": [],
}


def keep_one_partition(folder: Path, identity: str) -> None:
    """Of the coordinator's log only the partition with the id."""
    for partition in folder.glob(f"clean/{COORDINATOR_TOPIC}-*"):
        if not any(identity.encode() in log.read_bytes() for log in partition.glob("*.log")):
            shutil.rmtree(partition)


@pytest.mark.spark
def test_one_partition_of_the_coordinators_log_and_an_expiry_of_one_hour(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = [RUNNING | NOT_DUMPED, RUNNING | DUMPED, TOO_FAR, NEAR]
    cases = [Case("part", number, {"coordinator": []} | one) for number, one in enumerate(given)]
    DumpWriter(tmp_path).write(cases)
    keep_one_partition(tmp_path, "part.1.x")
    settings = replace(load(None), producer_id_expiration_ms=AN_HOUR_MS)
    request = Request([tmp_path], "unused", AS_OF, "records", settings)
    audited = AuditedCases.of(audit(spark, request, Progress(None, quiet=True)))
    assert [difference(one, audited) for one in cases] == [""] * len(cases)
    audited.done.release()
