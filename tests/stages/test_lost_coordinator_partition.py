"""A broker comes back without a partition of `__transaction_state`, and makes it anew."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from cases import AuditedCases, audit_dump
from log_builder import COORDINATOR_PARTITIONS, Case, DumpWriter
from pyspark.sql import SparkSession

from jobs.model import decoded

CASES = 2 * COORDINATOR_PARTITIONS
TRANSACTIONS = 5
LOST = 2
TXN_LOG = "__transaction_state"
FIRST = "00000000000000000000.log"


def committed(number: int) -> Case:
    """Two ids, one after the other, in one partition: each commits, and aborts at last."""
    of_x, of_y = ended("x", 1, -3000), ended("y", 2, -2000)
    given: dict[str, Any] = {
        "name": f"committed {number}",
        "log": [line for one in (*of_x, *of_y) for line in one[0]],
        "coordinator": [line for one in (*of_x, *of_y) for line in one[1]],
        "finds": [],
    }
    return Case("c", number, given)


def ended(name: str, pid: int, first: int) -> list[tuple[list[str], list[str]]]:
    """Of each transaction of an id: its data and marker, and the records of the coordinator."""
    found = []
    for epoch in range(TRANSACTIONS):
        at, outcome = first + 100 * epoch, "Abort" if epoch == TRANSACTIONS - 1 else "Commit"
        log = [
            f"txn pid={pid} epoch={epoch} at={at}",
            f"{outcome.lower()} pid={pid} epoch={epoch + 1} at={at + 1}",
        ]
        of_id, same = f"id={name} pid={pid}", f"ctv=2 start={at - 1}"
        records = [
            f"{of_id} state=Ongoing epoch={epoch} {same} at={at - 1}",
            f"{of_id} state=Prepare{outcome} epoch={epoch + 1} {same} at={at}",
            f"{of_id} state=Complete{outcome} epoch={epoch + 1} {same} at={at + 2}",
        ]
        begun = [f"{of_id} state=Empty at={at - 2}"] if epoch == 0 else []
        found.append((log, begun + records))
    return found


def found(spark: SparkSession, dump: Path) -> list[tuple[str, str, int]]:
    audited = AuditedCases.of(audit_dump(spark, dump))
    packs = decoded.FEW_FOLDED == 0
    assert (audited.done.read.decoded.plain is not None) == packs
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
@pytest.mark.parametrize("packed", [False, True], ids=["as rows", "packed"])
def test_markers_of_its_ids_lack_their_decision(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    if packed:
        monkeypatch.setattr(decoded, "FEW_FOLDED", 0)
    DumpWriter(tmp_path).write([committed(number) for number in range(CASES)])
    broker = tmp_path / "clean"
    shutil.rmtree(tmp_path / "live")
    assert found(spark, tmp_path) == []
    folder = begin_anew(broker)
    lost = found(spark, tmp_path)
    # Of a case whose other id lies elsewhere: the markers behind those of the other one.
    cases = len(lost) // TRANSACTIONS
    behind = [2 * (TRANSACTIONS + one) + 1 for one in range(TRANSACTIONS)]
    named = [("marker_without_prepare", "violation", offset) for offset in behind]
    assert cases and lost == sorted(cases * named)
    # Of a log of which nothing is left there is no saying what it had.
    (folder / "00000000000000000500.log").touch()
    set_end(broker, 500)
    assert found(spark, tmp_path) == []
