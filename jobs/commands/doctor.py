"""`eosaudit doctor`: what is missing on this machine, and on the executors of a cluster."""

import importlib
import importlib.metadata
import platform
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

NEEDED = ("pyspark", "pyarrow", "numpy", "numba", "google-crc32c")
DELTA_CLASS = "io.delta.sql.DeltaSparkSessionExtension"
ANSWER = StructType([StructField("host", StringType()), StructField("problem", StringType())])


def missing_packages() -> list[str]:
    """Needed Python packages that this interpreter lacks."""
    missing = []
    for name in NEEDED:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    return missing


def _on_executor(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        pass
    problems = [f"Python package {name} is missing" for name in missing_packages()]
    try:
        importlib.import_module("udfs.arrow.read_pack")
    except ImportError as error:
        problems.append(f"our code cannot be imported: {error}")
    host = platform.node()
    told: list[str | None] = [*problems] or [None]
    yield pa.RecordBatch.from_pydict(
        {"host": [host] * len(told), "problem": told},
        schema=pa.schema([("host", pa.string()), ("problem", pa.string())]),
    )


def examine(spark: SparkSession) -> tuple[str, int]:
    """(lines for a person, exit code 0 or 3)."""
    lines = [f"Spark {spark.version}, Python {platform.python_version()}"]
    problems = [f"driver: Python package {name} is missing" for name in missing_packages()]
    jvm: Any = spark.sparkContext._jvm
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        jvm.java.lang.Class.forName(DELTA_CLASS, False, loader)
    except Exception:
        problems.append(f"driver: {DELTA_CLASS} is not on the class path; run `make setup`")
    tasks = max(spark.sparkContext.defaultParallelism, 1)
    asked = spark.createDataFrame(
        spark.sparkContext.parallelize([(n,) for n in range(tasks)], tasks),
        StructType([StructField("n", IntegerType())]),
    )
    for row in asked.mapInArrow(_on_executor, ANSWER).distinct().orderBy("host").collect():
        if row.problem:
            problems.append(f"executor {row.host}: {row.problem}")
    lines += problems or ["Nothing is missing: driver and executors can run an audit."]
    return "\n".join(lines), 3 if problems else 0
