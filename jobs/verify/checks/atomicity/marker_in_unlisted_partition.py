"""A marker is in a partition that the decided transaction does not list.

What it finds: a marker whose producer id, epoch and outcome the coordinator decided, in a partition
that no Prepare record for them lists. A decision counts even if its Complete record is lost. One
that never took effect does not count: the next record of its id then goes on with the same
transaction.

Why it is wrong: the coordinator sends markers only to the partitions of the Prepare record. Either
this marker ended data of another transaction, or the registration of the partition was lost.

When it is legal: an operator's abort has no Prepare record. If the copy of `__transaction_state` is
older than the marker, the finding is inconclusive.

Evidence: the marker, and the newest Prepare record of that producer id and epoch.
"""

from pyspark.sql import functions as F

from jobs.model.found import PREPARE_RECORD
from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.undecided import undecided_marker_excuses

CHECK = Check(
    code="marker_in_unlisted_partition",
    severity=ERROR,
    context="decided_partition",
    cause=ONE_TRANSACTION,
    source="TransactionMarkerChannelManager.addTxnMarkersToSend",
    fires=lambda: (
        F.col("prepares").isNull()
        & (F.col("decidable") == 1)
        & F.when(F.col("commit"), F.col("decided_commit")).otherwise(F.col("decided_abort"))
    ),
    excuses=undecided_marker_excuses(),
    expected=lambda: text("{topic}-{partition} in the Prepare record of epoch {marker_epoch}"),
    found=lambda: text("{decision} at offset {marker_offset}, the partition is not listed"),
    proofs=(
        Proof("the marker", "marker_file", "marker_position", "marker_length"),
        Proof(PREPARE_RECORD, "decided_file", "decided_position", "decided_length"),
    ),
    message=lambda: text(
        "{topic}-{partition} has a marker of producer {producer_id} ({decision}, epoch "
        "{marker_epoch}) at offset {marker_offset}, but transaction {transactional_id} does not "
        "list the partition."
    ),
    remedy=lambda: text(
        "Find out which transaction wrote to {topic}-{partition} before the marker. Its records "
        "now have the outcome of {transactional_id}."
    ),
)
