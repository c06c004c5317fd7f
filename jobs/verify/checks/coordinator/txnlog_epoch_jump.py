"""The producer epoch of a transactional id rises by more or less than the transition allows.

What it finds: two records of an id and producer id with no record missing between them and a legal
transition, where the epoch rises by more than the transition allows: two into PrepareAbort behind
Ongoing (one where value version 1 tells an older client), one into PrepareAbort from rest, into
PrepareCommit of transaction.version 2 and into Empty, none into any other record, nor into Empty
from 32766 on, where InitProducerId gives out a new producer id. Or a decision under
transaction.version 2 that does not raise it. Behind a tombstone the record before that counts, and
another producer id begins at epoch 0.

Why it is wrong: each transition raises the epoch by a fixed step. A larger step means that
transitions are missing from the log. A decision without its step gives the next transaction the
same epoch, so that a delayed request of this one may end or join it (KIP-890).

When it is legal: up to 2.5 fencing whose appends fail raises the epoch repeatedly (KAFKA-9666), so
an abort of a running transaction in value version 0 is a suspect. In value version 1 it is one if
it raises the epoch by one more than allowed: a second fence may come in before the first, whose
append failed, is marked as failed. It explains nothing else: no client knows such an epoch, and at
rest the epoch in memory is that of the log. A commit of value version 0 that raises it by one is a
suspect: it does not tell the client's version, which may be 2 where transaction.version was
lowered. So is a decision of version 2 that does not raise the epoch. Fencing in 4.0.0 under version
2 raises it by two, which is not reported. A Complete record has the epoch of its Prepare record in
every release (TransactionMetadata.prepareComplete): while one waits for its markers the id accepts
no other request. A transaction that began at epoch 32767 is aborted in it (KAFKA-20090;
producer_epoch_out_of_range reports its data).

Evidence: the record and the one before it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import WARNING, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.transitions import (
    before_tombstone,
    begins_too_high,
    is_decoded,
    lacks_raise,
    may_follow_untold,
    may_raise_untold,
    most_raise,
    of_two_phase_commit,
    raised_by_failed_fences,
)
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from schemas.coordinator_states import PREPARE_ABORT
from udfs.rules.producer_step import LAST_EPOCH


def _stays() -> Column:
    """Whether a decision lacks its rise; an abort at the last epoch has none to rise to."""
    last = (F.col("state") == PREPARE_ABORT) & (F.col("producer_epoch") == LAST_EPOCH)
    return lacks_raise() & ~last


def _jumps() -> Column:
    """Whether the step from the record right before rises too far, or not at all."""
    rise = F.col("producer_epoch") - F.col("previous.producer_epoch")
    return (
        F.col("adjacent")
        & may_follow_untold()
        & (F.col("producer_id") == F.col("previous.producer_id"))
        & ((rise > most_raise()) | _stays())
    )


def _begins_anew() -> Column:
    return F.col("producer_id") != before_tombstone("producer_id")


CHECK = Check(
    code="txnlog_epoch_jump",
    severity=WARNING,
    context="coordinator_step",
    source="TransactionMetadata.prepareFenceProducerEpoch",
    fires=lambda: is_decoded() & (_jumps() | begins_too_high()),
    excuses=(
        of_two_phase_commit(),
        unstable_tail(),
        suspect(
            VERSION_DEPENDENT,
            lambda: ~_begins_anew() & (raised_by_failed_fences() | _stays() | may_raise_untold()),
        ),
    ),
    expected=lambda: F.when(_begins_anew(), text("producer epoch 0")).otherwise(
        text(
            "producer epoch {least} to {most} above {before}",
            least=_stays().cast("int"),
            most=most_raise(),
            before=before_tombstone("producer_epoch"),
        )
    ),
    found=lambda: text("producer epoch {producer_epoch}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: F.when(
        _begins_anew(),
        text(
            "Transactional id {transactional_id} begins anew at offset {offset}, with producer "
            "{producer_id} in epoch {producer_epoch}."
        ),
    ).otherwise(
        text(
            "The producer epoch of transactional id {transactional_id} changes from {before} to "
            "{producer_epoch} with the {state_name} record at offset {offset}.",
            before=before_tombstone("producer_epoch"),
        )
    ),
)
