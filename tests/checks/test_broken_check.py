"""A check or a context that is broken has crashed: no audit ends, no other check is silent."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from jobs.spark.kept import KeptFrames
from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.contexts.context import PLACE_COLUMNS, Context
from jobs.verify.run import CRASHED, RAN
from jobs.verify.verify import verify
from schemas.contexts import CONTEXTS
from schemas.violation import FINDING_COLUMNS

OF_PLACE = [
    field
    for field in [*FINDING_COLUMNS, StructField("byte_length", IntegerType())]
    if field.name in PLACE_COLUMNS
]
ROWS = StructType([*OF_PLACE, StructField("value", LongType())])


@pytest.fixture(autouse=True)
def declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The context `made` of these tests."""
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in ROWS)
    monkeypatch.setitem(CONTEXTS, "made", SimpleNamespace(COLUMNS=columns))


@pytest.fixture
def kept(spark: SparkSession) -> Iterator[KeptFrames]:
    frames = KeptFrames(spark)
    yield frames
    frames.release()


def check(code: str, fires: Callable[[], Column]) -> Check:
    return Check(
        code=code, severity=ERROR, context="made", source="made", fires=fires,
        expected=lambda: text("nothing"), found=lambda: text("{value}"),
        message=lambda: text("The value is {value}."), proofs=(Proof("shows it"),),
    )  # fmt: skip


SOUND = check("sound", lambda: F.col("value") == 2)


def outcomes(
    spark: SparkSession,
    kept: KeptFrames,
    checks: tuple[Check, ...],
    enrich: Callable[[DataFrame], DataFrame] = lambda rows: rows,
) -> tuple[dict[str, str], list[str]]:
    """Status of each check, and the codes of the findings, over the values 1 and 2."""
    rows = spark.createDataFrame([{"value": 1}, {"value": 2}], ROWS)
    context = Context("made", rows, lambda: F.lit(False), enrich)
    done = verify(spark, [context], "records", kept, checks)
    told = {one.check.code: one.status for one in done.outcomes}
    return told, [row.code for row in done.findings.collect()]


@pytest.mark.spark
@pytest.mark.parametrize(
    "fires",
    [
        pytest.param(lambda: F.col("no_such_column") == 1, id="cannot be compiled"),
        pytest.param(lambda: F.raise_error(F.lit("broken")).cast("boolean"), id="fails on a row"),
        pytest.param(lambda: F.lit(1) / (F.col("value") - 1) > 1, id="divides by zero"),
    ],
)
def test_a_broken_check_takes_no_other_with_it(
    spark: SparkSession, kept: KeptFrames, fires: Callable[[], Column]
) -> None:
    told, found = outcomes(spark, kept, (check("broken", fires), SOUND))
    assert told == {"broken": CRASHED, "sound": RAN}
    assert found == ["sound"]


@pytest.mark.spark
def test_a_context_that_fails_where_it_keeps_a_frame_ends_no_audit(
    spark: SparkSession, kept: KeptFrames
) -> None:
    needs_more = check("needs_more", lambda: F.col("quotient") > 0)

    def enrich(rows: DataFrame) -> DataFrame:
        return kept.keep(rows.withColumn("quotient", F.lit(1) / (F.col("value") - 1)))

    told, found = outcomes(spark, kept, (needs_more, SOUND), enrich)
    assert told == {"needs_more": CRASHED, "sound": RAN}
    assert found == ["sound"]
