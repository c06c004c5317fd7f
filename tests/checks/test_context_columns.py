"""Contexts declare the columns that their checks read, and no others."""

import pytest
from pyspark.sql import SparkSession

from jobs.verify.catalogue import CHECKS
from jobs.verify.check import Check
from jobs.verify.contexts.context import PLACE_COLUMNS
from jobs.verify.run import finding
from schemas.contexts import CONTEXTS, columns_of


def test_every_context_is_read_and_declared() -> None:
    assert {check.context for check in CHECKS} == set(CONTEXTS)


@pytest.mark.spark
@pytest.mark.parametrize("check", CHECKS, ids=[check.code for check in CHECKS])
def test_a_check_names_columns_of_its_context(spark: SparkSession, check: Check) -> None:
    declared = spark.createDataFrame([], CONTEXTS[check.context].COLUMNS)
    # Analysed, not run: a column that is not declared raises here.
    assert declared.select(finding(check).alias("finding")).columns == ["finding"]


@pytest.mark.spark
@pytest.mark.parametrize("context", CONTEXTS)
def test_a_column_is_read_by_a_check(spark: SparkSession, context: str) -> None:
    findings = [finding(check) for check in CHECKS if check.context == context]
    declared = spark.createDataFrame([], CONTEXTS[context].COLUMNS)
    read = declared.select(*findings)._jdf.queryExecution().analyzed().references()
    names = {read.toSeq().apply(number).name() for number in range(read.size())}
    assert set(columns_of(context)) - set(PLACE_COLUMNS) <= names
