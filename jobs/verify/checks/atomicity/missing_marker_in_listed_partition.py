"""A transaction was completed, but a partition that it lists never got its marker.

What it finds: a Complete record in `__transaction_state` whose Prepare record lists a partition
that has no marker of that producer id and epoch.

Why it is wrong: the coordinator completes a transaction only after every listed partition has its
marker. Without it the data there stay open, until the marker of a later transaction of the
producer decides them too: aborted records become visible, or committed ones are lost.

When it is legal: the topic was deleted or created anew, or retention has passed the data and
their marker; so only a partition that still holds the data, or something older of the same
producer, is accused. A copy of the partition that is older than the Complete record decides
nothing, nor does one whose end another replica has passed before it wrote the marker, unless it
holds data of the producer's next epoch: then it has lost what the other kept.

Evidence: the first batch of the transaction there, and the Prepare record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    MISSING_RANGE,
    OTHER_OUTCOME,
    REPLICA_LAGS,
    UNSTABLE_TAIL,
    explained,
    inconclusive,
)

CHECK = Check(
    code="missing_marker_in_listed_partition",
    severity=ERROR,
    context="decided_partition",
    cause=ONE_TRANSACTION,
    source="TransactionMarkerChannelManager.addTxnMarkersToSend",
    fires=lambda: F.col("markers").isNull() & F.col("complete_offset").isNotNull(),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("held_from").isNull()),
        explained(MISSING_RANGE, lambda: F.col("marker_missing")),
        explained(OTHER_OUTCOME, lambda: F.col("other_outcome")),
        explained(
            REPLICA_LAGS,
            # Data from behind the marker are in no copy that is merely shorter.
            lambda: (
                (F.col("replica_offset") >= F.col("log_end_offset")) & F.col("later_run").isNull()
            ),
        ),
        inconclusive(
            UNSTABLE_TAIL, lambda: F.col("complete_offset") >= F.col("coordinator_stable_below")
        ),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("copied_later")),
    ),
    expected=lambda: text("a marker {decision} of epoch {marker_epoch}"),
    found=lambda: F.when(
        F.col("data_run").isNull(),
        text("none, and none of its data, behind offset {held_from} of the same producer"),
    ).otherwise(text("none; data of epoch {producer_epoch} from offset {offset_first}")),
    proofs=(
        Proof("the first batch of the transaction, or where its data and marker were lost"),
        Proof("the Prepare record", "record_file", "record_position", "record_length"),
    ),
    message=lambda: text(
        "Transaction {transactional_id} (producer {producer_id}) was decided as {decision} and "
        "completed at offset {complete_offset} of __transaction_state-{coordinator_partition}, "
        "but {topic}-{partition} never got its marker."
    ),
    remedy=lambda: text(
        "Until a later marker of producer {producer_id} what it wrote from offset {offset_first} "
        "on hangs; if one came, that shares its outcome instead of {decision}. Abort what is "
        "still open with kafka-transactions.sh, look for data that were lost with the marker, and "
        "correct what consumers of {topic}-{partition} read."
    ),
)
