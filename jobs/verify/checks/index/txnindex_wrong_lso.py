"""The last stable offset of an index entry differs from that of the log.

What it finds: an entry whose last stable offset is neither the first offset of the oldest
transaction that was open when the marker was written, nor the offset after the marker.

Why it is wrong: a broker ends its search of the index at this value
(TransactionIndex.collectAbortedTxns). If it is too large, aborted transactions are missed.

When it is legal: if no transaction was open, a follower counts transactions that begin later in the
same fetch, also one that it truncates afterwards. A transaction from before the log, of which no
snapshot tells, makes the value a lower one. Transactions in missing offsets are not known. A broker
may have forgotten a transaction whose first offset is below the log start offset; without the
log-start-offset-checkpoint of the log directory that offset is unknown. Without a clean shutdown,
index and log are of one state only in a segment that was flushed, below the high watermark, and
where no cleaner replaces both.

Evidence: the entry and the marker.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.conditions.forgotten import log_start_unknown
from jobs.verify.conditions.missing import missing_between
from jobs.verify.conditions.settled import unsettled_index
from jobs.verify.contexts.txn_index_entry import is_malformed
from jobs.verify.verdict import (
    ALSO_LEGAL,
    MISSING_RANGE,
    NO_INITIAL_STATE,
    VERSION_DEPENDENT,
    explained,
    suspect,
)
from udfs.rules.memory import explains_stable_offset

# No fetch holds so many offsets: its size is an int of bytes.
OFFSETS_OF_A_FETCH = 1 << 31


def _counted_by_a_follower() -> Column:
    marker, stored = F.col("marker_offset"), F.col("entry.last_stable_offset")
    nothing_open = F.col("last_stable_offset") == marker + 1
    return nothing_open & (stored > marker) & (stored - OFFSETS_OF_A_FETCH < marker)


def _head_forgotten() -> Column:
    forgotten: Column = explains_stable_offset(
        F.col("entry.last_stable_offset"), F.col("last_stable_offset"), F.col("log_start_offset")
    )
    return forgotten


def _is_lower() -> Column:
    """Whether a transaction that was open in front of the log may be the oldest one."""
    lower: Column = F.col("entry.last_stable_offset") < F.col("last_stable_offset")
    return lower


def _within_the_log() -> Column:
    """Whether a transaction can begin there, or be the next to begin.

    A follower may have truncated it later, and the index keeps the entry of a marker that stays
    (`TransactionIndex.truncateTo`).
    """
    end = F.greatest("log_end_offset", "checkpoint_high_watermark")
    grew = ~F.col("clean_shutdown") | ~F.col("alone_in_cluster")
    return grew | (F.col("entry.last_stable_offset") <= end)


CHECK = Check(
    code="txnindex_wrong_lso",
    severity=WARNING,
    context="txn_index_entry",
    source="ProducerStateManager.lastStableOffset",
    fires=lambda: (
        (F.col("entry.last_stable_offset") != F.col("last_stable_offset")) & ~is_malformed()
    ),
    excuses=(
        explained(NO_INITIAL_STATE, lambda: ~F.col("start_known") & _is_lower()),
        explained(
            MISSING_RANGE, lambda: missing_between(F.lit(0).cast("long"), F.col("marker_offset"))
        ),
        explained(ALSO_LEGAL, lambda: _counted_by_a_follower() & _within_the_log()),
        explained(NO_INITIAL_STATE, lambda: _head_forgotten() & _within_the_log()),
        log_start_unknown(lambda: F.col("entry.last_stable_offset") > F.col("last_stable_offset")),
        *unsettled_index("marker_offset"),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: text("last stable offset {last_stable_offset}"),
    found=lambda: text("last stable offset {stored}", stored=F.col("entry.last_stable_offset")),
    proofs=(
        Proof("the entry", "entry_file", "entry_position", "entry_length"),
        Proof("the ABORT marker", "marker_file", "marker_position", "marker_length"),
    ),
    message=lambda: text(
        "The index entry for the ABORT marker of producer {producer_id} at offset {marker_offset} "
        "has last stable offset {stored}. In the log it is {last_stable_offset}.",
        stored=F.col("entry.last_stable_offset"),
    ),
)
