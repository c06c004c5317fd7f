"""Table `partition_state`: one row is one partition on one broker at the end of its log."""

from schemas.columns import AUDIT_ID, PLACE, boolean, integer, long, string, table

PARTITION_STATE = table(
    AUDIT_ID,
    *PLACE,
    long("log_start_offset", "first offset a consumer may read"),
    long("log_end_offset", "next offset to be written"),
    long("high_watermark", "by replication-offset-checkpoint, but within the log; null if unknown"),
    long("last_stable_offset", "what a read_committed consumer can read up to, exclusive"),
    long(
        "first_unstable_offset",
        "first offset of the oldest transaction without a replicated marker; null: none",
    ),
    long("open_transactions", "transactions without a marker"),
    string(
        "lso_basis",
        "high_watermark; log_end if it is unknown; log_start if a transaction below it blocks it "
        "and no producer snapshot shows whether the broker forgot that transaction",
    ),
    long("lso_producer_id", "producer id of the transaction that blocks the last stable offset"),
    integer("lso_producer_epoch", "its producer epoch"),
    string("lso_transactional_id", "its transactional id, if the coordinator's log has it"),
    long("lso_since_ms", "timestamp of its first batch, ms; null: none (-1)"),
    long(
        "lso_first_offset",
        "its own first offset, as the broker remembers it: below the log start where its head is "
        "gone",
    ),
    integer(
        "lso_coordinator_epoch",
        "coordinator epoch of the newest marker of its producer in front of it; null: none",
    ),
    boolean(
        "furthest",
        "no other copy of the dump has batches of a later leader, or more of the same one: the "
        "leader's copy, and those like it",
    ),
    long("complete_up_to_ms", "largest broker timestamp seen in the copy, ms; null: none seen"),
    long("batches", "batches; a message of magic 0 or 1 is one"),
    long("records", "records in these batches, by their headers"),
)
