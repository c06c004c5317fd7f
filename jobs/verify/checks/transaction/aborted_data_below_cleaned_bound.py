"""Records of an aborted transaction are still present after cleaning.

What it finds: an aborted transaction that is below the cleaner checkpoint together with its marker,
and still has records.

Why it is suspicious: a cleaner that knows of the abort removes all its records. If the cleaner
later removes the marker, the records become visible.

When it is legal: the release cleaned the log before the index of aborted transactions existed, or
with an index that lacked the entry; or the log was moved to another disk of the broker, which
copies the checkpoint with it (LogCleanerManager.alterCheckpointDir), and was fetched there before
the pass. Or the line of the checkpoint is that of an older topic of the name (see
cleaned_data_without_marker). A transaction that ended below the log start offset is not judged: the
cleaner is not told of its abort (UnifiedLog.collectAbortedTransactions), and the checkpoint is
raised to the log start offset without any cleaning. A running broker writes that checkpoint at once
(LogCleanerManager.updateCheckpoints), and the one of log start offsets each minute.

Evidence: the first batch of the transaction and its marker.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    NO_INITIAL_STATE,
    TOPIC_RECREATED,
    VERSION_DEPENDENT,
    explained,
    inconclusive,
    suspect,
)
from udfs.rules.absence import within_reach
from udfs.rules.memory import may_be_gone_with_the_head

CHECK = Check(
    code="aborted_data_below_cleaned_bound",
    severity=WARNING,
    context="transaction",
    source="LogCleaner.CleanedTransactionMetadata",
    fires=lambda: (
        (F.col("outcome") == "abort")
        & (F.col("records") > 0)
        & within_reach(F.col("marker_offset"), F.col("cleaner_checkpoint"))
    ),
    excuses=(
        explained(
            NO_INITIAL_STATE,
            lambda: may_be_gone_with_the_head(F.col("marker_offset"), F.col("log_start_offset")),
        ),
        inconclusive(TOPIC_RECREATED, lambda: F.col("created_again")),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("clean_shutdown")),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: text("no records of it below offset {cleaner_checkpoint}"),
    found=lambda: text("{records} records in {batches} batches"),
    proofs=(
        Proof("first batch of the transaction"),
        Proof("the marker", "marker_file", "marker_position", "marker_length"),
    ),
    message=lambda: text(
        "The aborted transaction of producer {producer_id} from offset {first_offset} to "
        "{marker_offset} still has {records} records below the cleaner checkpoint."
    ),
)
