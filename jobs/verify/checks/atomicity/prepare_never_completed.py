"""A transaction was decided, but its coordinator never completes it.

What it finds: a PrepareCommit or PrepareAbort record that is the last of its id in every copy,
older than transaction.max.timeout.ms before the moment of the audit.

Why it is wrong: from Prepare on nothing is left to wait for but markers, and no timeout ends it.
The producer gets CONCURRENT_TRANSACTIONS for ever. A coordinator that misses an answer of a
partition, or takes one for a fence, gives up until it loads the log anew (KAFKA-16352,
KAFKA-19999).

When it is legal: a coordinator that was down, or a listed partition without a leader; so it is
proven only where every listed partition has the marker, below its high watermark, and the same
partition of the log was written on and on for as long again. A copy that ends too early decides
nothing.

Evidence: the Prepare record.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, text
from jobs.verify.conditions import unstable_tail
from jobs.verify.contexts.coordinator_links import is_unfinished
from jobs.verify.transitions import is_decoded, number_of
from jobs.verify.verdict import COORDINATOR_STOPPED, DUMP_BEFORE_EVENT, inconclusive, suspect


def _all_marked() -> Column:
    return F.coalesce("marked_partitions", F.lit(0)) == number_of("partitions")


def _markers_told_apart() -> Column:
    """Whether a marker cannot be one of an earlier transaction with the same epoch.

    Protocol 2 gives every transaction an epoch of its own; else the clock of one broker tells.
    """
    return (F.col("client_transaction_version") >= 2) | F.col("single_broker")


CHECK = Check(
    code="prepare_never_completed",
    severity=ERROR,
    context="coordinator_step",
    cause=ONE_TRANSACTION,
    place={"producer_epoch": "data_epoch"},
    source="TransactionMarkerChannelManager.writeTxnCompletion",
    fires=lambda: (
        is_decoded()
        & is_unfinished()
        & F.col("last_of_all")
        & (F.col("age_ms") > F.col("limit_ms"))
    ),
    excuses=(
        unstable_tail(),
        inconclusive(
            DUMP_BEFORE_EVENT,
            lambda: F.coalesce(F.col("seen_for_ms") <= F.col("limit_ms"), F.lit(True)),
        ),
        suspect(
            COORDINATOR_STOPPED,
            lambda: (
                ~_all_marked()
                | ~_markers_told_apart()
                | (F.col("alive_for_ms") <= F.col("limit_ms"))
            ),
        ),
    ),
    expected=lambda: text("a Complete record within {limit_ms} ms"),
    found=lambda: text(
        "{state_name} for {seen_for_ms} ms; {marked} of {listed} partitions have the marker",
        marked=F.coalesce("marked_partitions", F.lit(0)),
        listed=number_of("partitions"),
    ),
    message=lambda: text(
        "The transaction of {transactional_id} (producer {producer_id}) stands at {state_name} "
        "since offset {offset} of __transaction_state-{partition}, and nothing completes it; "
        "{marked} of {listed} listed partitions have its marker.",
        marked=F.coalesce("marked_partitions", F.lit(0)),
        listed=number_of("partitions"),
    ),
    remedy=lambda: text(
        "See with kafka-topics.sh --describe whether every listed partition has a leader, and in "
        "the log of the coordinator for refused markers of {transactional_id}; then move the "
        "leader of __transaction_state-{partition}: the next one loads the log and sends the "
        "markers again."
    ),
)
