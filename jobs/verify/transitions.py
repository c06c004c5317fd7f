"""Which record of an id may follow which (`TransactionMetadata`, docs/kafka-rules.md)."""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.lost_records import counted
from jobs.verify.verdict import (
    APPEND_REPEATED,
    TWO_PHASE_COMMIT,
    Excuse,
    inconclusive,
    suspect,
)
from schemas.coordinator_states import COMPLETED, IN_TRANSACTION, NO_STATE, TWO_PHASE_COMMIT_TIMEOUT
from udfs.rules import coordinator_step as rules
from udfs.rules.absence import Counted, none_before, none_between
from udfs.rules.coordinator_step import Step
from udfs.rules.coordinator_step import may_follow as states_follow
from udfs.rules.earlier_record import (
    LOOKED_BACK,
    KeptFields,
    began_before,
    goes_below,
    keeps,
    may_have_failed_raise,
    may_keep_one_past,
    may_share_past,
    takes_up,
)
from udfs.rules.logic import surely

NAMES = (
    "state",
    "producer_id",
    "producer_epoch",
    "start_ms",
    "timeout_ms",
    "next_producer_id",
    "client_transaction_version",
)
KEPT = ("state", "timeout_ms", "start_ms", "last_update_ms", "listed", "partition_number")


def _step(record: str = "") -> Step:
    """The record of the row, or the one in a struct column."""
    prefix = f"{record}." if record else ""
    return Step(*[F.col(f"{prefix}{name}") for name in NAMES])


def _element(record: Column) -> Step:
    return Step(*[record[name] for name in NAMES])


def kept_columns() -> list[Column]:
    """What a step keeps, of a record with its partitions: the columns of KEPT that it has not."""
    partitions = F.coalesce("partitions", F.array().cast("array<string>"))
    return [
        F.col("last_update_ms"),
        F.xxhash64(F.array_sort(partitions)).alias("listed"),
        F.size(partitions).alias("partition_number"),
    ]


def _kept(record: Column) -> KeptFields:
    return KeptFields(*[record[name] for name in KEPT])


def may_follow(before: str) -> Column:
    """Whether the record of the row may follow the record in the struct column `before`."""
    answer: Column = states_follow(
        F.col("state"), F.col("client_transaction_version"), F.col(f"{before}.state")
    )
    return answer


def may_follow_untold() -> Column:
    """The same of `previous`, also by version 2 where the record does not tell its version."""
    answer: Column = rules.may_follow_step(_step(), _step("previous"))
    return answer


def aborts_nothing_untold() -> Column:
    """Whether it may be an abort of nothing by version 2, which its record does not tell."""
    answer: Column = may_follow_untold() & ~began_before(_kept(F.struct(*NAMES, *kept_columns())))
    return answer


def failed_raise() -> Column:
    """Whether the record before, near or not, may have raised the epoch without effect.

    Where that is a tombstone, the one before it: the append of that may have failed, too. Neither
    of the two may show that a higher epoch was in effect.
    """
    here, before, earlier = _step(), _step("previous"), _step("earlier")
    may_have_failed = may_have_failed_raise(here, before) | (
        _behind_tombstone() & may_have_failed_raise(here, earlier)
    )
    answer: Column = may_have_failed & ~goes_below(here, before) & ~goes_below(here, earlier)
    return answer


def _behind_tombstone() -> Column:
    return surely(F.col("previous.state") == NO_STATE)


def before_tombstone(name: str) -> Column:
    """A column of the record before, or, where that is a tombstone, of the one before that."""
    return F.when(_behind_tombstone(), F.col(f"earlier.{name}")).otherwise(
        F.col(f"previous.{name}")
    )


def undoes_fencing() -> Column:
    """Whether the record, behind a tombstone, has a lower epoch than its producer id had before.

    If the tombstone took effect, the id gets a new producer id; if not, the epoch is in memory
    (`TransactionCoordinator.handleInitProducerId`).
    """
    answer: Column = _behind_tombstone() & goes_below(_step(), _step("earlier"))
    return answer


def from_older_state() -> Column:
    """Whether the record takes up one before `previous`, whose appends since then all failed.

    Reads `newest_complete` (the newest Complete record before, after which no older one can be
    taken up), `since_complete` (the records after that, at most LOOKED_BACK) and `from_beginning`.
    Where records before those may be missing, any that fits all of them may have been there.
    """
    here, here_kept = _step(), _kept(F.struct(*NAMES, *kept_columns()))
    before = F.concat(
        F.when(F.col("newest_complete").isNotNull(), F.array("newest_complete")).otherwise(
            F.slice("since_complete", 1, 0)
        ),
        "since_complete",
    )

    def reaches(one: Column) -> Column:
        """No record of the partition is missing between that one and this one."""
        answer: Column = none_between(Counted(one["offset"], one["ordinal"]), counted())
        return answer

    known, since = F.filter(before, reaches), F.filter("since_complete", reaches)

    def fits(one: Column, older: Column) -> Column:
        answer: Column = takes_up(_element(one), _element(older)) & keeps(_kept(one), _kept(older))
        return answer

    def is_over(one: Column) -> Column:
        """Whether a record between the two proves a higher epoch than this one has."""
        answer: Column = goes_below(here, _element(one))
        return answer

    def is_taken_up(older: Column) -> Column:
        from_older = F.forall(
            known,
            lambda one: (one["ordinal"] <= older["ordinal"]) | (fits(one, older) & ~is_over(one)),
        )
        earlier = older["ordinal"] < F.col("previous.ordinal")
        taken = takes_up(here, _element(older)) & keeps(here_kept, _kept(older))
        answer: Column = earlier & taken & from_older
        return answer

    in_reach = F.size("since_complete") < LOOKED_BACK
    from_complete = reaches(F.col("newest_complete"))
    nothing_before = (
        F.col("newest_complete").isNull() & F.col("from_beginning") & none_before(counted())
    )
    all_known = in_reach & surely(from_complete | nothing_before)

    def shares_past(one: Column) -> Column:
        answer: Column = may_share_past(here, _element(one)) & may_keep_one_past(
            here_kept, _kept(one)
        )
        return answer & ~is_over(one)

    # Out of reach, what is taken up lies behind the newest Complete record.
    unknown = ~all_known & F.forall(since, shares_past)
    answer: Column = surely(F.exists(known, is_taken_up) | unknown)
    return answer


def replaces_producer() -> Column:
    """Whether the step from the record before gives out the new producer id by the rules."""
    answer: Column = rules.replaces_producer(_step(), _step("previous"))
    return answer


def may_replace_producer() -> Column:
    """The same, also by version 2 where the record before does not tell its version."""
    before = rules.as_of_version_2(_step("previous"))
    answer: Column = rules.replaces_producer(_step(), before)
    return answer


def lacks_raise() -> Column:
    """Whether a decision under transaction.version 2 leaves the epoch as it is (KIP-890)."""
    answer: Column = rules.lacks_raise(_step(), _step("previous"))
    return answer


def most_raise() -> Column:
    """By how much the step raises the epoch at most; behind a tombstone, from what is before it."""
    answer: Column = rules.most_raise(_step(), _before_tombstone())
    return answer


def _before_tombstone() -> Step:
    return Step(*[before_tombstone(name) for name in NAMES])


def may_raise_untold() -> Column:
    """Whether it raises no further than by version 2, and does not tell its version."""
    before, by_version_2 = _before_tombstone(), rules.as_of_version_2(_step())
    rise = F.col("producer_epoch") - before.producer_epoch
    answer: Column = surely(rise <= rules.most_raise(by_version_2, before))
    return answer


def raised_by_failed_fences() -> Column:
    """Whether it aborts what was running, and fences that failed may have raised the epoch."""
    answer: Column = rules.raised_by_failed_fences(_step(), _step("previous"))
    return answer


def begins_too_high() -> Column:
    """Whether the record, behind a tombstone, has an epoch that nothing leads to.

    No record is missing since the one before the tombstone, and the id had not had its producer id.
    """
    since = surely(none_between(counted("earlier."), counted()))
    known = _behind_tombstone() & since & ~F.col("returns_to_producer_id")
    answer: Column = known & rules.begins_too_high(_step(), _step("earlier"))
    return answer


def keeps_announced() -> Column:
    """Whether it completes with its producer id, though the decision announced another one."""
    answer: Column = rules.keeps_announced(_step(), _step("previous"))
    return answer


def begins_elsewhen() -> Column:
    """Whether it begins a transaction, right behind a record at rest, with another start."""
    begins = rules.begins_elsewhen(_step(), _step("previous"), F.col("last_update_ms"))
    answer: Column = F.col("adjacent") & begins
    return answer


def is_plain() -> Column:
    """Whether the record is the step that a healthy id takes from the one right before it."""
    lists = rules.Lists(
        empty=number_of("partitions") == 0,
        holds_all=~lacks("partitions", "previous.partitions"),
        adds_none=~lacks("previous.partitions", "partitions"),
    )
    moments = F.col("last_update_ms"), F.col("previous.last_update_ms")
    answer: Column = rules.is_plain(_step(), _step("previous"), *moments, lists)
    return answer


def is_repeated() -> Column:
    """The same record once more, as a retry after an append that failed late leaves it.

    A Complete record with another start is that of another transaction.
    """
    completes = F.col("state").isin(*COMPLETED)
    return (
        (F.col("state") == F.col("previous.state"))
        & (F.col("producer_id") == F.col("previous.producer_id"))
        & (F.col("producer_epoch") == F.col("previous.producer_epoch"))
        & ~(completes & surely(F.col("start_ms") != F.col("previous.start_ms")))
    ) | ((F.col("state") == NO_STATE) & (F.col("previous.state") == NO_STATE))


def is_decoded() -> Column:
    """Whether key and value of the record could be read."""
    return F.col("error").isNull()


def same_transaction() -> Column:
    """Whether this record goes on with the transaction of the record directly before."""
    return (
        F.col("adjacent")
        & F.col("previous.state").isin(*IN_TRANSACTION)
        & F.col("state").isin(*IN_TRANSACTION, *COMPLETED)
    )


def taken_from_the_older_state(unless: Callable[[], Column] = lambda: F.lit(False)) -> Excuse:
    """Appends of the records before failed late: they are in the log, but never took effect.

    `unless`: the record is wrong whatever it follows.
    """
    return suspect(
        APPEND_REPEATED, lambda: F.col("adjacent") & F.col("from_older_state") & ~unless()
    )


def of_two_phase_commit() -> Excuse:
    """An id of two-phase commit may hold a second producer id and epoch while it is prepared."""
    return inconclusive(TWO_PHASE_COMMIT, lambda: F.col("timeout_ms") == TWO_PHASE_COMMIT_TIMEOUT)


def number_of(partitions: str) -> Column:
    """Partitions in a list that may be null."""
    return F.coalesce(F.size(F.col(partitions)), F.lit(0))


def lacks(held: str, wanted: str) -> Column:
    """Whether the list of partitions `held` lacks one of `wanted`; null lists are empty."""
    nothing = F.array().cast("array<string>")
    return F.size(F.array_except(F.coalesce(wanted, nothing), F.coalesce(held, nothing))) > 0
