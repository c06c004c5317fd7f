"""The shipped zip in a real executor process."""

import os
import shutil
import subprocess
from pathlib import Path

import pyspark
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.submit
def test_an_executor_runs_the_shipped_zip(tmp_path: Path) -> None:
    # A run that was interrupted leaves its executors' folders.
    work = Path(pyspark.__file__).parent / "work"
    shutil.rmtree(work, ignore_errors=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [
        str(ROOT / "spark-submit.sh"),
        "--master", "local-cluster[1,1,1024]",
        "--conf", f"spark.local.dir={tmp_path / 'scratch'}",
        # Both live for a minute: the second tier of the compiler would cost a quarter of it.
        "--conf", "spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1",
        "--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1",
        "--", "audit", "--dump", str(ROOT / "tests/dumps/hanging-sample"),
        "--out", str(tmp_path / "out"), "--as-of", "1795240070221", "--quiet",
    ]  # fmt: skip
    done = subprocess.run(
        command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    executors = [folder.name for folder in work.glob("app-*/*")]
    shutil.rmtree(work, ignore_errors=True)
    assert done.returncode == 1, done.stderr[-3000:]
    assert done.stdout.startswith("VIOLATIONS: 1 proven")
    assert "Truncated the string" not in done.stderr, "warnings of no consequence are not shown"
    assert executors == ["0"], "the audit did not run on the cluster that was asked for"
