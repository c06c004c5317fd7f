"""Tables that the driver, tasks or Spark write are the same tables."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

from jobs.spark import delta_by_driver, delta_tables
from jobs.spark.files import local_folder
from schemas.tables import TABLES

pytestmark = pytest.mark.spark
NAME = "violation"
DRIVER, SPARK, TASKS = True, False, None


@pytest.fixture(scope="module")
def finding(spark: SparkSession) -> Iterator[DataFrame]:
    """One row of the table with lists of structs in it, wider types than its own, and a null."""
    made = spark.range(1).selectExpr(
        "'hanging_transaction' AS code", "'error' AS severity", "'violation' AS verdict",
        "string(null) AS reason", "'t' AS topic", "3 AS partition", "1 AS broker",
        "59 AS offset_first", "64L AS offset_last", "5 AS producer_id", "0 AS producer_epoch",
        "string(null) AS transactional_id", "'f' AS file", "4976 AS byte_position",
        "'a marker' AS expected", "'none' AS found",
        "array(named_struct('file', 'f', 'byte_position', 4976L, 'byte_length', 91L, 'role', 'r'))"
        " AS evidence",
        "'it hangs' AS message", "string(null) AS remedy", "string(null) AS cause_id",
        "cast(array() AS array<struct<topic:string,partition:int,broker:int,offset_first:long,"
        "offset_last:long,file:string,byte_position:long>>) AS places",
    )  # fmt: skip
    yield made


def append(rows: DataFrame, out: Path, audit_id: str, few: bool | None) -> None:
    if few is TASKS:
        part = delta_tables.Part(delta_tables.stamped(rows, NAME, audit_id), iter)
        assert delta_tables.append_by_tasks([part], str(out), NAME, audit_id)
    else:
        delta_tables.append(rows, str(out), NAME, audit_id, few)


def stored(spark: SparkSession, out: Path) -> list[Row]:
    """The rows, which are the same whether Delta reads them or their files are read."""
    table = delta_tables.read(spark, str(out), NAME)
    assert table is not None
    rows = table.orderBy("audit_id").collect()
    by_delta = spark.read.format("delta").load(f"{out}/{NAME}").orderBy("audit_id")
    assert (rows, table.schema) == (by_delta.collect(), by_delta.schema)
    return rows


def fields(out: Path) -> list[tuple[Any, ...]]:
    """Name, type, whether it may be null, and comment; Spark leaves comments within lists out."""
    schema = StructType.fromJson(json.loads(DeltaTable(out / NAME).schema().to_json()))
    return [
        (f.name, f.dataType.simpleString(), f.nullable, f.metadata.get("comment")) for f in schema
    ]


def test_the_driver_has_what_it_needs() -> None:
    assert delta_by_driver.is_there()


@pytest.mark.parametrize(
    "order", [(DRIVER, SPARK, TASKS), (SPARK, TASKS, DRIVER), (TASKS, DRIVER, SPARK)]
)
def test_each_appends_to_what_the_others_wrote(
    spark: SparkSession, finding: DataFrame, tmp_path: Path, order: tuple[bool | None, ...]
) -> None:
    for number, few in enumerate(order):
        append(finding, tmp_path, f"audit-{number}", few)
    rows = stored(spark, tmp_path)
    assert [row.audit_id for row in rows] == ["audit-0", "audit-1", "audit-2"]
    assert len({repr(row[1:]) for row in rows}) == 1
    assert rows[0].evidence[0].byte_length == 91
    history = DeltaTable(tmp_path / NAME).history()
    audits = [one["userMetadata"] for one in history if "userMetadata" in one]
    assert audits == ["audit-2", "audit-1", "audit-0"]


def test_columns_types_comments_and_statistics_are_the_same(
    spark: SparkSession, finding: DataFrame, tmp_path: Path
) -> None:
    made = {}
    for name, few in (("driver", DRIVER), ("tasks", TASKS), ("spark", SPARK)):
        append(finding, tmp_path / name, "audit-0", few)
        table = DeltaTable(tmp_path / name / NAME)
        [file] = table.get_add_actions(flatten=True).to_struct_array().to_pylist()
        made[name] = (
            fields(tmp_path / name),
            table.metadata().configuration,
            {key: value for key, value in file.items() if key.startswith(("min.", "max."))},
        )
    assert made["driver"] == made["tasks"] == made["spark"]
    told = {name: comment for name, _, _, comment in made["driver"][0]}
    assert told == {one.name: one.metadata.get("comment") for one in TABLES[NAME]}


@pytest.mark.parametrize("first", [DRIVER, TASKS, SPARK])
@pytest.mark.parametrize("second", [DRIVER, TASKS, SPARK])
def test_an_audit_is_added_once_whoever_writes_it(
    spark: SparkSession, finding: DataFrame, tmp_path: Path, first: bool | None, second: bool | None
) -> None:
    append(finding, tmp_path, "audit-0", first)
    append(finding, tmp_path, "audit-0", second)
    assert len(stored(spark, tmp_path)) == 1


def test_audits_that_end_at_the_same_time(
    spark: SparkSession, finding: DataFrame, tmp_path: Path
) -> None:
    names = ["one", "one", "two", "two", "three", "three"]
    append(finding, tmp_path, "zero", DRIVER)
    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(lambda name: append(finding, tmp_path, name, DRIVER), names))
    assert [row.audit_id for row in stored(spark, tmp_path)] == ["one", "three", "two", "zero"]


def test_only_a_folder_of_this_machine_is_written_by_the_driver(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert local_folder(spark, f"file:{tmp_path}/a b") == f"{tmp_path}/a b"
    assert local_folder(spark, str(tmp_path)) == str(tmp_path)
    assert local_folder(spark, "hdfs://nowhere:8020/audits") is None


def test_of_one_audit_only_files_that_may_have_it_are_read(
    spark: SparkSession, finding: DataFrame, tmp_path: Path
) -> None:
    for number in range(3):
        append(finding, tmp_path, f"audit-{number}", DRIVER)
    table = delta_by_driver.stored(str(tmp_path / NAME), "audit-1")
    assert table is not None and len(table.files) == 1
    rows = delta_tables.rows_of(spark, str(tmp_path), NAME, "audit-1").collect()
    assert [row.audit_id for row in rows] == ["audit-1"]
    assert delta_tables.rows_of(spark, str(tmp_path), NAME, "audit-3").collect() == []


@pytest.mark.parametrize("folder", ["day=2026-11-29", "a b ü", "{a,b}*", "100%", "12:30"])
def test_a_folder_of_any_name_is_read(
    spark: SparkSession, finding: DataFrame, tmp_path: Path, folder: str
) -> None:
    append(finding, tmp_path / folder, "audit-0", DRIVER)
    assert len(stored(spark, tmp_path / folder)) == 1


def test_what_files_alone_do_not_tell_is_read_by_delta(
    spark: SparkSession, finding: DataFrame, tmp_path: Path
) -> None:
    append(finding, tmp_path, "audit-0", DRIVER)
    append(finding, tmp_path, "audit-1", DRIVER)
    path = str(tmp_path / NAME)
    assert delta_by_driver.stored(path) is not None
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    spark.sql(f"OPTIMIZE delta.`{path}`").collect()
    spark.sql(f"DELETE FROM delta.`{path}` WHERE audit_id = 'audit-0'").collect()
    assert delta_by_driver.stored(path) is None
    assert [row.audit_id for row in stored(spark, tmp_path)] == ["audit-1"]


def test_files_that_were_joined_are_read_once(
    spark: SparkSession, finding: DataFrame, tmp_path: Path
) -> None:
    for number in range(3):
        append(finding, tmp_path, f"audit-{number}", DRIVER)
    DeltaTable(tmp_path / NAME).optimize.compact()
    table = delta_by_driver.stored(str(tmp_path / NAME), "audit-1")
    assert table is not None and len(table.files) == 1
    assert len(stored(spark, tmp_path)) == 3
    assert len(delta_tables.rows_of(spark, str(tmp_path), NAME, "audit-1").collect()) == 1
