"""The last stable offset that a leader tells is not that of its log.

What it finds: in a dump over the protocol, a leader that told the same last stable offset before
and after the fetch, in one leader epoch, at which no transaction of the log is open; or one that
was behind the first offset of a transaction which the log leaves open. Where the leader's own
producers are the reason, told_open_mismatch reports it.

Why it is wrong: read_committed consumers wait for nothing, or get records of a transaction that is
not decided.

When it is legal: what holds the last stable offset may lie below the log start or before the copy.
Where offsets are missing, or the copy ends before the high watermark that was told, it cannot tell.

Evidence: the newest batch of the producer whose transaction is open.
"""

from pyspark.sql import functions as F

from jobs.model.commands import DESCRIBE_PRODUCERS
from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions import lies_in_told_copy
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
    message=lambda: text(
        "Broker {answering_broker} told: {found}, in both answers. By its log there is {expected}."
    ),
    remedy=lambda: text(
        f"Ask again with {DESCRIBE_PRODUCERS}; if it is the same, move the leader to another "
        "replica or restart the broker: its memory is rebuilt from the log."
    ),
)
