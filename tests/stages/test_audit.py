"""The command as a whole: exit codes, tables, running it again."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from conftest import SAMPLE, SampleAudit
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pyspark.sql import DataFrame, SparkSession

from jobs.audit.audit import Audit
from jobs.audit.write import result_tables
from jobs.main import main
from jobs.report.summary import NOT_ADDED
from jobs.spark.session import INTERPRETED_ROWS, SHUFFLE_PARTITIONS, planned_for
from schemas.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "docs/sample-report"
# What the README shows as the answer of `explain`.
SHOWN = (ROOT / "README.md").read_text("utf-8").split("Output:\n\n```text\n")[1].split("```")[0]
MISTAKES = (
    (["--topic", "hh", "--partition", "0"], "topic hh is not in this audit; did you mean h"),
    (["--topic", "zzz", "--partition", "0"], "it has (the first 20): "),
    (["--topic", "h", "--partition", "9"], "partition 9 of h is not in this audit; it has"),
    (["--topic", "h", "--partition", "0", "--broker", "7"], "there is one on broker 0."),
    (["--incident", "9"], "has no incident 9; it has: 1."),
    (["--topic", "h"], "--topic and --partition, or --incident"),
)


def counts(spark: SparkSession, out: Path) -> dict[str, int]:
    return {
        name: spark.read.format("delta").load(str(out / name)).count()
        for name in TABLES
        if (out / name).exists()
    }


def report_in(folder: Path) -> dict[str, bytes]:
    names = [path.name for path in GOLDEN.iterdir() if path.suffix != ".png"]
    return {name: (folder / name).read_bytes() for name in names}


def but_for_the_code(report: dict[str, bytes]) -> dict[str, bytes]:
    """The files without the identity, which is also of the code, and the sums over them."""
    identity = json.loads(report["verdict.json"])["audit_id"].encode()
    seals = ("SHA256SUMS", "manifest.json")
    return {
        name: content.replace(identity, b"").replace(identity[:12], b"")
        for name, content in report.items()
        if name not in seals
    }


def sums_of(report: dict[str, bytes]) -> str:
    names = sorted(set(report) - {"SHA256SUMS"})
    return "".join(f"{hashlib.sha256(report[name]).hexdigest()}  {name}\n" for name in names)


@pytest.mark.slow
@pytest.mark.spark
def test_the_sample_hangs_and_a_second_run_changes_nothing(
    spark: SparkSession,
    sample_audit: SampleAudit,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = sample_audit.out
    assert sample_audit.code == 1
    assert sample_audit.told.startswith("VIOLATIONS: 1 proven")
    assert "h-0 on broker 0, offsets 59 to 64" in sample_audit.told
    verdict = json.loads((out / "verdict.json").read_text())
    assert verdict["exit_code"] == 1
    golden, report = report_in(GOLDEN), report_in(out)
    assert but_for_the_code(report) == but_for_the_code(golden), (
        "docs/sample-report is stale: run `make sample-report` and commit it"
    )
    assert sorted(golden["SHA256SUMS"].decode().splitlines(keepends=True)) == sorted(
        sums_of(golden).splitlines(keepends=True)
    )
    first = counts(spark, out)
    assert set(first) == set(TABLES)
    assert first["audit"] == 1

    moved = tmp_path / "elsewhere"
    shutil.copytree(SAMPLE, moved)
    policy = tmp_path / "policy"
    shutil.copytree(ROOT / "conf/policy", policy)
    again = [str(policy) if word == "default" else word for word in sample_audit.options]
    capsys.readouterr()
    assert main(["audit", "--dump", str(moved), *again]) == 1
    assert counts(spark, out) == first
    assert report_in(out) == report
    assert capsys.readouterr().out == sample_audit.told.rstrip("\n") + f" {NOT_ADDED}\n"


@pytest.mark.spark
def test_what_is_told_of_an_audit_that_was_there_is_what_is_stored(
    spark: SparkSession,
    sample_audit: SampleAudit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As rules that are not Python files of this program might give others."""
    shutil.copytree(sample_audit.out, tmp_path / "out")

    def without_findings(session: SparkSession, done: Audit) -> dict[str, DataFrame]:
        tables = result_tables(session, done)
        return tables | {"violation": tables["violation"].limit(0)}

    monkeypatch.setattr("jobs.main.result_tables", without_findings)
    again = [*sample_audit.options, "--out", str(tmp_path / "out")]
    assert main(["audit", "--dump", str(SAMPLE), *again]) == 1
    said = capsys.readouterr().out
    assert "h-0 on broker 0, offsets 59 to 64" in said
    assert said.endswith(f"{NOT_ADDED}\n")
    # The report of an audit that was finished later stays, and is not told as that of this one.
    report = tmp_path / "out/verdict.json"
    stored = json.loads(report.read_text())
    newer = stored | {"audit_id": "newer", "audit_number": stored["audit_number"] + 1}
    report.write_text(json.dumps(newer))
    assert main(["audit", "--dump", str(SAMPLE), *again]) == 1
    assert json.loads(report.read_text()) == newer
    where = (
        f"Tables are in {tmp_path / 'out'} (audit {stored['audit_id']}), its report is not: "
        f"`report --out {tmp_path / 'out'} --audit {stored['audit_id']} --format html --to FOLDER` "
        "writes it."
    )
    assert capsys.readouterr().out.endswith(f"{where} {NOT_ADDED}\n")
    assert main(["report", "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().out.endswith(f"{where}\n")


@pytest.mark.spark
def test_other_code_audits_the_same_dump_anew_and_finds_nothing_new(
    spark: SparkSession,
    sample_audit: SampleAudit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    shutil.copytree(sample_audit.out, out)
    before = json.loads((out / "verdict.json").read_text())["audit_id"]
    for module in ("identity", "write"):
        monkeypatch.setattr(f"jobs.audit.{module}.code_digest", lambda: "other")
    (tmp_path / "few.toml").write_text("[run]\nexamples_per_code = 0\n")
    again = [*sample_audit.options, "--out", str(out), "--config", str(tmp_path / "few.toml")]
    assert main(["audit", "--dump", str(SAMPLE), *again]) == 1
    said = capsys.readouterr().out
    assert NOT_ADDED not in said
    told = (
        f"Since audit {before} (the same files, by other code of eosaudit): "
        "new findings: none; no longer there: none."
    )
    assert told in said
    verdict = json.loads((out / "verdict.json").read_text())
    # The report of --out stays that of the newest; as many examples are shown as the audit has.
    older = ["report", "--out", str(out), "--audit", before]
    assert main([*older, "--format", "json"]) == 2
    assert "whose report would be replaced: name another folder" in capsys.readouterr().err
    (tmp_path / "link").symlink_to(out)
    for same in (str(out), f"{out}/.", str(tmp_path / "link")):
        assert main([*older, "--format", "json", "--to", same]) == 2
    assert "whose report would be replaced: name another folder" in capsys.readouterr().err
    assert json.loads((out / "verdict.json").read_text()) == verdict
    assert main([*older, "--format", "json", "--to", str(tmp_path / "old")]) == 1
    assert json.loads((tmp_path / "old/verdict.json").read_text())["audit_id"] == before
    report = (out / "report.json").read_bytes()
    assert json.loads(report)["findings"] == []
    newest = ["report", "--out", str(out), "--dump", str(SAMPLE), "--format", "json"]
    assert main([*newest, "--audit", verdict["audit_id"]]) == 1
    assert (out / "report.json").read_bytes() == report
    (tmp_path / "more.toml").write_text("[run]\nexamples_per_code = 1\n")
    assert main([*newest, "--config", str(tmp_path / "more.toml")]) == 1
    assert len(json.loads((out / "report.json").read_bytes())["findings"]) == 1
    assert verdict["audit_id"] != before
    assert verdict["since"]["differs"] == ["code"]
    assert [one["new"] for one in verdict["incidents"]] == [False]


@pytest.mark.spark
def test_a_policy_is_judged_stored_and_told_again(
    spark: SparkSession,
    sample_audit: SampleAudit,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = sample_audit.out
    # Of the partition alone nothing can be proven: another audit, and without a policy a clean one.
    later = ["--dump", str(SAMPLE / "broker-0/h-0"), "--out", str(out), "--quiet"]
    assert main(["audit", *later]) == 0
    clean = json.loads((out / "verdict.json").read_text())
    assert clean["policy"] is None
    assert clean["audit_number"] == 2
    assert clean["since"]["gone"]["violation"] == 1
    assert "Over time" in (out / "report.html").read_text()

    told = {}
    for row in spark.read.format("delta").load(str(out / "expectation_result")).collect():
        told[row.suite, row.number] = (row.severity, row.status)
    failed = {place: result for place, result in told.items() if result[1] != "met"}
    assert failed == {
        ("finding_count", 1): ("error", "failed"),
        ("topic_state", 2): ("warning", "failed"),
    }
    assert f"Acceptance policy: 2 of {len(told)} not met" in sample_audit.told
    audits = spark.read.format("delta").load(str(out / "audit"))
    (judged,) = audits.filter("exit_code = 1").select("audit_id").collect()
    capsys.readouterr()
    assert main(["report", "--out", str(out), "--audit", judged.audit_id]) == 1
    *again, place = capsys.readouterr().out.splitlines()
    assert again == sample_audit.told.splitlines()[:-1]
    # The files in the folder are those of the later audit.
    assert f"(audit {judged.audit_id}), its report is not: " in place

    strict = tmp_path / "strict"
    strict.mkdir()
    again = ["report", "--out", str(out), "--audit", clean["audit_id"], "--policy", str(strict)]
    open_ones = {"column": "open_transactions", "value_set": [0]}
    kind = "expect_column_values_to_be_in_set"
    suite = {"name": "x", "expectations": [{"type": kind, "kwargs": open_ones}]}
    (strict / "partition_state.open.json").write_text(json.dumps(suite))
    assert main(again) == 1
    assert "NOT ACCEPTED" in (accepted := capsys.readouterr().out)
    assert "open_transactions=1, partition=0, topic=h" in accepted
    (strict / "partition_state.open.json").write_text(json.dumps(suite).replace("open_t", "t"))
    assert main(again) == 3
    assert "there is no column transactions; did you mean" in capsys.readouterr().out


@pytest.mark.spark
def test_the_sample_is_explained_and_its_report_made_again(
    spark: SparkSession,
    sample_audit: SampleAudit,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    audits = spark.read.format("delta").load(str(sample_audit.out / "audit"))
    (judged,) = audits.filter("exit_code = 1").select("audit_id").collect()
    one = ["--out", str(sample_audit.out), "--audit", judged.audit_id]
    capsys.readouterr()
    assert main(["explain", *one, "--topic", "h", "--partition", "0"]) == 0
    explained = capsys.readouterr().out
    assert SHOWN in explained, explained
    assert "hanging_transaction (violation)" in explained
    assert main(["explain", *one, "--incident", "1"]) == 0
    incident = capsys.readouterr().out
    assert incident.startswith("Incident 1: Data were written outside of every transaction")
    assert "records_blocked: h-0 on broker 0, offsets 59 to 125, 49 records" in incident
    assert "abort --topic h --partition 0 --start-offset 59" in incident
    for wrong, hint in MISTAKES:
        assert main(["explain", *one, *wrong]) == 2
        assert hint in capsys.readouterr().err

    made, key = tmp_path / "made again", tmp_path / "key.pem"
    key.write_bytes(
        Ed25519PrivateKey.generate().private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
    )
    files = ["--format", "html", "--format", "junit", "--dump", str(SAMPLE), "--to", str(made)]
    assert main(["report", *one, *files, "--sign-key", str(key)]) == 1
    names = ("report.html", "report.junit.xml", "verdict.json")
    again = but_for_the_code({name: (made / name).read_bytes() for name in names})
    golden = but_for_the_code(report_in(GOLDEN))
    assert again == {name: golden[name] for name in names}
    assert "manifest.sig" in {path.name for path in made.iterdir()}
    assert main(["report", *one, *files]) == 1
    assert "manifest.sig" not in {path.name for path in made.iterdir()}


@pytest.mark.spark
def test_few_rows_get_few_tasks_and_many_rows_what_the_user_gave(spark: SparkSession) -> None:
    before = spark.conf.get(SHUFFLE_PARTITIONS)
    for given, few in (("200", "2"), ("1", "1")):
        spark.conf.set(SHUFFLE_PARTITIONS, given)
        with planned_for(spark, INTERPRETED_ROWS):
            assert spark.conf.get(SHUFFLE_PARTITIONS) == few
        with planned_for(spark, INTERPRETED_ROWS + 1):
            assert spark.conf.get(SHUFFLE_PARTITIONS) == given
        assert spark.conf.get(SHUFFLE_PARTITIONS) == given
    spark.conf.set(SHUFFLE_PARTITIONS, before)


def test_what_is_no_dump_is_told_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "copies", tmp_path / "out"
    folder.mkdir()
    (folder / "readme.txt").write_text("no dump")
    assert main(["audit", "--dump", str(folder), "--out", str(out)]) == 2
    assert "is not a dump: expected a broker's log directory" in capsys.readouterr().err
    assert not out.exists()


def test_a_policy_that_is_no_folder_is_told_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["audit", "--dump", str(SAMPLE), "--out", str(out), "--policy", "nowhere"]
    assert main(command) == 2
    assert "--policy nowhere: cannot be read: No such file" in capsys.readouterr().err
    assert not out.exists()


def test_an_unknown_option_of_the_configuration_names_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "my.toml"
    config.write_text("[broker]\ntransaction_max_timeout = 5\n")
    command = ["audit", "--dump", str(SAMPLE), "--out", str(tmp_path / "out")]
    assert main([*command, "--config", str(config)]) == 2
    assert "did you mean broker.transaction_max_timeout_ms?" in capsys.readouterr().err


def test_an_unknown_check_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["checks", "sequence_gaps"]) == 2
    assert "Did you mean sequence_gap?" in capsys.readouterr().err
