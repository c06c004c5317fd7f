"""An audit of a remote dump through Spark finds what the audit of the local one finds."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from conftest import SampleAudit
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from storage.s3_fixtures import READER
from storage.s3_server import CLOSED_BUCKET, S3Server

from jobs.cli.commands.doctor import examine
from udfs.storage.dump_path import dump_at

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("reader")]

ROOT = Path(__file__).resolve().parents[2]
TABLES = ("dump_file", "partition_state", "violation", "check_run", "txn")


@pytest.fixture(autouse=True)
def workers(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tasks have the environment of the reader, as spark.executorEnv gives it on a cluster."""
    for name, value in READER.items():
        monkeypatch.setitem(spark.sparkContext.environment, name, value)
    yield


def rows(out: Path, table: str, audit_id: str) -> list[dict[str, Any]]:
    """What an audit has written to a table, in an order of its own."""
    found = DeltaTable(str(out / table)).to_pyarrow_table().to_pylist()
    return sorted((row for row in found if row["audit_id"] == audit_id), key=repr)


def audit_ids(out: Path) -> set[str]:
    """The audits in a folder."""
    return {
        row["audit_id"] for row in DeltaTable(str(out / "audit")).to_pyarrow_table().to_pylist()
    }


@pytest.mark.submit
def test_an_executor_with_the_shipped_zip_reads_the_sample_from_a_server(
    sample_audit: SampleAudit, sample_uri: str, tmp_path: Path
) -> None:
    """A whole `./spark-submit.sh` finds what the audit of the local files finds."""
    out = tmp_path / "out"
    options = [str(out) if one == str(sample_audit.out) else one for one in sample_audit.options]
    # A run that was interrupted leaves its executors' folders.
    work = Path(pyspark.__file__).parent / "work"
    shutil.rmtree(work, ignore_errors=True)
    done = submitted("--dump", sample_uri, *options, folder=tmp_path)
    executors = [folder.name for folder in work.glob("app-*/*")]
    shutil.rmtree(work, ignore_errors=True)
    assert done.returncode == sample_audit.code == 1, done.stderr[-3000:]
    assert executors == ["0"], "the audit did not run on the cluster that was asked for"
    assert "Truncated the string" not in done.stderr, "warnings of no consequence are not shown"
    assert done.stdout.replace(str(out), "OUT") == sample_audit.told.replace(
        str(sample_audit.out), "OUT"
    )
    # The identity digests paths, sizes and content: where the dump lies is no part of it.
    (audit_id,) = audit_ids(out)
    assert audit_id in audit_ids(sample_audit.out)
    for table in TABLES:
        assert rows(out, table, audit_id) == rows(sample_audit.out, table, audit_id), table
    # The bytes of the evidence were taken from the server.
    assert "19: codec lz4, transactional" in (out / "report.json").read_text("utf-8")
    options_of_the_uri = sample_uri.partition("?")[2].encode()
    for file in out.rglob("*"):
        assert not file.is_file() or options_of_the_uri not in file.read_bytes(), file


def submitted(*options: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """An audit on a Spark cluster of one executor, which is a process of its own."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    settings = {
        "spark.local.dir": folder / "scratch",
        # Both live for a minute: the second tier of the compiler would cost a quarter of it.
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        **{f"spark.executorEnv.{name}": value for name, value in READER.items()},
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    command = [ROOT / "spark-submit.sh", "--master", "local-cluster[1,1,1024]", *words]
    return subprocess.run(
        [*command, "--", "audit", *options],
        check=False, cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip


def test_doctor_asks_the_executors_whether_they_reach_a_remote_dump(
    spark: SparkSession, s3: S3Server, sample_uri: str
) -> None:
    text, code = examine(spark, [dump_at(sample_uri)], None)
    assert code == 0, text
    text, code = examine(spark, [dump_at(s3.uri("x", CLOSED_BUCKET))], None)
    assert code == 3
    for who in ("driver", "executors"):
        assert f"  - {who}: s3://closed/x: access is denied; the credentials" in text
