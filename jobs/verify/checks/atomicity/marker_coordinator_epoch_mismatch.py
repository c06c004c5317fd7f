"""A marker was sent by a coordinator that was deposed before the decision.

What it finds: a marker with a coordinator epoch below the leader epoch under which its Prepare
record was written.

Why it is wrong: the coordinator of a transactional id is the leader of its partition of
`__transaction_state`, and its markers carry that leader epoch. An older one means that a deposed
coordinator still decided.

When it is legal: in clusters with ZooKeeper the leader epoch may rise without a new coordinator,
so without `__cluster_metadata` in the dump nothing is said. An operator's abort carries 0.

Evidence: the marker, and the Prepare record.
"""

from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import (
    OPERATOR_ABORT,
    VERSION_DEPENDENT,
    explained,
    suspect,
)

CHECK = Check(
    code="marker_coordinator_epoch_mismatch",
    severity=WARNING,
    context="decided_partition",
    source="TransactionMarkerChannelManager; TransactionStateManager.loadTransactionMetadata",
    fires=lambda: F.col("lowest_coordinator_epoch") < F.col("lowest_leader_epoch"),
    excuses=(
        explained(VERSION_DEPENDENT, lambda: ~F.col("with_kraft")),
        explained(OPERATOR_ABORT, lambda: ~F.col("commit") & F.col("unraised_offset").isNotNull()),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: text("coordinator epoch {lowest_leader_epoch} or more"),
    found=lambda: text("{lowest_coordinator_epoch}"),
    proofs=(
        Proof("the marker", "marker_file", "marker_position", "marker_length"),
        Proof("the Prepare record", "record_file", "record_position", "record_length"),
    ),
    message=lambda: text(
        "The {decision} marker of producer {producer_id} at offset {marker_offset} of "
        "{topic}-{partition} carries coordinator epoch {lowest_coordinator_epoch}, but transaction "
        "{transactional_id} was decided under leader epoch {lowest_leader_epoch}."
    ),
)
