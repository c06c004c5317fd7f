"""A marker may have ended a transaction that was not decided yet.

What it finds: a partition of transaction.version 0 or 1 in which the markers of a producer id and
epoch do not fit the number of decisions. At some moment they had ended more transactions than the
coordinator had decided. Or the numbers are equal, but COMMIT markers ended more transactions than
it committed, or ABORT markers more than it aborted.

Why it is wrong: a marker request of an earlier transaction was delayed in the network and ended a
later transaction of the same epoch (KIP-890, the reason for transaction.version 2). Records that
the transaction wrote after that marker do not belong to it any more.

When it is legal: transactions of one epoch cannot be told apart, so they are counted in the order
of their timestamps. A wrong clock looks the same, and so does an operator's abort. Markers that
ended no data do not count, because the coordinator repeats a marker when it gets no answer.

Evidence: the marker, and the newest Prepare record of that producer id and epoch.
"""

from pyspark.sql import functions as F

from jobs.model.found import PREPARE_RECORD
from jobs.verify.check import ONE_TRANSACTION, WARNING, Check, Proof, text
from jobs.verify.verdict import (
    CLOCK_SKEW,
    DUMP_BEFORE_EVENT,
    OTHER_OUTCOME,
    explained,
    inconclusive,
    suspect,
)

CHECK = Check(
    code="marker_stale",
    severity=WARNING,
    context="decided_partition",
    source="KIP-890",
    cause=ONE_TRANSACTION,
    place={
        "offset_first": "stale_first",
        "offset_last": "stale_last",
        "file": "stale_file",
        "byte_position": "stale_position",
    },
    fires=lambda: F.col("stale_offset").isNotNull(),
    excuses=(
        # A COMMIT without any decision: marker_without_prepare reports it.
        explained(OTHER_OUTCOME, lambda: F.col("commits_undecided")),
        # It has the outcome that its own decision has not: marker_outcome_mismatch reports it.
        explained(OTHER_OUTCOME, lambda: F.col("opposed_offset") == F.col("stale_offset")),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("history_after_all")),
        suspect(CLOCK_SKEW),
    ),
    expected=lambda: text("no marker before the transaction is decided"),
    found=lambda: text("{decision} at offset {stale_offset}"),
    proofs=(
        Proof("the marker", "stale_file", "stale_position", "marker_length"),
        Proof(PREPARE_RECORD, "record_file", "record_position", "record_length"),
    ),
    message=lambda: text(
        "The {decision} marker at offset {stale_offset} of {topic}-{partition} ends data of "
        "producer {producer_id}, epoch {marker_epoch}, from offset {stale_first} on. Transaction "
        "{transactional_id} was decided later. The marker may be a delayed one of an earlier "
        "transaction."
    ),
    remedy=lambda: text(
        "Compare the records that transaction {transactional_id} was meant to write with those "
        "that read_committed consumers of {topic}-{partition} received. Raise transaction.version "
        "to 2 (brokers and clients of Kafka 4.0 and newer): each transaction then has its own "
        "epoch."
    ),
)
