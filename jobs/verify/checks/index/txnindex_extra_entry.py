"""The index has an aborted transaction that the log does not have.

What it finds: an entry without an ABORT marker of its producer at its last offset.

Why it is wrong: a read_committed consumer skips the records that the index lists as aborted
(TransactionIndex), so it never receives these records, which the log does not have as aborted. Or
the index is right, and the marker was an ABORT that was changed on disk after the broker had
appended both.

When it is legal: the marker is below the start of the log, or in a range that is missing or
damaged; the log was copied before the index. Whether a marker was an ABORT that the cleaner has
emptied, nothing shows. Without a clean shutdown, index and log are of one state only in a segment
that was flushed, below the high watermark, and where no cleaner replaces both: a power failure may
leave zeros in place of entries, and a follower may have truncated what an older copy of the index
has.

Evidence: the entry.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.missing import marker_missing_between
from jobs.verify.conditions.settled import unsettled_index
from jobs.verify.contexts.txn_index_entry import is_malformed
from jobs.verify.remedies import rebuild_aborted_index
from jobs.verify.verdict import (
    CLEANED_RANGE,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    explained,
    inconclusive,
)

CHECK = Check(
    code="txnindex_extra_entry",
    severity=ERROR,
    context="txn_index_entry",
    source="TransactionIndex",
    fires=lambda: F.col("entry").isNotNull() & F.col("marker_offset").isNull() & ~is_malformed(),
    excuses=(
        explained(NO_INITIAL_STATE, lambda: F.col("entry.last") < F.col("log_start_offset")),
        explained(MISSING_RANGE, lambda: F.col("marker_missing")),
        inconclusive(
            CLEANED_RANGE, lambda: marker_missing_between(F.col("entry.last"), F.col("entry.last"))
        ),
        inconclusive(
            DUMP_BEFORE_EVENT,
            lambda: ~F.col("clean_shutdown") & (F.col("entry.last") >= F.col("data_end_offset")),
        ),
        *unsettled_index("offset_last"),
    ),
    expected=lambda: text("an ABORT marker at offset {last}", last=F.col("entry.last")),
    found=lambda: F.lit("none"),
    proofs=(Proof("the entry", "entry_file", "entry_position", "entry_length"),),
    message=lambda: text(
        "The index lists offsets {first} to {last} of producer {producer_id} as aborted. The log "
        "has no ABORT marker of that producer at offset {last}. read_committed consumers skip "
        "these records. Either the index or the log is wrong there.",
        first=F.col("entry.first"),
        last=F.col("entry.last"),
    ),
    remedy=lambda: rebuild_aborted_index("offset_last"),
)
