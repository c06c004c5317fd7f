"""A marker was sent by a coordinator that did not have the transaction then.

What it finds: a marker with a coordinator epoch below the leader epoch under which its Prepare
record was written, or above the one under which its Complete record was.

Why it is wrong: the coordinator of a transactional id is the leader of its partition of
`__transaction_state`, and its markers carry that leader epoch. An older one means that a deposed
coordinator still decided, a newer one that a coordinator ended what was complete already.

Before transaction.version 2 several transactions share an epoch; a marker may be that of each whose
Prepare and Complete record it lies between, as far as the clocks tell.

When it is legal: in clusters with ZooKeeper the leader epoch may rise without a new coordinator,
so without `__cluster_metadata` in the dump nothing is said. An operator's abort carries 0. A
coordinator that takes over before the Complete record sends the markers again, with its own epoch.

Evidence: the marker, and the Prepare record.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import (
    OPERATOR_ABORT,
    UNSTABLE_TAIL,
    VERSION_DEPENDENT,
    explained,
    inconclusive,
    suspect,
)


def _too_old() -> Column:
    return F.col("misfit_epoch") < F.col("from_epoch")


def _too_new() -> Column:
    return F.col("misfit_epoch") > F.col("to_epoch")


CHECK = Check(
    code="marker_coordinator_epoch_mismatch",
    severity=WARNING,
    context="decided_partition",
    source="TransactionMarkerChannelManager; TransactionStateManager.loadTransactionMetadata",
    fires=lambda: _too_old() | _too_new(),
    excuses=(
        explained(VERSION_DEPENDENT, lambda: ~F.col("with_kraft")),
        # One marker more than decisions, with the epoch of its data, may be an operator's.
        explained(
            OPERATOR_ABORT,
            lambda: (
                ~F.col("commit")
                & F.col("unraised_offset").isNotNull()
                & (F.col("with_transaction_version_1") == 1)
                & (F.col("markers") > F.col("prepares"))
            ),
        ),
        # The Complete record of a coordinator that was deposed is cut off again.
        inconclusive(
            UNSTABLE_TAIL,
            lambda: ~_too_old() & (F.col("complete_offset") >= F.col("coordinator_stable_below")),
        ),
        suspect(VERSION_DEPENDENT),
    ),
    expected=lambda: F.when(_too_old(), text("coordinator epoch {from_epoch} or more")).otherwise(
        text("coordinator epoch {to_epoch} or less")
    ),
    found=lambda: text("{misfit_epoch}"),
    proofs=(
        Proof("the marker", "marker_file", "marker_position", "marker_length"),
        Proof("the Prepare record", "record_file", "record_position", "record_length"),
    ),
    message=lambda: F.when(
        _too_old(),
        text(
            "The {decision} marker of producer {producer_id} at offset {marker_offset} of "
            "{topic}-{partition} carries coordinator epoch {misfit_epoch}, but "
            "transaction {transactional_id} was decided under leader epoch {from_epoch}."
        ),
    ).otherwise(
        text(
            "A {decision} marker of producer {producer_id} from offset {marker_offset} of "
            "{topic}-{partition} on carries coordinator epoch {misfit_epoch}, but "
            "transaction {transactional_id} was complete under leader epoch {to_epoch}."
        )
    ),
)
