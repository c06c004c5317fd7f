"""A marker contradicts the decision of the coordinator.

What it finds: a COMMIT marker for a producer id and epoch that the coordinator aborted, or an ABORT
marker for one that it committed. If the Prepare record was compacted away, a Complete record of
transaction.version 2 shows the decision. It must be the last record of its id, or the first one
with the producer id.

Why it is wrong: a marker only carries out the Prepare record that was written before it. Aborted
records are delivered, or committed records are hidden.

When it is legal: an operator's abort carries the epoch of the open data, which under
transaction.version 2 is the epoch of the producer's previous decision; such a marker does not
belong to this decision. Under version 0 and 1 the two cannot be told apart, unless the marker of
the decision is missing there: then committed data were aborted, whoever wrote the marker. Whether
it is missing, or went with the head of the log before data that came late,
missing_marker_in_listed_partition says.

Several transactions of version 0 or 1 may share an epoch that was decided both ways. Then a marker
is wrong which the copy has in place of the other outcome: from the Prepare to the Complete record
of a decision it has no marker of that outcome, and this one, at no moment of a decision of its own
outcome. So is a COMMIT marker where only an ABORT had been decided. The clocks of brokers are taken
to differ by up to the tolerance. Where decisions follow each other faster, their order tells: if
the epoch has as many markers as decisions, each lies at the moment of that with its number, and the
neighbours of this one have the outcomes of theirs.

If the copy of `__transaction_state` is older than the marker, the finding is inconclusive. The
exception: the marker of a completed transaction of version 2 is missing there, and this marker
ended its data. Later decisions are about data of higher epochs, so none of them explains the
marker. If the id went on after the Complete record, and later records may be compacted away too, it
is a suspect: the version may have been lowered in the same epoch. If other partitions have the
transaction committed, torn_transaction or epoch_committed_and_aborted reports it.

Evidence: the marker and the Prepare record.
"""

from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.found import PREPARE_RECORD
from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.conditions.undecided import is_torn, undecided_marker_excuses
from jobs.verify.verdict import OTHER_OUTCOME, TXNLOG_COMPACTED, Excuse, explained, suspect
from udfs.rules.logic import surely


def _undecided() -> Column:
    """Whether no decision of the row's outcome lists the partition; else counting told a marker."""
    return F.col("prepares").isNull()


def _where_undecided(excuse: Excuse) -> Excuse:
    return replace(excuse, when=lambda: _undecided() & excuse.when())


def _contradicts_first_record() -> Column:
    return F.col("contradicted_early") == 1


def _decided(alike: bool) -> Column:
    """Whether the epoch has a decision of the marker's outcome, or of the other; null: of none."""
    commit: Column = F.col("commit") == F.lit(alike)
    return F.when(commit, F.col("decided_commit")).otherwise(F.col("decided_abort"))


def _contradicts_last_record() -> Column:
    # Of ids that share a producer id another one may have ended the epoch otherwise.
    return (F.col("contradicted") == 1) & ~surely(_decided(alike=True))


CHECK = Check(
    code="marker_outcome_mismatch",
    severity=ERROR,
    context="decided_partition",
    cause=ONE_TRANSACTION,
    source="TransactionMarkerChannelManager.addTxnMarkersToSend",
    fires=lambda: (
        _undecided()
        & (
            surely((F.col("decidable") == 1) & _decided(alike=False) & ~_decided(alike=True))
            | _contradicts_last_record()
            | _contradicts_first_record()
        )
        | F.col("opposed").isNotNull()
    ),
    place={
        "offset_first": "contradicting_first",
        "offset_last": "contradicting_last",
        "file": "contradicting_file",
        "byte_position": "contradicting_position",
    },
    excuses=(
        explained(OTHER_OUTCOME, is_torn),
        *[_where_undecided(excuse) for excuse in undecided_marker_excuses()],
        # transaction.version may have been lowered in that epoch: see udfs.rules.attribution.
        suspect(
            TXNLOG_COMPACTED,
            lambda: (
                _contradicts_first_record()
                & (F.col("contradicted") == 0)
                & (~F.col("first_whole") | F.col("decided_with_transaction_version_1"))
            ),
        ),
    ),
    expected=lambda: F.col("contradicted_outcome"),
    found=lambda: text(
        "{contradicting_outcome} of epoch {marker_epoch} at offset {contradicting_offset}"
    ),
    proofs=(
        Proof("the marker", "contradicting_file", "contradicting_position", "marker_length"),
        Proof(PREPARE_RECORD, "against_file", "against_position", "against_length"),
    ),
    message=lambda: text(
        "{topic}-{partition} has a marker of producer {producer_id} ({contradicting_outcome}, "
        "epoch {marker_epoch}) at offset {contradicting_offset}, but the coordinator decided the "
        "opposite for transaction {transactional_id}."
    ),
    remedy=lambda: text(
        "Find out who wrote the marker. If the .txnindex contradicts it too, its bytes were "
        "changed after the broker had appended it: do not rebuild the index, and compare the "
        "marker with the other replicas. Compare the records that consumers of "
        "{topic}-{partition} received with the other partitions of the transaction."
    ),
)
