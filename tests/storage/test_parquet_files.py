"""Parquet files that tasks write: their rows, statistics and encodings."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.spark import delta_tables
from udfs.arrow import parquet_files
from udfs.arrow.blocks import pack_block
from udfs.arrow.txn_rows import SCHEMA, Place, folded_as_txn

WIDE = [-(1 << 63), (1 << 63) - 1, 0, None]


def batches() -> Iterator[pa.RecordBatch]:
    for topic in ("b", "a"):
        yield pa.record_batch(
            {"topic": pa.array([topic] * 4), "offset": pa.array(WIDE, pa.int64()),
             "whole": pa.array([True, None, False, True])}
        )  # fmt: skip
    yield pa.record_batch({name: [] for name in ("topic", "offset", "whole")})


@pytest.mark.parametrize(
    ("bound", "most"), [("ROWS_OF_GROUP", 1), ("BYTES_OF_GROUP", 1), ("ROWS_OF_GROUP", 1 << 18)]
)
def test_what_is_written_is_read_again_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(parquet_files, bound, most)
    write = parquet_files.parquet_files(str(tmp_path), ("topic", "offset", "absent"), iter)
    (told,) = (row for batch in write(batches()) for row in batch.to_pylist())
    path = tmp_path / told["path"]
    assert told["size"] == path.stat().st_size
    assert json.loads(told["stats"]) == {
        "numRecords": 8,
        "minValues": {"topic": "a", "offset": WIDE[0]},
        "maxValues": {"topic": "b", "offset": WIDE[1]},
        "nullCount": {"topic": 0, "offset": 2},
    }
    assert pq.ParquetFile(path).num_row_groups == (2 if most == 1 else 1)
    wanted = [row for batch in batches() if batch.num_rows for row in batch.to_pylist()]
    assert pq.read_table(path).to_pylist() == wanted


def test_a_task_without_rows_leaves_no_file(tmp_path: Path) -> None:
    write = parquet_files.parquet_files(str(tmp_path), (), lambda _: iter(()))
    assert list(write(batches())) == []
    assert list(tmp_path.iterdir()) == []


def test_a_block_becomes_rows_of_the_table() -> None:
    told = {field.name: pa.array([1, 2]).cast(field.type) for field in SCHEMA
            if pa.types.is_integer(field.type) and field.name not in Place._fields}  # fmt: skip
    block = pa.record_batch({**told, "marker_commit": [True, False]})
    packed = pa.record_batch({"partition_index": [7], "block": [pack_block(block)]})
    places = {7: Place(None, "t", 3), 8: Place(1, "s", 0)}
    (made,) = folded_as_txn(places, "an audit")(iter([packed]))
    assert made.schema.names == SCHEMA.names
    rows = made.to_pylist()
    assert [row["outcome"] for row in rows] == ["commit", "abort"]
    assert [(row["broker"], row["topic"], row["partition"]) for row in rows] == [(None, "t", 3)] * 2
    assert {row["audit_id"] for row in rows} == {"an audit"}
    assert [row["last_offset"] for row in rows] == [1, 2]
    assert all(row["head_known"] for row in rows)


@pytest.mark.spark
def test_tasks_write_only_to_a_disk_of_this_machine(spark: SparkSession) -> None:
    part = delta_tables.Part(spark.range(1), iter)
    assert not delta_tables.append_by_tasks([part], "hdfs://nowhere:8020/audits", "txn", "x")
