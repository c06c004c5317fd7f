"""Numbers of any size in every field of a header: an audit ends, and no check of it crashes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cases import audit_dump
from log_builder import Case, DumpWriter
from pyspark.sql import SparkSession

from jobs.main import main

FIELDS = {
    "base offset": (0, 8), "leader epoch": (12, 4), "last offset delta": (23, 4),
    "base timestamp": (27, 8), "max timestamp": (35, 8), "producer id": (43, 8),
    "producer epoch": (51, 2), "base sequence": (53, 4), "count": (57, 4),
}  # fmt: skip
LOGS = {
    "data": ["data pid=1 n=2 {}", "data pid=1", "plain"],
    "transaction": ["txn pid=1 n=2 {}", "commit pid=1", "txn pid=1", "abort pid=1"],
    "open": ["txn pid=1 n=2", "txn pid=1 n=2 {}", "plain"],
    "marker": ["txn pid=1", "abort pid=1 {}", "data pid=2", "roll", "plain"],
    "broker's clock": ["plain logappend", "plain logappend {}", "roll", "plain logappend"],
}
MOST = 9223372036854775807
OTHERS = [
    {"log": ["data pid=1", "txn pid=2", "roll", "plain"],
     "snapshots": [f"2 pid=1 last={MOST} at=9000000000000000 txn={MOST} delta=2147483647"]},
    {"log": ["txn pid=1", "abort pid=1", "plain", "roll", "plain"],
     "txnindex": [f"pid=1 first={-MOST} last={MOST} lso={MOST}",
                  f"pid=999 first={MOST} last={-MOST} lso={-MOST}"]},
    {"log": ["plain", "plain", "roll", "plain"],
     "index": ["batch=0 offset=2147483647", "batch=1 offset=-1"],
     "timeindex": ["segment=0 at=9000000000000000 offset=0",
                   "segment=0 at=-9000000000000000 offset=1"]},
    *[{"log": ["txn pid=1", "plain", "roll", "plain"],
       "hw": one, "cleaner": one, "log_start": -one, "recovery_point": one,
       "epochs": [f"epoch=2147483647 start={one}", f"epoch=-2147483648 start={-one}"]}
      for one in (MOST, -MOST)],
    {"log": ["txn pid=1", "commit pid=1 cepoch=2147483647", "txn pid=2", "abort pid=2"],
     "coordinator": [
         "id=x pid=1 state=Ongoing timeout=2147483647 start=9000000000000000 raw",
         "id=x pid=1 state=PrepareCommit start=-9000000000000000 update=9000000000000000 raw",
         "id=y pid=2 state=Ongoing at=9000000000000000 raw",
         "id=y pid=2 state=PrepareAbort at=-9000000000000000 raw",
         "id=y pid=2 state=CompleteAbort at=9000000000000000 raw"]},
    {"log": ["plain", "plain poke=0:7fffffffffffffff"],
     "replica": {"broker": "second", "log": ["plain", "plain poke=0:7ffffffffffffff0"],
                 "hw": MOST}},
    {"log": [f"offsets group=g t-0={MOST}", "offsets group=g t-0=-5 pid=1",
             "commit pid=1 at=9000000000000", "offsets group=g t-0=5 poke=0:7fffffffffffffff"],
     "topic": "__consumer_offsets"},
    {"log": ["v1 at=9000000000000000", "v1 n=2 codec=gzip poke=0:7fffffffffffffff keep_crc", "v1"]},
    {"log": [f"txn pid=1 poke=27:{'f' * 32}"]},
]  # fmt: skip


def given() -> Iterator[dict[str, object]]:
    for field, (at, size) in FIELDS.items():
        for value in ("7f" + "ff" * (size - 1), "80" + "00" * (size - 1), "ff" * size):
            for kind, log in LOGS.items():
                lines = [line.format(f"poke={at}:{value}") for line in log]
                yield {"name": f"{kind}, {field} {value}", "log": lines, "finds": []}
    for number, case in enumerate(OTHERS):
        yield {"name": f"other {number}", "finds": [], **case}


@pytest.mark.slow
@pytest.mark.spark
def test_no_number_ends_an_audit(spark: SparkSession, tmp_path: Path) -> None:
    DumpWriter(tmp_path).write([Case("odd", number, one) for number, one in enumerate(given())])
    done = audit_dump(spark, tmp_path)
    assert [
        (one.check.code, one.detail) for one in done.verified.outcomes if one.status == "crashed"
    ] == []
    for rows in (done.verified.findings, done.replayed.partition_states()):
        assert rows.count()
    # A batch without a timestamp has -1, which is no moment.
    held = done.replayed.partition_states().filter("lso_producer_id IS NOT NULL")
    since = {row.lso_since_ms for row in held.collect()}
    assert None in since
    assert not [at for at in since if at is not None and at < 0]


NOTHING = "No batch was read from the dump"


@pytest.mark.spark
def test_an_audit_of_nothing_is_incomplete(spark: SparkSession, tmp_path: Path) -> None:
    segment = put(tmp_path / "dump", "h-0", b"no batch")
    code = main(["audit", "--dump", str(segment), "--out", str(tmp_path / "out"), "--quiet"])
    verdict = json.loads((tmp_path / "out/verdict.json").read_text())
    assert code == 3 or verdict["findings"]
    assert verdict["verdict"] != "clean"
    (said,) = (one for one in verdict["incomplete"] if NOTHING in one)
    assert "1 segment without a readable batch" in said

    done = audit_dump(spark, put(tmp_path / "metadata", "__cluster_metadata-0", b""))
    (said,) = (one for one in done.verdict.incomplete if NOTHING in one)
    assert "only __cluster_metadata" in said
    done.release()


def put(dump: Path, partition: str, content: bytes) -> Path:
    (dump / partition).mkdir(parents=True)
    (dump / partition / "00000000000000000000.log").write_bytes(content)
    return dump
