"""A leader reports another open transaction than its log has.

What it finds: in a dump over the protocol, one of two differences, in one leader epoch. The leader
reported before and after the fetch that a transaction of a producer is open from an offset of the
copy on, and the log has none open there. Or a transaction is open in the log, below the high
watermark reported before the fetch, and the leader reported it neither before nor after the fetch.

Why it is wrong: the leader's memory decides the last stable offset and the abort of hanging
transactions. If a transaction that has ended is open there, read_committed consumers are blocked
until the broker restarts, or for ever. If an open transaction is forgotten there, they get its
records.

When it is legal: a transaction may begin or end during the fetch; therefore only what is equal in
both answers is compared. The finding is inconclusive if the marker may lie above the high
watermark, if offsets are missing, or if the copy ends before the reported high watermark. A broker
may have forgotten what lies below the log start, or remember a transaction that begins there and
has no marker behind it. Answers about an older topic of the same name,
by its id, are not compared.

Evidence: the newest batch of the producer in the log.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.copies import lies_in_told_copy, not_replicated_yet
from jobs.verify.remedies import ask_leader_again
from udfs.arrow.told_differences import OPEN_IN_LOG, OPEN_IN_MEMORY

CHECK = Check(
    code="told_open_mismatch",
    severity=ERROR,
    context="told",
    cause=ONE_TRANSACTION,
    source="UnifiedLog.activeProducers, KIP-664",
    fires=lambda: F.col("fault").isin(OPEN_IN_MEMORY, OPEN_IN_LOG),
    excuses=(
        *lies_in_told_copy(),
        not_replicated_yet(lambda: (F.col("fault") == OPEN_IN_LOG) & ~F.col("passed")),
    ),
    expected=lambda: text("{expected}"),
    found=lambda: text("{found}"),
    proofs=(Proof("the newest batch of the producer in the log"),),
    message=lambda: text(
        "Broker {answering_broker} reports for producer {producer_id}: {found}. Its log gives: "
        "{expected}."
    ),
    remedy=ask_leader_again,
)
