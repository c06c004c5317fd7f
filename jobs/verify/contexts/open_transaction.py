"""What a transaction is that is open at the end of a partition.

Merely open, overdue, hanging, decided without a marker, or a late write that belongs to no
transaction at all.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.found import ALL_ABORTED
from jobs.model.set_back_clocks import came_twice
from jobs.verify.conditions.missing import missing_behind
from jobs.verify.contexts.late_write import epoch_copied_later
from jobs.verify.contexts.open_coordinator import apart, running
from udfs.rules.attribution import surely_before
from udfs.rules.ending import is_decided_abort
from udfs.rules.logic import surely


def all_aborted(clock_tolerance: int) -> Column:
    """Whether ABORT is proven to be what was decided about all that lies open of the producer.

    Asks the columns of `open_lookups.epochs`; false where not all records of the epoch are there.
    """
    settled = F.col("epoch_copy.replicated") & epoch_copied_later(clock_tolerance)
    aborted = is_decided_abort(
        F.col("lowest_epoch") == F.col("highest_epoch"),
        F.array_contains("to_abort", F.col("listed")),
        F.array_contains("to_commit", F.col("listed")),
        surely(F.col("epoch_copy.moved_on")),
        surely(settled),
        F.array_contains("last_listed", F.col("listed")),
    )
    answer: Column = surely((F.col("outcome") == "open") & aborted)
    return answer


def decided() -> Column:
    """Words of a finding where `all_aborted` holds."""
    return F.when(F.col("all_aborted"), F.lit(ALL_ABORTED)).otherwise(F.lit(""))


def is_decided() -> Column:
    """Whether the copies are late enough to say that nobody runs an open transaction."""
    return surely(
        F.when(F.col("coordinator_known"), F.col("copies_agree")).otherwise(
            F.col("coordinator_log_complete") & F.col("logs_later")
        )
    )


def age(now: int | None) -> Column:
    """Age of the data of an open transaction, ms, as far as it is proven.

    By the first moment of a broker after them; what their client says counts where none is, and
    where it is decided anyway that nobody runs the transaction: it then decides only whether that
    is reported now or by a later audit. With nothing behind them they are not older than the last
    marker.
    """
    moment = F.lit(now).cast("long")
    by_client = F.try_subtract(moment, F.col("last_timestamp"))
    proven = F.try_subtract(moment, F.col("appended_by_ms"))
    at_most = F.try_subtract(moment, F.col("last_marker_ms"))
    unproven = F.when(by_client > at_most, at_most).otherwise(by_client)
    told = F.greatest(proven, F.when(is_decided(), by_client))
    return F.when(proven.isNull(), unproven).otherwise(told)


def is_unended() -> Column:
    """Whether a transaction lies open, older than every timeout, and no coordinator lists it here.

    Where nothing excuses that, it hangs.
    """
    return (
        (F.col("outcome") == "open")
        & (F.col("age_ms") > F.col("limit_ms"))
        & ~F.col("coordinator_covers_partition")
    )


def _owner_may_be_lost() -> Column:
    """Whether records of its id, or of any where no id has the producer, are lost or unreadable.

    A record of the id that is newer than the data decides, whatever is lost behind it: the id was
    at rest, or elsewhere, when they lay here without a marker.
    """
    return F.when(F.col("coordinator_known"), F.col("coordinator_lost") & ~is_decided()).otherwise(
        F.col("coordinator_log_lost")
    )


def end_may_be_lost() -> Column:
    """Whether the marker, or the record of who is to write it, may be among what is lost."""
    return F.col("behind_data_gap") | _owner_may_be_lost()


def hangs() -> Column:
    """Whether an open transaction is older than every timeout and nobody runs it.

    hanging_transaction has a finding of it, which is no violation where something that would show
    another end is lost, deleted or not replicated; a check that proves as much without that asks
    `end_may_be_lost`. One that another copy outlasts is judged there.
    """
    return surely(is_unended() & ~F.col("two_phase_commit") & ~F.col("outlasted") & is_decided())


def unmarked_decision(clock_tolerance: int) -> Column:
    """Whether the newest decision that lists the partition is complete and has no marker there.

    Its Complete record is lost, and its id went on with a replicated record that is older than the
    end of this copy. Nothing is missing behind the marker in front of the data. That one is surely
    older than the decision; or, if it is that decision's own, no later transaction can own the
    data: what the log lacks of those was completed, too, and has a marker behind its data. Where a
    higher epoch is in effect, coordinator_went_on tells as much.
    """
    decided, marked = F.col("decided_ms"), F.col("opening_marker.timestamp")
    tolerance = F.lit(clock_tolerance)
    carried_out = (
        F.col("decided_unseen")
        & F.col("coordinator.replicated")
        & (F.col("coordinator.record_offset") > F.col("decided_at"))
    )
    older = surely_before(marked, decided, apart(clock_tolerance)) & ~(
        came_twice(marked, tolerance) | came_twice(decided, tolerance)
    )
    unmarked: Column = surely(
        carried_out
        & (older | F.col("registration_over"))
        & F.col("copied_behind_coordinator")
        & ~missing_behind(F.col("opening_marker.offset"))
        & ~F.col("coordinator_covers_partition")
        & ~F.col("coordinator_went_on")
    )
    return unmarked


def overdue() -> Column:
    """Whether the coordinator still ran an open transaction long after it should have ended it."""
    return surely(running() & (F.col("overdue_ms") > 0))


def start_untold() -> Column:
    """Whether the coordinator runs an open transaction of which a text does not print the start."""
    return surely(running() & F.col("coordinator.start_ms").isNull())
