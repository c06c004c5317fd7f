"""doctor, and an audit, where the workers lack something: a sentence, never a stack trace."""

import sys
import venv
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.cli.commands.doctor import check_out, examine
from jobs.main import main
from jobs.model.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests/dumps/hanging-sample"

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """This Python without a single package."""
    folder = tmp_path_factory.mktemp("bare")
    venv.EnvBuilder(symlinks=True).create(folder)
    return str(folder / "bin" / "python")


def use_python(monkeypatch: pytest.MonkeyPatch, spark: SparkSession, python: str) -> None:
    """From now on workers are started with it."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python)


def test_nothing_is_missing_here_and_the_trial_leaves_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    text, code = examine(spark, [SAMPLE], str(tmp_path / "out"))
    assert code == 0, text
    assert "Nothing is missing" in text
    assert sys.version.split()[0] in text
    assert list((tmp_path / "out").iterdir()) == []


def test_every_missing_package_of_a_worker_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, bare_python: str
) -> None:
    use_python(monkeypatch, spark, bare_python)
    text, code = examine(spark, [], None)
    assert code == 3
    for package in ("pyarrow", "numpy", "numba"):
        (line,) = [line for line in text.splitlines() if f"{package} cannot be imported" in line]
        assert line.startswith("  - executors: ")
        assert bare_python in line


def test_a_worker_that_does_not_start_is_a_sentence(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_python(monkeypatch, spark, "/nowhere/python3")
    text, code = examine(spark, [], None)
    assert code == 3
    assert "the executors cannot start Python: /nowhere/python3 does not exist there" in text
    assert "\tat " not in text


def test_folders_that_cannot_be_used_are_named(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    text, code = examine(spark, [tmp_path / "absent"], None)
    assert code == 3
    assert f"there is no folder {tmp_path}/absent" in text
    text, code = examine(spark, [], str(tmp_path / "file/out"))
    assert code == 3
    assert "no table can be written there" in text


@pytest.mark.parametrize(
    ("out", "code", "said"),
    [
        ("s3://bucket/audits", 2, "Spark has no file system for s3://; write s3a://"),
        ("odd://bucket/audits", 2, "Spark has no file system for odd://."),
        ("hdfs://127.0.0.1:1/audits", 3, "no table can be written there: "),
    ],
)
def test_an_output_that_cannot_be_written_is_told_before_anything_is_read(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    out: str,
    code: int,
    said: str,
) -> None:
    monkeypatch.setattr("jobs.main.decode", None)
    for command in ("audit", "export"):
        assert main([command, "--dump", str(SAMPLE), "--out", out, "--quiet"]) == code
        (line,) = capsys.readouterr().err.splitlines()
        assert f"--out {out}: no table can be written there: " in line
        assert said in line


def test_an_audit_ends_incomplete_and_says_what_the_workers_lack(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    bare_python: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    use_python(monkeypatch, spark, bare_python)
    command = ["audit", "--dump", str(SAMPLE), "--out", str(tmp_path / "out"), "--quiet"]
    assert main(command) == 3
    said = capsys.readouterr().err.splitlines()
    assert "executors' Python lacks" in said[-1]
    assert not any(line.startswith("Traceback") for line in said)


def test_a_folder_that_cannot_be_written_is_refused_before_the_audit(
    spark: SparkSession, tmp_path: Path
) -> None:
    check_out(spark, str(tmp_path / "not/there/yet"))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(UsageError, match="nothing can be written there"):
            check_out(spark, str(out))
