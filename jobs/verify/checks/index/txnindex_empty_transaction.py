"""The index has an entry for an ABORT marker without data.

What it finds: an entry whose first and last offset are both the offset of a marker without data.

Why it is of interest: it is not an error and costs a consumer nothing.

When it is legal: brokers up to 2.7 write such an entry for every ABORT marker that ended no
transaction in the partition.

Evidence: the entry.
"""

from pyspark.sql import functions as F

from jobs.verify.check import INFO, Check, Proof, text
from jobs.verify.contexts.txn_index_entry import is_malformed
from jobs.verify.verdict import ALSO_LEGAL, suspect

CHECK = Check(
    code="txnindex_empty_transaction",
    severity=INFO,
    context="txn_index_entry",
    source="ProducerAppendInfo.appendEndTxnMarker up to 2.7",
    fires=lambda: (
        (F.col("entry.first") == F.col("entry.last"))
        & F.col("marker_offset").isNotNull()
        & F.col("first_offset").isNull()
        & ~is_malformed()
    ),
    excuses=(suspect(ALSO_LEGAL),),
    expected=lambda: F.lit("no entry for an ABORT marker without data"),
    found=lambda: text("an entry at offset {last}", last=F.col("entry.last")),
    proofs=(Proof("the entry", "entry_file", "entry_position", "entry_length"),),
    message=lambda: text(
        "The index has an entry for the ABORT marker of producer {producer_id} at offset {last}, "
        "which ended no transaction in this partition.",
        last=F.col("entry.last"),
    ),
)
