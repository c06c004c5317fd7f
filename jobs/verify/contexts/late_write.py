"""Whether data that lie open in a partition came after the marker of their own transaction."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.found import AFTER_THE_END
from jobs.model.set_back_clocks import came_twice, covers_once
from jobs.model.state_names import named
from jobs.verify.conditions.copies import one_instant
from jobs.verify.conditions.missing import missing_behind
from jobs.verify.contexts.open_coordinator import apart, epoch_of_coordinator, running
from schemas.coordinator_states import COMPLETE_COMMIT, COMPLETED
from udfs.rules.attribution import surely_before
from udfs.rules.clock import BEYOND_CLOCKS_MS, covers
from udfs.rules.coordinator_step import TRANSACTION_VERSION_2
from udfs.rules.logic import surely


def _began_behind(clock_tolerance: int) -> Column:
    """Whether the coordinator runs a transaction here that began after data lay there for sure.

    Its first Ongoing record sets the start, and data wait for it
    (`TransactionMetadata.prepareAddPartitions`, all releases). Not where a clock came to its start
    twice, or a new leader may take the record back.
    """
    lay_there, started = F.col("begun_by_ms"), F.col("coordinator.start_ms")
    tolerance = F.lit(clock_tolerance)
    began: Column = (
        running()
        & F.col("coordinator.replicated")
        & surely_before(lay_there, started, tolerance)
        & ~came_twice(started, tolerance)
    )
    return surely(began)


def _reaches_behind(moment: Column, clock_tolerance: int) -> Column:
    """Whether the copy has what the coordinator wrote into the partition up to a moment of its log.

    `moment`: ms, at which all of it was written.
    """
    stopped = one_instant("coordinator.clean_shutdown") & (moment < F.lit(BEYOND_CLOCKS_MS))
    covered = covers_once(F.col("complete_up_to_ms"), moment, F.lit(clock_tolerance))
    return surely(covered) | surely(stopped)


def _newest_ended_here(clock_tolerance: int) -> Column:
    """Whether the copy reaches behind the end of the newest decision that lists the partition.

    Its marker is in the copy then, and so in front of what lies open.
    """
    return _reaches_behind(F.col("decided_until_ms"), clock_tolerance)


def _listed_later(clock_tolerance: int) -> Column:
    """Whether the marker before the data is older than the newest decision here, or may be.

    It may be earlier than its Prepare record, by another clock or by one that was adjusted. So by
    up to `apart` it is the marker of that decision, if this has none behind the end of the copy.
    """
    decided, marked = F.col("decided_ms"), F.col("opening_marker.timestamp")
    later = surely_before(marked, decided, apart(clock_tolerance))
    may_follow = (decided > marked) & ~_newest_ended_here(clock_tolerance)
    listed: Column = surely(later | may_follow)
    return listed


def _one_clock(clock_tolerance: int) -> Column:
    """Whether timestamps of the marker before the data and of Prepare records tell their order.

    Of several decisions near the marker, another clock cannot show which is its own; and if the
    newest one may have its marker behind the copy, the one in front of the data may be an
    operator's. One clock tells that the marker is later than all of them, if it is by more than an
    adjustment (`udfs.rules.clock.ADJUSTED_MS`), or the newest one has its marker in the copy. Later
    than a decision, and not of its epoch and outcome, it is an operator's: that may have come
    between the Prepare record of a fence and the marker of that, which is missing or behind the
    copy.
    """
    decided, marked = F.col("decided_ms"), F.col("opening_marker.timestamp")
    earlier, skew = F.col("decided_before_ms"), apart(clock_tolerance)
    # One of a higher epoch is not in front: the data would be behind its epoch.
    in_its_epoch = F.col("opening_marker.epoch") == F.col("decided_epoch")
    ended_here = _newest_ended_here(clock_tolerance) & in_its_epoch
    own = in_its_epoch & (F.col("opening_marker.commit") == F.col("decided_commit"))
    later = surely_before(decided, marked, skew)
    # If it is not that of the newest decision, it may be older than this.
    alone = ended_here & (earlier.isNull() | surely_before(earlier, marked, skew))
    alone &= own | later
    in_front = (own & later) | (ended_here & (decided <= marked))
    none_left = decided.isNull() & (~_at_rest() | _last_has_its_marker(clock_tolerance))
    of_one = F.col("single_broker") & (none_left | in_front)
    told: Column = surely(of_one) | surely(alone)
    told &= ~came_twice(marked, F.lit(clock_tolerance))
    return told


def _at_rest() -> Column:
    """Whether the last record of the id is a Complete record."""
    at_rest: Column = F.col("coordinator.state").isin(*named(*COMPLETED))
    return surely(at_rest)


def _last_has_its_marker(clock_tolerance: int) -> Column:
    """Whether the last transaction of the id, a completed one, has its marker in the copy.

    That is the one in front of the data, or the copy has all that was written up to the record.
    """
    committed = F.col("coordinator.state").isin(*named(COMPLETE_COMMIT))
    own = (F.col("opening_marker.epoch") == F.col("coordinator.producer_epoch")) & (
        F.col("opening_marker.commit") == committed
    )
    return surely(own) | _reaches_behind(F.col("coordinator.record_timestamp"), clock_tolerance)


def _is_last_ended_here(clock_tolerance: int) -> Column:
    """Whether the transaction of the last record of the id ended before the data came.

    The record is a Complete record. Its last update is before the marker in front of the data; by
    one clock also where that tells it only as read, and the copy has all that was written up to
    the record. By another clock it may be that of a later transaction.
    """
    marked, updated = F.col("opening_marker.timestamp"), F.col("coordinator.last_update_ms")
    reached = _reaches_behind(F.col("coordinator.record_timestamp"), clock_tolerance)
    before = F.try_subtract(marked, apart(clock_tolerance))
    earlier = (updated <= before) & _last_has_its_marker(clock_tolerance)
    as_read = F.col("single_broker") & (updated <= marked) & reached
    return _at_rest() & (surely(earlier) | surely(as_read))


def late_write_columns(clock_tolerance: int) -> list[Column]:
    """Whether data that lie open came after the marker of their own transaction.

    behind_own_marker: the marker before them ended data of the same epoch, which is how
    transactions end before transaction.version 2. listed_later: a Prepare record after that marker
    lists the partition, so the data may be of that transaction (`_listed_later`). listing_known: no
    record of the id after that marker is missing. began_behind: see `_began_behind`; false where
    not all records of the id are known. registration_over: nothing that the copy of the
    coordinator's log lacks can have registered the partition for these data. one_clock: see
    `_one_clock`. behind_gap: offsets from the data on are missing, or offsets after that marker,
    and not all of these is known: what is missing in front of the data is then the marker of no
    transaction that lists the partition. listing_over: the same as registration_over of the copy
    that tells `unlisted`, or both copies end in one record. came_late: all of this proves that the
    data are of the transaction which that marker ended.
    """
    marked = F.col("opening_marker.timestamp")
    epoch = F.col("highest_epoch")
    version = F.col("coordinator.client_transaction_version")
    same_epoch = (F.col("opening_marker.epoch") == epoch) & (F.col("lowest_epoch") == epoch)
    shared = surely(version < TRANSACTION_VERSION_2)
    ended = F.coalesce(F.col("opening_marker_ended") == epoch, shared)
    skew = apart(clock_tolerance)
    whole = F.try_subtract(marked, skew) >= F.col("coordinator.whole_since_ms")
    in_time = covers(
        F.col("coordinator.complete_up_to_ms"), F.col("appended_by_ms"), clock_tolerance
    )
    fenced = epoch_of_coordinator() > epoch
    # What is replicated in both copies is one record, and no later one is of another history.
    same_record = (
        (F.col("epoch_record.offset") == F.col("coordinator.record_offset"))
        & F.col("epoch_copy.replicated")
        & F.col("coordinator.replicated")
    )
    listing_known = surely(whole) | surely(_is_last_ended_here(clock_tolerance))
    # That record is later than the data, and nothing of the id in front of it is missing.
    began_behind = _began_behind(clock_tolerance)
    registration_over = began_behind | surely(
        one_instant("coordinator.clean_shutdown") | in_time | fenced
    )
    one_clock = _one_clock(clock_tolerance)
    behind_own_marker = surely((F.col("outcome") == "open") & same_epoch & ended)
    listed_later = _listed_later(clock_tolerance)
    known = F.col("coordinator").isNotNull() & listing_known & registration_over & one_clock
    lost_in_front = missing_behind(F.col("opening_marker.offset")) & ~known
    behind_gap = lost_in_front | missing_behind(F.col("first_offset"))
    return [
        behind_own_marker.alias("behind_own_marker"),
        listed_later.alias("listed_later"),
        listing_known.alias("listing_known"),
        (began_behind & known).alias("began_behind"),
        registration_over.alias("registration_over"),
        (
            surely(F.col("epoch_copy.moved_on"))
            | epoch_copied_later(clock_tolerance)
            | surely(same_record)
        ).alias("listing_over"),
        one_clock.alias("one_clock"),
        behind_gap.alias("behind_gap"),
        (behind_own_marker & ~listed_later & known & ~behind_gap).alias("came_late"),
    ]


def epoch_copied_later(clock_tolerance: int) -> Column:
    """Whether the copy that tells all records of the epoch lacks none from before the data."""
    up_to = F.col("epoch_copy.coordinator_up_to_ms")
    in_time = covers(up_to, F.col("appended_by_ms"), clock_tolerance)
    later: Column = surely(in_time) | surely(one_instant("epoch_copy.coordinator_clean_shutdown"))
    return later


def came_after() -> Column:
    """Words of a finding where `came_late` holds."""
    return F.when(F.col("came_late"), F.lit(AFTER_THE_END)).otherwise(F.lit(""))
