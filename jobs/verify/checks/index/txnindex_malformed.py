"""An entry of a .txnindex breaks the format.

What it finds: an entry with a version other than 0, a last offset that is not above that of the
entry before it, a first offset above its last offset, or offsets outside its segment.

Why it is wrong: brokers search the index in order (TransactionIndex.collectAbortedTxns). Aborted
transactions after such an entry are not found, and their records are delivered.

When it is legal: after a power failure the index of a segment that was not flushed may have zeros
in place of entries; the broker makes it anew when it starts (LogSegment.recover). Without a clean
shutdown nothing else is known either at or above the high watermark, or where a cleaner may be: a
merged segment may have been copied before it was merged, and its index after that. An
incomplete last entry is ignored by brokers and does not count as an entry.

Evidence: the entry.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unsettled_index
from jobs.verify.contexts.txn_index_entry import is_malformed, lies_behind_segment
from jobs.verify.remedies import rebuild_index
from jobs.verify.verdict import DUMP_BEFORE_EVENT, inconclusive


def _of_a_merged_segment() -> Column:
    """Whether the index may be of after a first pass of the cleaner, and its segment of before.

    The index of a merged segment has the entries of all segments of its group
    (`CleanedTransactionMetadata.onControlBatchRead`), and the log still has the marker.
    """
    return (
        F.col("first_pass_possible")
        & lies_behind_segment()
        & F.col("marker_offset").isNotNull()
        & (F.col("marker_offset") < F.col("newest_base"))
    )


CHECK = Check(
    code="txnindex_malformed",
    severity=ERROR,
    context="txn_index_entry",
    source="TransactionIndex.append",
    fires=is_malformed,
    excuses=(
        *unsettled_index("entry.last"),
        inconclusive(DUMP_BEFORE_EVENT, _of_a_merged_segment),
    ),
    expected=lambda: text(
        "version 0, first <= last, last above {before} and inside the segment",
        before=F.col("entry.previous_last"),
    ),
    found=lambda: text(
        "version {version}, first {first}, last {last}",
        version=F.col("entry.version"),
        first=F.col("entry.first"),
        last=F.col("entry.last"),
    ),
    proofs=(Proof("the entry", "entry_file", "entry_position", "entry_length"),),
    message=lambda: text(
        "The aborted-transaction index has an entry that brokers cannot use: producer "
        "{producer_id}, offsets {first} to {last}.",
        first=F.col("entry.first"),
        last=F.col("entry.last"),
    ),
    remedy=lambda: rebuild_index(".txnindex"),
)
