"""Brokers of two clusters in one dump: that is told, and neither is accused by the other's log."""

import re
import shutil
import tarfile
from pathlib import Path

from pyspark.sql import SparkSession

from jobs import main
from jobs.audit.audit import Request
from jobs.cli.progress import Progress
from jobs.model.settings import load as load_settings

DUMPS = Path(__file__).resolve().parent.parent / "dumps"
AN_HOUR_LATER = 1_795_240_070_221


def test_what_only_one_cluster_can_tell_is_inconclusive(
    spark: SparkSession, tmp_path: Path
) -> None:
    shutil.copytree(DUMPS / "hanging-sample", tmp_path / "older")
    properties = tmp_path / "older" / "broker-0" / "meta.properties"
    told = properties.read_text()
    properties.write_text(re.sub("cluster.id=.*", "cluster.id=another", told))
    with tarfile.open(DUMPS / "tv2-operator.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    dumps = [tmp_path / "older", tmp_path / "tv2-operator" / "dump"]
    request = Request(dumps, "", AN_HOUR_LATER, "records", load_settings())
    audit = main.audit(spark, request, Progress(None, quiet=True))
    rows = audit.verified.findings.select("code", "verdict", "reason").collect()
    assert {row.code for row in rows if row.verdict == "violation"} == {"cluster_id_mismatch"}
    undecided = {row.code for row in rows if row.reason == "several_clusters"}
    # Both coordinators have given out the same producer ids, and fill partitions of one name.
    assert {"txnlog_pid_shared", "txnlog_replica_divergence"} <= undecided
    assert {row.verdict for row in rows if row.reason == "several_clusters"} == {"inconclusive"}
    audit.release()
