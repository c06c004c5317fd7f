"""What the coordinator decided about the epoch of a marker that contradicts the one before it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.verify.contexts.decided_matching import in_effect
from udfs.rules.attribution import is_recorded
from udfs.rules.logic import surely


def with_marker_decisions(rows: DataFrame, log: CoordinatorLog, history: DataFrame) -> DataFrame:
    """Adds, to rows of the context `transaction`, how the marker of another outcome came about.

    epoch_whole: the coordinator's log has every decision about the marker's epoch; shared_epoch: it
    decided a transaction of that epoch and outcome under transaction.version 0 or 1. `history`:
    producer ids, of `jobs.replay.decisions`.
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
    known = history.join(asked, on="producer_id", how="left_semi").select(
        "producer_id", "known_above"
    )
    joined = rows.join(
        shared, on=["producer_id", "marker_epoch", "marker_commit"], how="left"
    ).join(known, on="producer_id", how="left")
    epoch_whole = surely(is_recorded(F.col("marker_epoch"), F.col("known_above")))
    return joined.withColumns(
        {"epoch_whole": epoch_whole, "shared_epoch": surely(F.col("shared_epoch"))}
    ).drop("known_above")
