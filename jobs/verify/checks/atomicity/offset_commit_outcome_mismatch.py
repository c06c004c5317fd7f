"""A transaction has one outcome for its offset commits and another for its output.

What it finds: a transaction whose offset commits in `__consumer_offsets` were committed while its
data in another partition, with the same producer id and epoch, were aborted, or the reverse.

Why it is wrong: input and output of a transaction have one outcome. Offsets without output lose
input records; output without offsets is produced again.

When it is legal: under transaction.version 0 and 1 several transactions share an epoch, so an epoch
is judged only if the coordinator decided exactly one transaction in it. The first transaction of
version 2 shares its epoch with those before it: nothing is reported if the coordinator decided as
many aborts for that partition as it has ABORT markers; a marker that was sent again does not count.
If the coordinator's log has the producer id no longer, or was compacted, nobody knows how many
there were. An operator may have aborted hanging data that were not part of the transaction. Where
two transactional ids share the producer id (txnlog_pid_shared), each has its own outcome.

Evidence: the first batch of the offset commits, the first batch of the output, and the
coordinator's record.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.verify.check import ERROR, ONE_TRANSACTION, Check, Proof, text
from jobs.verify.verdict import (
    ADMIN_ABORT_POSSIBLE,
    DUMP_BEFORE_EVENT,
    EMPTY_TRANSACTION_POSSIBLE,
    OTHER_OUTCOME,
    TXNLOG_COMPACTED,
    TXNLOG_NOT_DUMPED,
    UNSTABLE_TAIL,
    explained,
    inconclusive,
    suspect,
)
from udfs.rules.attribution import raised_by_one
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely


def _raised(which: str) -> Column:
    """Whether a marker raised the epoch of the data: then no other one of its id has that epoch."""
    raised: Column = raised_by_one(F.col(f"output.{which}_epoch"), F.col("producer_epoch"))
    return raised


def _one_transaction() -> Column:
    """The coordinator decided one transaction of the epoch, and what was aborted is part of it."""
    part = F.array_contains("history.listed", F.col("output.aborted_place"))
    first = F.col("output.aborted_first")
    return F.col("decided_once") & surely(part) & (_raised("committed") | first)


def _no_part() -> Column:
    """All records of the epoch are there, and none lists the place of what was aborted."""
    return ~F.array_contains("history.listed", F.col("output.aborted_place"))


def _aborted_by_coordinator() -> Column:
    """Whether the commit is of version 2, and each abort that of an older transaction before it."""
    place = F.col("output.aborted_place")
    decided = F.size(F.filter("history.aborted", lambda listed: listed == place))
    accounted = (decided >= F.col("output.aborts")) & (F.col("history.decisions") > decided)
    return _of_older() & surely(accounted)


def _of_several_ids() -> Column:
    """Whether several ids have the producer id, each with a transaction of that epoch."""
    shared: Column = F.col("history").isNotNull() & F.col("history.decisions").isNull()
    return shared


def _no_longer_there() -> Column:
    """Whether the coordinator's log is in the dump, and lacks the history of the epoch.

    It has the producer id, or all of it is there, and the transactional id has expired.
    """
    return F.col("coordinator_state").isNotNull() | F.col("coordinator_log_complete")


def _of_older() -> Column:
    """Whether the commit is of version 2, and the abort may be of a transaction before it."""
    return _raised("committed") & ~_raised("aborted")


CHECK = Check(
    code="offset_commit_outcome_mismatch",
    severity=ERROR,
    context="offset_transaction",
    cause=ONE_TRANSACTION,
    source="KIP-98, KIP-890; GroupCoordinator.completeTransaction",
    fires=lambda: F.col("output").isNotNull(),
    excuses=(
        # Each may have its own outcome: txnlog_pid_shared reports what is wrong.
        explained(OTHER_OUTCOME, _of_several_ids),
        explained(EMPTY_TRANSACTION_POSSIBLE, lambda: ~_raised("committed") & ~_one_transaction()),
        inconclusive(
            UNSTABLE_TAIL,
            lambda: (
                ~is_replicated(F.col("marker_offset"), F.col("replicated_below"))
                | ~is_replicated(F.col("output.marker_offset"), F.col("output.replicated_below"))
            ),
        ),
        inconclusive(DUMP_BEFORE_EVENT, lambda: ~_raised("committed") & ~F.col("history_covers")),
        explained(ADMIN_ABORT_POSSIBLE, lambda: ~_raised("aborted") & _no_part()),
        explained(OTHER_OUTCOME, _aborted_by_coordinator),
        inconclusive(
            TXNLOG_COMPACTED, lambda: _of_older() & F.col("history").isNull() & _no_longer_there()
        ),
        inconclusive(TXNLOG_NOT_DUMPED, lambda: _of_older() & F.col("history").isNull()),
        suspect(ADMIN_ABORT_POSSIBLE, lambda: ~_raised("aborted") & ~_one_transaction()),
    ),
    expected=lambda: text("the outcome of the output in {place}", place="output.place"),
    found=lambda: text("{outcome}"),
    proofs=(
        Proof("the first offset commit of the transaction"),
        Proof("the first batch of its output", "output_file", "output_position", "output_length"),
        Proof("the coordinator's record", "record_file", "record_position", "record_length"),
    ),
    message=lambda: text(
        "The offset commits of producer {producer_id} (epoch {producer_epoch}) at offset "
        "{first_offset} of {topic}-{partition} were ended by {outcome} at offset {marker_offset}. "
        "Its output in {place} from offset {from_} on has the opposite outcome, by the marker at "
        "offset {at}.",
        place="output.place",
        from_="output.first_offset",
        at="output.marker_offset",
    ),
    remedy=lambda: text(
        "Stop the application. If the offsets were committed, reset them with "
        "kafka-consumer-groups.sh to the first input offset whose output was aborted. If the "
        "output was committed, set the group to the offsets of these commits, unless it has "
        "committed higher ones since: otherwise its input is processed again, and the output "
        "written twice."
    ),
)
