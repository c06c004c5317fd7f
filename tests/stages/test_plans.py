"""What makes plans cheap must not change them: remembered columns, kept frames."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames
from jobs.spark.local import local_frame, no_rows_like
from jobs.spark.session import planned_for
from jobs.spark.threads import named_queries, side_by_side

pytestmark = pytest.mark.spark


def test_literals_that_are_equal_in_python_keep_their_types(spark: SparkSession) -> None:
    values = {
        "number": 1,
        "truth": True,
        "zero": 0,
        "falsehood": False,
        "nothing": None,
        "text": "1",
    }
    for _ in range(2):
        made = spark.range(1).select(*[F.lit(value).alias(name) for name, value in values.items()])
        assert made.collect()[0].asDict() == values
        assert [field.dataType.simpleString() for field in made.schema] == [
            "int", "boolean", "int", "boolean", "void", "string",
        ]  # fmt: skip


def test_a_remembered_column_belongs_to_no_frame(spark: SparkSession) -> None:
    column = F.col("id") + 1
    assert spark.range(1).select(column.alias("x")).collect()[0].x == 1
    other = spark.createDataFrame([("a",)], "id string")
    assert other.select(F.col("id")).collect()[0].id == "a"
    assert spark.range(5).filter(F.col("id") > 3).count() == 1


def numbers(spark: SparkSession, most: int) -> DataFrame:
    """id and, beside it, how many have the same parity: a window, which interpreted plans sort."""
    rows = spark.range(10).filter(F.col("id") < most)
    return rows.withColumn("same", F.expr("count(*) OVER (PARTITION BY id % 2)"))


@pytest.mark.parametrize("most", [0, 7])
@pytest.mark.parametrize("in_one_task", [True, False])
def test_a_kept_frame_has_the_rows_it_was_made_of(
    spark: SparkSession, most: int, in_one_task: bool
) -> None:
    kept = KeptFrames(spark)
    with planned_for(spark, 10, in_one_task):
        frame = kept.keep(numbers(spark, most))
        assert sorted(frame.collect()) == sorted(numbers(spark, most).collect())
        assert frame.schema == numbers(spark, most).schema
        # Where there is none, the optimiser knows.
        empty = frame._jdf.queryExecution().optimizedPlan().nodeName() == "LocalRelation"
        assert empty == (most == 0)
    kept.release()


@pytest.mark.parametrize("most", [0, 7])
def test_an_observed_frame_is_kept_and_observed(spark: SparkSession, most: int) -> None:
    kept, seen = KeptFrames(spark), Observation()
    with planned_for(spark, 10, in_one_task=True):
        rows = numbers(spark, most).observe(seen, F.count("*").alias("rows"))
        frame = kept.keep(rows.filter(F.col("id") != 3), lambda: int(seen.get["rows"]))
        assert seen.get["rows"] == most
        assert frame.count() == max(most - 1, 0)
    kept.release()


@pytest.mark.parametrize(
    "rows",
    [[(1, "a", None), (2, None, [3])], [{"n": 1, "t": "a"}, {"t": None, "n": 2, "l": [3]}]],
    ids=["by place", "by name"],
)
def test_rows_of_the_driver_are_a_part_of_the_plan(spark: SparkSession, rows: list[Any]) -> None:
    made = local_frame(spark, rows, "n int, t string, l array<long>")
    assert [tuple(row) for row in made.collect()] == [(1, "a", None), (2, None, [3])]
    assert made.schema.simpleString() == "struct<n:int,t:string,l:array<bigint>>"
    assert made._jdf.queryExecution().optimizedPlan().nodeName() == "LocalRelation"
    with pytest.raises(ValueError, match="shorter"):
        local_frame(spark, [(1, "a", None), (2, None)], "n int, t string, l array<long>")


def test_the_optimiser_knows_that_there_are_no_rows(spark: SparkSession) -> None:
    some = spark.range(3)
    for none in (local_frame(spark, [], some.schema), no_rows_like(some)):
        joined = some.join(none, on="id")._jdf.queryExecution().optimizedPlan()
        assert joined.nodeName() == "LocalRelation"
        assert none.schema == some.schema


def test_queries_of_all_threads_have_one_name(spark: SparkSession) -> None:
    def name() -> str:
        spark.range(1).collect()  # PySpark takes a name away behind it
        return str(spark.range(1)._jdf.queryExecution().toRdd().creationSite().shortForm())

    with named_queries(), side_by_side(1) as beside:
        assert [name(), beside.submit(name).result()] == ["eosaudit", "eosaudit"]


@pytest.mark.parametrize("in_one_task", [True, False])
def test_rows_in_one_task_are_not_shuffled(spark: SparkSession, in_one_task: bool) -> None:
    kept = KeptFrames(spark)
    with planned_for(spark, 10, in_one_task):
        rows = spark.range(10).withColumn("parity", F.col("id") % 2)
        frames = [kept.keep(rows.withColumn(f"value_{one}", F.col("id"))) for one in range(3)]
        joined = frames[0]
        # Spark multiplies the sizes of what is joined: so many are beyond any bound.
        for one in (*frames[1:], *frames[1:]):
            joined = kept.keep(inner(joined.select("id"), one, on="id"))
        named = local_frame(spark, [(0, "even"), (1, "odd")], "parity bigint, name string")
        found = (
            inner(inner(joined, frames[0].drop("parity"), on="id"), small(named), on="parity")
            .unionByName(joined.limit(0), allowMissingColumns=True)
            .groupBy("name")
            .agg(F.sum("id").alias("sum"))
        )
        shuffled = "Exchange hash" in found._jdf.queryExecution().executedPlan().toString()
        assert shuffled != in_one_task
        assert sorted(found.collect()) == [("even", 20), ("odd", 25)]
    kept.release()
