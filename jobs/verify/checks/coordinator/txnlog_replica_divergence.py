"""Copies of one partition of the coordinator's log contradict each other.

What it finds: two copies of a partition of `__transaction_state` with different records at one
offset below both high watermarks; or a copy that lacks the last record of an id and has no later
one. Reported once for each partition, at the first such offset.

Why it is wrong: below the high watermark all replicas hold the same records. After a failover the
coordinator continues from its own replica, so a transaction may be decided twice, or never.

When it is legal: each replica is cleaned at its own time, so one may lack superseded records, and
an expired id leaves no record in the end. A missing record may be in a segment that was not copied,
so only different records are proof. A copy of a broker that had not stopped cleanly may hold
records that were truncated before its checkpoint was copied.

Evidence: the record in one copy, and the record of the other copy at its offset.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.verdict import (
    CLEANED_RANGE,
    MISSING_RANGE,
    UNSTABLE_TAIL,
    inconclusive,
    suspect,
)

CHECK = Check(
    code="txnlog_replica_divergence",
    severity=ERROR,
    context="coordinator_copies",
    source="ReplicaFetcherThread, LogCleaner",
    fires=lambda: F.col("difference").isNotNull() | F.col("loss").isNotNull(),
    excuses=(
        inconclusive(UNSTABLE_TAIL, lambda: ~F.col("both_high_watermarks_known")),
        inconclusive(CLEANED_RANGE, lambda: F.col("may_have_expired")),
        suspect(UNSTABLE_TAIL, lambda: ~F.col("both_clean")),
        # In a cleaned log a segment that was not copied looks like a cleaned one.
        suspect(MISSING_RANGE, lambda: F.col("difference").isNull()),
    ),
    expected=lambda: text("the same records on brokers {broker} and {other_broker}"),
    found=lambda: F.when(
        F.col("other").isNotNull(),
        text(
            "{contradictions} offsets differ; leader epochs {one} and {other}",
            contradictions="contradictions",
            one="one.leader_epoch",
            other="other.leader_epoch",
        ),
    ).otherwise(text("{contradictions} last records are missing on broker {other_broker}")),
    proofs=(
        Proof("the record in one copy"),
        Proof("the record in the other", "other_file", "other_position", "other_length"),
    ),
    message=lambda: text(
        "The copies of __transaction_state-{partition} on brokers {broker} and {other_broker} "
        "contradict each other from offset {offset_first} on, below the high watermark of both. "
        "The record there is of transactional id {transactional_id}."
    ),
    remedy=lambda: text(
        "Find out which broker led __transaction_state-{partition} around offset {offset_first}, "
        "and whether unclean.leader.election.enable is set for it. The copy of the current leader "
        "is the valid one. Compare the partitions of the transactional ids after that offset with "
        "both copies."
    ),
)
