"""The epoch of a marker is too high for the transaction it ends.

What it finds: a COMMIT whose epoch is more than one above that of the data it ends, or an ABORT
whose epoch is more than two above.

Why it is wrong: a transaction of epoch e is committed with e or e + 1 and aborted with e to e + 2.
The marker belongs to a later transaction, and the marker of this transaction is lost: aborted
records may have become visible, as after KAFKA-20734.

When it is legal: an ABORT far above after repeated failed fencing (before KAFKA-9666); markers or
data in between are damaged or missing in the dump.

Evidence: the last batch of the transaction and the marker.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.verdict import MISSING_RANGE, VERSION_DEPENDENT, explained, suspect

MOST_ABOVE_AT_COMMIT, MOST_ABOVE_AT_ABORT = 1, 2


def _most_above() -> Column:
    return F.when(F.col("marker_commit"), MOST_ABOVE_AT_COMMIT).otherwise(MOST_ABOVE_AT_ABORT)


CHECK = Check(
    code="marker_epoch_invalid",
    severity=ERROR,
    context="transaction",
    cause=ONE_TRANSACTION,
    source="TransactionMetadata.prepareAbortOrCommit",
    fires=lambda: (
        F.col("has_data") & (F.col("marker_epoch") - F.col("highest_epoch") > _most_above())
    ),
    excuses=(
        explained(MISSING_RANGE, lambda: F.col("missing_before_marker")),
        unstable_tail("marker_offset"),
        suspect(VERSION_DEPENDENT, lambda: ~F.col("marker_commit")),
    ),
    expected=lambda: text(
        "marker epoch {highest_epoch} to {most}", most=F.col("highest_epoch") + _most_above()
    ),
    found=lambda: text("marker epoch {marker_epoch}"),
    proofs=(
        Proof("last batch of the transaction", "last_file", "last_position", "last_length"),
        Proof("the marker", "marker_file", "marker_position", "marker_length"),
    ),
    message=lambda: text(
        "The {outcome} marker of producer {producer_id} at offset {marker_offset} has epoch "
        "{marker_epoch}. The data that it ends have epoch {highest_epoch}, so their marker should "
        "have an epoch up to {most}.",
        most=F.col("highest_epoch") + _most_above(),
    ),
    remedy=lambda: text(
        "Find the outcome of epoch {highest_epoch} of producer {producer_id} in "
        "__transaction_state. If it was aborted, consumers must not use offsets {first_offset} to "
        "{last_offset} of {topic}-{partition}."
    ),
)
