"""The DAG file, looked at without Airflow: that `make test-airflow` would not fail at once.

Its behaviour under Airflow is not tested here, only its text: what it imports, that reading it
does nothing, and that the command it builds is one that our command line takes.
"""

import ast
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jobs.cli.arguments import parse

DAGS = Path(__file__).resolve().parents[2] / "dags"
TREES = {path.name: ast.parse(path.read_text("utf-8")) for path in sorted(DAGS.glob("*.py"))}
TREE = TREES["eos_audit.py"]
SCHEMA = ("TEXT", "CLUSTER")
PURE = ("audit_arguments", "exit_code_of", "accusation")


def test_a_scheduler_finds_airflow_and_the_standard_library_are_enough() -> None:
    for name, tree in TREES.items():
        imported = {
            module.partition(".")[0]
            for node in ast.walk(tree)
            for module in (
                [alias.name for alias in node.names] if isinstance(node, ast.Import)
                else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            )
        }  # fmt: skip
        assert imported <= {"airflow", *sys.stdlib_module_names}, name


def test_reading_the_file_asks_no_database_and_no_network() -> None:
    """A scheduler reads DAG files every few seconds."""
    at_once = [node for node in TREE.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    called = {
        ast.unparse(node.func)
        for top in at_once
        for node in ast.walk(top)
        if isinstance(node, ast.Call)
    }
    assert called == {
        "Path", "Path(__file__).resolve", "Asset", "DAG", "datetime", "Param",
        "cluster_audit.expand", "clusters",
    }  # fmt: skip


def functions() -> dict[str, Any]:
    """The functions of the DAG that need no Airflow, compiled on their own."""
    chosen = [n for n in TREE.body if isinstance(n, ast.FunctionDef) and n.name in PURE]
    space: dict[str, Any] = {"Any": Any, "Mapping": Mapping, "AirflowException": Exception}
    exec(compile(ast.Module([ast.parse("import re").body[0], *chosen], []), "dag", "exec"), space)
    return space


def test_a_live_cluster_is_audited_by_its_bootstrap_servers() -> None:
    cluster = {
        "name": "west", "bootstrap": "kafka-1:9093", "command_config": "c.properties",
        "cache": "/fetched", "topics": ["orders*", "payments"], "out": "/audits",
    }  # fmt: skip
    parsed = parse(functions()["audit_arguments"](cluster))
    assert (parsed.bootstrap, str(parsed.command_config), str(parsed.cache), parsed.topics) == (
        "kafka-1:9093", "c.properties", "/fetched", ["orders*", "payments"],
    )  # fmt: skip
    assert parsed.dump == []


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"config": "audit.toml", "policy": "default", "as_of": 1795240070221},
        {"as_of": "1795240070221"},
    ],
    ids=["what must be given", "what may be given", "a moment from a template"],
)
def test_the_command_is_one_that_the_command_line_takes(more: dict[str, Any]) -> None:
    cluster = {"name": "east", "dump": ["/copies/a", "/copies/b"], "out": "/audits"} | more
    parsed = parse(functions()["audit_arguments"](cluster))
    assert parsed.command == "audit"
    assert [str(folder) for folder in parsed.dump] == cluster["dump"]
    assert (parsed.out, parsed.as_of, parsed.policy) == (
        "/audits", 1795240070221 if "as_of" in more else None, more.get("policy"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("as_of", "taken"),
    [
        (1795240070221, True), ("{{ (logical_date.timestamp() * 1000) | int }}", True), ("", False),
        (True, False), ([1795240070221], False), (None, False),
    ],
)  # fmt: skip
def test_a_moment_is_a_number_or_a_template(as_of: object, taken: bool) -> None:
    named = [
        node
        for node in TREE.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in SCHEMA
    ]
    space: dict[str, Any] = {}
    exec(compile(ast.Module(list(named), []), "dag", "exec"), space)
    cluster = {"name": "east", "dump": ["/copies"], "out": "/audits", "as_of": as_of}
    assert jsonschema.Draft202012Validator(space["CLUSTER"]).is_valid(cluster) == taken


def test_an_exit_code_is_read_from_the_message_of_the_hook() -> None:
    read = functions()["exit_code_of"]
    assert read(Exception("Cannot execute: x y. Error code is: 2.\nlast lines")) == 2
    assert read(Exception("Failed to poll for the driver status 10 times")) is None


def test_a_closed_gate_says_why_and_where() -> None:
    finding = {"code": "sequence_gap", "verdict": "violation", "severity": "error", "count": 4}
    suspect = finding | {"verdict": "suspect", "code": "offset_gap"}
    verdict = {"audit_id": "a1", "findings": [finding, suspect]}
    said = functions()["accusation"]({"name": "east", "out": "/audits"}, verdict)
    assert "sequence_gap (4)" in said
    assert "offset_gap" not in said
    assert "report --out /audits" in said
