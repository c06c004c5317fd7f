"""The command as a whole: exit codes, tables, running it again."""

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.main import main
from schemas.tables import TABLES

SAMPLE = Path(__file__).resolve().parent.parent / "dumps/hanging-sample"
AN_HOUR_LATER = "1795240070221"
EXPLAINED = (
    "h-0 on broker 0: the last stable offset stands at 59; 67 offsets wait behind it",
    "producer 5, epoch 0, id late-commit-1-0",
    "late-commit-1-0: CompleteCommit, producer 5, epoch 0",
    "What it is: the transaction hangs",
    "abort --topic h --partition 0 --start-offset 59",
    "hanging_transaction (violation)",
)
MISTAKES = (
    (["--topic", "hh", "--partition", "0"], "topic hh is not in this audit; did you mean h"),
    (["--topic", "h", "--partition", "9"], "partition 9 of h is not in this audit; it has"),
    (["--topic", "h", "--partition", "0", "--broker", "7"], "there is one on broker 0."),
)


def counts(spark: SparkSession, out: Path) -> dict[str, int]:
    return {
        name: spark.read.format("delta").load(str(out / name)).count()
        for name in TABLES
        if (out / name).exists()
    }


@pytest.mark.spark
def test_the_sample_hangs_and_a_second_run_changes_nothing(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit", "--dump", str(SAMPLE), "--out", str(tmp_path / "out"), "--quiet"]
    assert main([*command, "--as-of", AN_HOUR_LATER]) == 1
    told = capsys.readouterr().out
    assert told.startswith("VIOLATIONS: 1 proven")
    assert "h-0 on broker 0, offsets 59 to 64" in told
    verdict = json.loads((tmp_path / "out/verdict.json").read_text())
    assert verdict["exit_code"] == 1
    first = counts(spark, tmp_path / "out")
    assert set(first) == set(TABLES)
    assert first["audit"] == 1

    moved = tmp_path / "elsewhere"
    shutil.copytree(SAMPLE, moved)
    again = ["audit", "--dump", str(moved), "--out", str(tmp_path / "out"), "--quiet"]
    assert main([*again, "--as-of", AN_HOUR_LATER]) == 1
    assert counts(spark, tmp_path / "out") == first

    assert main(again) == 0  # seconds after the copy nothing hangs yet: another audit
    both = counts(spark, tmp_path / "out")
    assert both["audit"] == 2
    assert both["partition_state"] == 2 * first["partition_state"]

    capsys.readouterr()
    one = ["--out", str(tmp_path / "out"), "--audit", verdict["audit_id"]]
    assert main(["report", *one]) == 1
    assert capsys.readouterr().out == told

    assert main(["explain", *one, "--topic", "h", "--partition", "0"]) == 0
    explained = capsys.readouterr().out
    for part in EXPLAINED:
        assert part in explained, explained
    for wrong, hint in MISTAKES:
        assert main(["explain", *one, *wrong]) == 2
        assert hint in capsys.readouterr().err


def test_what_is_no_dump_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "readme.txt").write_text("no dump")
    out = tmp_path / "out"
    assert main(["audit", "--dump", str(tmp_path), "--out", str(out)]) == 2
    assert "is no dump: expected a broker's log directory" in capsys.readouterr().err
    assert not out.exists()


def test_an_unknown_option_of_the_configuration_names_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "my.toml"
    config.write_text("[broker]\ntransaction_max_timeout = 5\n")
    command = ["audit", "--dump", str(SAMPLE), "--out", str(tmp_path / "out")]
    assert main([*command, "--config", str(config)]) == 2
    assert "Did you mean transaction_max_timeout_ms?" in capsys.readouterr().err


def test_an_unknown_check_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checks", "sequence_gaps"]) == 2
    assert "Did you mean sequence_gap?" in capsys.readouterr().err
