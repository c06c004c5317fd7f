"""A broker comes back without a partition of `__transaction_state`, and makes it anew."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from cases import AuditedCases, audit_dump
from log_builder import COORDINATOR_PARTITIONS, Case, DumpWriter
from pyspark.sql import SparkSession

CASES = 2 * COORDINATOR_PARTITIONS
LOST = 2
TXN_LOG = "__transaction_state"
FIRST = "00000000000000000000.log"


def committed(number: int) -> Case:
    """Two ids commit one after the other, in one partition; the second aborts once, too."""
    given: dict[str, Any] = {
        "name": f"committed {number}",
        "log": [
            "txn pid=1 at=-2000",
            "commit pid=1 epoch=1 at=-1999",
            "txn pid=2 at=-1900",
            "commit pid=2 epoch=1 at=-1899",
            "txn pid=2 epoch=1 at=-1800",
            "abort pid=2 epoch=2 at=-1799",
        ],
        "coordinator": [
            *decided("x", 1, 1, "Commit", -2000),
            *decided("y", 2, 1, "Commit", -1900),
            *decided("y", 2, 2, "Abort", -1800),
        ],
        "finds": [],
    }
    return Case("c", number, given)


def decided(name: str, pid: int, epoch: int, outcome: str, at: int) -> list[str]:
    begun = [f"id={name} pid={pid} state=Empty at={at - 2}"] if epoch == 1 else []
    same = f"ctv=2 start={at - 1}"
    return [
        *begun,
        f"id={name} pid={pid} state=Ongoing epoch={epoch - 1} {same} at={at - 1}",
        f"id={name} pid={pid} state=Prepare{outcome} epoch={epoch} {same} at={at}",
        f"id={name} pid={pid} state=Complete{outcome} epoch={epoch} {same} at={at + 2}",
    ]


def found(spark: SparkSession, dump: Path) -> list[tuple[str, str, int]]:
    audited = AuditedCases.of(audit_dump(spark, dump))
    rows = [
        (one["code"], one["verdict"], one["offset_last"])
        for findings in audited.findings.values()
        for one in findings
    ]
    audited.done.release()
    return sorted(rows)


def begin_anew(broker: Path) -> Path:
    """The folder of the partition, with an empty log and no more; also for the checkpoints."""
    folder = broker / f"{TXN_LOG}-{LOST}"
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / FIRST).touch()
    set_end(broker, 0)
    return folder


def set_end(broker: Path, end: int) -> None:
    for file in broker.glob("*-checkpoint"):
        at_end = re.sub(rf"(?m)^({TXN_LOG} {LOST}) \d+$", rf"\1 {end}", file.read_text())
        file.write_text(at_end)


@pytest.mark.spark
def test_markers_of_its_ids_lack_their_decision(spark: SparkSession, tmp_path: Path) -> None:
    DumpWriter(tmp_path).write([committed(number) for number in range(CASES)])
    broker = tmp_path / "clean"
    shutil.rmtree(tmp_path / "live")
    assert found(spark, tmp_path) == []
    folder = begin_anew(broker)
    lost = found(spark, tmp_path)
    # Of a case whose other id lies elsewhere: the markers behind that of the other one.
    cases = len(lost) // 2
    commit, abort = (("marker_without_prepare", "violation", offset) for offset in (3, 5))
    assert cases and lost == [commit] * cases + [abort] * cases
    # Of a log of which nothing is left there is no saying what it had.
    (folder / "00000000000000000500.log").touch()
    set_end(broker, 500)
    assert found(spark, tmp_path) == []
