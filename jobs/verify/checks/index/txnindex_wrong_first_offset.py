"""The index and the log disagree on the first offset of an aborted transaction.

What it finds: an entry whose first offset is not that of the first data batch of the transaction
that its marker ended.

Why it is wrong: with a later first offset a consumer receives aborted records; with an earlier one
it does not receive committed records of the producer.

When it is legal: retention or the cleaner removed the first batches, or they are before the log, of
which no snapshot tells; then the entry begins where they were. Or offsets of the transaction are
missing from the copy: if the marker of the previous transaction is among them, two transactions
look like one. If the first batches are below the log start offset, the broker may have forgotten
them: then the entry begins with the first batch above it, or, up to Kafka 2.7, with the marker if
there is none. Without the log-start-offset-checkpoint of the log directory that offset is unknown.
Without a clean shutdown, index and log are of one state only in a segment that was flushed, below
the high watermark, and where no cleaner replaces both: a follower may have truncated the
transaction that an older copy of the index has, and fetched another one that ends at the same
offset.

Evidence: the entry and the marker.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.forgotten import log_start_unknown
from jobs.verify.conditions.settled import unsettled_index
from jobs.verify.contexts.txn_index_entry import is_malformed
from jobs.verify.remedies import rebuild_index
from jobs.verify.verdict import CLEANED_RANGE, MISSING_RANGE, NO_INITIAL_STATE, explained
from udfs.rules.memory import explains_first_offset


def _not_later() -> Column:
    return F.coalesce(F.col("entry.first") <= F.col("first_offset"), F.lit(True))


def _before_the_log() -> Column:
    """Whether the transaction may have begun in front of the log, and is not known from there.

    What begins within the log is known from there, whoever had a transaction open before.
    """
    before: Column = _not_later() & (F.col("entry.first") < F.col("first_base"))
    return before


def _head_forgotten() -> Column:
    forgotten: Column = explains_first_offset(
        F.col("entry.first"),
        F.col("first_offset"),
        F.coalesce("first_kept", "marker_offset"),
        F.col("first_base"),
        F.col("log_start_offset"),
    )
    return forgotten


CHECK = Check(
    code="txnindex_wrong_first_offset",
    severity=ERROR,
    context="txn_index_entry",
    source="CompletedTxn, TransactionIndex",
    fires=lambda: (
        F.col("entry").isNotNull()
        & F.col("marker_offset").isNotNull()
        & (F.col("entry.first") != F.coalesce("first_offset", "marker_offset"))
        & ~is_malformed()
    ),
    excuses=(
        explained(NO_INITIAL_STATE, lambda: ~F.col("start_known") & _before_the_log()),
        explained(CLEANED_RANGE, lambda: _not_later() & F.col("start_missing")),
        explained(NO_INITIAL_STATE, _head_forgotten),
        explained(MISSING_RANGE, lambda: F.col("data_missing")),
        log_start_unknown(lambda: F.col("entry.first") > F.col("first_offset")),
        *unsettled_index("marker_offset"),
    ),
    expected=lambda: text("first offset {first_offset}"),
    found=lambda: text("first offset {first}", first=F.col("entry.first")),
    proofs=(
        Proof("the entry", "entry_file", "entry_position", "entry_length"),
        Proof("the ABORT marker", "marker_file", "marker_position", "marker_length"),
    ),
    message=lambda: text(
        "The index entry for the ABORT marker of producer {producer_id} at offset {marker_offset} "
        "has first offset {first}. In the log the transaction {start}.",
        first=F.col("entry.first"),
        start=F.coalesce(
            F.concat(F.lit("begins at offset "), F.col("first_offset").cast("string")),
            F.lit("has no data"),
        ),
    ),
    remedy=lambda: rebuild_index(".txnindex"),
)
