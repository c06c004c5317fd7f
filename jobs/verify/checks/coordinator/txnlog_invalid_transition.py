"""A transactional id changes to a state that cannot follow its previous state.

What it finds: two records of an id with no record missing between them whose states no coordinator
writes in this order, or such a first record at the known start of the log.

Why it is wrong: the coordinator refuses such a transition in memory (`prepareTransitionTo`) but
loads any log without a check. Its behaviour after a restart is undefined.

When it is legal: the same record written twice; or the coordinator repeated a transition from its
older state because an append had failed late. An abort of nothing that raises the epoch is of
transaction.version 2; in value version 0, which does not tell the version, it is a suspect.

Evidence: the record and the one before it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.remedies import compare_with_records
from jobs.verify.transitions import (
    aborts_nothing_untold,
    is_decoded,
    is_repeated,
    may_follow,
    taken_from_the_older_state,
)
from jobs.verify.verdict import VERSION_DEPENDENT, suspect
from schemas.coordinator_states import AT_REST, COMPLETE_ABORT, COMPLETED, EMPTY, NO_STATE, ONGOING


def _is_named_by_others() -> Column:
    """Completed without a prepare, and expired inside a transaction, have codes of their own."""
    completes = F.col("state").isin(*COMPLETED)
    unprepared = completes & F.col("previous.state").isin(*AT_REST, ONGOING)
    return unprepared | ((F.col("state") == NO_STATE) & ~F.col("previous.state").isin(*AT_REST))


CHECK = Check(
    code="txnlog_invalid_transition",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata.prepareTransitionTo",
    fires=lambda: (
        is_decoded()
        & F.col("state").between(NO_STATE, COMPLETE_ABORT)
        & F.coalesce(F.col("previous.state") <= COMPLETE_ABORT, F.lit(True))
        & (
            (F.col("adjacent") & ~may_follow("previous") & ~is_repeated() & ~_is_named_by_others())
            | (F.col("first_of_log") & ~F.col("state").isin(EMPTY, NO_STATE))
        )
    ),
    excuses=(
        taken_from_the_older_state(),
        unstable_tail(),
        suspect(VERSION_DEPENDENT, aborts_nothing_untold),
    ),
    expected=lambda: text("a state that may follow {previous_state_name}"),
    found=lambda: text("{state_name}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "Transactional id {transactional_id} changes from {previous_state_name} to {state_name} at "
        "offset {offset}."
    ),
    remedy=compare_with_records,
)
