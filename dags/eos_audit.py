"""Audits the dumps of one or more Kafka clusters every night: verify, gate, publish.

    verify   runs ./spark-submit.sh audit; what may heal by itself is tried again
    gate     fails for good where exactly-once was broken: a verdict does not heal
    publish  copies the result and updates the asset that other DAGs wait for

Each cluster has its own chain; a bad one holds up no other. What to audit comes from the run's
parameter `clusters`, else from the Airflow variable `eosaudit_clusters`, a JSON list:

    [{"name": "east", "dump": ["/copies/{{ ds }}/east"], "out": "/audits/east"},
     {"name": "west", "bootstrap": "kafka-1:9092", "out": "/audits/west"}]

Where Spark runs comes from the connection `spark_default`. docs/operations.md tells how to set up.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import (
    DAG,
    Asset,
    ObjectStoragePath,
    Param,
    Variable,
    get_current_context,
    task,
    task_group,
)
from airflow.sdk.exceptions import AirflowException, AirflowFailException

SPARK_SUBMIT = Path(__file__).resolve().parent.parent / "spark-submit.sh"
VARIABLE = "eosaudit_clusters"
# Rows were added to the tables, whatever the verdict; and: a verdict was good.
TABLES = Asset(name="eosaudit_tables", uri="eosaudit://tables")
ACCEPTED = Asset(name="eosaudit_accepted", uri="eosaudit://accepted")
RESULT_FILES = ("verdict.json", "report.html", "report.json")

BROKEN, WRONG_CALL, INCOMPLETE = 1, 2, 3  # exit codes of spark-submit.sh
TEXT = {"type": "string", "minLength": 1}
CLUSTER = {
    "type": "object",
    "required": ["name", "out"],
    "oneOf": [{"required": ["dump"]}, {"required": ["bootstrap"]}],
    "dependentRequired": {key: ["bootstrap"] for key in ("command_config", "cache", "topics")},
    "additionalProperties": False,
    "properties": {
        "name": TEXT | {"description": "how the cluster is called in the log"},
        "dump": {"type": "array", "items": TEXT, "minItems": 1, "description": "folders to audit"},
        "bootstrap": TEXT | {"description": "brokers of a live cluster, instead of dump"},
        "command_config": TEXT | {"description": "client.properties of a live cluster"},
        "cache": TEXT | {"description": "folder of what is fetched of it; the same every night"},
        "topics": {"type": "array", "items": TEXT, "minItems": 1, "description": "patterns"},
        "out": TEXT | {"description": "folder of the tables; one a cluster, the same every night"},
        "policy": TEXT | {"description": "folder of an acceptance policy, or default"},
        "config": TEXT | {"description": "TOML file with options of the audit"},
        # What is rendered is text: a moment of its own each night.
        "as_of": {
            "type": ["integer", "string"],
            "minLength": 1,
            "description": "moment of the dump, ms since 1970, or a template that gives it",
        },
        "publish": TEXT
        | {"description": "folder that gets the result of an accepted audit; one a cluster"},
    },
}


def audit_arguments(cluster: Mapping[str, Any]) -> list[str]:
    """The arguments of spark-submit.sh behind `--` that audit a cluster."""
    arguments = ["audit", "--quiet", "--out", cluster["out"]]
    for dump in cluster.get("dump", ()):
        arguments += ["--dump", dump]
    for key in ("bootstrap", "command_config", "cache", "policy", "config", "as_of"):
        if key in cluster:
            arguments += [f"--{key.replace('_', '-')}", str(cluster[key])]
    if "topics" in cluster:
        arguments += ["--topics", *cluster["topics"]]
    return arguments


def exit_code_of(error: AirflowException) -> int | None:
    """The exit code that SparkSubmitHook has in its message, and nowhere else."""
    found = re.search(r"Error code is: (\d+)", str(error))
    return int(found[1]) if found else None


def accusation(cluster: Mapping[str, Any], verdict: Mapping[str, Any]) -> str:
    """Why the gate stays closed, and where to read more."""
    codes = [
        f"{finding['code']} ({finding['count']})"
        for finding in verdict["findings"]
        if finding["verdict"] == "violation"
    ]
    return (
        f"{cluster['name']}: the audit {verdict['audit_id']} was not accepted: "
        f"{', '.join(codes) or 'see its report'}. The findings and their proof are in "
        f"{cluster['out']}; `./spark-submit.sh report --out {cluster['out']}` tells them again."
    )


def verdict_file(cluster: Mapping[str, Any]) -> ObjectStoragePath:
    """The result of the newest audit."""
    return ObjectStoragePath(cluster["out"]) / "verdict.json"


class Audit(SparkSubmitOperator):
    """Runs one audit, and fails only where there is no verdict.

    spark-submit ends with 1 for a violation and for a lost driver alike, and in cluster mode with 0
    for both. The verdict that this very run wrote tells them apart.
    """

    template_fields = (*SparkSubmitOperator.template_fields, "cluster")

    def __init__(self, *, cluster: Any, **arguments: Any) -> None:
        super().__init__(
            spark_binary=str(SPARK_SUBMIT),
            application="--",  # between spark-submit's options and the subcommand
            name="eosaudit",
            durable=False,  # an audit that is started twice writes its rows once
            **arguments,
        )
        self.cluster = cluster

    def execute(self, context: Any) -> None:
        """Submits and waits. Raises AirflowFailException for what no retry can heal."""
        self.application_args = audit_arguments(self.cluster)
        file = verdict_file(self.cluster)
        file.unlink(missing_ok=True)  # it is of an earlier audit; its table keeps it
        try:
            super().execute(context)
        except AirflowException as error:
            if exit_code_of(error) == WRONG_CALL:
                raise AirflowFailException(f"{error} A retry would fail alike.") from error
            if not file.exists():
                raise
        if not file.exists():
            raise AirflowException(f"Spark ended without an error, but wrote no {file}.")
        verdict = json.loads(file.read_text())
        if verdict["exit_code"] == INCOMPLETE:
            raise AirflowException(f"The audit is incomplete: {'; '.join(verdict['incomplete'])}")


@task(retries=0)
def clusters() -> list[dict[str, Any]]:
    """What to audit; `{{ ds }}` and its like are filled in."""
    context = get_current_context()
    given = context["params"]["clusters"]
    wanted = Variable.get(VARIABLE, deserialize_json=True) if given is None else given
    checked = Param(wanted, type="array", items=CLUSTER, minItems=1).resolve()
    rendered: list[dict[str, Any]] = context["task"].render_template(checked, context)
    for key in ("out", "publish"):
        folders = [cluster[key].rstrip("/") for cluster in rendered if key in cluster]
        if shared := {folder for folder in folders if folders.count(folder) > 1}:
            raise AirflowFailException(
                f"{', '.join(sorted(shared))} is the {key} of several clusters, whose verdicts "
                "would replace each other: give each a folder of its own."
            )
    return rendered


@task(retries=0)
def gate(cluster: dict[str, Any]) -> dict[str, Any]:
    """Passes an accepted verdict on; fails for good otherwise."""
    verdict = json.loads(verdict_file(cluster).read_text())
    if verdict["exit_code"] != 0:
        raise AirflowFailException(accusation(cluster, verdict))
    return {key: verdict[key] for key in ("audit_id", "as_of_ms", "version")}


@task(outlets=[ACCEPTED])
def publish(cluster: dict[str, Any], verdict: dict[str, Any], *, outlet_events: Any) -> None:
    """Copies the result to where people read it, and tells the DAGs that wait for it."""
    if "publish" in cluster:
        target = ObjectStoragePath(cluster["publish"])
        target.mkdir(parents=True, exist_ok=True)
        for name in RESULT_FILES:
            file = ObjectStoragePath(cluster["out"]) / name
            if file.exists():
                (target / name).write_bytes(file.read_bytes())
    outlet_events[ACCEPTED].extra = {"cluster": cluster["name"], **verdict}


@task_group
def cluster_audit(cluster: dict[str, Any]) -> None:
    """The chain of one cluster."""
    verify = Audit(
        task_id="verify",
        cluster=cluster,
        outlets=[TABLES],
        retries=2,
        retry_delay=timedelta(minutes=10),
        execution_timeout=timedelta(hours=12),
    )
    accepted = gate(cluster)
    verify >> accepted
    publish(cluster, accepted)


with DAG(
    "eos_audit",
    description="Did exactly-once hold in the dumps of last night?",
    doc_md=__doc__,
    schedule="0 4 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    tags=["kafka", "audit"],
    params={
        "clusters": Param(
            None,
            type=["null", "array"],
            items=CLUSTER,
            description_md=f"What to audit; empty: the variable `{VARIABLE}`.",
        )
    },
):
    cluster_audit.expand(cluster=clusters())
