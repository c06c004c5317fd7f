"""A leader remembers another open transaction than its log has.

What it finds: in a dump over the protocol, a leader that said both before and after the fetch, in
one leader epoch, that a producer has a transaction open since an offset of the copy, where the log
has none or another one; or a transaction that the log leaves open, below the high watermark told
before the fetch, and that the leader has open in neither answer.

Why it is wrong: the leader's memory decides the last stable offset and the abort of hanging
transactions. A broker that has open what is ended blocks read_committed consumers until it restarts
or for ever; one that has forgotten an open transaction gives its records to them.

When it is legal: a transaction that begins or ends meanwhile: only what both answers agree on is
compared. Of a transaction whose marker may lie above the high watermark the copy cannot tell, nor
where offsets are missing, or where the copy ends before the high watermark that was told. What lies
below the log start a broker may have forgotten.

Evidence: the newest batch of the producer in the log.
"""

from pyspark.sql import functions as F

from jobs.model.commands import DESCRIBE_PRODUCERS
from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions import lies_in_told_copy, not_replicated_yet
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
        "Broker {answering_broker} has for producer {producer_id}: {found}. Its log has: "
        "{expected}."
    ),
    remedy=lambda: text(
        f"Ask again with {DESCRIBE_PRODUCERS}; if it is the same, move the leader to another "
        "replica or restart the broker: its memory is rebuilt from the log."
    ),
)
