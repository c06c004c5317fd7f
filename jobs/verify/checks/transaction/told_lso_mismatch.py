"""A leader reports another last stable offset than its log has.

What it finds: in a dump over the protocol, one of two differences, in one leader epoch. The leader
reported the same last stable offset before and after the fetch, and no transaction of the log is
open there. Or it reported one above the first offset of a transaction that is open in the log. If
the open transactions that the leader reports are the reason, told_open_mismatch reports it.

Why it is wrong: read_committed consumers wait without a reason, or get records of a transaction
that is not decided.

When it is legal: the transaction that holds the last stable offset may lie below the log start or
before the copy. After DeleteRecords into an open transaction the last stable offset is the log
start. If offsets are missing, or the copy ends before the reported high watermark, the
finding is inconclusive. Answers about an older topic of the same name, by its id, are not compared.

Evidence: the newest batch of the producer whose transaction is open.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.copies import lies_in_told_copy
from jobs.verify.remedies import ask_leader_again
from jobs.verify.verdict import NO_INITIAL_STATE, inconclusive
from udfs.arrow.told_differences import STABLE_AHEAD, STABLE_BEHIND

CHECK = Check(
    code="told_lso_mismatch",
    severity=ERROR,
    context="told",
    source="UnifiedLog.lastStableOffset, Partition.fetchOffsetForTimestamp",
    fires=lambda: F.col("fault").isin(STABLE_AHEAD, STABLE_BEHIND),
    excuses=(
        # What holds it at the log start may lie below.
        inconclusive(
            NO_INITIAL_STATE,
            lambda: (F.col("begins") == F.col("log_start_offset")) & (F.col("begins") > 0),
        ),
        *lies_in_told_copy(),
    ),
    expected=lambda: text("{expected}"),
    found=lambda: text("{found}"),
    proofs=(Proof("the newest batch of the producer"),),
    message=lambda: text("Broker {answering_broker} reported {found}. Its log shows {expected}."),
    remedy=ask_leader_again,
)
