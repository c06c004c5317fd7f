"""An aborted transaction is missing from the index.

What it finds: an ABORT marker that ended a transaction with data, without an entry in the .txnindex
of its segment.

Why it is wrong: a read_committed consumer learns of aborted transactions only from the index
(TransactionIndex), so it receives the aborted records as committed ones.

When it is legal: the cleaner removed all data of the transaction; the index was copied before the
marker was written; the log was fetched over the protocol, which has no request for indexes; only
the `.log` file of the segment was copied, in which case its `.index` and `.timeindex`, which every
broker has, are missing too; between data and marker batches are lost, so that the marker may have
ended nothing. Or all data are below the log start offset: the cleaner writes no entry for a
transaction that ends there (UnifiedLog.collectAbortedTransactions), and a broker that forgot the
transaction with the head of the log writes none for its marker. Without the
log-start-offset-checkpoint of the log directory the log start offset is unknown. Without a clean
shutdown, the index of a segment that was not flushed may have lost entries by a power failure, and
where a cleaner may be, the index is perhaps that of the cleaned segment.

Evidence: the marker.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions import (
    cleaned_between,
    log_start_unknown,
    unsettled_index,
    unstable_tail,
)
from jobs.verify.remedies import rebuild_index
from jobs.verify.verdict import (
    CLEANED_RANGE,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    SIDE_FILES_NOT_DUMPED,
    explained,
    inconclusive,
)


def _behind_the_index() -> Column:
    beyond = F.col("newest_entry").isNull() | (F.col("marker_offset") > F.col("newest_entry"))
    return ~F.col("clean_shutdown") & beyond


CHECK = Check(
    code="txnindex_missing_entry",
    severity=ERROR,
    context="txn_index_entry",
    source="TransactionIndex, ProducerStateManager.completeTxn",
    fires=lambda: (
        F.col("entry").isNull()
        & F.col("marker_offset").isNotNull()
        & F.col("first_offset").isNotNull()
    ),
    excuses=(
        explained(SIDE_FILES_NOT_DUMPED, lambda: F.col("fetched")),
        # No consumer reads there, and the cleaner does not index it again.
        explained(NO_INITIAL_STATE, lambda: F.col("first_kept").isNull()),
        explained(
            CLEANED_RANGE,
            lambda: (F.col("records") == 0) & cleaned_between(F.col("first_offset")),
        ),
        inconclusive(DUMP_BEFORE_EVENT, _behind_the_index),
        inconclusive(SIDE_FILES_NOT_DUMPED, lambda: F.col("side_files_missing")),
        # The marker may have ended nothing, as that of the data in front of it is lost.
        inconclusive(MISSING_RANGE, lambda: F.col("data_missing")),
        unstable_tail("marker_offset"),
        log_start_unknown(),
        *unsettled_index("marker_offset"),
    ),
    expected=lambda: text("an entry for offsets {first_offset} to {marker_offset}"),
    found=lambda: F.lit("no entry"),
    proofs=(Proof("the ABORT marker", "marker_file", "marker_position", "marker_length"),),
    message=lambda: text(
        "Producer {producer_id} aborted offsets {first_offset} to {marker_offset}. The index has "
        "no entry for them, so read_committed consumers receive the aborted records."
    ),
    remedy=lambda: rebuild_index(".txnindex"),
)
