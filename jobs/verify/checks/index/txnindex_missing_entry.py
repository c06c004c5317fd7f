"""An aborted transaction is missing from the index.

What it finds: an ABORT marker that ended a transaction with data, without an entry in the .txnindex
of its segment.

Why it is wrong: a read_committed consumer learns of aborted transactions only from the index
(TransactionIndex), so it receives the aborted records as committed ones. Or the index is right, and
the marker was a COMMIT that was changed on disk after the broker had appended both.

When it is legal: the cleaner removed all data of the transaction; the index was copied before the
marker was written; the log was fetched over the protocol, which has no request for indexes; only
the `.log` file of the segment was copied, in which case its `.index` and `.timeindex`, which every
broker has, are missing too; between data and marker batches are lost, so that the marker may have
ended nothing. Or all data are below the log start offset: the cleaner writes no entry for a
transaction that ends there (UnifiedLog.collectAbortedTransactions), and a broker that forgot the
transaction with the head of the log writes none for its marker. A checkpoint that lies below the
first segment, after a clean shutdown, shows that older segments are in remote storage or were not
copied: data from there on are read, and need an entry. Without the log-start-offset-checkpoint of
the log directory the log start offset is unknown. Without a clean shutdown, the index of a segment
that was not flushed may have lost entries by a power failure, and where a cleaner may be, the index
is perhaps that of the cleaned segment.

Evidence: the marker.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.cleaned import cleaned_between
from jobs.verify.conditions.forgotten import log_start_unknown
from jobs.verify.conditions.settled import unsettled_index, unstable_tail
from jobs.verify.remedies import rebuild_aborted_index
from jobs.verify.verdict import (
    CLEANED_RANGE,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    SIDE_FILES_NOT_DUMPED,
    explained,
    inconclusive,
)
from schemas.dump_partition import NEVER_CLEANED
from udfs.rules.logic import surely


def _behind_the_index() -> Column:
    beyond = F.col("newest_entry").isNull() | (F.col("marker_offset") > F.col("newest_entry"))
    return ~F.col("clean_shutdown") & beyond


def _readable_before_the_copy() -> Column:
    """Whether all data lie in front of the files, and at or above the log start all the same.

    A broker lists a log with remote storage in its log-start-offset-checkpoint, also where that is
    below the first local segment (`LogManager.checkpointLogStartOffsetsInDir`), and adds to an
    answer from there what local indexes have of aborted transactions (`RemoteLogManager`). The
    producer snapshot at the first local segment, from which the data are known, goes with it. The
    checkpoint of a running or killed broker may be older than the last retention, after which the
    log is not listed any more.
    """
    start = F.col("checkpoint_log_start")
    before_the_files = (start < F.col("first_base")) & (F.col("first_offset") >= start)
    settled = F.col("clean_shutdown") & (F.col("cleaning") == NEVER_CLEANED)
    readable: Column = surely(settled & before_the_files)
    return readable


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
        explained(
            NO_INITIAL_STATE, lambda: F.col("first_kept").isNull() & ~_readable_before_the_copy()
        ),
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
        "By its ABORT marker producer {producer_id} aborted offsets {first_offset} to "
        "{marker_offset}. The index has no entry for them, so read_committed consumers receive "
        "these records. Either the index or the marker is wrong."
    ),
    remedy=lambda: rebuild_aborted_index("marker_offset"),
)
