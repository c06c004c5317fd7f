"""Which epoch the data have that a Prepare record ends, and which epoch a record proves.

A fence raises the epoch in the Prepare record, and so does the end of a transaction under
transaction.version 2 (KIP-890). What tells the epoch of the data is the record before it, or the
first try of a decision whose append failed late (`TransactionMetadata.prepareFenceProducerEpoch`,
`prepareAbortOrCommit`).
"""

from typing import NamedTuple

from schemas.coordinator_states import COMPLETED, EMPTY, ONGOING, PREPARE_COMMIT, PREPARED
from udfs.rules.coordinator_step import TRANSACTION_VERSION_2, Step, gave_way
from udfs.rules.logic import Values, as_number, chosen, is_in, surely

# What a record that is not there has in place of each number: no state, no producer.
NO_RECORD = -1


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
    return is_in(before.state, PREPARED) & (before.producer_id == prepare.producer_id)


def tells_no_more(record: Step, before: Step) -> Values:
    """Whether all that tells the data of a Prepare record stands in front of it.

    The record before is of the running transaction, or is a try of the same decision whose append
    failed late. A fence that failed is tried again with the same epoch, from 2.6 on, and up to 2.5
    with a higher one (`TransactionMetadata.hasFailedEpochFence`, KAFKA-9666), any number of times:
    so the newest record of which this does not hold tells the data of all tries behind it.
    """
    prepared = is_in(record.state, PREPARED)
    runs = (before.state == ONGOING) & (before.producer_id == record.producer_id)
    return surely(prepared & (surely(runs) | is_tried_again(record, before)))


def is_tried_again(record: Step, before: Step) -> Values:
    """Whether the record goes on with the transaction of a Prepare record right before it."""
    prepared = is_in(before.state, PREPARED)
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
    ended = is_in(before.state, COMPLETED) & same
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
        | (is_in(record.state, PREPARED) & by_version_2)
        | ((record.state == PREPARE_COMMIT) & (record.transaction_version < 0))
    )
    return record.producer_epoch - as_number(surely(raised))
