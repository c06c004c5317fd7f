"""Markers of producers that no record of the coordinator's log names, though it lacks nothing.

A log that is whole, in all of its partitions, has a record of each producer id that ever had a
transaction: its id was initialized with one (`TransactionCoordinator.handleInitProducerId`). So the
records behind such a marker are lost, as where a broker came back without a partition of that log,
or with an older copy of it. Or another cluster decided it, and the topic was taken over from there
with its markers: those lie in front of all markers that the coordinators of this one wrote.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import small
from udfs.rules.logic import surely

# Of `jobs.replay.decisions.histories`: every record that names the producer is there.
FROM_THE_BEGINNING = -1


def with_history(rows: DataFrame, known: DataFrame, ages: DataFrame | None) -> DataFrame:
    """Adds the columns of `known` to rows with a producer_id; null where nothing is known.

    `known`: of `jobs.replay.decisions.histories`, with `matching.with_last_outcomes`. `ages`: of
    `jobs.verify.contexts.open_lookups.log_ages`, None where the log cannot be whole. Where it is, a
    producer that it does not name has a history without records: known_above -1, and
    history_covers_ms and history_clean_shutdown of the log as a whole. unnamed: it is one of these.
    """
    beside = rows.join(known, on="producer_id", how="left")
    if ages is None:
        return beside.withColumn("unnamed", F.lit(False))
    whole = F.col("coordinator_log_complete") & F.col("coordinator_log_whole")
    of_log = ages.select(
        F.when(whole, F.lit(FROM_THE_BEGINNING)).alias("whole_above"),
        F.when(whole, F.col("logs_until_ms")).alias("whole_until_ms"),
        F.when(whole, F.col("logs_stopped")).alias("whole_stopped"),
    )
    return (
        beside.crossJoin(F.broadcast(of_log))
        .withColumn("unnamed", F.col("known_above").isNull() & F.col("whole_above").isNotNull())
        .withColumns(
            {
                "history_covers_ms": _of("whole_until_ms", "history_covers_ms"),
                "history_clean_shutdown": _of("whole_stopped", "history_clean_shutdown"),
                "known_above": _of("whole_above", "known_above"),
            }
        )
        .drop("whole_above", "whole_until_ms", "whole_stopped")
    )


def _of(log: str, producer: str) -> Column:
    return F.when(F.col("unnamed"), F.col(log)).otherwise(F.col(producer))


def with_cluster(rows: DataFrame, every: DataFrame, completed: DataFrame) -> DataFrame:
    """Adds of_another_cluster: the row is `unnamed`, and another cluster may have decided it.

    No marker that has its decision lies in front of its first one in the partition. `every`: the
    rows of the context; `completed`: of `first_ended.completed`.
    """
    met = every.filter(
        F.col("prepares").isNotNull() & (F.col("earliest_marker") >= F.col("earliest_prepare"))
    )
    offsets = [some.select("partition_index", "marker_offset") for some in (met, completed)]
    first = (
        offsets[0]
        .unionByName(offsets[1])
        .groupBy("partition_index")
        .agg(F.min("marker_offset").alias("first_decided"))
    )
    behind = surely(F.col("first_decided") < F.col("marker_offset"))
    return (
        rows.join(small(first), on="partition_index", how="left")
        .withColumn("of_another_cluster", F.col("unnamed") & ~behind)
        .drop("first_decided")
    )
