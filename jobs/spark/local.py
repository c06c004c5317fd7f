"""Rows that the driver has at hand, as a frame."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from jobs.spark.session import shuffle_partitions


def local_frame(
    spark: SparkSession,
    rows: Iterable[tuple[Any, ...] | Mapping[str, Any]],
    schema: StructType | str,
) -> DataFrame:
    """A frame of few rows: values in the order of the schema, or by the names of its columns.

    The rows become a part of the plan. PySpark's own way through lists makes an RDD of them: each
    query over it starts Python workers to unpickle them, some 100 ms, and the optimiser does not
    see where there are none.
    """
    columns = cast(StructType, StructType.fromDDL(schema)) if isinstance(schema, str) else schema
    types = to_arrow_schema(columns)
    ordered = [
        tuple(map(row.get, columns.names)) if isinstance(row, Mapping) else row for row in rows
    ]
    values = zip(*ordered, strict=True) if ordered else [()] * len(types)
    arrays = [pa.array(of, field.type) for of, field in zip(values, types, strict=True)]
    table: Any = pa.Table.from_arrays(arrays, schema=types)
    frame: DataFrame = spark.createDataFrame(table, columns)
    # Rows of the plan have no known partitioning, and a join would shuffle both its sides.
    return frame.coalesce(1) if ordered and shuffle_partitions(spark) == 1 else frame


def no_rows_like(frame: DataFrame) -> DataFrame:
    """No row, and the optimiser knows it: joins, windows and aggregates over it cost nothing."""
    session = frame.sparkSession
    nothing = getattr(session.sparkContext._jvm, "java.util.ArrayList")()
    return DataFrame(session._jsparkSession.createDataFrame(nothing, frame._jdf.schema()), session)
