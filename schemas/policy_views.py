"""What an acceptance policy may be about besides the tables: small views, never stored."""

from pyspark.sql.types import StructType

from schemas.columns import long, string, table

FINDING_COUNT = table(
    string("code", "check code"),
    string("severity", "error, warning or info"),
    string("verdict", "violation, suspect or inconclusive"),
    long("findings", "number of findings"),
)
COVERAGE = table(
    string("kind", "kind of file, as in dump_file"),
    string("status", "audited, digest_only, skipped or failed"),
    long("files", "number of files"),
    long("bytes", "their size, bytes"),
    long("undecoded_bytes", "bytes of them in rows of decode_failure"),
)
TOPIC_STATE = table(
    string("topic", "topic name"),
    long("partitions", "partitions audited, each replica counted"),
    long("partitions_without_high_watermark", "those whose high watermark is unknown"),
    long("open_transactions", "transactions without a marker"),
    long("lso_lag", "largest distance from last stable offset to high watermark, offsets"),
    long("oldest_open_ms", "age of the oldest transaction that blocks a last stable offset, ms"),
)
TABLE_COLUMN = table(
    string("table_name", "table"),
    string("column_name", "column"),
    string("definition", "table.column and its type, such as violation.code string"),
)
PARTITION_AGES = table(
    long("lso_lag", "distance from last stable offset to high watermark, or log end, offsets"),
    long("oldest_open_ms", "age of the transaction that blocks the last stable offset, ms"),
)
"""Columns that `partition_state` has more of where a policy reads it."""

POLICY_VIEWS: dict[str, StructType] = {
    "finding_count": FINDING_COUNT,
    "coverage": COVERAGE,
    "topic_state": TOPIC_STATE,
    "table_column": TABLE_COLUMN,
}
