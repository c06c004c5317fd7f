"""A marker may have ended a transaction that nobody had decided yet.

What it finds: under transaction.version 0 and 1, a partition in which more transactions of a
producer id and epoch were ended by then than the coordinator had decided.

Why it is wrong: a marker request that was delayed in the network, of an earlier transaction, ended
a later one of the same epoch (KIP-890, the reason for transaction.version 2). What the transaction
wrote behind it is outside of every transaction that its application knows of.

When it is legal: transactions of one epoch cannot be told apart, so they are counted in the order
of time, and a clock that was wrong looks the same. Markers that ended no data do not count: the
coordinator sends a marker again when it has no answer.

Evidence: the marker, and the newest Prepare record of that producer id and epoch.
"""

from pyspark.sql import functions as F

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
    place={"offset_first": "stale_first", "offset_last": "stale_last"},
    fires=lambda: F.col("stale_offset").isNotNull(),
    excuses=(
        # A COMMIT that nobody decided at all: marker_without_prepare tells it.
        explained(OTHER_OUTCOME, lambda: F.col("commits_undecided")),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("history_behind_all")),
        suspect(CLOCK_SKEW),
    ),
    expected=lambda: text("no marker before the transaction is decided"),
    found=lambda: text("{decision} at offset {stale_offset}"),
    proofs=(
        Proof("the marker", "stale_file", "stale_position", "marker_length"),
        Proof("the Prepare record", "record_file", "record_position", "record_length"),
    ),
    message=lambda: text(
        "The {decision} marker at offset {stale_offset} of {topic}-{partition} ends data of "
        "producer {producer_id}, epoch {marker_epoch}, from offset {stale_first} on, when "
        "transaction {transactional_id} had not been decided: it may be a delayed one of an "
        "earlier transaction."
    ),
    remedy=lambda: text(
        "Compare what transaction {transactional_id} meant to write with what read_committed "
        "consumers of {topic}-{partition} got. Raise transaction.version to 2 (Kafka 4.0 and "
        "newer, on brokers and clients): each transaction then has an epoch of its own."
    ),
)
