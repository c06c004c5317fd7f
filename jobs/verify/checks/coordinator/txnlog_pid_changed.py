"""A transactional id gets another producer id without a reason.

What it finds: two records of an id with different producer ids and no record missing between them,
although the old epoch was not exhausted and there is no tombstone between them; a producer id other
than the next one that the Prepare record before announced, be it the old one; a new one in a record
that gives out none, or at another epoch than 0.

Why it is wrong: fencing works by the producer id. With a new one the older producer is no longer
fenced, and its open transaction has no owner.

When it is legal: from epoch 32766 on, an Empty record of InitProducerId assigns a new producer id
at epoch 0. Under transaction.version 2 a Complete record does, too, which a Prepare record may
announce; a decision raises the epoch, so that one has 32767. A decision of value version 0 does not
tell its version: suspect, unless it is a commit in the epoch of its running transaction, which
raised none. Ids of two-phase commit may hold two.
A return to an earlier producer id of the id is reported by txnlog_pid_regression.

Evidence: the record and the one before it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.remedies import compare_with_records
from jobs.verify.transitions import (
    is_decoded,
    keeps_announced,
    may_replace_producer,
    of_two_phase_commit,
    replaces_producer,
    taken_from_the_older_state,
)
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from schemas.coordinator_states import COMPLETED, PREPARED
from udfs.rules.coordinator_step import EXHAUSTED_EPOCH, TRANSACTION_VERSION_2
from udfs.rules.logic import surely


def _another_was_to_follow() -> Column:
    """Whether the Prepare record before gave out another producer id than this one."""
    prepared = F.col("previous.state").isin(*PREPARED)
    given_out = F.col("previous.next_producer_id")
    return prepared & (given_out >= 0) & (given_out != F.col("producer_id"))


def _not_used_up() -> Column:
    """Whether the epoch before leaves another one; that of a decision is raised already."""
    raised = F.col("state").isin(*COMPLETED) & surely(
        F.col("previous.client_transaction_version") >= TRANSACTION_VERSION_2
    )
    answer: Column = F.col("previous.producer_epoch") < EXHAUSTED_EPOCH + raised.cast("int")
    return answer


def _is_another() -> Column:
    """Whether the producer id changes where none is given out."""
    changes = F.col("producer_id") != F.col("previous.producer_id")
    another: Column = changes & ~replaces_producer() & ~F.col("returns_to_producer_id")
    return another


CHECK = Check(
    code="txnlog_pid_changed",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata.prepareProducerIdRotation",
    fires=lambda: is_decoded() & F.col("adjacent") & (_is_another() | keeps_announced()),
    excuses=(
        of_two_phase_commit(),
        taken_from_the_older_state(),
        unstable_tail(),
        suspect(VERSION_DEPENDENT, lambda: may_replace_producer() & ~keeps_announced()),
    ),
    expected=lambda: text(
        "producer id {right}",
        right=F.when(_another_was_to_follow(), F.col("previous.next_producer_id")).otherwise(
            F.col("previous.producer_id")
        ),
    ),
    found=lambda: text("producer id {producer_id}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "The producer id of transactional id {transactional_id} {changes} at offset {offset}, "
        "although {rule}.",
        changes=F.when(keeps_announced(), text("stays {producer_id}")).otherwise(
            text("changes from {before} to {producer_id}", before="previous.producer_id")
        ),
        rule=F.when(
            _another_was_to_follow(),
            text(
                "the record before gives {next} as the next one", next="previous.next_producer_id"
            ),
        )
        .when(
            _not_used_up(),
            text("epoch {epoch} was not exhausted", epoch="previous.producer_epoch"),
        )
        .otherwise(
            text(
                "only an Empty record at epoch 0, or a Complete record of transaction.version 2, "
                "begins a new one, and this is {state_name} at epoch {producer_epoch}"
            )
        ),
    ),
    remedy=compare_with_records,
)
