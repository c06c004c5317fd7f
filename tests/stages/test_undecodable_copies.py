"""Records of `__transaction_state` that tell no id, in two copies of their partition."""

from pathlib import Path

import pytest
from cases import as_dicts, audit_dump
from log_builder import Case, DumpWriter
from pyspark.sql import SparkSession

CODE = "txnlog_replica_divergence"
UNNAMED = "id=z pid=3 state=Empty at=1 raw ckey=0005"


@pytest.mark.spark
@pytest.mark.parametrize("differs", [False, True])
def test_a_record_of_an_unknown_key_is_compared_by_its_offset(
    spark: SparkSession, tmp_path: Path, differs: bool
) -> None:
    named = "id=x state=Empty"
    given = {
        "name": "both copies have a record that tells no id",
        "log": ["plain n=2"],
        "coordinator": [named, UNNAMED],
        "copy": {
            "broker": "second",
            "records": [named, f"{UNNAMED} leader=1" if differs else UNNAMED],
        },
        "finds": [],
    }
    DumpWriter(tmp_path).write([Case("unnamed", 0, given)])
    done = audit_dump(spark, tmp_path)
    found = [one for one in as_dicts(done.verified.findings) if one["code"] == CODE]
    assert [(one["offset_first"], one["verdict"]) for one in found] == (
        [(1, "violation")] if differs else []
    )
    done.release()
