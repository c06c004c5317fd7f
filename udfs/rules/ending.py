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


def is_decided_abort(
    one_epoch: Values,
    aborted: Values,
    committed: Values,
    moved_on: Values,
    settled: Values,
    listed_last: Values,
) -> Values:
    """Whether ABORT is proven to be what was decided about all open data: an abort loses nothing.

    Asked where every record of the coordinator about the epoch of the data is there. Data may be
    of any transaction of their epoch that lists the partition. So not the marker in front of them
    tells how theirs was decided, nor a single record: up to transaction.version 1 all transactions
    of a producer share an epoch, the first one of version 2 shares it with those before
    (`TransactionManager.beginTransaction`), and an ABORT marker may be an operator's.

    one_epoch: all of them have that epoch; aborted, committed: a Prepare record of that outcome
    about data of the epoch lists the partition, also one without effect; moved_on: the id has
    another epoch by then, so all was decided; settled: the last record of the epoch stays
    (replicated), and the copy that tells it is later than the data; listed_last: that record lists
    the partition, and its transaction may be decided yet.
    """
    over = moved_on | (settled & ~listed_last)
    return one_epoch & aborted & ~committed & over


def ended_by(runs: Values, prepared: Values, decided_abort: Values) -> Values:
    """What ends open data: one of the numbers above.

    runs: the last record of the coordinator is of a transaction that lists the partition and is
    not complete; prepared: it is a Prepare record; decided_abort: see `is_decided_abort`.
    """
    joined = chosen(prepared, DECIDED, RUNNING)
    return chosen(runs, joined, chosen(decided_abort, ABORT, SAVE_AND_ABORT))
