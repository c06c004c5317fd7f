"""Contexts give the columns that they declare, and checks read no others."""

import pytest
from pyspark.sql import SparkSession

from jobs.verify.catalogue import CHECKS
from jobs.verify.check import Check
from jobs.verify.run import finding
from schemas.contexts import CONTEXTS


def test_every_context_is_read_and_declared() -> None:
    assert {check.context for check in CHECKS} == set(CONTEXTS)


@pytest.mark.spark
@pytest.mark.parametrize("check", CHECKS, ids=[check.code for check in CHECKS])
def test_a_check_names_columns_of_its_context(spark: SparkSession, check: Check) -> None:
    declared = spark.createDataFrame([], CONTEXTS[check.context].COLUMNS)
    # Analysed, not run: a column that is not declared raises here.
    assert declared.select(finding(check).alias("finding")).columns == ["finding"]
