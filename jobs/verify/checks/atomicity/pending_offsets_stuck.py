"""Offset commits of a group have had no marker for far too long.

What it finds: transactional offset commits without a marker at the end of the log, older than every
timeout. The transaction may hang, or its coordinator may just not have ended it.

Why it is suspect: the offsets are not visible. Consumers of the group that require stable offsets
get UNSTABLE_OFFSET_COMMIT and cannot start, and the cleaner does not clean the partition beyond
them.

When it is legal: the broker allows longer transactions than the configuration of this audit; a
prepared transaction of two-phase commit; the partition was copied before the marker was written;
the marker is among offsets that are missing or damaged, as for hanging_transaction.

Evidence: the first batch of the commits.
"""

from pyspark.sql import functions as F

from jobs.model.commands import DESCRIBE_PRODUCERS
from jobs.verify.check import ONE_TRANSACTION, WARNING, Check, text
from jobs.verify.conditions.copies import judged_on_a_longer_copy
from jobs.verify.verdict import (
    CONFIG_UNKNOWN,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    TWO_PHASE_COMMIT,
    inconclusive,
    suspect,
)

WAIT = "Wait: the coordinator lists the partition, and ends the transaction."
HANGS = "The transaction hangs: the finding hanging_transaction has the command that aborts it."

CHECK = Check(
    code="pending_offsets_stuck",
    severity=WARNING,
    context="offset_transaction",
    cause=ONE_TRANSACTION,
    source="KIP-447, KIP-664",
    fires=lambda: (F.col("outcome") == "open") & (F.col("age_ms") > F.col("limit_ms")),
    excuses=(
        judged_on_a_longer_copy(),
        inconclusive(MISSING_RANGE, lambda: F.col("behind_data_gap")),
        inconclusive(TWO_PHASE_COMMIT, lambda: F.col("two_phase_commit")),
        inconclusive(
            DUMP_BEFORE_EVENT,
            lambda: (
                F.col("coordinator_known")
                & ~F.col("coordinator_covers_partition")
                & ~F.col("copies_agree")
            ),
        ),
        suspect(CONFIG_UNKNOWN),
    ),
    expected=lambda: F.lit("a COMMIT or ABORT marker"),
    found=lambda: text(
        "none for {minutes} minutes; groups: {pending_groups}",
        minutes=F.floor(F.col("age_ms") / 60000),
    ),
    message=lambda: text(
        "Offsets that producer {producer_id} committed from offset {first_offset} of "
        "{topic}-{partition} on have been pending for {minutes} minutes (groups: "
        "{pending_groups}). The coordinator of the transaction is in state {coordinator_state}.",
        minutes=F.floor(F.col("age_ms") / 60000),
    ),
    remedy=lambda: (
        F.when(F.col("coordinator_covers_partition"), F.lit(WAIT))
        .when(F.col("coordinator_known") & F.col("copies_agree"), F.lit(HANGS))
        .otherwise(
            text(
                "If the coordinator lists the partition, wait: it ends the transaction. Otherwise "
                "the transaction hangs. To list the open transactions of the partition: "
                f"{DESCRIBE_PRODUCERS}"
            )
        )
    ),
)
