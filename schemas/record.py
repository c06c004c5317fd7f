"""Table `record`: one row is a record that a consumer would get (`eosaudit export`)."""

from pyspark.sql.types import ArrayType

from schemas.columns import (
    AUDIT_ID,
    PLACE,
    array,
    binary,
    boolean,
    column,
    integer,
    long,
    string,
    table,
)
from schemas.log_row import SPLIT

READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"

HEADER = table(
    string("key", "header key"),
    binary("value", "header value; may be null"),
)

CONTENT = (
    long("offset", "offset of the record"),
    long("timestamp", "timestamp of the record, ms; -1: none"),
    string(
        "timestamp_type",
        "CreateTime (the client's clock), LogAppendTime (the broker's), NoTimestampType (magic 0)",
    ),
    binary("key", "key; may be null"),
    binary("value", "value; null for a tombstone"),
    column("headers", ArrayType(HEADER), "headers in their order; null for none"),
    long("producer_id", "producer id; null for a plain producer"),
    integer("producer_epoch", "producer epoch; null for a plain producer"),
    boolean("transactional", "whether it was written in a transaction"),
)

RECORD = table(
    AUDIT_ID,
    *PLACE,
    *CONTENT,
    string("transactional_id", "transactional id of the producer id; null where unknown"),
)

RECORD_ROW = table(
    integer("partition_index", "see schemas/log_row.py"),
    *CONTENT,
)
"""What the decoder yields for an export."""

ENDED_ELSEWHERE = table(
    long("producer_id", "producer id"),
    long("first_offset", "first offset of its transaction"),
)

OUTCOME_TOLD = table(
    long("producer_id", "producer id"),
    long("first_offset", "first offset of its transaction"),
    long("last_offset", "offset of its marker"),
    boolean("commit", "whether that is a COMMIT"),
)

EXPORT_SPLIT = table(
    *SPLIT.fields,
    long("from_offset", "records below are left out"),
    long("end_offset", "records from here on are left out"),
    boolean("committed", "records of aborted transactions are left out"),
    array("aborted_behind", ENDED_ELSEWHERE, "transactions open at the end of the split that are "
          "aborted after it; null for none"),
    array("outcomes_told", OUTCOME_TOLD, "transactions whose marker cannot be read, as the "
          ".txnindex or another copy tells them; null for none"),
)  # fmt: skip
"""A split of a segment, and what of it a consumer gets."""
