"""Table `aborted_txn`: what a broker answers a read_committed fetch, one row a transaction."""

from schemas.columns import AUDIT_ID, PLACE, long, table

ABORTED_TXN = table(
    AUDIT_ID,
    *PLACE,
    long("producer_id", "producer id"),
    long("first_offset", "base offset of the first data batch, inclusive"),
    long("last_offset", "offset of the ABORT marker"),
    long(
        "last_stable_offset",
        "at the ABORT marker: first offset of the oldest other open transaction, or marker + 1",
    ),
)
