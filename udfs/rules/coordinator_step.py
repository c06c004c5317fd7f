"""Which record of a transactional id may follow which in `__transaction_state`.

A record is written before the coordinator moves in memory
(`TransactionMetadata.prepareTransitionTo`, then `TransactionStateManager.appendTransactionToLog`;
all releases). An append that fails late (REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND) is in
the log all the same, but its callback takes the pending state back, and the next step is taken from
the older one. That may happen any number of times. So a record follows some earlier record `r` of
its id, and every record between the two is one that may follow `r` as well: each was tried from
there.

Epochs and producer ids: InitProducerId raises the epoch, or gives out a new producer id at epoch 0
once 32766 is reached (`isProducerEpochExhausted`); a fence and, under transaction.version 2, the
end of a transaction raise it in the Prepare record; nothing lowers it. A Prepare record may
announce the producer id that follows (KIP-890). Ids of two-phase commit hold two, and are not
asked.

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
    EMPTY,
    NO_STATE,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    TWO_PHASE_COMMIT_TIMEOUT,
)
from udfs.rules.attribution import took_effect
from udfs.rules.logic import Values, as_number, chosen, is_in, surely

# From this epoch on InitProducerId gives out a new producer id.
EXHAUSTED_EPOCH = 32766
TRANSACTION_VERSION_2 = 2
# In place of the client's version in a record of value version 0, which has no tags.
UNTOLD_VERSION = -1
# What a record that is not there has in place of each number: no state, no producer.
NO_RECORD = -1
# So many records before a step are held against it; of what lies before them nothing is known.
LOOKED_BACK = 32


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
    decided = is_in(last.state, (PREPARE_COMMIT, PREPARE_ABORT))
    other_announced = surely(
        decided & (last.next_producer_id >= 0) & (last.next_producer_id != record.producer_id)
    )
    initializes = (record.state == EMPTY) & (last.producer_epoch >= EXHAUSTED_EPOCH)
    completes = (
        is_in(record.state, (COMPLETE_COMMIT, COMPLETE_ABORT))
        & decided
        & ~is_of_older_version(last)
        & (last.producer_epoch > EXHAUSTED_EPOCH)
    )
    given_out = surely((initializes | completes) & (record.producer_epoch == 0))
    return given_out & ~other_announced


def lacks_raise(record: Step, last: Step) -> Values:
    """Whether a decision under transaction.version 2 leaves the epoch as it is (KIP-890)."""
    return surely(
        is_in(record.state, (PREPARE_COMMIT, PREPARE_ABORT))
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
    return surely(steps & (further | anew)) & ~_two_phase(record, earlier)


def keeps_announced(record: Step, last: Step) -> Values:
    """Whether a Complete record keeps its producer id where its Prepare record announced another.

    `prepareComplete` takes over the announced one, of the decision that it found in memory or in
    the log (transaction.version 2). A broker of an older release knows neither.
    """
    announced = is_in(last.state, (PREPARE_COMMIT, PREPARE_ABORT)) & (last.next_producer_id >= 0)
    return surely(
        announced
        & is_in(record.state, (COMPLETE_COMMIT, COMPLETE_ABORT))
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
    return surely(begins & (record.start_ms != update_ms)) & ~_two_phase(record, last)


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
    prepares = is_in(record.state, (PREPARE_COMMIT, PREPARE_ABORT))
    completes = is_in(record.state, (COMPLETE_COMMIT, COMPLETE_ABORT))
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


class Recorded(NamedTuple):
    """What a Prepare record, or the record of its id before it, tells of the data it ends."""

    state: Values
    producer_id: Values
    producer_epoch: Values
    transaction_version: Values


def ends_running(prepare: Recorded, before: Recorded) -> Values:
    """Whether the record before is of the running transaction, and has the epoch of its data."""
    return (before.state == ONGOING) & (before.producer_id == prepare.producer_id)


def tried_before(prepare: Recorded, before: Recorded) -> Values:
    """Whether the record before is a Prepare record, too: an append that failed, of the same data.

    Of the two the lower `epoch_by_version` is that of the data.
    """
    return is_in(before.state, (PREPARE_COMMIT, PREPARE_ABORT)) & (
        before.producer_id == prepare.producer_id
    )


def tells_no_more(record: Step, before: Step) -> Values:
    """Whether all that tells the data of a Prepare record stands in front of it.

    The record before is of the running transaction, or is a try of the same decision whose append
    failed late. A fence that failed is tried again with the same epoch, from 2.6 on, and up to 2.5
    with a higher one (`TransactionMetadata.hasFailedEpochFence`, KAFKA-9666), any number of times:
    so the newest record of which this does not hold tells the data of all tries behind it.
    """
    prepared = is_in(record.state, (PREPARE_COMMIT, PREPARE_ABORT))
    runs = (before.state == ONGOING) & (before.producer_id == record.producer_id)
    return surely(prepared & (surely(runs) | is_tried_again(record, before)))


def is_tried_again(record: Step, before: Step) -> Values:
    """Whether the record goes on with the transaction of a Prepare record right before it."""
    prepared = is_in(before.state, (PREPARE_COMMIT, PREPARE_ABORT))
    return surely(prepared & gave_way(before, record))


def epoch_by_version(prepare: Recorded) -> Values:
    """Epoch of the data that a Prepare record ends, where it is no fence and nothing else tells.

    The end of a transaction raises the epoch under transaction.version 2.
    """
    return prepare.producer_epoch - as_number(
        surely(prepare.transaction_version >= TRANSACTION_VERSION_2)
    )


def may_have_raised(prepare: Recorded, before: Recorded) -> Values:
    """Whether a decision that does not tell its version may have raised the epoch of its data.

    The running transaction in front of it, or in front of its first try, has that epoch.
    """
    stays = ends_running(prepare, before) & (before.producer_epoch == prepare.producer_epoch)
    return surely(prepare.transaction_version < 0) & ~surely(stays)


def shown_version(record: Recorded, running: Recorded) -> Values:
    """The client's version that a record tells, or that a commit of value version 0 shows.

    `running`: the newest Ongoing record of its id before it. Its epoch is in effect, and nothing
    lowers that. So a commit in the same epoch raised none, and is of version 0 or 1: by version 2
    it is raised, or the request fails where there is no epoch left
    (`TransactionMetadata.prepareAbortOrCommit`, 4.0 and later; only an abort goes on there).
    """
    untold = surely((record.state == PREPARE_COMMIT) & (record.transaction_version < 0))
    shows = untold & ~may_have_raised(record, running)
    return chosen(shows, 0, record.transaction_version)


def data_epoch(prepare: Recorded, before: Recorded) -> Values:
    """Epoch of the data that a Prepare record ends; `before`: the record that tells them.

    That is the record of its id before it, or, where that is of an append of the same decision that
    failed late, the one behind which the tries stand (`tells_no_more`): of the running transaction,
    or the first try. Where it is not there, all of it is NO_RECORD.
    """
    by_version, earlier = epoch_by_version(prepare), epoch_by_version(before)
    of_first_try = surely(tried_before(prepare, before) & (earlier < by_version))
    unless_running = chosen(of_first_try, earlier, by_version)
    return chosen(surely(ends_running(prepare, before)), before.producer_epoch, unless_running)


def is_clients_version(prepare: Recorded, before: Recorded) -> Values:
    """Whether the version of a decision is known to be that of the client whose data it ends.

    A COMMIT is decided at the client's request, which tells it. An ABORT may be one of a broker by
    itself, for a fence or a timeout: it has the version of the cluster, whatever the client's is
    (`TransactionCoordinator.abortTimedOutTransactions`). Then the record `before` (`data_epoch`)
    tells it, where it is that of the running transaction; or one of a transaction of version 2 that
    raised the epoch to that of these data: no client of an older version ever learns of that epoch.
    """
    same = before.producer_id == prepare.producer_id
    of_version_2 = before.transaction_version >= TRANSACTION_VERSION_2
    ended = is_in(before.state, (COMPLETE_COMMIT, COMPLETE_ABORT)) & same
    raised_to = of_version_2 & (prepare.producer_epoch == before.producer_epoch + 1)
    tried = (before.state == PREPARE_COMMIT) & same
    of_client = (ends_running(prepare, before) | tried) & of_version_2
    return surely((prepare.state == PREPARE_COMMIT) | of_client | (ended & raised_to))


def shares_epoch(prepare: Recorded, before: Recorded) -> Values:
    """Whether further transactions may have written with the epoch of the data of a decision.

    Under transaction.version 0 and 1 they do. A decision that is written as version 2 may end the
    transaction of such a client (`is_clients_version`): so it counts where nothing tells that it
    does not. `before`: as of `data_epoch`; where that is not there, all of it is NO_RECORD, or
    null.
    """
    of_version_2 = surely(prepare.transaction_version >= TRANSACTION_VERSION_2)
    older_client = (ends_running(prepare, before) | tried_before(prepare, before)) & ~surely(
        before.transaction_version >= TRANSACTION_VERSION_2
    )
    single = of_version_2 & ~surely(older_client) & is_clients_version(prepare, before)
    return ~single


def epoch_in_effect(record: Recorded) -> Values:
    """The epoch that a record proves to be in effect, or one above it.

    An Empty record and the Prepare record of transaction.version 2 raise the epoch by one, and so
    may a PrepareCommit record that does not tell its version. Where that append failed, late or
    not, the producer goes on in the epoch before: the coordinator takes the new one over only when
    the append succeeds (`TransactionMetadata.completeTransitionTo`). A fence counts although its
    append failed (`TransactionCoordinator.endTransaction`); under version 2 its record looks like
    that of a client's own abort. Where the version is not told it counts: at level 0 a fence is in
    memory, and a client that aborts by version 2 tries that again, with the same epoch.
    """
    by_version_2 = record.transaction_version >= TRANSACTION_VERSION_2
    raised = (
        (record.state == EMPTY)
        | (is_in(record.state, (PREPARE_COMMIT, PREPARE_ABORT)) & by_version_2)
        | ((record.state == PREPARE_COMMIT) & (record.transaction_version < 0))
    )
    return record.producer_epoch - as_number(surely(raised))


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


def _two_phase(one: Step | KeptFields, other: Step | KeptFields) -> Values:
    return surely(one.timeout_ms == TWO_PHASE_COMMIT_TIMEOUT) | surely(
        other.timeout_ms == TWO_PHASE_COMMIT_TIMEOUT
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
    return ~surely(moved) & (~surely(epochs) | _two_phase(prepare, record))


def gave_way(prepare: Step, record: Step) -> Values:
    """Whether the record right behind a Prepare record shows that this one never took effect.

    It goes on with the same transaction, which the coordinator had in memory as running: the append
    of the Prepare record failed late. Any other record but its Complete record is of a later
    transaction, or of none: what lay between, the Complete record among it, is gone. Where a text
    does not tell the start, a decision goes on and an Ongoing record tells nothing.
    """
    told = surely((prepare.start_ms >= -1) & (record.start_ms >= -1))
    same = surely(prepare.start_ms == record.start_ms)
    decided = is_in(record.state, (PREPARE_COMMIT, PREPARE_ABORT)) & (same | ~told)
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
    completes = is_in(record.state, (COMPLETE_COMMIT, COMPLETE_ABORT))
    other = surely(completes & ~took_effect(prepare.state, record.state))
    return told & same & other


def takes_up(record: Step, older: Step) -> Values:
    """Whether `record` may be the step from `older`: its state, its producer, its start."""
    same = record.producer_id == older.producer_id
    rise = record.producer_epoch - older.producer_epoch
    within = same & (rise >= 0) & (rise <= most_raise(as_of_version_2(record), older))
    fences = raised_by_failed_fences(record, older)
    used_up = (older.producer_epoch >= EXHAUSTED_EPOCH) & (record.producer_epoch == 0)
    rotated = (~same & used_up) | (record.producer_id == older.next_producer_id)
    begins = (record.state == NO_STATE) | (older.state == NO_STATE)
    announced = is_in(record.state, (COMPLETE_COMMIT, COMPLETE_ABORT)) & (
        record.producer_id == older.next_producer_id
    )
    producer = (
        (begins & (record.state != ONGOING))
        | ((record.state == EMPTY) & rotated)
        | ((record.state >= EMPTY) & within)
        | fences
        | announced
    )
    goes_on = is_in(older.state, (ONGOING, PREPARE_COMMIT, PREPARE_ABORT))
    # A text may not tell the start.
    moved = surely(goes_on & (record.start_ms != older.start_ms))
    return may_follow_step(record, older) & (surely(producer) | _two_phase(record, older)) & ~moved


def began_before(record: KeptFields) -> Values:
    """Whether a record proves that it was taken from an Ongoing record: it began nothing itself.

    A transaction begins with the record that says so, be it an abort of nothing: one reading of the
    clock is its start and its update. What rests has cleared its partitions
    (`completeTransitionTo`), so an abort from rest has none.
    """
    begun_before = is_in(record.state, (ONGOING, PREPARE_ABORT)) & (
        record.start_ms != record.update_ms
    )
    decides = is_in(record.state, (PREPARE_COMMIT, PREPARE_ABORT))
    return surely(begun_before) | surely(decides & (record.partitions > 0))


def keeps(record: KeptFields, older: KeptFields) -> Values:
    """Whether `record` may be the step from `older` by what a step keeps."""
    stated = (record.state > EMPTY) & (older.state >= EMPTY)
    other_timeout = stated & (record.timeout_ms != older.timeout_ms)
    begins = surely(is_in(older.state, AT_REST)) & began_before(record)
    running = older.state == ONGOING
    drops = (record.state == ONGOING) & running & (record.partitions < older.partitions)
    decides = is_in(record.state, (PREPARE_COMMIT, PREPARE_ABORT))
    others = decides & running & (record.listed != older.listed)
    changes = surely(other_timeout) | begins | surely(drops) | surely(others)
    return ~changes | _two_phase(record, older)


def may_keep_one_past(one: KeptFields, other: KeptFields) -> Values:
    """Whether both may be steps from one record that is not known, by what a step keeps."""
    decisions = (PREPARE_COMMIT, PREPARE_ABORT)
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
    return ~(changes | lacks(one, other) | lacks(other, one)) | _two_phase(one, other)


def may_share_past(one: Step, other: Step) -> Values:
    """Whether both may be steps from one record that is not known."""
    same = one.producer_id == other.producer_id

    def either(first: Step, second: Step) -> Values:
        """What holds for an order of the two that fits their states."""
        decided = is_in(second.state, (PREPARE_COMMIT, PREPARE_ABORT))
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
            | (decided & is_in(first.state, (PREPARE_COMMIT, PREPARE_ABORT)) & same & near)
            | ((first.state == PREPARE_ABORT) & restarted & (same | used_up))
            # A retry of what had succeeded keeps the epoch (`prepareIncrementProducerEpoch`).
            | ((first.state == EMPTY) & restarted & same & is_in(raise_, (0, 1)))
            | ((first.state == EMPTY) & restarted & ~same & _new_or_used_up(first, second))
            | (first.state == NO_STATE)
        )

    def all_in(*states: int) -> Values:
        return surely(is_in(one.state, states) & is_in(other.state, states))

    moved = surely(one.start_ms != other.start_ms)
    running = all_in(ONGOING, PREPARE_COMMIT, PREPARE_ABORT) & ~moved

    def from_rest(step: Step) -> Values:
        by_version_2 = unless_told(step.transaction_version) >= TRANSACTION_VERSION_2
        return surely((step.state != PREPARE_ABORT) | by_version_2)

    resting = all_in(NO_STATE, EMPTY, ONGOING, PREPARE_ABORT) & from_rest(one) & from_rest(other)
    fits = either(one, other) | either(other, one) | _two_phase(one, other)
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
    return surely(known & same & (record.producer_epoch < proven)) & ~_two_phase(record, earlier)


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
