"""What the coordinator's log says about a transaction that is open at the end of a partition.

Its columns tell apart what an open transaction may be: merely open, overdue, hanging, or a late
write that belongs to no transaction at all.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.ending import runs_here
from jobs.model.found import AFTER_THE_END, ALL_ABORTED
from jobs.model.set_back_clocks import came_twice, covers_once, once
from jobs.model.state_names import named
from jobs.verify.conditions.copies import apart_ms, one_instant
from jobs.verify.conditions.missing import missing_behind
from schemas.coordinator_states import (
    COMPLETE_COMMIT,
    COMPLETED,
    EMPTY,
    ONGOING,
    PREPARED,
    STATE_NAMES,
    TWO_PHASE_COMMIT_TIMEOUT,
)
from udfs.rules.attribution import surely_before
from udfs.rules.clock import BEYOND_CLOCKS_MS, covers
from udfs.rules.coordinator_step import TRANSACTION_VERSION_2
from udfs.rules.decision_epoch import Recorded, epoch_in_effect
from udfs.rules.ending import is_decided_abort
from udfs.rules.extent import is_one_moment, outlived
from udfs.rules.logic import surely

# transaction.abort.timed.out.transaction.cleanup.interval.ms by default.
LOOKED_EVERY_MS = 10_000
# By so much a decision of transaction.version 2 raises the epoch of its data at most: a fence of
# 4.0.0 raises it twice (KAFKA-19367), and one that failed is not raised again
# (`TransactionMetadata.hasFailedEpochFence`).
RAISED_AT_MOST = 2


def appended_by(clock_tolerance: int) -> Column:
    """When the data of an open transaction lay there at the latest, ms of the broker's clock.

    The broker's own timestamp of the last batch, else its first moment after it; null where none
    lies there. No moment to which a clock came twice.
    """
    # What a coordinator writes it stamps itself.
    stamped = F.when(F.col("coordinator_topic"), F.col("last_timestamp"))
    own = once(F.coalesce("last_append_ms", stamped), F.lit(clock_tolerance))
    return F.coalesce(own, "behind_data_ms")


def log_columns(clock_tolerance: int) -> list[Column]:
    """What the coordinator's log says of the row as a whole.

    coordinator_log_lost: records are lost in each copy, or cannot be decoded, that may be the last
    ones of the owner of the row. A COMMIT marker of the producer in front of the data is the
    coordinator's, which wrote its Complete record after it: what was lost before is not the last of
    that id. forgotten: a coordinator committed transactions of the producer, as their markers show,
    and the whole log of the coordinators, which lacks nothing from offset 0 on, has no decision
    about it.
    unlisted: all records of the epoch of its data are there and none lists the partition
    (null where not all are).
    """
    committed_ms = F.when(F.col("opening_marker.commit"), F.col("opening_marker.timestamp"))
    known_ms = F.coalesce(F.try_subtract(committed_ms, F.lit(clock_tolerance)), F.lit(0))
    listed = surely(F.array_contains("listed_in_epoch", F.col("listed")))
    every = F.col("coordinator_log_complete") & F.col("coordinator_log_whole")
    untold = F.col("coordinator").isNull() & F.col("told_of").isNull()
    return [
        surely(every & F.col("committed_before") & untold).alias("forgotten"),
        surely(F.col("none_lost_since_ms") > known_ms).alias("coordinator_log_lost"),
        F.when(F.col("epoch_record").isNotNull(), ~listed).alias("unlisted"),
    ]


def _epoch_of_coordinator() -> Column:
    """The epoch that the last record of the coordinator proves to be in effect, at least.

    Null for none, and where a new leader may take the record back.
    """
    status = F.array_position(F.array(*map(F.lit, STATE_NAMES)), F.col("coordinator.state")) - 1
    record = Recorded(
        status,
        *[
            F.col(f"coordinator.{name}")
            for name in ("producer_id", "producer_epoch", "client_transaction_version")
        ],
    )
    epoch: Column = F.when(F.col("coordinator.replicated"), epoch_in_effect(record))
    return epoch


def _went_on(epoch: str) -> Column:
    """Whether the last record shows that a transaction with data of an epoch is complete.

    A higher epoch is in effect, and no decision is under way that may be about them: of older
    versions none at all, as nothing says how far a fence raised the epoch.
    """
    decides = F.col("coordinator.state").isin(*named(*PREPARED))
    of_later_data = surely(
        (F.col("coordinator.client_transaction_version") >= TRANSACTION_VERSION_2)
        & (F.col("coordinator.producer_epoch") - F.col(epoch) > RAISED_AT_MOST)
    )
    went_on: Column = (_epoch_of_coordinator() > F.col(epoch)) & (~decides | of_later_data)
    return went_on


def _is_two_phase_commit() -> Column:
    """Whether a coordinator of its own ends the transaction, however long that takes (KIP-939)."""
    return surely(F.col("coordinator.timeout_ms") == TWO_PHASE_COMMIT_TIMEOUT)


def _apart(clock_tolerance: int) -> Column:
    """How far the clocks of the partition and of the coordinator may be apart, ms."""
    return apart_ms(F.lit(clock_tolerance), "single_broker")


def coordinator_columns(
    now: int | None, late_slack: int, clock_tolerance: int, epoch: str = "highest_epoch"
) -> list[Column]:
    """What the coordinator's last record says about a transaction, and how surely. All in ms.

    `epoch`: the column with the producer epoch of its data.

    transactional_id, coordinator_state; coordinator_known; coordinator_lost (later records of
    its id may be lost, or cannot be decoded); coordinator_covers_partition (the
    record is of a running transaction that lists the partition); two_phase_commit; copies_agree
    (the copies of partition and coordinator log are late enough to compare); coordinator_went_on
    (the transaction is complete: see `_went_on`; or an Empty record gives a higher epoch, and its
    log is copied so late that it lacks no transaction with these data);
    copied_behind_coordinator (the copy of the partition is later than that record); overdue_ms
    (how long before the end of the copy of that log the transaction should have been aborted,
    negative if it need not; at least so long where a text does not print its start).
    """
    partition_covers = covers_once(
        F.col("complete_up_to_ms"),
        F.col("coordinator.record_timestamp"),
        F.lit(clock_tolerance),
    )
    coordinator_covers = covers(
        F.col("coordinator.complete_up_to_ms"), F.col("appended_by_ms"), clock_tolerance
    )
    one_moment = is_one_moment(
        F.col("alone_in_cluster"),
        F.col("clean_shutdown"),
        F.col("coordinator.alone_in_cluster"),
        F.col("coordinator.clean_shutdown"),
        F.col("coordinator.broker") == F.col("broker"),
    )
    # An Empty record comes after all that could have registered the partition for the data.
    rests_above = (
        (F.col("coordinator.state") == STATE_NAMES[EMPTY])
        & (F.col("coordinator.producer_epoch") > F.col(epoch))
        & F.col("coordinator.replicated")
        & (surely(one_moment) | coordinator_covers)
    )
    return [
        F.col("coordinator.transactional_id").alias("transactional_id"),
        F.col("coordinator.state").alias("coordinator_state"),
        runs_here().alias("coordinator_covers_partition"),
        F.col("coordinator").isNotNull().alias("coordinator_known"),
        surely(F.col("coordinator.lost_behind")).alias("coordinator_lost"),
        _is_two_phase_commit().alias("two_phase_commit"),
        surely(one_moment | (partition_covers & coordinator_covers)).alias("copies_agree"),
        surely(surely(rests_above) | _went_on(epoch)).alias("coordinator_went_on"),
        surely(one_moment | partition_covers).alias("copied_behind_coordinator"),
        overdue_for(F.col("coordinator.complete_up_to_ms"), now, late_slack, "coordinator.").alias(
            "overdue_ms"
        ),
    ]


def overdue_for(seen_up_to: Column, now: int | None, late_slack: int, record: str = "") -> Column:
    """How long before `seen_up_to` its coordinator should have aborted a transaction, ms.

    Negative where it need not. Its start is that of a record of the coordinator; where a text does
    not print it, its last update, which is not before it. `record`: prefix of the names of its
    columns.
    """
    started = F.coalesce(f"{record}start_ms", f"{record}last_update_ms")
    limit = F.col(f"{record}timeout_ms").cast("long") + F.lit(LOOKED_EVERY_MS + late_slack)
    # A record may hold any moment, also one so far away that the difference is no long.
    open_for = F.try_subtract(F.least(seen_up_to, F.lit(now).cast("long")), started)
    return F.try_subtract(open_for, limit)


def logs_later(clock_tolerance: int) -> Column:
    """Whether the copies of the coordinator's log and of the partition show that nobody owns data.

    The log is late enough to name the owner, and the partition was copied so late that an owner
    who has another producer id by then must have ended them: a transaction that nobody ends times
    out. `limit_ms`: the longest timeout, with some slack.
    """
    one_moment = F.col("alone_in_cluster") & F.col("clean_shutdown") & F.col("logs_stopped")
    named = covers(F.col("logs_until_ms"), F.col("appended_by_ms"), clock_tolerance)
    overdue_here = outlived(F.col("complete_up_to_ms"), F.col("appended_by_ms"), F.col("limit_ms"))
    later: Column = surely(one_moment | (named & overdue_here))
    return later


def _began_behind(clock_tolerance: int) -> Column:
    """Whether the coordinator runs a transaction here that began after data lay there for sure.

    Its first Ongoing record sets the start, and data wait for it
    (`TransactionMetadata.prepareAddPartitions`, all releases). Not where a clock came to its start
    twice, or a new leader may take the record back.
    """
    lay_there, started = F.col("begun_by_ms"), F.col("coordinator.start_ms")
    tolerance = F.lit(clock_tolerance)
    began: Column = (
        _running()
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
    up to `_apart` it is the marker of that decision, if this has none behind the end of the copy.
    """
    decided, marked = F.col("decided_ms"), F.col("opening_marker.timestamp")
    later = surely_before(marked, decided, _apart(clock_tolerance))
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
    earlier, apart = F.col("decided_before_ms"), _apart(clock_tolerance)
    # One of a higher epoch is not in front: the data would be behind its epoch.
    in_its_epoch = F.col("opening_marker.epoch") == F.col("decided_epoch")
    ended_here = _newest_ended_here(clock_tolerance) & in_its_epoch
    own = in_its_epoch & (F.col("opening_marker.commit") == F.col("decided_commit"))
    later = surely_before(decided, marked, apart)
    # If it is not that of the newest decision, it may be older than this.
    alone = ended_here & (earlier.isNull() | surely_before(earlier, marked, apart))
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
    before = F.try_subtract(marked, _apart(clock_tolerance))
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
    apart = _apart(clock_tolerance)
    whole = F.try_subtract(marked, apart) >= F.col("coordinator.whole_since_ms")
    in_time = covers(
        F.col("coordinator.complete_up_to_ms"), F.col("appended_by_ms"), clock_tolerance
    )
    fenced = _epoch_of_coordinator() > epoch
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
            | _epoch_copied_later(clock_tolerance)
            | surely(same_record)
        ).alias("listing_over"),
        one_clock.alias("one_clock"),
        behind_gap.alias("behind_gap"),
        (behind_own_marker & ~listed_later & known & ~behind_gap).alias("came_late"),
    ]


def _epoch_copied_later(clock_tolerance: int) -> Column:
    """Whether the copy that tells all records of the epoch lacks none from before the data."""
    up_to = F.col("epoch_copy.coordinator_up_to_ms")
    in_time = covers(up_to, F.col("appended_by_ms"), clock_tolerance)
    later: Column = surely(in_time) | surely(one_instant("epoch_copy.coordinator_clean_shutdown"))
    return later


def all_aborted(clock_tolerance: int) -> Column:
    """Whether ABORT is proven to be what was decided about all that lies open of the producer.

    Asks the columns of `open_lookups.epochs`; false where not all records of the epoch are there.
    """
    settled = F.col("epoch_copy.replicated") & _epoch_copied_later(clock_tolerance)
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


def came_after() -> Column:
    """Words of a finding where `came_late` holds."""
    return F.when(F.col("came_late"), F.lit(AFTER_THE_END)).otherwise(F.lit(""))


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
    older = surely_before(marked, decided, _apart(clock_tolerance)) & ~(
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


def _running() -> Column:
    """Whether the coordinator runs an open transaction, which it is to end by itself."""
    return (
        (F.col("outcome") == "open")
        & runs_here()
        & (F.col("coordinator.state") == STATE_NAMES[ONGOING])
        & ~_is_two_phase_commit()
    )


def overdue() -> Column:
    """Whether the coordinator still ran an open transaction long after it should have ended it."""
    return surely(_running() & (F.col("overdue_ms") > 0))


def start_untold() -> Column:
    """Whether the coordinator runs an open transaction of which a text does not print the start."""
    return surely(_running() & F.col("coordinator.start_ms").isNull())
