"""A broker that holds partitions 0 and 1 of four of `__transaction_state`, and lists no others.

The ids there fit two partitions as well as four (`hash % 2` is `hash % 4` where that is below 2).
"""

import shutil
from pathlib import Path
from typing import Any

import log_builder
import pytest
from cases import AuditedCases, audit_dump
from log_builder import Case, DumpWriter
from pyspark.sql import SparkSession

IDS = 12
PARTITIONS = 4
TXN_LOG = "__transaction_state"


def open_case(number: int) -> Case:
    """A producer that has a transaction open, of which its coordinator knows; timeout one hour."""
    at = -1000
    given: dict[str, Any] = {
        "name": f"open {number}",
        "log": [
            "txn pid=1 at=-2000",
            "commit pid=1 at=-1999",
            f"txn pid=1 at={at}",
            "plain at=590",
        ],
        "coordinator": [
            "id=x pid=1 state=Ongoing at=-2000 timeout=3600000",
            "id=x pid=1 state=PrepareCommit start=-2000 at=-1999.5 timeout=3600000",
            "id=x pid=1 state=CompleteCommit start=-2000 at=-1998 timeout=3600000",
            f"id=x pid=1 state=Ongoing at={at} start={at} timeout=3600000",
            "id=y pid=2 state=Empty at=595 timeout=3600000",
        ],
        "finds": [],
    }
    return Case("c", number, given)


def verdicts(spark: SparkSession, dump: Path) -> set[tuple[str, str, str | None]]:
    audited = AuditedCases.of(audit_dump(spark, dump))
    found = {
        (one["code"], one["verdict"], one["reason"])
        for findings in audited.findings.values()
        for one in findings
        if one["code"] == "hanging_transaction"
    }
    audited.done.release()
    return found


def keep(broker: Path, partitions: int) -> None:
    """Takes the others from the broker and from its checkpoints."""
    for folder in broker.glob(f"{TXN_LOG}-*"):
        if int(folder.name.rpartition("-")[2]) >= partitions:
            shutil.rmtree(folder)
    for file in broker.glob("*-checkpoint"):
        version, _, *entries = file.read_text().splitlines()
        held = [
            one
            for one in entries
            if not one.startswith(f"{TXN_LOG} ") or int(one.split(" ")[1]) < partitions
        ]
        file.write_text("\n".join([version, str(len(held)), *held, ""]))


@pytest.mark.spark
def test_ids_of_a_part_do_not_show_that_nobody_owns_what_is_open(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_builder, "COORDINATOR_PARTITIONS", PARTITIONS)
    DumpWriter(tmp_path).write([open_case(number) for number in range(IDS)])
    broker = tmp_path / "clean"
    shutil.rmtree(tmp_path / "live")
    shutil.rmtree(broker / "__cluster_metadata-0")
    assert verdicts(spark, tmp_path) == set()
    keep(broker, 2)
    assert verdicts(spark, tmp_path) == {
        ("hanging_transaction", "inconclusive", "txnlog_not_dumped")
    }
