"""Table `txn`: one row is one transaction of one producer id on one partition of one broker."""

from schemas.columns import AUDIT_ID, PLACE, boolean, integer, long, string, table

TXN = table(
    AUDIT_ID,
    *PLACE,
    long("producer_id", "producer id"),
    integer("producer_epoch", "highest producer epoch of its data"),
    long("first_offset", "base offset of its first data batch, inclusive"),
    long("last_offset", "last offset of its last data batch, inclusive"),
    string("outcome", "commit, abort or open"),
    long("marker_offset", "offset of the marker that ended it; null while open"),
    integer("marker_epoch", "producer epoch of the marker"),
    integer("coordinator_epoch", "coordinator epoch of the marker"),
    long("first_timestamp", "largest timestamp of its first batch, ms"),
    long("last_timestamp", "largest timestamp of its last batch, ms"),
    long("marker_timestamp", "timestamp of the marker, ms, broker clock"),
    long("batches", "data batches"),
    long("records", "records in these batches, by their headers"),
    boolean("head_known", "false where earlier batches of it may lie below the start of the copy"),
)
