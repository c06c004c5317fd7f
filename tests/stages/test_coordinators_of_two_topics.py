"""`__transaction_state` deleted and made again while a broker was down, which keeps its folder."""

from pathlib import Path

import pytest
from cases import as_dicts, audit_dump, cases_of
from log_builder import COORDINATOR_TOPIC, DumpWriter, metadata_id, topic_metadata
from pyspark.sql import SparkSession

CHECKS = Path(__file__).resolve().parents[1] / "checks/coordinator"
CODE = "txnlog_replica_divergence"
DIFFERENT = "two copies decide one transaction differently"


@pytest.mark.parametrize("again", [False, True])
def test_copies_of_two_topics_need_not_agree(
    spark: SparkSession, tmp_path: Path, again: bool
) -> None:
    written = cases_of(CHECKS / f"{CODE}.yaml", CODE)
    (case,) = [one for one in written if one.name.endswith(DIFFERENT)]
    DumpWriter(tmp_path).write([case])
    folders = sorted(tmp_path.glob(f"*/{COORDINATOR_TOPIC}-*"))
    with_records = [one for one in folders if any(log.stat().st_size for log in one.glob("*.log"))]
    assert len({one.parent for one in with_records}) == 2
    for number, folder in enumerate(with_records):
        topic_id = metadata_id(COORDINATOR_TOPIC, number if again else 0)
        (folder / "partition.metadata").write_text(topic_metadata(topic_id), encoding="utf-8")
    done = audit_dump(spark, tmp_path)
    found = [one for one in as_dicts(done.verified.findings) if one["code"] == CODE]
    assert [one["offset_first"] for one in found] == ([] if again else [2])
    done.release()
