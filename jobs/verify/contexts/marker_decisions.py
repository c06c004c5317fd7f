"""What the coordinator's log says of a marker that contradicts the one before it."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.model.set_back_clocks import covers_once
from jobs.verify.conditions.copies import one_instant
from jobs.verify.contexts.decided.matching import in_effect, listed_decisions
from udfs.rules import attribution
from udfs.rules.logic import surely

TOLD = ("known_above", "newest_epoch", "history_covers_ms", "history_clean_shutdown")


def contradicts() -> Column:
    """Whether the marker of a transaction has the epoch of the one before, and another outcome."""
    same_epoch = F.col("previous_marker.epoch") == F.col("marker_epoch")
    answer: Column = same_epoch & (F.col("previous_marker.commit") != F.col("marker_commit"))
    return answer


def shared_epochs(contradicting: DataFrame, log: CoordinatorLog) -> DataFrame:
    """Decisions under transaction.version 0 or 1 of the producers of such transactions.

    One row is a producer_id, marker_epoch, marker_commit and listed (topic-partition); shared_epoch
    is true.
    """
    decided = log.decisions_of(contradicting.select("producer_id").distinct())
    return (
        listed_decisions(decided.filter(in_effect() & ~F.col("transaction_version_2")))
        .select("producer_id", "marker_epoch", F.col("commit").alias("marker_commit"), "listed")
        .distinct()
        .withColumn("shared_epoch", F.lit(True))
    )


def known_histories(contradicting: DataFrame, history: DataFrame) -> DataFrame:
    """TOLD of these producers (column producer_id). `history`: of `jobs.replay.decisions`."""
    asked = contradicting.select("producer_id").distinct()
    return history.join(asked, on="producer_id", how="left_semi").select("producer_id", *TOLD)


def marker_decision_columns(clock_tolerance: int) -> list[Column]:
    """How the marker of another outcome came about; of rows joined with both tables.

    epoch_whole: the coordinator's log has every decision about the marker's epoch up to the end of
    its copy; history_later: that is later than the marker; shared_epoch: it decided a transaction
    of that epoch and outcome that lists the partition, under transaction.version 0 or 1.
    previous_of_no_coordinator: see `_previous_of_no_coordinator`. `clock_tolerance`: ms.
    """
    covered = covers_once(
        F.col("history_covers_ms"), F.col("marker_timestamp"), F.lit(clock_tolerance)
    )
    later = attribution.is_copied_later(
        F.col("marker_epoch"),
        F.col("newest_epoch"),
        one_instant("history_clean_shutdown") | covered,
    )
    whole = attribution.is_recorded(F.col("marker_epoch"), F.col("known_above"))
    return [
        surely(whole).alias("epoch_whole"),
        surely(later).alias("history_later"),
        surely(F.col("shared_epoch")).alias("shared_epoch"),
        _previous_of_no_coordinator(clock_tolerance).alias("previous_of_no_coordinator"),
    ]


def _previous_of_no_coordinator(clock_tolerance: int) -> Column:
    """Whether no coordinator had the epoch of the COMMIT before, so that it is wrong, not this one.

    A record of the id is later than that marker, and of a lower leader epoch: the coordinator with
    that of the marker would have been elected before. An ABORT may be an operator's, with any.
    """
    before, record = F.col("previous_marker"), F.col("coordinator")
    raised = record["producer_epoch"] > before["epoch"]
    later = raised | covers_once(
        record["record_timestamp"], before["timestamp"], F.lit(clock_tolerance)
    )
    lower = record["leader_epoch"].between(0, before["coordinator_epoch"] - 1)
    return surely(before["commit"] & ~before["initial"] & lower & record["replicated"] & later)
