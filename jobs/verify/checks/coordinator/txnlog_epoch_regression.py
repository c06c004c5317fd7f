"""The producer epoch of a transactional id goes down.

What it finds: a record with a lower producer epoch than an earlier record of the same id and
producer id.

Why it is wrong: an epoch fences every older producer. If it goes back, a fenced producer is
accepted again.

Behind a tombstone the epoch of the record before it counts: if the tombstone took effect, the id
gets a new producer id, and if not, the coordinator still has the epoch in memory.

When it is legal: above the high watermark; or the coordinator repeated a transition from its older
state because one or more appends had failed late. If records between the two are missing, an epoch
one step higher may come from such an append, unless the two records before show that it was in
effect: a commit in the epoch of its running transaction raised none. Before transaction.version 2
the raised epoch of a fence stays in memory even if its append fails, so no later record has a lower
one.

Evidence: the record and the one before it.
"""

from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.remedies import compare_with_records
from jobs.verify.transitions import (
    before_tombstone,
    failed_raise,
    is_decoded,
    of_two_phase_commit,
    taken_from_the_older_state,
    undoes_fencing,
)
from jobs.verify.verdict import APPEND_REPEATED, suspect
from udfs.rules.logic import surely

CHECK = Check(
    code="txnlog_epoch_regression",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata.validProducerEpoch",
    fires=lambda: (
        is_decoded()
        & (
            undoes_fencing()
            | surely(
                (F.col("producer_id") == F.col("previous.producer_id"))
                & (F.col("producer_epoch") < F.col("previous.producer_epoch"))
            )
        )
    ),
    excuses=(
        of_two_phase_commit(),
        taken_from_the_older_state(),
        suspect(APPEND_REPEATED, lambda: ~F.col("adjacent") & failed_raise()),
        unstable_tail(),
    ),
    expected=lambda: text(
        "producer epoch {before} or higher", before=before_tombstone("producer_epoch")
    ),
    found=lambda: text("producer epoch {producer_epoch}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "The producer epoch of transactional id {transactional_id} goes back from {before} to "
        "{producer_epoch} at offset {offset}.",
        before=before_tombstone("producer_epoch"),
    ),
    remedy=compare_with_records,
)
