"""Which record of a transactional id may follow which in `__transaction_state`.

A record is written before the coordinator moves in memory
(`TransactionMetadata.prepareTransitionTo`, then `TransactionStateManager.appendTransactionToLog`;
all releases). An append that fails late (REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND) is in
the log all the same, but its callback takes the pending state back, and the next step is taken from
the older one. That may happen any number of times: `earlier_record`.

Epochs and producer ids: InitProducerId raises the epoch, or gives out a new producer id at epoch 0
once 32766 is reached (`isProducerEpochExhausted`); a fence and, under transaction.version 2, the
end of a transaction raise it in the Prepare record; nothing lowers it. A Prepare record may
announce the producer id that follows (KIP-890). Ids of two-phase commit hold two, and are not
asked.
"""

from typing import NamedTuple

from schemas.coordinator_states import (
    AT_REST,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    COMPLETED,
    EMPTY,
    NO_STATE,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARED,
    TWO_PHASE_COMMIT_TIMEOUT,
)
from udfs.rules.attribution import took_effect
from udfs.rules.logic import Values, as_number, chosen, is_in, surely

# From this epoch on InitProducerId gives out a new producer id.
EXHAUSTED_EPOCH = 32766
TRANSACTION_VERSION_2 = 2
# In place of the client's version in a record of value version 0, which has no tags.
UNTOLD_VERSION = -1


class Step(NamedTuple):
    """A state record. `state`: -1 for a tombstone, of which the rest is null (0 in arrays).

    `next_producer_id`: announced, -1 for none; `transaction_version`: the client's, or
    UNTOLD_VERSION.
    """

    state: Values
    producer_id: Values
    producer_epoch: Values
    start_ms: Values
    timeout_ms: Values
    next_producer_id: Values
    transaction_version: Values


class Lists(NamedTuple):
    """How the list of partitions of a record compares with that of the record before it.

    `empty`: it has none; `holds_all`: all of the one before; `adds_none`: no other.
    """

    empty: Values
    holds_all: Values
    adds_none: Values


def is_of_older_version(record: Step) -> Values:
    """Whether a record is of transaction.version 0 or 1, in which the end raises no epoch.

    What does not tell the version counts as such, see `unless_told`; but for a text that does not
    tell the start.
    """
    return surely(record.start_ms >= -1) & ~surely(
        record.transaction_version >= TRANSACTION_VERSION_2
    )


def unless_told(transaction_version: Values) -> Values:
    """The version of the client, and 2 where the record does not tell it.

    The level of the cluster decides how a record is written (`TransactionLog.valueToBytes`), and
    level 0 gives value version 0, without tags. The request decides what it does: EndTxn 5 is of
    version 2 whatever the level is (`KafkaApis.handleEndTxnRequest`). When the level is lowered to
    0, a client goes on by version 2 until it connects anew
    (`TransactionManager.maybeUpdateTransactionV2Enabled`). Nothing in `__transaction_state` shows
    that the level never was higher: what was written then may be cleaned, or an id was at rest.
    """
    untold = surely(transaction_version < 0)
    return chosen(untold, TRANSACTION_VERSION_2, transaction_version)


def tells_older_version(record: Step) -> Values:
    """Whether a record says itself that its client is of transaction.version 0 or 1."""
    version = record.transaction_version
    return surely((version >= 0) & (version < TRANSACTION_VERSION_2))


def as_of_version_2(record: Step) -> Step:
    """The record, as of version 2 where it does not tell its version."""
    return record._replace(transaction_version=unless_told(record.transaction_version))


def replaces_producer(record: Step, last: Step) -> Values:
    """Whether a step gives out a new producer id, or brings in the one that was announced.

    InitProducerId does where the epochs are used up (`prepareProducerIdRotation`), and under
    transaction.version 2 the completion of what used up the last one (`prepareComplete`); both at
    epoch 0. The decision is taken in an epoch that is used up, and raises it
    (`TransactionCoordinator.endTransaction`, `prepareAbortOrCommit`). 4.0 does not tell the
    announced one.
    """
    decided = is_in(last.state, PREPARED)
    other_announced = surely(
        decided & (last.next_producer_id >= 0) & (last.next_producer_id != record.producer_id)
    )
    initializes = (record.state == EMPTY) & (last.producer_epoch >= EXHAUSTED_EPOCH)
    completes = (
        is_in(record.state, COMPLETED)
        & decided
        & ~is_of_older_version(last)
        & (last.producer_epoch > EXHAUSTED_EPOCH)
    )
    given_out = surely((initializes | completes) & (record.producer_epoch == 0))
    return given_out & ~other_announced


def lacks_raise(record: Step, last: Step) -> Values:
    """Whether a decision under transaction.version 2 leaves the epoch as it is (KIP-890)."""
    return surely(
        is_in(record.state, PREPARED)
        & (record.transaction_version >= TRANSACTION_VERSION_2)
        & (record.producer_epoch == last.producer_epoch)
    )


def most_raise(record: Step, last: Step) -> Values:
    """By how much a step raises the epoch at most.

    InitProducerId raises it by one, unless it is used up: then a new producer id is given out
    (`prepareIncrementProducerEpoch` refuses to raise it; all releases). The end of a transaction
    does under transaction.version 2. A fence does, and only where a transaction runs
    (`prepareFenceProducerEpoch`); in 4.0.0 one of version 2 does so twice, in memory and in the
    record (KAFKA-19367). An append that failed is no reason for more, as the epoch in memory is
    that of `last` or a lower one. A fence that failed may be one, and is not counted here: see
    `raised_by_failed_fences`.
    """
    ends = (record.state == PREPARE_COMMIT) & ~is_of_older_version(record)
    initializes = (record.state == EMPTY) & (last.producer_epoch < EXHAUSTED_EPOCH)
    aborts = record.state == PREPARE_ABORT
    by_one = surely(ends | initializes | aborts)
    twice = aborts & (last.state == ONGOING) & ~tells_older_version(record)
    return as_number(by_one) + as_number(surely(twice))


def adds_any_fences(record: Step) -> Values:
    """Whether a record, behind an Ongoing one, may show any number of fences that failed.

    Up to 2.5 each of them raises the epoch of a running transaction in memory (KAFKA-9666). No
    client knows that epoch, so it shows in a PrepareAbort record alone. Only 4.0 and later write
    value version 1.
    """
    return surely((record.state == PREPARE_ABORT) & (record.transaction_version < 0))


def raised_by_failed_fences(record: Step, last: Step) -> Values:
    """Whether fences that failed explain how far an abort of what was running raises the epoch.

    From 2.6 on only the first one raises it in memory (`TransactionMetadata.hasFailedEpochFence`),
    and one that comes in just then: the callback of the append takes the pending state back, lets
    go of the lock, and sets that flag later (`TransactionStateManager.appendTransactionToLog`,
    `TransactionCoordinator.endTransaction`; 2.6 to 4.3). A second one would have to come in while
    the first two are both between those lines, and is not counted.
    """
    rise = record.producer_epoch - last.producer_epoch
    fences = (record.state == PREPARE_ABORT) & (last.state == ONGOING)
    same = record.producer_id == last.producer_id
    far = adds_any_fences(record) | (rise <= most_raise(record, last) + 1)
    return surely(fences & same & (rise >= 0) & far)


def begins_too_high(record: Step, earlier: Step) -> Values:
    """Whether a record right behind a tombstone has an epoch that nothing leads to.

    `earlier`: the record right in front of that. If the tombstone took effect, the id begins anew,
    with another producer id at epoch 0 (`TransactionCoordinator.handleInitProducerId`). If its
    append failed late, the step is taken from memory, which is that of `earlier` or older: the same
    producer id, or the one before it, whose epochs were used up.
    """
    same = record.producer_id == earlier.producer_id
    rise = record.producer_epoch - earlier.producer_epoch
    further = same & (rise > most_raise(record, earlier))
    anew = ~same & (record.producer_epoch > 0) & (record.producer_epoch < EXHAUSTED_EPOCH)
    steps = (record.state >= EMPTY) & is_in(earlier.state, AT_REST)
    return surely(steps & (further | anew)) & ~is_two_phase(record.timeout_ms, earlier.timeout_ms)


def keeps_announced(record: Step, last: Step) -> Values:
    """Whether a Complete record keeps its producer id where its Prepare record announced another.

    `prepareComplete` takes over the announced one, of the decision that it found in memory or in
    the log (transaction.version 2). A broker of an older release knows neither.
    """
    announced = is_in(last.state, PREPARED) & (last.next_producer_id >= 0)
    return surely(
        announced
        & is_in(record.state, COMPLETED)
        & (record.transaction_version >= TRANSACTION_VERSION_2)
        & (record.producer_id == last.producer_id)
        & (record.producer_id != last.next_producer_id)
    )


def begins_elsewhen(record: Step, last: Step, update_ms: Values) -> Values:
    """Whether a transaction begins right behind a record at rest with another start than its own.

    One reading of the clock is its start and its update (`TransactionMetadata.prepareAddPartitions`
    and, of an abort of nothing, `prepareAbortOrCommit`). An append that failed is no reason: what
    was at rest in the log was so in memory.
    """
    aborts_nothing = (record.state == PREPARE_ABORT) & (
        record.transaction_version >= TRANSACTION_VERSION_2
    )
    begins = is_in(last.state, AT_REST) & ((record.state == ONGOING) | aborts_nothing)
    return surely(begins & (record.start_ms != update_ms)) & ~is_two_phase(
        record.timeout_ms, last.timeout_ms
    )


def is_plain(
    record: Step, last: Step, update_ms: Values, last_update_ms: Values, lists: Lists
) -> Values:
    """Whether a record is the step that a healthy id takes from the one right before it.

    No check has anything to say of it then. `update_ms`, `last_update_ms`: when the two were
    written.
    """
    step = record.producer_epoch - last.producer_epoch
    stays, by_one = step == 0, is_in(step, (0, 1)) & (step <= most_raise(record, last))
    rested, running = is_in(last.state, AT_REST), last.state == ONGOING
    has_start = record.start_ms >= 0
    started = has_start & (record.start_ms == last.start_ms)
    prepares = is_in(record.state, PREPARED)
    completes = is_in(record.state, COMPLETED)
    no_start = record.start_ms == -1
    moves = (
        ((record.state == EMPTY) & rested & by_one & lists.empty & no_start)
        | ((record.state == ONGOING) & rested & stays & has_start & (record.start_ms == update_ms))
        | ((record.state == ONGOING) & running & stays & started & lists.holds_all)
        | (
            (prepares & running & by_one & ~lacks_raise(record, last))
            & (started & lists.holds_all & lists.adds_none)
        )
        | (completes & took_effect(last.state, record.state) & stays & started & lists.empty)
    )
    return (
        (record.producer_id == last.producer_id)
        & (record.producer_epoch >= 0)
        & (record.timeout_ms > 0)
        & (record.timeout_ms == last.timeout_ms)
        & (update_ms >= last_update_ms)
        & (record.start_ms <= update_ms)
        & ~keeps_announced(record, last)
        & moves
    )


def may_follow(state: Values, transaction_version: Values, last: Values) -> Values:
    """Whether a record of `state` may follow one of `last`; only version 2 aborts nothing."""
    resting = is_in(last, AT_REST)
    running = last == ONGOING
    return surely(
        ((state == NO_STATE) & resting)
        | ((state == EMPTY) & (resting | (last == NO_STATE)))
        | ((state == ONGOING) & (resting | running))
        | ((state == PREPARE_COMMIT) & running)
        | (
            (state == PREPARE_ABORT)
            & (running | (resting & surely(transaction_version >= TRANSACTION_VERSION_2)))
        )
        | ((state == COMPLETE_COMMIT) & (last == PREPARE_COMMIT))
        | ((state == COMPLETE_ABORT) & (last == PREPARE_ABORT))
    )


def may_follow_step(record: Step, last: Step) -> Values:
    """The same of two records; one that does not tell its version may be of version 2.

    An abort of nothing raises the epoch then.
    """
    by_version_2 = as_of_version_2(record)
    return may_follow(record.state, record.transaction_version, last.state) | (
        may_follow(record.state, by_version_2.transaction_version, last.state)
        & ~lacks_raise(by_version_2, last)
    )


def is_two_phase(timeout_ms: Values, other_ms: Values) -> Values:
    """Whether either timeout is that of an id of two-phase commit (KIP-939), which is not asked."""
    return surely(timeout_ms == TWO_PHASE_COMMIT_TIMEOUT) | surely(
        other_ms == TWO_PHASE_COMMIT_TIMEOUT
    )


def is_completed_by(prepare: Step, record: Step) -> Values:
    """Whether a Complete record right behind a Prepare record may be of the same transaction.

    It keeps producer id, epoch and start, or has the next producer id in epoch 0
    (`TransactionMetadata.prepareComplete`). Another one is of a later transaction of the id: what
    lay between is gone, and the Prepare record may be of an append that failed late.
    """
    same = prepare.producer_id == record.producer_id
    epochs = (same & (prepare.producer_epoch != record.producer_epoch)) | (
        ~same & (record.producer_epoch != 0)
    )
    moved = prepare.start_ms != record.start_ms
    return ~surely(moved) & (~surely(epochs) | is_two_phase(prepare.timeout_ms, record.timeout_ms))


def gave_way(prepare: Step, record: Step) -> Values:
    """Whether the record right behind a Prepare record shows that this one never took effect.

    It goes on with the same transaction, which the coordinator had in memory as running: the append
    of the Prepare record failed late. Any other record but its Complete record is of a later
    transaction, or of none: what lay between, the Complete record among it, is gone. Where a text
    does not tell the start, a decision goes on and an Ongoing record tells nothing.
    """
    told = surely((prepare.start_ms >= -1) & (record.start_ms >= -1))
    same = surely(prepare.start_ms == record.start_ms)
    decided = is_in(record.state, PREPARED) & (same | ~told)
    running = (record.state == ONGOING) & same & told
    return surely((prepare.producer_id == record.producer_id) & (decided | running))


def ended_otherwise(prepare: Step, record: Step) -> Values:
    """Whether a Complete record behind a Prepare record ends its transaction the other way.

    Where records between the two are gone, the Prepare record gave way to one of them: what took
    effect is completed as it was decided. Where none is, it is open which of the two is wrong.
    """
    told = surely((prepare.start_ms >= -1) & (record.start_ms >= -1))
    same = surely(
        (prepare.producer_id == record.producer_id) & (prepare.start_ms == record.start_ms)
    )
    completes = is_in(record.state, COMPLETED)
    other = surely(completes & ~took_effect(prepare.state, record.state))
    return told & same & other
