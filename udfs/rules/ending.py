"""How data that lie open in a partition may be ended, and what an abort by hand loses of them.

`kafka-transactions.sh abort` writes an ABORT marker into one partition and asks no coordinator
(`TransactionsCommand.AbortTransactionCommand`, KIP-664; `KafkaApis.handleWriteTxnMarkersRequest`).
That marker ends all open data of the producer there, also those of a transaction that runs, or
whose COMMIT is decided: its producer still sees the commit succeed.

What cannot be known: what happened since the copies were taken.
"""

from udfs.rules.coordinator_step import TRANSACTION_VERSION_2
from udfs.rules.logic import Values, chosen

# By the marker of a decision that the coordinator has taken; by that of a transaction which still
# runs; by an abort; by an abort, after what may be committed records are saved.
DECIDED, RUNNING, ABORT, SAVE_AND_ABORT = range(4)
# The end of a transaction raises the epoch of its data once (transaction.version 2).
RAISED_BY_ITS_END = 1


def is_decided_abort(
    owes_commit: Values,
    owes_abort: Values,
    late_of_abort: Values,
    completed_abort: Values,
    version: Values,
    raised: Values,
) -> Values:
    """Whether ABORT is proven to be what was decided about all open data: an abort loses nothing.

    owes_commit, owes_abort: a decision of that outcome provably lacks its marker behind the data;
    late_of_abort: they provably came after the ABORT marker of their own transaction;
    completed_abort: the last record of the coordinator is CompleteAbort, of a client of that
    transaction version, in an epoch that is higher by `raised` than that of the data. Only under
    transaction.version 2 an epoch is that of one transaction; a higher one is of a later one.
    """
    own_epochs = version >= TRANSACTION_VERSION_2
    newest = completed_abort & own_epochs & (raised == RAISED_BY_ITS_END)
    return ~owes_commit & (owes_abort | late_of_abort | newest)


def ended_by(runs: Values, prepared: Values, decided_abort: Values) -> Values:
    """What ends open data: one of the numbers above.

    runs: the last record of the coordinator is of a transaction that lists the partition and is
    not complete; prepared: it is a Prepare record; decided_abort: see `is_decided_abort`.
    """
    joined = chosen(prepared, DECIDED, RUNNING)
    return chosen(runs, joined, chosen(decided_abort, ABORT, SAVE_AND_ABORT))
