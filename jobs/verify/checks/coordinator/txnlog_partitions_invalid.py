"""The partitions that a state record lists do not fit its state.

What it finds: partitions in an Empty or Complete record; an Ongoing record that drops a partition;
a Prepare record whose list differs from that of the Ongoing record before it, or of the same
decision before it; a PrepareAbort record with partitions that no Ongoing record added.

Why it is wrong: markers go to the partitions of the Prepare record. In a partition that is missing
there, the transaction stays open; a surplus partition gets a marker without data.

When it is legal: the coordinator repeated a transition from its older state because an append had
failed late. That explains no partitions of an id at rest, and not that one decision, which is taken
from one state of the coordinator's memory each time, has two lists.

Evidence: the record and the one before it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.remedies import compare_with_records
from jobs.verify.transitions import (
    is_decoded,
    lacks,
    may_follow,
    number_of,
    taken_from_the_older_state,
)
from schemas.coordinator_states import (
    AT_REST,
    NO_STATE,
    ONGOING,
    PREPARE_ABORT,
    PREPARED,
    TWO_PHASE_COMMIT_TIMEOUT,
)
from udfs.rules.logic import surely


def _continues(*states: int) -> Column:
    """Whether the record, of one of these states, directly follows an Ongoing record."""
    return F.col("adjacent") & (F.col("previous.state") == ONGOING) & F.col("state").isin(*states)


def _decides_again() -> Column:
    """Whether the record repeats the decision directly before, whose append failed late.

    Between the two nothing was added: that has an Ongoing record of its own.
    """
    decided = F.col("previous.state").isin(*PREPARED)
    same = (
        (F.col("state") == F.col("previous.state"))
        & (F.col("producer_id") == F.col("previous.producer_id"))
        & (F.col("start_ms") == F.col("previous.start_ms"))
    )
    two_phase = F.col("timeout_ms") == TWO_PHASE_COMMIT_TIMEOUT
    return F.col("adjacent") & decided & surely(same & ~two_phase)


def _rests_with_partitions() -> Column:
    return F.col("state").isin(*AT_REST) & (number_of("partitions") > 0)


def _aborts_what_was_never_added() -> Column:
    """Whether an abort from rest, which transaction.version 2 allows, lists partitions.

    A record at rest has cleared them (`TransactionMetadata.completeTransitionTo`), and no append
    that failed brings them back: an id that has partitions in the coordinator's memory is Ongoing,
    and of that state neither an Empty record nor a tombstone nor an abort without partitions is
    written. Where it is no step at all, txnlog_invalid_transition says so.
    """
    before = F.col("previous.state")
    at_rest = before.isin(*AT_REST) & may_follow("previous")
    had_none = (before == PREPARE_ABORT) & (number_of("previous.partitions") == 0)
    from_rest = F.col("adjacent") & (at_rest | (before == NO_STATE) | had_none)
    return from_rest & (F.col("state") == PREPARE_ABORT) & (number_of("partitions") > 0)


def _has_none_at_rest() -> Column:
    return _rests_with_partitions() | _aborts_what_was_never_added()


def _differs() -> Column:
    return lacks("partitions", "previous.partitions") | lacks("previous.partitions", "partitions")


def _names(partitions: str) -> Column:
    """The first ten of a list, for a person."""
    some = F.concat_ws(", ", F.slice(F.array_sort(partitions), 1, 10))
    more = F.when(number_of(partitions) > 10, F.lit(", …")).otherwise(F.lit(""))
    return F.when(number_of(partitions) > 0, F.concat(some, more))


def _rule() -> Column:
    """What the record breaks, for a person."""
    before = F.coalesce(_names("previous.partitions"), F.lit("no partition"))
    return (
        F.when(_rests_with_partitions(), F.lit("A record in this state lists no partition."))
        .when(_aborts_what_was_never_added(), F.lit("No Ongoing record added them."))
        .when(
            F.col("state") == ONGOING,
            text(
                "The Ongoing record before it lists {before}. A transaction drops no partition.",
                before=before,
            ),
        )
        .otherwise(
            text(
                "The {previous_state_name} record before it lists {before}. A Prepare record lists "
                "the same partitions.",
                before=before,
            )
        )
    )


CHECK = Check(
    code="txnlog_partitions_invalid",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata.completeTransitionTo",
    fires=lambda: (
        is_decoded()
        & (
            _has_none_at_rest()
            | (_continues(ONGOING) & lacks("partitions", "previous.partitions"))
            | ((_continues(*PREPARED) | _decides_again()) & _differs())
        )
    ),
    excuses=(
        taken_from_the_older_state(unless=_has_none_at_rest),
        unstable_tail(),
    ),
    expected=lambda: F.when(_has_none_at_rest(), F.lit("no partitions")).otherwise(
        text("partitions {before}", before=_names("previous.partitions"))
    ),
    found=lambda: text("partitions {now}", now=_names("partitions")),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "The {state_name} record of transactional id {transactional_id} at offset {offset} lists "
        "{now}. {rule}",
        now=F.coalesce(_names("partitions"), F.lit("no partition")),
        rule=_rule(),
    ),
    remedy=compare_with_records,
)
