"""The start timestamp of a transaction does not fit its state.

What it finds: an Empty record with a start timestamp; an Ongoing, Prepare or Complete record
without one; a start that changes within a transaction, or is later than the update timestamp of its
own record; a transaction that begins, right behind a record at rest, with another start than the
update timestamp of its own record, be it the start of the transaction before.

Why it is wrong: the coordinator aborts a transaction by its start and its timeout. With a wrong
start it is aborted too early or never.

When it is legal: if records between two are missing, a change is not judged. After appends that
failed late, another transaction may begin from the older state. If a clock was set back, or another
coordinator has a different clock, the update of a running transaction may be earlier than its
start. Only the first record of a transaction takes both from one reading of one clock. Ids of
two-phase commit are not asked for that.

Evidence: the record and the one before it.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, Check, Proof, moment, text
from jobs.verify.conditions.settled import unstable_tail
from jobs.verify.remedies import compare_with_records
from jobs.verify.transitions import (
    begins_elsewhen,
    is_decoded,
    same_transaction,
    taken_from_the_older_state,
)
from jobs.verify.verdict import CLOCK_SKEW, suspect
from schemas.coordinator_states import AT_REST, COMPLETE_ABORT, EMPTY, ONGOING
from udfs.rules.logic import surely


def _contradicts_itself() -> Column:
    """A start where there is none, or none where there is one."""
    return ((F.col("state") == EMPTY) & (F.col("start_ms") != -1)) | (
        F.col("state").between(ONGOING, COMPLETE_ABORT) & (F.col("start_ms") < 0)
    )


def _moved() -> Column:
    return same_transaction() & (F.col("start_ms") != F.col("previous.start_ms"))


def _does_not_fit() -> Column:
    """A start where there is none, none where there is one, or one that moved."""
    return _contradicts_itself() | _moved()


def _begins_late() -> Column:
    return F.col("start_ms") > F.col("last_update_ms")


def _begins() -> Column:
    """Whether the record begins a transaction: one reading of the clock is start and update."""
    return (
        F.col("adjacent")
        & (F.col("state") == ONGOING)
        & surely(F.col("previous.state").isin(*AT_REST))
    )


def _empty_with_start() -> Column:
    return (F.col("state") == EMPTY) & (F.col("start_ms") != -1)


def _fault() -> Column:
    """What the record breaks, for a person."""
    start = moment("start_ms")
    return (
        F.when(
            _empty_with_start(),
            text("has start timestamp {start}. An Empty record has none.", start=start),
        )
        .when(_contradicts_itself(), F.lit("has no start timestamp."))
        .when(
            _moved(),
            text(
                "has start timestamp {start}. The record before, of the same transaction, has "
                "{before}.",
                start=start,
                before=moment("previous.start_ms"),
            ),
        )
        .when(
            begins_elsewhen(),
            text(
                "has start timestamp {start} and update timestamp {update}. It begins a "
                "transaction, so both are one moment.",
                start=start,
                update=moment("last_update_ms"),
            ),
        )
        .otherwise(
            text(
                "has start timestamp {start}, which is later than its update timestamp {update}.",
                start=start,
                update=moment("last_update_ms"),
            )
        )
    )


CHECK = Check(
    code="txnlog_start_timestamp_invalid",
    severity=ERROR,
    context="coordinator_step",
    source="TransactionMetadata.prepareAddPartitions",
    fires=lambda: is_decoded() & (_does_not_fit() | _begins_late() | begins_elsewhen()),
    excuses=(
        taken_from_the_older_state(
            unless=lambda: surely(_contradicts_itself() | _begins_late() | begins_elsewhen())
        ),
        unstable_tail(),
        suspect(CLOCK_SKEW, lambda: ~surely(_does_not_fit()) & ~_begins() & ~begins_elsewhen()),
    ),
    expected=lambda: (
        F.when(_empty_with_start(), F.lit("no start in state Empty"))
        .when(_contradicts_itself(), text("a start in state {state_name}"))
        .when(_moved(), text("start {before}", before="previous.start_ms"))
        .when(begins_elsewhen(), text("start {last_update_ms}"))
        .otherwise(text("a start up to the last update {last_update_ms}"))
    ),
    found=lambda: text("start {start_ms}"),
    proofs=(
        Proof("the record before", "previous_file", "previous_position", "previous_length"),
        Proof("the record"),
    ),
    message=lambda: text(
        "The {state_name} record of transactional id {transactional_id} at offset {offset} {fault}",
        fault=_fault(),
    ),
    remedy=compare_with_records,
)
