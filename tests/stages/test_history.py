"""docs/history.md: every snippet runs as it stands there, and the trend is the same everywhere."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from conftest import SampleAudit
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from schemas.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/history.md").read_text(), re.DOTALL)
TREND = (ROOT / "conf/trend.sql").read_text()


def run(snippet: str, out: Path, folder: Path) -> str:
    program = folder / "snippet.py"
    program.write_text(snippet.replace("/audits", str(out)))
    done = subprocess.run(
        [sys.executable, str(program)],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.spark
def test_the_tables_are_read_without_spark(
    spark: SparkSession,
    sample_audit: SampleAudit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "audits"
    shutil.copytree(sample_audit.out, out)
    in_spark, findings, lags, trend, retention = SNIPPETS
    hanging = "{'code': 'hanging_transaction', 'verdict': 'violation', 'findings': 1}"
    assert hanging in run(findings, out, tmp_path)
    assert run(lags, out, tmp_path).startswith("[('h', 0, 0, ")

    space: dict[str, Any] = {"spark": spark}
    monkeypatch.chdir(ROOT)
    exec(in_spark.replace("/audits", str(out)), space)
    by_spark = [tuple(row) for row in space["trend"].collect()]
    assert run(trend, out, tmp_path) == "".join(f"{row}\n" for row in by_spark)

    assert DeltaTable(str(out / "txn")).file_uris() != []
    run(retention.replace("1764547200000", str(2**62)), out, tmp_path)
    assert DeltaTable(str(out / "txn")).file_uris() == []
    assert spark.read.format("delta").load(str(out / "txn")).isEmpty()
    assert DeltaTable(str(out / "partition_state")).file_uris() != []


def test_the_trend_compares_with_the_audit_before() -> None:
    tables = duckdb.connect()
    for name in ("audit", "violation", "partition_state"):
        columns = ", ".join(
            f'"{field.name}" {field.dataType.simpleString()}'
            for field in TABLES[name]
            if field.dataType.typeName() != "array"
        )
        tables.execute(f"CREATE TABLE {name} ({columns})")
    for moment, (audit, errors) in enumerate({"c": 2, "a": 0, "b": 5}.items()):
        tables.execute(
            "INSERT INTO audit (audit_id, as_of_ms) VALUES (?, ?)", [audit, 1000 * (moment + 1)]
        )
        for _ in range(errors):
            tables.execute(
                f"INSERT INTO violation (audit_id, severity, verdict) "
                f"VALUES ('{audit}', 'error', 'violation'), "
                f"('{audit}', 'error', 'suspect'), ('{audit}', 'info', 'violation')"
            )
    tables.execute("""
        INSERT INTO partition_state (audit_id, open_transactions, high_watermark, log_end_offset,
            last_stable_offset, lso_since_ms)
        VALUES ('a', 1, 90, 99, 80, 1500), ('a', 2, NULL, 99, 70, -1), ('b', 0, 9, 9, 9, NULL)
    """)
    told = tables.execute(
        f"SELECT audit_id, errors, errors_more_than_before, open_transactions, lso_lag, "
        f"oldest_open_ms FROM ({TREND})"
    ).fetchall()
    assert told == [
        ("c", 2, None, None, None, None),
        ("a", 0, -2, 3, 29, 500),
        ("b", 5, 5, 0, 0, None),
    ]
