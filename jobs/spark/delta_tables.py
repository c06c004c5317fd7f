"""The only module that reads or writes Delta: append-only tables under the output folder.

Every row carries its audit id and every write its own transaction id, so that a table that an
interrupted audit had already written is not written again, and running an audit a second time
adds nothing, nor does running it twice at once.
"""

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.spark import delta_by_driver
from jobs.spark.files import local_folder, remove_folder
from jobs.spark.local import local_frame
from jobs.spark.session import in_one_process
from schemas.data_file import DATA_FILE
from schemas.record import RECORD
from schemas.tables import TABLES
from udfs.arrow.blocks import Unpack
from udfs.arrow.parquet_files import parquet_files

TRIAL = "_doctor"
# An export writes a table of its own.
SCHEMAS = TABLES | {"record": RECORD}


class Part(NamedTuple):
    """Some rows of a table: what `of_batches` makes of `rows`, in all columns of the table."""

    rows: DataFrame
    of_batches: Unpack


# By which files are skipped: Delta keeps the smallest and largest value of these a file. Those of
# all columns cost a fifth of writing the table `txn`.
SKIPPED_BY = ("audit_id", "topic", "partition", "producer_id", "first_offset", "offset")

# Who was overtaken by another audit of the same folder looks at the table anew, and tries again.
OVERTAKEN = "io.delta.exceptions."
MOST_TRIES = 10
LONGEST_PAUSE_SECONDS = 1.0


def path_of(out: str, name: str) -> str:
    """Folder of one table; `out` may be any address that Hadoop's file systems know."""
    return f"{out.rstrip('/')}/{name}"


def read(spark: SparkSession, out: str, name: str, audit_id: str | None = None) -> DataFrame | None:
    """A table, or the rows of one audit in it; None where it does not exist yet."""
    folder = local_folder(spark, path_of(out, name))
    if folder is not None and not Path(folder).is_dir():
        return None
    try:
        return rows_of(spark, out, name, audit_id)
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error) or "DELTA_TABLE_NOT_FOUND" in str(error):
            return None
        if "not a Delta table" in str(error) or "does not exist" in str(error):
            return None
        raise


def rows_of(spark: SparkSession, out: str, name: str, audit_id: str | None) -> DataFrame:
    """The rows of one finished audit in a table, which must exist; with None of all audits."""
    path = path_of(out, name)
    rows = _of_files(spark, path, audit_id)
    if rows is None:
        rows = spark.read.format("delta").load(path)
    return rows if audit_id is None else rows.filter(F.col("audit_id") == audit_id)


def rows_or_none(spark: SparkSession, out: str, name: str, audit_id: str) -> DataFrame:
    """The rows of one finished audit; none where the table does not exist yet."""
    rows = read(spark, out, name, audit_id)
    return local_frame(spark, [], SCHEMAS[name]) if rows is None else rows


def _of_files(spark: SparkSession, path: str, audit_id: str | None) -> DataFrame | None:
    """The files of a table of this machine, read as files; None where only Delta can read it."""
    folder = local_folder(spark, path)
    table = delta_by_driver.stored(folder, audit_id) if folder else None
    if folder is None or table is None:
        return None
    if not table.files:
        return local_frame(spark, [], table.schema)
    # Names of folders above it, as in day=2026-11-29, are no columns.
    files = spark.read.schema(table.schema).option("basePath", folder)
    return files.parquet(*table.files)


def append(rows: DataFrame, out: str, name: str, audit_id: str, few: bool = False) -> None:
    """Appends the rows of one audit to a table, once, in the columns of its schema.

    `few` rows are written by the driver where the table lies on a disk of its machine.
    """
    app, properties = _app(name, audit_id), _properties(name)
    folder = local_folder(rows.sparkSession, path_of(out, name)) if few else None
    if folder is not None and delta_by_driver.is_there():
        delta_by_driver.append(rows, folder, SCHEMAS[name], app, audit_id, properties)
        return
    writer = (
        stamped(rows, name, audit_id)
        .write.format("delta")
        .mode("append")
        .option("txnAppId", app)
        .option("txnVersion", delta_by_driver.VERSION)
        .option("userMetadata", audit_id)
        # Tables of an earlier version may lack a column.
        .option("mergeSchema", "true")
        # Of the table that is made; one that is there keeps its own.
        .options(**properties)
    )
    for tries_left in reversed(range(MOST_TRIES)):
        try:
            return writer.save(path_of(out, name))
        except (PySparkException, Py4JJavaError) as error:
            if OVERTAKEN not in str(error) or not tries_left:
                raise
        time.sleep(random.uniform(0, LONGEST_PAUSE_SECONDS))


def append_by_tasks(parts: Sequence[Part], out: str, name: str, audit_id: str) -> bool:
    """The same of very many rows, by the tasks that have them; whether it can be done so.

    It can where tasks and table are on one machine, and the table has all columns.
    """
    spark, schema = parts[0].rows.sparkSession, SCHEMAS[name]
    folder = local_folder(spark, path_of(out, name)) if in_one_process(spark) else None
    if folder is None or not delta_by_driver.is_there():
        return False
    if delta_by_driver.lacks_columns(folder, schema):
        return False
    app, properties = _app(name, audit_id), _properties(name)
    if not delta_by_driver.has(folder, app):
        Path(folder).mkdir(parents=True, exist_ok=True)
        files = [
            file
            for part in parts
            for file in part.rows.mapInArrow(
                parquet_files(folder, _skipped_by(name), part.of_batches), DATA_FILE
            ).collect()
        ]
        delta_by_driver.append_files(files, folder, schema, app, audit_id, properties)
    return True


def _app(name: str, audit_id: str) -> str:
    """By which a table knows that it has the rows of an audit."""
    return f"eosaudit/{name}/{audit_id}"


def _skipped_by(name: str) -> list[str]:
    return [column for column in SKIPPED_BY if column in SCHEMAS[name].names]


def _properties(name: str) -> dict[str, str]:
    """Of a table that does not exist yet."""
    return {"delta.dataSkippingStatsColumns": ",".join(_skipped_by(name))}


def stamped(rows: DataFrame, name: str, audit_id: str) -> DataFrame:
    """The rows of one audit as a table has them: its columns and the audit id."""
    return as_schema(rows.withColumn("audit_id", F.lit(audit_id)), SCHEMAS[name])


def as_schema(rows: DataFrame, schema: StructType) -> DataFrame:
    """The columns of a schema in its order, types and comments, nothing else."""
    return rows.select(
        *[
            # By name: PySpark would ask the JVM six times for each type.
            F.col(field.name)
            .cast(field.dataType.simpleString())
            .alias(field.name, metadata=field.metadata)
            for field in schema
        ]
    )


def try_out(spark: SparkSession, out: str) -> None:
    """Writes a small table under `out` and removes it. Raises what Spark raises."""
    folder = path_of(out, TRIAL)
    try:
        spark.range(1).write.format("delta").mode("overwrite").save(folder)
        spark.read.format("delta").load(folder).isEmpty()
    finally:
        remove_folder(spark, folder)
