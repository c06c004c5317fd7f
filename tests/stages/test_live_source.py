"""`audit --bootstrap`: what it asks of take_dump.py, and what it says where that fails."""

import sys
from pathlib import Path

import pytest

from jobs.cli import live
from jobs.cli.arguments import parse
from jobs.cli.live import fetched
from jobs.main import main
from jobs.model.errors import NotFinishedError, UsageError

# Writes down how it was called, makes a manifest, then says and ends as it is told.
PRETENDER = """
import json, pathlib, sys
to = pathlib.Path(sys.argv[sys.argv.index("--to") + 1])
(to / "cluster").mkdir(parents=True, exist_ok=True)
(to / "cluster/dump-manifest.json").write_text(json.dumps({{"begun_ms": 1795236470221}}))
(to / "called").write_text("\\n".join(sys.argv[1:]))
sys.stderr.write({said!r})
sys.exit({code})
"""


def pretend(monkeypatch: pytest.MonkeyPatch, folder: Path, code: int = 0, said: str = "") -> None:
    script = folder / "take_dump.py"
    script.write_text(PRETENDER.format(said=said, code=code))
    monkeypatch.setattr(live, "SCRIPT", script)


def test_the_options_of_a_live_cluster_reach_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, tmp_path)
    out = tmp_path / "out"
    given = ["audit", "--bootstrap", "b:1,c:2", "--out", str(out), "--command-config", "c.p"]
    some = ["--topics", "orders*", "p", "--jobs", "4", "--max-rate", "5M"]
    assert fetched(parse([*given, *some])) == (out / "fetched", 1795236470221)
    assert (out / "fetched/called").read_text().split("\n") == [
        "--to", f"{out}/fetched", "--bootstrap", "b:1,c:2", "--config", "c.p",
        "--topic", "orders*", "--topic", "p", "--jobs", "4", "--max-rate", "5M",
    ]  # fmt: skip
    assert fetched(parse([*given, "--cache", str(tmp_path / "c")])).dump == tmp_path / "c"


@pytest.mark.parametrize(("code", "kind"), [(2, UsageError), (3, NotFinishedError)])
def test_what_the_script_says_is_the_reason(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    code: int,
    kind: type[Exception],
) -> None:
    pretend(monkeypatch, tmp_path, code, "take_dump: 1 of 2\ntake_dump: lost.\ntake_dump: again.\n")
    given = ["audit", "--bootstrap", "b:1", "--out", str(tmp_path / "out")]
    with pytest.raises(kind, match=r"^no dump of b:1: lost\. again$"):
        fetched(parse([*given, "--quiet"]))
    # What stands in a log by itself has its reason, too.
    assert capfd.readouterr().err == ""
    with pytest.raises(kind, match=r"^no dump of b:1: lost\. again$"):
        fetched(parse(given))
    assert capfd.readouterr().err.startswith("take_dump: 1 of 2\ntake_dump: lost.\n")


@pytest.mark.parametrize("servers", ["b", "b:1,c", "b:", ":9092", "b:1,", "http://b:1", "::1:9092"])
def test_servers_without_a_port_are_refused(
    servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["audit", "--out", str(tmp_path / "out"), "--bootstrap"]
    assert main([*given, servers]) == 2
    assert "is not HOST:PORT, such as kafka-1:9092" in capsys.readouterr().err
    for good in ("b:1", "b.example:9092, c:9093", "[::1]:9092"):
        assert parse([*given, good]).bootstrap == good


def test_the_exit_code_tells_whether_the_same_command_may_do_it_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ["audit", "--bootstrap", "b:1", "--out", str(tmp_path / "out"), "--quiet"]
    for code in (2, 3):
        pretend(monkeypatch, tmp_path, code, "take_dump: no.\n")
        assert main(given) == code
        assert capfd.readouterr().err == "eosaudit: no dump of b:1: no\n"


def test_tables_elsewhere_need_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, tmp_path)
    given = ["audit", "--bootstrap", "b:1", "--out", "hdfs:///audits"]
    with pytest.raises(UsageError, match="--cache"):
        fetched(parse(given))
    assert fetched(parse([*given, "--cache", str(tmp_path / "c")])).dump == tmp_path / "c"


def test_a_driver_without_the_checkout_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "SCRIPT", tmp_path / "nowhere.py")
    with pytest.raises(UsageError, match="deploy mode client"):
        fetched(parse(["audit", "--bootstrap", "b:1", "--out", str(tmp_path)]))


def test_without_the_package_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(bare))
    given = ["audit", "--bootstrap", "b:1", "--out", str(tmp_path / "out"), "--quiet"]
    assert main(given) == 2
    (said,) = capfd.readouterr().err.splitlines()
    assert "no dump of b:1: --bootstrap needs the package kafka-python 3" in said
    assert "pip install 'kafka-python>=3,<4'" in said
