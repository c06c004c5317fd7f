"""Whether the dump has all brokers of a cluster: what is proven by a list that may be stale."""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cases import AuditedCases, audit_dump, difference
from log_builder import AS_OF, NEXT_PRODUCER_ID, T0, Case, DumpWriter, LogBuilder
from pyspark.sql import SparkSession

from tests.wire_writer.batches import snapshot_footer

END = (AS_OF - T0) // 1000
MISSING = "missing_marker_in_listed_partition"
# Broker 1 follows, lags, and was copied at 500: the leader may have the marker.
FOLLOWER: dict[str, Any] = {
    "copied_at": 500,
    "log": ["txn pid=1 at=90 n=2"],
    "coordinator": [
        "id=x pid=1 state=Ongoing at=90 start=90 ctv=2",
        "id=x pid=1 epoch=1 state=PrepareCommit at=100 start=90 ctv=2",
        "id=x pid=1 epoch=1 state=CompleteCommit at=101 start=90 ctv=2",
    ],
}
LAGS = {"code": MISSING, "verdict": "inconclusive", "reason": "dump_before_event"}
LOST = {"code": MISSING}
# Retention took the head with the marker of x, if one clock says what was decided before it. The
# event time of the last batch is none of a broker.
HEAD: dict[str, Any] = {
    "first_base": 3,
    "log": ["txn pid=2 at=101", "commit pid=2 at=102", "txn pid=2 at=201", "commit pid=2 at=202",
            "plain at=5000"],
    "coordinator": [
        f"id={name} pid={pid} state={state} at={at} start={start}"
        for name, pid, state, at, start in (
            ("x", 1, "Ongoing", 104, 104),
            ("x", 1, "PrepareCommit", 105, 104),
            ("x", 1, "CompleteCommit", 105.4, 104),
            ("y", 2, "Ongoing", 106, 106),
            ("y", 2, "PrepareCommit", 106.9, 106),
            ("y", 2, "CompleteCommit", 107.1, 106),
            ("y", 2, "Ongoing", 206, 206),
            ("y", 2, "PrepareCommit", 206.9, 206),
            ("y", 2, "CompleteCommit", 207.1, 206),
        )
    ],
}  # fmt: skip
SKEWED = {"code": MISSING, "verdict": "inconclusive", "reason": "clock_skew"}


class Metadata(NamedTuple):
    """A copy of `__cluster_metadata`: brokers in the order in which they joined; its end, s."""

    brokers: tuple[int, ...]
    until: int
    migrated: bool = False
    topic: str = ""  # whose only partition is assigned to all of them, if given


def write_metadata(directory: Path, told: Metadata) -> None:
    log = LogBuilder()
    if told.migrated:
        log.migrate(1)
    for broker in told.brokers:
        log.register_broker(broker)
    if told.topic:
        log.create_topic(told.topic, None)
        log.assign(told.topic, 0, told.brokers)
    log.add(f"ids {NEXT_PRODUCER_ID} at={told.until}")
    folder = directory / "__cluster_metadata-0"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for base, content in log.segments.items():
        (folder / f"{base:020}.log").write_bytes(bytes(content))


def write_broker(directory: Path, number: int, partition: Path) -> None:
    """Another broker of the cluster, with one partition that was copied at 500, too."""
    shutil.move(partition, directory / "other-0")
    (directory / "meta.properties").write_text(f"version=1\nnode.id={number}\ncluster.id=cases\n")
    (directory / "replication-offset-checkpoint").write_text("0\n1\nother 0 2\n")
    copied = [{"path": "other-0", "copy_start_ms": T0 + 500_000}]
    manifest = {"format": 1, "fetched": False, "directories": copied}
    (directory / "dump-manifest.json").write_text(json.dumps(manifest))


def two_brokers(root: Path, case: Case, first: Metadata, second: Metadata) -> None:
    """The case on broker 1, and broker 4 beside it; both run, each with a copy of the list."""
    DumpWriter(root).write([case])
    copied = root / "copied"
    shutil.copytree(root / "clean" / f"{case.topic}-0", copied)
    (root / "second").mkdir()
    write_broker(root / "second", 4, copied)
    shutil.rmtree(root / "live")
    write_metadata(root / "clean", first)
    write_metadata(root / "second", second)
    (root / "clean" / ".kafka_cleanshutdown").unlink()


def differs(spark: SparkSession, folder: Path, case: Case) -> str:
    audited = AuditedCases.of(audit_dump(spark, folder))
    told = difference(case, audited)
    audited.done.release()
    return told


@pytest.mark.spark
@pytest.mark.parametrize(
    ("first", "second", "stopped", "finds"),
    [
        (Metadata((1, 4), 50), Metadata((1, 4), 50), False, LAGS),
        (Metadata((1, 4), 50), Metadata((1, 4, 2), 300), False, LAGS),
        (Metadata((1, 4), 50), Metadata((1, 4), 480), False, LOST),
        (Metadata((1, 4), 50), Metadata((1, 4), 50), True, LOST),
    ],
    ids=[
        "a broker may have joined after the copies of the list",
        "one joined between them",
        "the list is as late as the copies of the partition",
        "the brokers had stopped, however late they were copied",
    ],
)
def test_the_leader_is_in_the_dump_if_the_list_of_brokers_is_as_late(
    spark: SparkSession,
    tmp_path: Path,
    first: Metadata,
    second: Metadata,
    stopped: bool,
    finds: dict[str, str],
) -> None:
    case = Case("lags", 0, FOLLOWER | {"name": "a follower that lags", "finds": [finds]})
    two_brokers(tmp_path, case, first, second)
    for name in ("clean", "second") if stopped else ():
        (tmp_path / name / ".kafka_cleanshutdown").touch()
    assert differs(spark, tmp_path, case) == ""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("told", "stopped", "finds"),
    [
        (Metadata((1,), END, migrated=True), True, SKEWED),
        (Metadata((1,), 50), False, SKEWED),
        (Metadata((1,), END), False, LOST),
    ],
    ids=[
        "brokers of ZooKeeper's days did not register",
        "a broker may have joined after the copy of the list",
        "one broker to the end",
    ],
)
def test_one_clock_wrote_all_if_no_other_broker_ever_was(
    spark: SparkSession, tmp_path: Path, told: Metadata, stopped: bool, finds: dict[str, str]
) -> None:
    case = Case("head", 0, HEAD | {"name": "a head that is deleted", "finds": [finds]})
    DumpWriter(tmp_path).write([case])
    write_metadata(tmp_path / "clean", told)
    if not stopped:
        (tmp_path / "clean" / ".kafka_cleanshutdown").unlink()
    assert differs(spark, tmp_path, case) == ""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("listed_in", "retired"),
    [
        ("checkpoint", ""),
        ("metadata", ""),
        ("checkpoint", "delete"),
        ("metadata", "future"),
        ("", ""),
    ],
)
def test_a_copy_that_is_listed_and_not_there_may_be_the_leaders(
    spark: SparkSession, tmp_path: Path, listed_in: str, retired: str
) -> None:
    """It may lie in a log directory that was not copied, also where another one has it retired."""
    finds = LAGS if listed_in else LOST
    case = Case("lags", 0, FOLLOWER | {"name": "a follower that lags", "finds": [finds]})
    told = Metadata((1, 4), 480, topic="lags.0" if listed_in == "metadata" else "")
    two_brokers(tmp_path, case, told, told)
    if listed_in == "checkpoint":
        both = f"0\n2\nother 0 2\n{case.topic} 0 3\n"
        (tmp_path / "second" / "replication-offset-checkpoint").write_text(both)
    if retired:
        beside = tmp_path / "second" / f"{case.topic}-0.{'a' * 32}-{retired}"
        beside.mkdir()
        shutil.copy(tmp_path / "clean" / f"{case.topic}-0" / f"{0:020}.log", beside)
    assert differs(spark, tmp_path, case) == ""


@pytest.mark.spark
def test_a_list_is_not_as_late_as_copies_that_nobody_dated(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = {name: value for name, value in FOLLOWER.items() if name != "copied_at"}
    given |= {"alone": True, "before": True, "name": "of no moment", "finds": [LAGS]}
    case = Case("undated", 0, given)
    two_brokers(tmp_path, case, Metadata((1, 4), 300), Metadata((1, 4), 300))
    for folder in (tmp_path / "clean").glob("clock-*"):
        shutil.rmtree(folder)
    assert differs(spark, tmp_path, case) == ""


@pytest.mark.spark
def test_between_log_and_snapshot_a_broker_may_have_come_and_gone(
    spark: SparkSession, tmp_path: Path
) -> None:
    case = Case("head", 0, HEAD | {"name": "a head that is deleted", "finds": [SKEWED]})
    DumpWriter(tmp_path).write([case])
    write_metadata(tmp_path / "clean", Metadata((1,), END))
    folder = tmp_path / "clean" / "__cluster_metadata-0"
    (snapshot,) = folder.glob("*.log")
    with snapshot.open("ab") as end:
        end.write(snapshot_footer(500, AS_OF))
    snapshot.rename(folder / f"{500:020}-0000000001.checkpoint")
    write_metadata(tmp_path / "log", Metadata((1,), 50))
    for log in (tmp_path / "log" / folder.name).glob("*.log"):
        shutil.move(log, folder)
    shutil.rmtree(tmp_path / "log")
    (tmp_path / "clean" / ".kafka_cleanshutdown").unlink()
    assert differs(spark, tmp_path, case) == ""
