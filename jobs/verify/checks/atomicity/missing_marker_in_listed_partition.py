"""A transaction was completed, but a partition that it lists never got its marker.

What it finds: a Complete record in `__transaction_state` whose Prepare record lists a partition
that has no marker of that producer id and epoch.

Why it is wrong: the coordinator completes a transaction only after every listed partition has its
marker. Without it the data there stay open, until the marker of a later transaction of the
producer decides them too: aborted records become visible, or committed ones are lost.

When it is legal: the topic was deleted or created anew, or retention has passed the data and
their marker; so only a partition is accused that still holds something older: the data, a lower
epoch of the same producer, or a marker of any producer that was there before the decision by the
clocks of the brokers. Before transaction.version 2 data of one epoch may be those of a later
transaction: they count only if none was begun. There decisions and markers are counted, too: of
several transactions with one epoch each has a marker. A marker without data there may have been
emptied by the cleaner, and a message format older than 2 refuses data and marker. A copy of the
partition that is older than the Complete record decides nothing, nor does one whose end another
replica has passed before it wrote the marker, unless it holds data of the producer's next epoch:
then it has lost what the other kept.

Evidence: the first batch of the transaction there, and the Prepare record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.verdict import (
    CLOCK_SKEW,
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    OTHER_OUTCOME,
    REPLICA_LAGS,
    UNSTABLE_TAIL,
    VERSION_DEPENDENT,
    explained,
    inconclusive,
)

CHECK = Check(
    code="missing_marker_in_listed_partition",
    severity=ERROR,
    context="decided_partition",
    cause=ONE_TRANSACTION,
    source="TransactionMarkerChannelManager.addTxnMarkersToSend",
    fires=lambda: (
        (F.col("markers").isNull() & F.col("complete_offset").isNotNull())
        | F.col("short_place").isNotNull()
    ),
    place={"offset_first": "lacking_first", "offset_last": "lacking_last"},
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("held_from").isNull()),
        explained(MISSING_RANGE, lambda: F.col("marker_missing")),
        explained(VERSION_DEPENDENT, lambda: F.col("format_refused")),
        explained(
            OTHER_OUTCOME, lambda: F.col("other_outcome") | F.col("committed_undecided_instead")
        ),
        explained(
            REPLICA_LAGS,
            # Data from behind the marker are in no copy that is merely shorter.
            lambda: (
                (F.col("replica_offset") >= F.col("log_end_offset")) & F.col("later_run").isNull()
            ),
        ),
        inconclusive(
            UNSTABLE_TAIL, lambda: F.col("lacking_complete") >= F.col("coordinator_stable_below")
        ),
        # What counting proves, it proves for decisions that the copy is late enough for.
        inconclusive(
            DUMP_BEFORE_EVENT,
            lambda: (
                F.col("short_place").isNull() & (~F.col("copied_later") | F.col("owner_unsettled"))
            ),
        ),
        inconclusive(CLOCK_SKEW, lambda: F.col("held_by_near_clock")),
    ),
    expected=lambda: text("a marker {decision} of epoch {marker_epoch}"),
    found=lambda: (
        F.when(
            F.col("short_place").isNotNull(),
            text("{markers} {decision} markers of that epoch; {completes} were to be written"),
        )
        .when(
            F.col("data_run").isNull(),
            text("none, and none of its data, behind offset {held_from}"),
        )
        .otherwise(text("none; data of epoch {producer_epoch} from offset {offset_first}"))
    ),
    proofs=(
        Proof("the first batch of the transaction, or where its data and marker were lost"),
        Proof("the Prepare record", "lacking_file", "lacking_position", "lacking_length"),
    ),
    message=lambda: text(
        "Transaction {transactional_id} (producer {producer_id}) was decided as {decision} and "
        "completed at offset {lacking_complete} of __transaction_state-{coordinator_partition}, "
        "but {topic}-{partition} never got its marker."
    ),
    remedy=lambda: text(
        "Until a later marker of producer {producer_id} what it wrote from offset {lacking_first} "
        "on hangs; if one came, that shares its outcome instead of {decision}. Abort what is "
        "still open with kafka-transactions.sh, look for data that were lost with the marker, and "
        "correct what consumers of {topic}-{partition} read."
    ),
)
