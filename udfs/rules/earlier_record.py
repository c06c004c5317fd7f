"""Which earlier record of its id a record of `__transaction_state` may follow, past failed appends.

An append that fails late is in the log, and the next step is taken from the older state
(`coordinator_step`). So a record follows some earlier record `r` of its id, and every record
between the two is one that may follow `r` as well: each was tried from there.

What a step keeps (`TransactionMetadata`, all releases): its timeout, but for an Empty
record, which InitProducerId writes; the start of a transaction, which is the moment of the Ongoing
record that begins it (`prepareAddPartitions`), or that of an abort from rest
(`prepareAbortOrCommit`, transaction.version 2); and its partitions, which Ongoing adds to and a
Prepare record takes over. `completeTransitionTo` refuses what does not.

What cannot be known: a record that was cleaned. Where those before the run are gone, the run is
held against any record that they may have been.
"""

from typing import NamedTuple

from schemas.coordinator_states import (
    AT_REST,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    COMPLETED,
    EMPTY,
    IN_TRANSACTION,
    NO_STATE,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARED,
)
from udfs.rules.coordinator_step import (
    EXHAUSTED_EPOCH,
    TRANSACTION_VERSION_2,
    Step,
    adds_any_fences,
    as_of_version_2,
    is_two_phase,
    may_follow_step,
    most_raise,
    raised_by_failed_fences,
    unless_told,
)
from udfs.rules.decision_epoch import Recorded, epoch_in_effect
from udfs.rules.logic import Values, is_in, surely

# So many records before a step are held against it; of what lies before them nothing is known.
LOOKED_BACK = 32


class KeptFields(NamedTuple):
    """What a record has of that which a step keeps. Null for what is not told.

    `listed`: a number that stands for its partitions, `partitions`: how many they are.
    """

    state: Values
    timeout_ms: Values
    start_ms: Values
    update_ms: Values
    listed: Values
    partitions: Values


def takes_up(record: Step, older: Step) -> Values:
    """Whether `record` may be the step from `older`: its state, its producer, its start."""
    same = record.producer_id == older.producer_id
    rise = record.producer_epoch - older.producer_epoch
    within = same & (rise >= 0) & (rise <= most_raise(as_of_version_2(record), older))
    fences = raised_by_failed_fences(record, older)
    used_up = (older.producer_epoch >= EXHAUSTED_EPOCH) & (record.producer_epoch == 0)
    rotated = (~same & used_up) | (record.producer_id == older.next_producer_id)
    begins = (record.state == NO_STATE) | (older.state == NO_STATE)
    announced = is_in(record.state, COMPLETED) & (record.producer_id == older.next_producer_id)
    producer = (
        (begins & (record.state != ONGOING))
        | ((record.state == EMPTY) & rotated)
        | ((record.state >= EMPTY) & within)
        | fences
        | announced
    )
    goes_on = is_in(older.state, IN_TRANSACTION)
    # A text may not tell the start.
    moved = surely(goes_on & (record.start_ms != older.start_ms))
    return (
        may_follow_step(record, older)
        & (surely(producer) | is_two_phase(record.timeout_ms, older.timeout_ms))
        & ~moved
    )


def began_before(record: KeptFields) -> Values:
    """Whether a record proves that it was taken from an Ongoing record: it began nothing itself.

    A transaction begins with the record that says so, be it an abort of nothing: one reading of the
    clock is its start and its update. What rests has cleared its partitions
    (`completeTransitionTo`), so an abort from rest has none.
    """
    begun_before = is_in(record.state, (ONGOING, PREPARE_ABORT)) & (
        record.start_ms != record.update_ms
    )
    decides = is_in(record.state, PREPARED)
    return surely(begun_before) | surely(decides & (record.partitions > 0))


def keeps(record: KeptFields, older: KeptFields) -> Values:
    """Whether `record` may be the step from `older` by what a step keeps."""
    stated = (record.state > EMPTY) & (older.state >= EMPTY)
    other_timeout = stated & (record.timeout_ms != older.timeout_ms)
    begins = surely(is_in(older.state, AT_REST)) & began_before(record)
    running = older.state == ONGOING
    drops = (record.state == ONGOING) & running & (record.partitions < older.partitions)
    decides = is_in(record.state, PREPARED)
    others = decides & running & (record.listed != older.listed)
    changes = surely(other_timeout) | begins | surely(drops) | surely(others)
    return ~changes | is_two_phase(record.timeout_ms, older.timeout_ms)


def may_keep_one_past(one: KeptFields, other: KeptFields) -> Values:
    """Whether both may be steps from one record that is not known, by what a step keeps."""
    decisions = PREPARED
    other_timeout = (
        (one.state > EMPTY) & (other.state > EMPTY) & (one.timeout_ms != other.timeout_ms)
    )
    # Where one goes on with a transaction, so does the other.
    begins = surely(is_in(one.state, (NO_STATE, EMPTY)) | is_in(other.state, (NO_STATE, EMPTY)))
    apart = begins | surely(one.start_ms != other.start_ms)
    running_apart = (began_before(one) | began_before(other)) & apart
    decided = is_in(one.state, decisions) & is_in(other.state, decisions)
    others = decided & (one.listed != other.listed)

    def lacks(added: KeptFields, decision: KeptFields) -> Values:
        """Whether an Ongoing record has not all that a decision, of what it adds to, took over."""
        both = (added.state == ONGOING) & is_in(decision.state, decisions)
        return surely(both & (added.partitions < decision.partitions))

    changes = surely(other_timeout) | running_apart | surely(others)
    return ~(changes | lacks(one, other) | lacks(other, one)) | is_two_phase(
        one.timeout_ms, other.timeout_ms
    )


def may_share_past(one: Step, other: Step) -> Values:
    """Whether both may be steps from one record that is not known."""
    same = one.producer_id == other.producer_id

    def either(first: Step, second: Step) -> Values:
        """What holds for an order of the two that fits their states."""
        decided = is_in(second.state, PREPARED)
        ongoing = first.state == ONGOING
        raised = same & (second.producer_epoch >= first.producer_epoch)
        raise_ = second.producer_epoch - first.producer_epoch
        unraised = same & (raise_ == 0)
        aborts = (first.state == PREPARE_ABORT) | (second.state == PREPARE_ABORT)
        # A fence raises it by two at most, and one that came in between by one more.
        near = is_in(raise_, (-1, 0, 1)) | (aborts & is_in(raise_, (-3, -2, 2, 3)))
        near |= adds_any_fences(first) | adds_any_fences(second)
        restarted = second.state == EMPTY
        used_up = first.producer_epoch >= EXHAUSTED_EPOCH
        return surely(
            (ongoing & (second.state == ONGOING) & unraised)
            | (ongoing & decided & raised & near)
            | (ongoing & restarted & (raised | (~same & used_up)))
            | (decided & is_in(first.state, PREPARED) & same & near)
            | ((first.state == PREPARE_ABORT) & restarted & (same | used_up))
            # A retry of what had succeeded keeps the epoch (`prepareIncrementProducerEpoch`).
            | ((first.state == EMPTY) & restarted & same & is_in(raise_, (0, 1)))
            | ((first.state == EMPTY) & restarted & ~same & _new_or_used_up(first, second))
            | (first.state == NO_STATE)
        )

    def all_in(*states: int) -> Values:
        return surely(is_in(one.state, states) & is_in(other.state, states))

    moved = surely(one.start_ms != other.start_ms)
    running = all_in(*IN_TRANSACTION) & ~moved

    def from_rest(step: Step) -> Values:
        by_version_2 = unless_told(step.transaction_version) >= TRANSACTION_VERSION_2
        return surely((step.state != PREPARE_ABORT) | by_version_2)

    resting = all_in(NO_STATE, EMPTY, ONGOING, PREPARE_ABORT) & from_rest(one) & from_rest(other)
    fits = either(one, other) | either(other, one) | is_two_phase(one.timeout_ms, other.timeout_ms)
    repeated = all_in(COMPLETE_COMMIT) | all_in(COMPLETE_ABORT)
    return repeated | ((running | resting) & fits)


def _new_or_used_up(one: Step, other: Step) -> Values:
    """Whether two Empty records of different producer ids fit a step that gives out a new one."""
    return is_in(one.producer_epoch, (0, EXHAUSTED_EPOCH, EXHAUSTED_EPOCH + 1)) & is_in(
        other.producer_epoch, (0, EXHAUSTED_EPOCH, EXHAUSTED_EPOCH + 1)
    )


def goes_below(record: Step, earlier: Step) -> Values:
    """Whether an earlier record of the id proves a higher epoch of the producer than `record` has.

    An append that failed is no reason: what it leaves in memory is not below `epoch_in_effect`. A
    text that does not tell the start does not tell the version either.
    """
    same = record.producer_id == earlier.producer_id
    known = (earlier.state >= EMPTY) & (earlier.start_ms >= -1)
    proven = epoch_in_effect(
        Recorded(
            earlier.state, earlier.producer_id, earlier.producer_epoch, earlier.transaction_version
        )
    )
    return surely(known & same & (record.producer_epoch < proven)) & ~is_two_phase(
        record.timeout_ms, earlier.timeout_ms
    )


def may_have_failed_raise(record: Step, raised: Step) -> Values:
    """Whether `raised` may be an append that failed, where others of the id may lie between.

    Only what raises the epoch, or gives out a new producer id, and only as far as one step does.
    """
    step = raised.producer_epoch - record.producer_epoch
    same = record.producer_id == raised.producer_id
    by_one = (raised.state == EMPTY) | (
        (raised.state == PREPARE_COMMIT)
        & (unless_told(raised.transaction_version) >= TRANSACTION_VERSION_2)
    )
    return surely(
        (same & by_one & (step <= 1))
        | (same & (raised.state == PREPARE_ABORT) & (step <= 2))
        | (
            ~same
            & (raised.state == EMPTY)
            & (raised.producer_epoch == 0)
            & (record.producer_epoch >= EXHAUSTED_EPOCH)
        )
    )
