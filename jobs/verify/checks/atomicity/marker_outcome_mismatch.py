"""A marker says the opposite of what the coordinator decided.

What it finds: a COMMIT marker of a producer id and epoch that the coordinator aborted, or an
ABORT marker of one that it committed. Where the Prepare record was compacted away: the Complete
record that is the last of its id says so under transaction.version 2.

Why it is wrong: markers only carry out the Prepare record that was written before them. Records
that were given up are delivered, or delivered ones are hidden.

When it is legal: an operator's abort has the epoch of the open data, which under
transaction.version 2 is that of the producer's previous decision: such a marker is none of this
decision's. Under version 0 and 1 it cannot be told from one, unless the marker of the decision is
missing there: whoever wrote this one, what was committed is aborted. A copy of
`__transaction_state` that is older than the marker decides nothing. Where other partitions have
the transaction committed, torn_transaction tells it, or epoch_committed_and_aborted.

Evidence: the marker, and the Prepare record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions import is_torn, undecided_marker_excuses
from jobs.verify.verdict import OTHER_OUTCOME, explained

CHECK = Check(
    code="marker_outcome_mismatch",
    severity=ERROR,
    context="decided_partition",
    cause=ONE_TRANSACTION,
    source="TransactionMarkerChannelManager.addTxnMarkersToSend",
    fires=lambda: (
        F.col("prepares").isNull()
        & F.coalesce(
            (F.col("decidable") == 1)
            & F.when(F.col("commit"), F.col("decided_abort") & ~F.col("decided_commit")).otherwise(
                F.col("decided_commit") & ~F.col("decided_abort")
            ),
            F.lit(False),
        )
        | (F.col("contradicted") == 1)
    ),
    excuses=(
        explained(OTHER_OUTCOME, is_torn),
        *undecided_marker_excuses(),
    ),
    expected=lambda: F.when(F.col("commit"), F.lit("ABORT")).otherwise(F.lit("COMMIT")),
    found=lambda: text("{decision} of epoch {marker_epoch} at offset {marker_offset}"),
    proofs=(
        Proof("the marker", "marker_file", "marker_position", "marker_length"),
        Proof("the Prepare record", "decided_file", "decided_position", "decided_length"),
    ),
    message=lambda: text(
        "{topic}-{partition} has a {decision} marker of producer {producer_id} (epoch "
        "{marker_epoch}) at offset {marker_offset}, but the coordinator decided the opposite for "
        "transaction {transactional_id}."
    ),
    remedy=lambda: text(
        "Compare what consumers of {topic}-{partition} got with the other partitions of the "
        "transaction, and find out who wrote the marker."
    ),
)
