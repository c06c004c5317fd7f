"""One transaction was committed and aborted.

What it finds: two markers of one producer id and epoch with different outcomes in a partition, with
no data of the producer between them.

Why it is wrong: a transaction has one outcome. If the first marker raised the epoch of its data
(transaction.version 2, or fencing), a second transaction can end with the same epoch only after
transaction.version was lowered.

When it is legal: under transaction.version 0 and 1, also if the cluster was downgraded to one of
them, the second marker may end a transaction without data here, which the coordinator's log shows
(if its copy is older than that marker, the finding is inconclusive). Behind a COMMIT with the epoch
of its own data an ABORT is taken for such a one if the log no longer has all decisions of the
epoch, and no older record as the newest one of the id: it changes nothing. An operator may have
aborted before the coordinator committed. The data in between were cleaned or are missing.

Evidence: both markers.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.began_anew import is_marker_again
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import (
    ADMIN_ABORT_POSSIBLE,
    DUMP_BEFORE_EVENT,
    EMPTY_TRANSACTION_POSSIBLE,
    MISSING_RANGE,
    explained,
    inconclusive,
    suspect,
)
from udfs.rules.logic import surely


def _first_marker_ended(epoch: Column) -> Column:
    """Whether the first marker ended a transaction with data of `epoch`."""
    ended = F.col("previous_closed_data") & (F.col("previous_data.epoch") == epoch)
    return surely(ended)


def _may_have_decided_it() -> Column:
    """Whether no record shows that the coordinator decided nothing between both markers.

    The newest record of the id is gone with it, or not older than the second marker.
    """
    record = F.col("coordinator.record_timestamp")
    later: Column = F.col("coordinator").isNull() | surely(record >= F.col("marker_timestamp"))
    return later


CHECK = Check(
    code="conflicting_markers",
    severity=ERROR,
    context="transaction",
    source="TransactionMetadata.prepareTransitionTo",
    fires=lambda: is_marker_again() & (F.col("previous_marker.commit") != F.col("marker_commit")),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("missing_before_marker")),
        unstable_tail("marker_offset"),
        suspect(
            ADMIN_ABORT_POSSIBLE,
            lambda: F.col("marker_commit") & _first_marker_ended(F.col("marker_epoch")),
        ),
        # Also of version 2: once the version is lowered, a producer goes on in its last epoch.
        explained(EMPTY_TRANSACTION_POSSIBLE, lambda: F.col("shared_epoch")),
        # A COMMIT that did not raise the epoch of its data is of version 0 or 1.
        explained(
            EMPTY_TRANSACTION_POSSIBLE,
            lambda: (
                ~F.col("marker_commit")
                & _first_marker_ended(F.col("marker_epoch"))
                & ~F.col("epoch_whole")
                & _may_have_decided_it()
            ),
        ),
        suspect(
            EMPTY_TRANSACTION_POSSIBLE, lambda: ~_first_marker_ended(F.col("marker_epoch") - 1)
        ),
        suspect(EMPTY_TRANSACTION_POSSIBLE, lambda: ~F.col("epoch_whole")),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~F.col("history_later")),
    ),
    expected=lambda: text("one outcome for epoch {marker_epoch}"),
    found=lambda: text("the other outcome at offset {at}", at="previous_marker.offset"),
    proofs=(
        Proof(
            "the first marker",
            "previous_marker_file",
            "previous_marker_position",
            "previous_marker_length",
        ),
        Proof("the second marker", "marker_file", "marker_position", "marker_length"),
    ),
    message=lambda: text(
        "The {outcome} marker of producer {producer_id}, epoch {marker_epoch}, at offset "
        "{marker_offset} contradicts the marker of the same epoch at offset {at}.",
        at="previous_marker.offset",
    ),
    remedy=lambda: text(
        "Consumers of {topic}-{partition} follow the first marker, at offset {at}. Compare the "
        "other partitions of the transaction.",
        at="previous_marker.offset",
    ),
)
