"""The DAG under a real Airflow: `make test-airflow`, in an environment of its own.

Most runs have a spark-submit.sh that only pretends; the last one audits real dumps with Spark.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.models.asset import AssetEvent, AssetModel
from airflow.utils.session import create_session
from sqlalchemy import select

ROOT = Path(__file__).resolve().parents[2]

# Writes down how it was called, then does what the test says.
FAKE_SUBMIT = """#!/usr/bin/env bash
cd "$(dirname "$0")"
printf '%s\\n' "$*" >>calls
while [[ $1 != --out ]]; do shift; done
out=$2
verdict() {{ mkdir -p "$out"; printf '{{"exit_code": %s, "audit_id": "a1", "version": "0",
    "as_of_ms": 5, "incomplete": ["x"], "findings": [%s]}}' "$1" "${{2:-}}" >"$out/verdict.json"; }}
{behaviour}
"""
BROKEN = '{"code": "sequence_gap", "verdict": "violation", "severity": "error", "count": 4}'


class Run:
    """A finished run of the DAG."""

    def __init__(self, dag: Any, conf: dict[str, Any]) -> None:
        dag.get_task("cluster_audit.verify").retry_delay = timedelta(0)
        self.result = dag.test(run_conf=conf)
        self.states = {
            (task.task_id.rpartition(".")[2], task.map_index): str(task.state)
            for task in self.result.get_task_instances()
        }

    def chain(self, index: int = 0) -> list[str]:
        """States of verify, gate and publish of a cluster."""
        return [self.states[name, index] for name in ("verify", "gate", "publish")]


def load(folder: Path) -> Any:
    """The DAG of a folder, with the checks that Airflow itself makes."""
    bag = DagBag(folder)
    assert bag.import_errors == {}
    assert list(bag.dags) == ["eos_audit"]
    return bag.dags["eos_audit"]


class Pretender:
    """A checkout with the real DAG beside a spark-submit.sh that only pretends."""

    def __init__(self, folder: Path, behaviour: str) -> None:
        self.folder = folder
        (folder / "dags").mkdir()
        shutil.copy(ROOT / "dags/eos_audit.py", folder / "dags")
        script = folder / "spark-submit.sh"
        script.write_text(FAKE_SUBMIT.format(behaviour=behaviour))
        script.chmod(0o755)

    def cluster(self, **more: Any) -> dict[str, Any]:
        return {"name": "east", "dump": ["/d"], "out": str(self.folder / "out")} | more

    def run(self, *clusters: dict[str, Any]) -> Run:
        return Run(load(self.folder / "dags"), {"clusters": list(clusters) or [self.cluster()]})

    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()


@pytest.fixture
def pretend(tmp_path: Path) -> Any:
    return lambda behaviour: Pretender(tmp_path, behaviour)


def test_an_accepted_audit_is_published(pretend: Any, tmp_path: Path) -> None:
    checkout = pretend("verdict 0")
    run = checkout.run(checkout.cluster(
        dump=["/d/{{ dag.dag_id }}", "/e"], policy="/p", config="/c", as_of=5,
        publish=str(tmp_path / "published"),
    ))  # fmt: skip
    assert run.chain() == ["success", "success", "success"]
    (call,) = checkout.calls()
    options, arguments = call.split(" -- ")
    assert options == "--master local[2] --name eosaudit"
    assert arguments == (
        f"audit --quiet --out {tmp_path}/out --dump /d/eos_audit --dump /e "
        "--policy /p --config /c --as-of 5"
    )
    published = json.loads((tmp_path / "published/verdict.json").read_text())
    assert published["exit_code"] == 0


def test_a_live_cluster_needs_no_dump(pretend: Any) -> None:
    checkout = pretend("verdict 0")
    live = {
        "name": "west", "out": str(checkout.folder / "out"), "bootstrap": "kafka-1:9093",
        "command_config": "/c.properties", "cache": "/fetched", "topics": ["orders*", "p"],
    }  # fmt: skip
    assert checkout.run(live).chain() == ["success", "success", "success"]
    (call,) = checkout.calls()
    assert call.split(" -- ")[1] == (
        f"audit --quiet --out {checkout.folder}/out --bootstrap kafka-1:9093 "
        "--command-config /c.properties --cache /fetched --topics orders* p"
    )


def updates(asset: str) -> list[dict[str, Any]]:
    """What was told with each update of an asset, the oldest first."""
    with create_session() as session:
        events = session.scalars(
            select(AssetEvent)
            .join(AssetModel, AssetModel.id == AssetEvent.asset_id)
            .where(AssetModel.name == asset)
            .order_by(AssetEvent.id)
        )
        return [event.extra for event in events]


def test_an_accepted_audit_updates_both_assets_and_a_bad_one_only_that_of_the_tables(
    pretend: Any,
) -> None:
    before = [len(updates(name)) for name in ("eosaudit_tables", "eosaudit_accepted")]
    verdict = f"""case $out in *bad) verdict 1 '{BROKEN}'; exit 1;; *) verdict 0;; esac"""
    checkout = pretend(verdict)
    bad = checkout.cluster(name="bad", out=str(checkout.folder / "bad"))
    checkout.run(checkout.cluster(), bad)
    assert len(updates("eosaudit_tables")) == before[0] + 2
    told = updates("eosaudit_accepted")[before[1] :]
    assert told == [{"cluster": "east", "audit_id": "a1", "as_of_ms": 5, "version": "0"}]


def test_a_bad_verdict_is_not_tried_again_and_not_published(pretend: Any) -> None:
    checkout = pretend(f"verdict 1 '{BROKEN}'; exit 1")
    run = checkout.run()
    assert run.chain() == ["success", "failed", "upstream_failed"]
    assert len(checkout.calls()) == 1
    assert str(run.result.state) == "failed"


def test_a_lost_driver_is_tried_again(pretend: Any) -> None:
    checkout = pretend("(( $(wc -l <calls) > 1 )) || exit 1\nverdict 0")
    run = checkout.run()
    assert run.chain() == ["success", "success", "success"]
    assert len(checkout.calls()) == 2


def test_a_driver_that_stays_lost_is_no_verdict_even_where_an_old_one_lies(
    pretend: Any, tmp_path: Path
) -> None:
    checkout = pretend("exit 1")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/verdict.json").write_text('{"exit_code": 0}')
    run = checkout.run()
    assert run.chain() == ["failed", "upstream_failed", "upstream_failed"]
    assert len(checkout.calls()) == 3


def test_a_cluster_that_reports_success_without_a_verdict_is_not_believed(pretend: Any) -> None:
    assert pretend("exit 0").run().chain()[0] == "failed"


def test_an_incomplete_audit_is_tried_again(pretend: Any) -> None:
    checkout = pretend("verdict 3; exit 3")
    assert checkout.run().chain() == ["failed", "upstream_failed", "upstream_failed"]
    assert len(checkout.calls()) == 3


def test_a_wrong_call_is_not_tried_again(pretend: Any) -> None:
    checkout = pretend("exit 2")
    assert checkout.run().chain()[0] == "failed"
    assert len(checkout.calls()) == 1


def test_a_cluster_is_described_in_full_or_not_at_all(pretend: Any) -> None:
    checkout = pretend("verdict 0")
    both, no_cluster = {"bootstrap": "b:1"}, {"cache": "/fetched"}
    for wrong in ({"dumps": ["/d"]}, {"out": ""}, both, no_cluster):
        with pytest.raises(Exception, match="Invalid input for param"):
            checkout.run(checkout.cluster(**wrong))
    assert not (checkout.folder / "calls").exists()


@pytest.mark.parametrize("shared", ["out", "publish"])
def test_two_clusters_do_not_share_a_folder(pretend: Any, shared: str) -> None:
    checkout = pretend("verdict 0")
    one = checkout.cluster(publish=str(checkout.folder / "published"))
    other = {key: f"{value}-other" for key, value in one.items() if key in ("out", "publish")}
    other = one | {"name": "other"} | other | {shared: one[shared] + "/"}
    assert checkout.run(one, other).states["clusters", -1] == "failed"
    assert not (checkout.folder / "calls").exists()


def test_the_set_up_of_the_manual_is_enough(
    pretend: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = pretend("verdict 0")
    manual = (ROOT / "docs/operations.md").read_text()
    (shown,) = re.findall(r"^```sh\n(ln -s (?s:.*?))^```", manual, re.MULTILINE)
    here = re.sub(r"(?<=[ \"])/(opt/eosaudit|copies|audits|www)/", rf"{tmp_path}/\1/", shown)
    here = here.replace(f"{tmp_path}/opt/eosaudit", str(checkout.folder))
    dags = Path(os.environ["AIRFLOW_HOME"]) / "dags"
    dags.mkdir()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    subprocess.run(["bash", "-ec", here], check=True, timeout=300, env=os.environ | {"PATH": path})

    monkeypatch.delenv("AIRFLOW_CONN_SPARK_DEFAULT")
    run = Run(load(dags), {})
    assert [run.chain(index) for index in (0, 1)] == [["success"] * 3] * 2
    for call, name in zip(sorted(checkout.calls()), ("east", "west"), strict=True):
        options, arguments = call.replace(str(tmp_path), "").split(" -- ")
        assert options == "--master local[*] --name eosaudit"
        wanted = rf"audit --quiet --out /audits/{name} --dump /copies/\d{{4}}-\d\d-\d\d/{name}"
        assert re.fullmatch(wanted, arguments)
    assert [file.parent.name for file in (tmp_path / "www").glob("*/verdict.json")] == ["east"]


def test_the_dag_audits_real_dumps_with_spark(tmp_path: Path) -> None:
    with tarfile.open(ROOT / "tests/dumps/tv2-basic.tar.gz") as archive:
        archive.extractall(tmp_path / "good", filter="data")
    (good,) = tmp_path.glob("good/**/dump")
    bad = ROOT / "tests/dumps/hanging-sample"
    clusters = [
        {"name": "good", "dump": [str(good)], "publish": str(tmp_path / "published")},
        {"name": "bad", "dump": [str(bad)], "as_of": 1795240070221},
    ]
    for cluster in clusters:
        cluster["out"] = str(tmp_path / "audits" / cluster["name"])
    run = Run(load(ROOT / "dags"), {"clusters": clusters})
    assert run.chain(0) == ["success", "success", "success"]
    assert run.chain(1) == ["success", "failed", "upstream_failed"]
    assert json.loads((tmp_path / "published/verdict.json").read_text())["verdict"] == "clean"
    verdict = json.loads((tmp_path / "audits/bad/verdict.json").read_text())
    assert [f["code"] for f in verdict["findings"] if f["verdict"] == "violation"] == [
        "hanging_transaction"
    ]
