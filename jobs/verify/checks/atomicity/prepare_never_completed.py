"""The coordinator never completes a decided transaction.

What it finds: a PrepareCommit or PrepareAbort record that is the last record of its id in every
copy, older than transaction.max.timeout.ms at the moment of the audit.

Why it is wrong: after the Prepare record only markers are left to write, and no timeout ends this
state. The producer gets CONCURRENT_TRANSACTIONS without end. A coordinator that misses the response
of a partition, or takes it for fencing, does not retry until it loads the log again (KAFKA-16352,
KAFKA-19999).

When it is legal: the coordinator was down, or a listed partition had no leader that it could reach.
The marker may be the last that its leader wrote: if the broker died before it answered, the
coordinator waits for the next leader, and for one to which its connection is broken even while
others reach it. The finding is therefore a violation only if every listed partition has the marker
below its high watermark, and this coordinator reached its leader afterwards: a marker more than 5
minutes behind it shows that, and another one more than 5 minutes later, both of producers in the
same partition of __transaction_state, and not of an operator (`kafka-transactions.sh abort`). And
if that partition was still written to for that long after the last of them. So it is for a broker
that is alone in its cluster, too: the disk of either partition may be offline
(`KAFKA_STORAGE_ERROR` is retried for ever). An abort without partitions (transaction.version 2)
waits for no marker. If its append failed late and the client never came back, the coordinator has
the id at rest and owes nothing. The next coordinator loads the record and completes it at once. So
that one, of a later leader epoch, must have written the log for that long; a broker alone in its
cluster, whose appends do not fail late, behind the record. If the copy ends too early, or later
records of that partition are lost or cannot be decoded, the finding is inconclusive.

Evidence: the Prepare record.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.contexts.coordinator_links import is_unfinished
from jobs.verify.transitions import is_decoded, number_of
from jobs.verify.verdict import (
    COORDINATOR_STOPPED,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    inconclusive,
    suspect,
)
from udfs.rules.attribution import would_be_sent_again
from udfs.rules.coordinator_step import TRANSACTION_VERSION_2
from udfs.rules.logic import surely


def _all_marked() -> Column:
    return F.coalesce("marked_partitions", F.lit(0)) == number_of("partitions")


def _waits_for_none() -> Column:
    """Whether the decision lists no partition: its Complete record waits for no marker."""
    nothing: Column = number_of("partitions") == 0
    return nothing


def _alive_since_due() -> Column:
    """Whether the log went on for long enough since its Complete record was due for sure.

    That is behind the last of the markers. What waits for none may be of an append that failed
    late: it is due when a coordinator has loaded it.
    """
    unmarked_ms = F.when(F.col("single_broker"), F.col("alive_for_ms")).otherwise(
        F.col("loaded_for_ms")
    )
    alive_ms = F.when(_waits_for_none(), unmarked_ms).otherwise(
        F.try_subtract("alive_for_ms", "marked_for_ms")
    )
    return surely(alive_ms > F.col("limit_ms"))


def _sent_again() -> Column:
    """Whether every partition, and the coordinator, went on for so long that another marker came.

    What waits for no marker needs no leader.
    """
    all_led = F.coalesce("led_partitions", F.lit(0)) == number_of("partitions")
    until_then = surely(would_be_sent_again(F.col("led_until_ms"), F.col("end_timestamp")))
    answer: Column = _waits_for_none() | (all_led & until_then)
    return answer


def _markers_distinguishable() -> Column:
    """Whether a marker cannot be one of an earlier transaction with the same epoch.

    transaction.version 2 gives every transaction its own epoch; else one broker's clock decides.
    """
    return (F.col("client_transaction_version") >= TRANSACTION_VERSION_2) | F.col("single_broker")


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
        inconclusive(MISSING_RANGE, lambda: F.col("lost_behind")),
        inconclusive(
            DUMP_BEFORE_EVENT,
            lambda: F.coalesce(F.col("seen_for_ms") <= F.col("limit_ms"), F.lit(True)),
        ),
        suspect(
            COORDINATOR_STOPPED,
            lambda: (
                ~_all_marked() | ~_markers_distinguishable() | ~_alive_since_due() | ~_sent_again()
            ),
        ),
    ),
    expected=lambda: text("a Complete record within {limit_ms} ms"),
    found=lambda: text(
        "{state_name} for {seen} ms; {marked} of {listed} partitions have the marker",
        # The clock of the copy may be behind that of the coordinator.
        seen=F.greatest("seen_for_ms", F.lit(0)),
        marked=F.coalesce("marked_partitions", F.lit(0)),
        listed=number_of("partitions"),
    ),
    message=lambda: text(
        "The transaction of {transactional_id} (producer {producer_id}) has been in state "
        "{state_name} since offset {offset} of __transaction_state-{partition} and was never "
        "completed. {marked} of its {listed} partitions have the marker.",
        marked=F.coalesce("marked_partitions", F.lit(0)),
        listed=number_of("partitions"),
    ),
    remedy=lambda: text(
        "Check with kafka-topics.sh --describe whether every listed partition has a leader. Search "
        "the coordinator's server log for rejected markers of {transactional_id}. Then move the "
        "leader of __transaction_state-{partition}: the new leader loads the log and sends the "
        "markers again."
    ),
)
