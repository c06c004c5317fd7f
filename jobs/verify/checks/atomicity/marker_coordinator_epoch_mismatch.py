"""A marker was sent by a coordinator that did not own the transaction at that time.

What it finds: a marker whose coordinator epoch is lower than the leader epoch of its Prepare
record, or higher than the leader epoch of its Complete record.

Why it is wrong: the coordinator of a transactional id is the leader of its partition of
`__transaction_state`, and its markers carry that leader epoch. A lower coordinator epoch means that
a deposed coordinator still decided transactions. A higher one means that a coordinator ended a
transaction that was already complete.

Before transaction.version 2 several transactions share an epoch. A marker may then belong to any of
them whose Prepare and Complete records enclose it by timestamp, or, where the copy of
`__transaction_state` is older than the marker, to one that it does not have.

When it is legal: in clusters with ZooKeeper the leader epoch may rise without a new coordinator, so
a lower one is reported only if the decision is of transaction.version 2, or the
`__cluster_metadata` of the dump shows that the cluster never had it. An operator's abort carries
any coordinator epoch. A coordinator that takes over before the Complete record sends the markers
again, with its own epoch. So a higher one of a COMMIT of version 2 is proven wrong if its decision
is known, and complete.

Evidence: the marker and the Prepare record.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.found import PREPARE_RECORD
from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.verdict import (
    DUMP_BEFORE_EVENT,
    OPERATOR_ABORT,
    UNSTABLE_TAIL,
    VERSION_DEPENDENT,
    explained,
    inconclusive,
    suspect,
)
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely


def _too_old() -> Column:
    return F.col("misfit_epoch") < F.col("from_epoch")


def _too_new() -> Column:
    return F.col("misfit_epoch") > F.col("to_epoch")


CHECK = Check(
    code="marker_coordinator_epoch_mismatch",
    severity=WARNING,
    context="decided_partition",
    source="TransactionMarkerChannelManager; TransactionStateManager.loadTransactionMetadata",
    place={
        "offset_first": "misfit_first",
        "offset_last": "misfit_offset",
        "file": "misfit_file",
        "byte_position": "misfit_position",
    },
    fires=lambda: _too_old() | _too_new(),
    excuses=(
        # Only brokers of 4.0 and later, which know no ZooKeeper, write version 2.
        explained(
            VERSION_DEPENDENT,
            lambda: _too_old() & ~F.col("kraft_only") & ~surely(F.col("transaction_version_2")),
        ),
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
            lambda: (
                ~_too_old()
                & ~is_replicated(F.col("complete_offset"), F.col("coordinator_replicated_below"))
            ),
        ),
        # Of a later transaction with that epoch, which the copy of the log may be too old for.
        inconclusive(
            DUMP_BEFORE_EVENT,
            lambda: (
                _too_new()
                & (F.col("with_transaction_version_1") == 1)
                & ~F.col("history_after_all")
            ),
        ),
        suspect(VERSION_DEPENDENT, lambda: ~F.col("of_no_coordinator")),
    ),
    expected=lambda: F.when(_too_old(), text("coordinator epoch {from_epoch} or more")).otherwise(
        text("coordinator epoch {to_epoch} or less")
    ),
    found=lambda: text("{misfit_epoch}"),
    proofs=(
        Proof("the marker", "misfit_file", "misfit_position", "marker_length"),
        Proof(PREPARE_RECORD, "record_file", "record_position", "record_length"),
    ),
    message=lambda: F.when(
        _too_old(),
        text(
            "The {decision} marker of producer {producer_id} at offset {misfit_offset} of "
            "{topic}-{partition} carries coordinator epoch {misfit_epoch}, but "
            "transaction {transactional_id} was decided under leader epoch {from_epoch}."
        ),
    ).otherwise(
        text(
            "The {decision} marker of producer {producer_id} at offset {misfit_offset} of "
            "{topic}-{partition} carries coordinator epoch {misfit_epoch}, but transaction "
            "{transactional_id} was completed under leader epoch {to_epoch}."
        )
    ),
)
