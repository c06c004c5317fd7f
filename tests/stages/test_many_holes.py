"""A cleaned log with more missing ranges than are kept apart."""

from pathlib import Path

import pytest
import yaml
from cases import audit_cases, cases_of, findings_of
from pyspark.sql import SparkSession

from jobs.replay import partitions
from udfs.rules.absence import RANGES_OF_SPLIT

HOLES = RANGES_OF_SPLIT + 50
TRANSACTION = ["txn pid=1 epoch=0 n=2 key=c at=-8", "commit pid=1 epoch=1 at=-7"]
SECOND_MARKER = "abort pid=1 epoch=1 at=-6"
COORDINATOR = [
    "id=x pid=1 epoch=0 state=Ongoing start=-9 at=-9",
    "id=x pid=1 epoch=1 ctv=2 state=PrepareCommit start=-9 at=-8",
    "id=x pid=1 epoch=1 ctv=2 state=CompleteCommit start=-9 at=-6",
]


def _in_a_cleaned_log(name: str, transaction: list[str]) -> dict[str, object]:
    holes = [line for one in range(HOLES) for line in (f"plain key=k{one} at=20", "skip 1")]
    end = ["plain key=z at=400", "roll", "plain key=zz at=401"]
    return {
        "name": name,
        "log": ["plain key=a at=-10", "skip 1", "plain key=b at=-9", *transaction, *holes, *end],
        "coordinator": COORDINATOR,
        "cleaner": 2 * HOLES + 9,
        "finds": [],
    }


@pytest.mark.spark
def test_many_holes_behind_them_hide_no_markers_that_contradict(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "many_holes.yaml"
    logs = [
        _in_a_cleaned_log("one right after the other", [*TRANSACTION, SECOND_MARKER]),
        _in_a_cleaned_log("with a hole between them", [*TRANSACTION, "skip 1", SECOND_MARKER]),
        _in_a_cleaned_log("one marker", TRANSACTION),
    ]
    file.write_text(yaml.safe_dump(logs), "utf-8")
    cases, audited = audit_cases(spark, cases_of(file), tmp_path / "dump")
    told = [
        [one["offset_first"] for one in findings_of(case, audited)
         if one["code"] == "conflicting_markers"]
        for case in cases
    ]  # fmt: skip
    assert told == [[6], [], []]
    audited.done.release()


@pytest.mark.spark
def test_ranges_of_a_partition_become_one_where_the_least_lies_between_them(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "RANGES_OF_PARTITION", 3)
    columns = "partition_index int, first long, end long, producer_id long"
    given = [(0, 10, 11, 1), (0, 20, 21, 1), (0, 23, 24, 1), (0, 30, 31, 2), (0, 32, 33, 3)]
    found = spark.createDataFrame([*given, (1, 5, 6, 4)], columns).selectExpr(
        "*",
        "true as hole",
        "true as missing",
        "false as emptied",
        "false as lost",
        "cast(null as boolean) as unexplained",
        "cast(null as int) as producer_epoch",
    )
    told = {row.partition_index: row for row in partitions._merged(found).collect()}
    for kind in ("holes", "gone", "unexplained", "missing"):
        assert [tuple(one) for one in told[0][kind]] == [(10, 11, 1), (20, 24, 1), (30, 33, None)]
        assert [tuple(one) for one in told[1][kind]] == [(5, 6, 4)]
    assert told[0].emptied == []
