"""What the coordinator's log says about a transaction that is open at the end of a partition."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from jobs.model.ending import runs_here
from jobs.model.set_back_clocks import covers_once, once
from jobs.model.state_names import named
from jobs.verify.conditions.copies import apart_ms
from schemas.coordinator_states import (
    EMPTY,
    ONGOING,
    PREPARED,
    STATE_NAMES,
    TWO_PHASE_COMMIT_TIMEOUT,
)
from udfs.rules.clock import covers
from udfs.rules.coordinator_step import TRANSACTION_VERSION_2
from udfs.rules.decision_epoch import Recorded, epoch_in_effect
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


def apart(clock_tolerance: int) -> Column:
    """How far the clocks of the partition and of the coordinator may be apart, ms."""
    return apart_ms(F.lit(clock_tolerance), "single_broker")


def epoch_of_coordinator() -> Column:
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
    went_on: Column = (epoch_of_coordinator() > F.col(epoch)) & (~decides | of_later_data)
    return went_on


def is_two_phase_commit() -> Column:
    """Whether a coordinator of its own ends the transaction, however long that takes (KIP-939)."""
    return surely(F.col("coordinator.timeout_ms") == TWO_PHASE_COMMIT_TIMEOUT)


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
        is_two_phase_commit().alias("two_phase_commit"),
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


def running() -> Column:
    """Whether the coordinator runs an open transaction, which it is to end by itself."""
    return (
        (F.col("outcome") == "open")
        & runs_here()
        & (F.col("coordinator.state") == STATE_NAMES[ONGOING])
        & ~is_two_phase_commit()
    )


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
