"""An old open transaction blocks the last stable offset.

What it finds: the oldest open transaction of a partition is older than transaction.max.timeout.ms
(or the timeout of the id that runs it, if that is longer) plus five minutes, and is neither proven
to hang (hanging_transaction) nor proven to be overdue at its coordinator
(open_transaction_overdue).

Why it is suspicious: read_committed consumers wait at its first offset and the cleaner stops there.
A running coordinator ends transactions before that age.

When it is legal: the broker allows longer transactions than the configuration of this audit; a
prepared transaction of two-phase commit; client timestamps are in the past, and no broker timestamp
before or after the data shows when they were appended; the data are before the first offset of the
copy, and the cleaner may have removed their marker; the marker may be in offsets that are damaged
or missing.

Evidence: the first batch of the transaction.
"""

from pyspark.sql import functions as F

from jobs.model.commands import DESCRIBE_PRODUCERS
from jobs.verify.check import ONE_TRANSACTION, WARNING, Check, Proof, text
from jobs.verify.conditions.copies import judged_on_a_longer_copy
from jobs.verify.conditions.missing import ended_before_snapshot, marker_gone_with_the_head
from jobs.verify.verdict import (
    CONFIG_UNKNOWN,
    MISSING_RANGE,
    TWO_PHASE_COMMIT,
    inconclusive,
    suspect,
)

CHECK = Check(
    code="lso_stuck",
    severity=WARNING,
    context="transaction",
    cause=ONE_TRANSACTION,
    source="ReplicaManager.hasLateTransaction",
    fires=lambda: (
        (F.col("outcome") == "open")
        & F.col("holds_lso")
        & (F.col("held_ms") > F.col("limit_ms"))
        & ~F.col("hangs")
        & ~F.col("overdue")
    ),
    excuses=(
        judged_on_a_longer_copy(),
        marker_gone_with_the_head(),
        ended_before_snapshot(),
        inconclusive(MISSING_RANGE, lambda: F.col("behind_data_gap")),
        inconclusive(TWO_PHASE_COMMIT, lambda: F.col("two_phase_commit")),
        suspect(CONFIG_UNKNOWN),
    ),
    expected=lambda: text(
        "COMMIT or ABORT within {minutes} minutes", minutes=F.floor(F.col("limit_ms") / 60000)
    ),
    found=lambda: text("open for {minutes} minutes", minutes=F.floor(F.col("held_ms") / 60000)),
    proofs=(Proof("first batch of the transaction"),),
    message=lambda: text(
        "The transaction of producer {producer_id} that began at offset {first_offset} has blocked "
        "the last stable offset for {minutes} minutes. Its coordinator is in state "
        "{coordinator_state}.",
        minutes=F.floor(F.col("held_ms") / 60000),
    ),
    remedy=lambda: text(f"Check that the transaction is still open: {DESCRIBE_PRODUCERS}"),
)
