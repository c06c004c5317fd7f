"""How data that lie open in a partition may be ended, and what an abort by hand loses of them.

`kafka-transactions.sh abort` writes an ABORT marker into one partition and asks no coordinator
(`TransactionsCommand.AbortTransactionCommand`, KIP-664; `KafkaApis.handleWriteTxnMarkersRequest`).
That marker ends all open data of the producer there, also those of a transaction that runs, or
whose COMMIT is decided: its producer still sees the commit succeed.

What cannot be known: what happened since the copies were taken.
"""

from udfs.rules.logic import Values, chosen

# By the marker of a decision that the coordinator has taken; by that of a transaction which still
# runs; by an abort; by an abort, after what may be committed records are saved.
DECIDED, RUNNING, ABORT, SAVE_AND_ABORT = range(4)
# The end of a transaction raises the epoch of its data once (transaction.version 2).
RAISED_BY_ITS_END = 1


def is_decided_abort(
    owes_commit: Values, owes_abort: Values, completed_abort: Values, raised: Values
) -> Values:
    """Whether ABORT is what was decided about all open data, so that an abort loses nothing.

    owes_commit, owes_abort: a decision of that outcome provably lacks its marker behind the data;
    completed_abort: the last record of the coordinator is CompleteAbort, in an epoch that is
    higher by `raised` than that of the data. A higher one may be of a later transaction.
    """
    newest = completed_abort & (raised <= RAISED_BY_ITS_END)
    return ~owes_commit & (owes_abort | newest)


def ended_by(runs: Values, prepared: Values, decided_abort: Values) -> Values:
    """What ends open data: one of the numbers above.

    runs: the last record of the coordinator is of a transaction that lists the partition and is
    not complete; prepared: it is a Prepare record; decided_abort: see `is_decided_abort`.
    """
    joined = chosen(prepared, DECIDED, RUNNING)
    return chosen(runs, joined, chosen(decided_abort, ABORT, SAVE_AND_ABORT))
