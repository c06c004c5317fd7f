"""What a suite is about: result tables, and views over them, as small frames in a stable order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from jobs.spark.local import local_frame
from schemas.policy_views import POLICY_VIEWS
from schemas.tables import OF_INCIDENTS, TABLES

# More than this is not brought to the driver; a policy over larger tables names a view instead.
TABLE_ROWS = 100_000
VIEW_ROWS = 1_000_000
# The policy itself decides these columns of `audit`.
DECIDED_BY_POLICY = ("verdict", "exit_code", "result")
# What names a row among the examples of a failed expectation.
KEYS = {
    "finding_count": ["code", "severity", "verdict"],
    "coverage": ["kind", "status"],
    "topic_state": ["topic"],
    "table_column": ["table_name", "column_name"],
    "dump_file": ["path"],
    "decode_failure": ["file", "first_byte"],
    "aborted_txn": ["broker", "topic", "partition", "producer_id", "first_offset"],
    "coordinator_txn": ["broker", "partition", "transactional_id"],
    "partition_state": ["broker", "topic", "partition"],
    "violation": ["code", "broker", "topic", "partition", "offset_first"],
    "check_run": ["code"],
    "incident": ["incident"],
    "incident_finding": ["incident", "code", "broker", "topic", "partition", "offset_first"],
    "consequence": ["incident", "broker", "topic", "partition", "kind", "first_offset"],
    "affected": ["incident", "topic", "partition"],
    "incident_event": ["incident", "at_ms", "event", "topic", "partition"],
    "affected_group": ["incident", "group", "topic", "partition", "kind", "first_offset"],
    "audit": ["audit_id"],
}
# Whole numbers stay whole where some are missing.
NULLABLE = {pa.int64(): pd.Int64Dtype(), pa.int32(): pd.Int32Dtype(), pa.bool_(): pd.BooleanDtype()}


class UnreadableError(ValueError):
    """A table that the audit does not have, or that is larger than a policy may read."""


@dataclass(frozen=True)
class Results:
    """The tables of one audit, stored or about to be, by name; `as_of_ms` is its moment."""

    tables: Mapping[str, DataFrame]
    as_of_ms: int | None

    def table(self, name: str) -> DataFrame:
        """A table. Raises UnreadableError where the audit does not have it."""
        if name in OF_INCIDENTS and name not in self.tables and self.tables:
            session = next(iter(self.tables.values())).sparkSession
            return local_frame(session, [], TABLES[name])
        if name not in self.tables:
            raise UnreadableError(f"the audit has no table {name}")
        return self.tables[name]


def rows_of(subject: str, results: Results) -> pd.DataFrame:
    """The rows of a table or view, sorted by its key; columns that hold lists are left out.

    Raises UnreadableError.
    """
    if subject == "table_column":
        return _table_columns(results)
    view = VIEWS.get(subject)
    return _read(subject, view(results) if view else results.table(subject))


def _read(subject: str, frame: DataFrame) -> pd.DataFrame:
    limit = VIEW_ROWS if subject in POLICY_VIEWS else TABLE_ROWS
    flat = [field.name for field in frame.schema if not isinstance(field.dataType, ArrayType)]
    read = frame.select(*flat).limit(limit + 1).toArrow()
    if read.num_rows > limit:
        raise UnreadableError(
            f"{subject} has more than {limit:,} rows, the most that a policy reads: use one of the "
            f"views {', '.join(POLICY_VIEWS)}"
        )
    rows: pd.DataFrame = read.to_pandas(types_mapper=NULLABLE.get)
    rest = [name for name in flat if name not in KEYS[subject]]
    return rows.sort_values(KEYS[subject] + rest, ignore_index=True)


def _table_columns(results: Results) -> pd.DataFrame:
    rows = [
        (name, field.name, f"{name}.{field.name} {field.dataType.simpleString()}")
        for name in TABLES
        if name in results.tables
        for field in results.tables[name].schema
    ]
    return pd.DataFrame(rows, columns=POLICY_VIEWS["table_column"].names)


def _finding_count(results: Results) -> DataFrame:
    found = results.table("violation").groupBy("code", "severity", "verdict")
    return found.agg(F.count("*").alias("findings"))


def _coverage(results: Results) -> DataFrame:
    damages = results.table("decode_failure")
    undecoded = damages.groupBy(F.col("file").alias("path")).agg(
        F.sum(F.col("end_byte") - F.col("first_byte")).alias("undecoded")
    )
    files = results.table("dump_file").join(undecoded, on="path", how="left")
    return files.groupBy("kind", "status").agg(
        F.count("*").alias("files"),
        F.sum("size_bytes").alias("bytes"),
        F.coalesce(F.sum("undecoded"), F.lit(0)).alias("undecoded_bytes"),
    )


def _topic_state(results: Results) -> DataFrame:
    partitions = _partition_state(results)
    unknown = F.col("high_watermark").isNull().cast("long")
    return partitions.groupBy("topic").agg(
        F.count("*").alias("partitions"),
        F.sum(unknown).alias("partitions_without_high_watermark"),
        F.sum("open_transactions").alias("open_transactions"),
        F.max("lso_lag").alias("lso_lag"),
        F.max("oldest_open_ms").alias("oldest_open_ms"),
    )


def _partition_state(results: Results) -> DataFrame:
    """The table, with the lag of the last stable offset and its age."""
    return results.table("partition_state").withColumns(
        {
            "lso_lag": F.coalesce("high_watermark", "log_end_offset") - F.col("last_stable_offset"),
            "oldest_open_ms": _age(results.as_of_ms),
        }
    )


def _age(as_of_ms: int | None) -> Column:
    """Null where nothing is open, or where a timestamp is missing (-1 in the log)."""
    since = F.when(F.col("lso_since_ms") >= 0, F.col("lso_since_ms"))
    return F.lit(as_of_ms).cast("long") - since


def _audit(results: Results) -> DataFrame:
    return results.table("audit").drop(*DECIDED_BY_POLICY)


VIEWS: dict[str, Callable[[Results], DataFrame]] = {
    "finding_count": _finding_count,
    "coverage": _coverage,
    "topic_state": _topic_state,
    "partition_state": _partition_state,
    "audit": _audit,
}
