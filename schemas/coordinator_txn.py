"""Table `coordinator_txn`: one row is the last record of a transactional id on one broker."""

from pyspark.sql.types import StringType

from schemas.columns import AUDIT_ID, array, boolean, integer, long, string, table

COORDINATOR_TXN = table(
    AUDIT_ID,
    integer("broker", "broker id"),
    integer("partition", "partition of __transaction_state"),
    string("transactional_id", "transactional id"),
    long("producer_id", "producer id; null for a tombstone"),
    integer("producer_epoch", "producer epoch"),
    string("state", "Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort"),
    array("partitions", StringType(), "partitions in it, as topic-partition; null for none"),
    integer("timeout_ms", "transaction timeout, ms"),
    long("start_ms", "start of the transaction, ms; -1: none; null: not in the text"),
    long("last_update_ms", "last update, ms, coordinator clock"),
    long("record_timestamp", "timestamp of the record, ms"),
    long("record_offset", "offset of the record"),
    integer("client_transaction_version", "client's version, tag 2; 0: none; -1: value version 0"),
    boolean("tombstone", "the value is null: the transactional id has expired"),
    boolean(
        "owner",
        "the audit takes the producer id to be of this transactional id; false: another record "
        "tells more of one of the two, or the id went on with another producer id",
    ),
)
