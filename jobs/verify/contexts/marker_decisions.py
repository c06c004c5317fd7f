"""What the coordinator decided about the epoch of a marker that contradicts the one before it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.verify.conditions import one_instant
from jobs.verify.contexts.decided_matching import in_effect
from udfs.rules import attribution
from udfs.rules.clock import covers
from udfs.rules.logic import surely


def with_marker_decisions(
    rows: DataFrame, log: CoordinatorLog, history: DataFrame, clock_tolerance: int
) -> DataFrame:
    """Adds, to rows of the context `transaction`, how the marker of another outcome came about.

    epoch_whole: the coordinator's log has every decision about the marker's epoch up to the end of
    its copy; history_later: that is later than the marker; shared_epoch: it decided a transaction
    of that epoch and outcome under transaction.version 0 or 1. `history`: producer ids, of
    `jobs.replay.decisions`; `clock_tolerance`: ms.
    """
    contradicts = (F.col("previous_marker.epoch") == F.col("marker_epoch")) & (
        F.col("previous_marker.commit") != F.col("marker_commit")
    )
    asked = rows.filter(contradicts).select("producer_id").distinct()
    shared = (
        log.decisions_of(asked)
        .filter(in_effect() & ~F.col("transaction_version_2"))
        .select("producer_id", "marker_epoch", F.col("commit").alias("marker_commit"))
        .distinct()
        .withColumn("shared_epoch", F.lit(True))
    )
    told = ("known_above", "newest_epoch", "history_covers_ms", "history_clean_shutdown")
    known = history.join(asked, on="producer_id", how="left_semi").select("producer_id", *told)
    joined = rows.join(
        shared, on=["producer_id", "marker_epoch", "marker_commit"], how="left"
    ).join(known, on="producer_id", how="left")
    epoch_whole = surely(attribution.is_recorded(F.col("marker_epoch"), F.col("known_above")))
    covered = covers(F.col("history_covers_ms"), F.col("marker_timestamp"), F.lit(clock_tolerance))
    later = attribution.is_copied_later(
        F.col("marker_epoch"),
        F.col("newest_epoch"),
        one_instant("history_clean_shutdown") | covered,
    )
    return joined.withColumns(
        {
            "epoch_whole": epoch_whole,
            "history_later": surely(later),
            "shared_epoch": surely(F.col("shared_epoch")),
        }
    ).drop(*told)
