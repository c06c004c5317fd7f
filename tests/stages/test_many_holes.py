"""A cleaned log with more missing ranges than are kept apart."""

from pathlib import Path

import pytest
import yaml
from cases import audit_cases, cases_of, findings_of
from pyspark.sql import SparkSession

from jobs.replay import holes as replayed_holes
from schemas.log_row import GAPS_LEFT_OUT
from udfs.rules.absence import MANY, RANGES_OF_SPLIT

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


def _among_merged_ranges(name: str, fault: list[str]) -> dict[str, object]:
    """A cleaned log in which `fault` lies between two of the ranges that become one.

    There are more than are kept apart, and most are farther from each other than these two.
    """
    holes = [line for _ in range(HOLES) for line in ("plain n=12 key=a at=-10", "skip 1")]
    end = ["plain key=z at=400", "roll", "plain key=zz at=401"]
    return {
        "name": name,
        "log": [*holes, *fault, "skip 1", *holes, *end],
        "coordinator": COORDINATOR,
        "cleaner": 2 * 13 * HOLES + 30,
        "finds": [],
    }


@pytest.mark.spark
def test_what_is_there_between_merged_ranges_is_not_missing(
    spark: SparkSession, tmp_path: Path
) -> None:
    begin = "data pid=7 epoch=0 n=1 key=q at=-8"
    skips = "data pid=7 epoch=0 seq=5 n=1 key=r at=-7"
    whole = ["txn pid=1 epoch=0 n=1 key=q at=-8", "commit pid=1 epoch=1 at=-7"]
    at_three = ["txn pid=1 epoch=1 seq=3 n=1 key=r at=-6", "commit pid=1 epoch=2 at=-5"]
    three, four = "plain n=3 key=y at=-7", "plain n=4 key=y at=-7"
    faults = {
        "four sequences are skipped": [begin, four, skips],
        "so many offsets are missing": [begin, "skip 4", skips],
        "and in two places": [begin, "skip 1", three, "skip 3", skips],
        "one too few": [begin, "skip 2", three, "skip 1", skips],
        "another outcome": [*whole, three, SECOND_MARKER],
        "behind a hole": [*whole, three, "skip 1", SECOND_MARKER],
        "a new epoch begins with 3": [*whole, three, *at_three],
        "its beginning is missing": [*whole, "skip 3", *at_three],
    }
    file = tmp_path / "merged.yaml"
    logs = [_among_merged_ranges(name, fault) for name, fault in faults.items()]
    file.write_text(yaml.safe_dump(logs), "utf-8")
    cases, audited = audit_cases(spark, cases_of(file), tmp_path / "dump")
    codes = ("sequence_gap", "conflicting_markers", "sequence_nonzero_at_new_epoch")
    told = {
        case.given["name"]: [
            (one["code"], one["offset_first"], one["verdict"])
            for one in findings_of(case, audited) if one["code"] in codes
        ]
        for case in cases
    }  # fmt: skip
    at = 13 * HOLES
    assert {name: found for name, found in told.items() if found} == {
        "four sequences are skipped": [("sequence_gap", at + 5, "violation")],
        "one too few": [("sequence_gap", at + 7, "violation")],
        "another outcome": [("conflicting_markers", at + 5, "violation")],
        "a new epoch begins with 3": [("sequence_nonzero_at_new_epoch", at + 5, "violation")],
    }
    audited.done.release()


RANGE = (
    "struct<first:bigint,end:bigint,lost:boolean,emptied:boolean,producer_id:bigint,"
    "producer_epoch:int>"
)


@pytest.mark.spark
def test_gaps_that_are_not_reported_are_holes_unless_a_cleaner_was_there(
    spark: SparkSession,
) -> None:
    splits = spark.createDataFrame(
        [], f"partition_index int, base_offset long, first_offset long, missing array<{RANGE}>"
    )
    steps = spark.createDataFrame(
        [
            (of_partition, kind, before, behind, False)
            for of_partition in (0, 1)
            for kind, before, behind in (("gap", 0, 5), (GAPS_LEFT_OUT, 9, 60), ("overlap", 70, 65))
        ],
        "partition_index int, discontinuity string, previous_last_offset long, base_offset long, "
        "at_seam boolean",
    )
    failures = spark.createDataFrame(
        [], "partition_index int, previous_last_offset long, next_offset long, reason string"
    )
    static = spark.createDataFrame(
        [(0, 0, 0, True), (1, 100, 100, True)],
        "partition_index int, cleaned_below long, files_cleaned_below long, clean_shutdown boolean",
    )
    found = replayed_holes.holes(splits, steps, failures, static).collect()
    told = {row.partition_index: [(one["first"], one["end"]) for one in row.holes] for row in found}
    assert told == {0: [(1, 5), (10, 60)]}


@pytest.mark.spark
def test_running_numbers_of_splits_go_on_behind_each_other(spark: SparkSession) -> None:
    splits = spark.createDataFrame(
        [
            # The second split is empty; the fourth begins with what cannot be opened.
            (0, 1, 0, 0, 5, 100, 103, 2),
            (0, 1, 0, 64, 0, None, None, 0),
            (0, 2, 110, 0, 7, 110, 120, 1),
            (0, 3, 130, 0, 0, None, 130, 3),
            # It goes back, and twice a stretch begins at one place.
            (0, 4, 131, 0, 1, 129, 140, 1),
            (0, 4, 131, 9, 1, 141, 150, 1),
            (0, 4, 131, 9, 1, 151, 160, 1),
            (1, 5, 0, 0, 2, 7, 9, 1),
        ],
        "partition_index int, file_index int, base_offset long, split_start long, absent long, "
        "first_offset long, final_last_offset long, batches long",
    )
    runs = splits.selectExpr(
        "file_index", "split_start", "1L as absent_to_first", "2L as absent_to_last",
        "cast(null as long) as absent_to_marker",
    ).distinct()  # fmt: skip
    told = {
        (row.file_index, row.split_start): (row.absent_to_first, row.absent_to_last)
        for row in replayed_holes.counted_on(runs, splits).collect()
    }
    assert told == {
        (1, 0): (1, 2),
        (1, 64): (None, None),
        (2, 0): (12, 13),
        (3, 0): (MANY + 19, MANY + 20),
        (4, 0): (MANY + 21, MANY + 22),
        (4, 9): (None, None),
        (5, 0): (1, 2),
    }


@pytest.mark.spark
def test_ranges_of_a_partition_become_one_where_the_least_lies_between_them(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replayed_holes, "RANGES_OF_PARTITION", 3)
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
    told = {row.partition_index: row for row in replayed_holes._merged(found).collect()}
    for kind in ("holes", "gone", "unexplained", "missing"):
        assert [tuple(one) for one in told[0][kind]] == [(10, 11, 1), (20, 24, 1), (30, 33, None)]
        assert [tuple(one) for one in told[1][kind]] == [(5, 6, 4)]
    assert told[0].emptied == []
