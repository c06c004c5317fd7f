"""Until when, by the broker's clock, a batch was appended at the latest."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import latest_reading


def broker_moments(states: DataFrame) -> DataFrame:
    """Moments of the broker's clock: partition_index, moment_offset, moment_ms.

    Markers and LogAppendTime; the CreateTime of data is a client's. `states`: from
    `jobs.replay.producers.producer_states`. Markers that were folded away are missing: the bound
    is then a later moment of the same stretch. Of a run the last batch tells: a topic may have had
    another `message.timestamp.type` before.
    """
    of_marker = F.when(
        F.col("has_marker"),
        F.struct(
            F.col("marker_offset").alias("moment_offset"),
            F.col("marker_timestamp").alias("moment_ms"),
        ),
    )
    of_data = F.when(
        F.col("has_data") & F.col("log_append_time"),
        F.struct(
            F.col("last_offset").alias("moment_offset"),
            F.col("last_timestamp").alias("moment_ms"),
        ),
    )
    moments = F.filter(F.array(of_data, of_marker), lambda one: one.isNotNull())
    return (
        states.filter(~F.col("initial"))
        .select("partition_index", F.explode(moments).alias("moment"))
        .select("partition_index", "moment.*")
    )


def with_latest_append(
    rows: DataFrame, states: DataFrame, now: int | None, tolerance: int
) -> DataFrame:
    """Adds latest_append_ms to rows with partition_index, first_offset and first_timestamp.

    At no later moment the clock of a broker stood when it appended the batch, or before. `rows`
    have set_backs, too; `tolerance`: how far brokers' clocks may be apart, ms.

    The next moment of the broker's clock at the batch or after it in its log; where there is none,
    the moment `now` to which ages refer (ms) or the batch's own, if that is later; null where
    nothing says. And that from which a clock was set back to it, as it may have stood there before.
    """
    asked = rows.select("partition_index", "first_offset").distinct()
    both = asked.select("*", F.col("first_offset").alias("at"), F.lit(0).alias("turn")).unionByName(
        broker_moments(states).select(
            "partition_index",
            F.col("moment_offset").alias("at"),
            F.lit(1).alias("turn"),
            "moment_ms",
        ),
        allowMissingColumns=True,
    )
    # From the end of the log: Spark reads a frame that ends there anew for each of its rows.
    backwards = Window.partitionBy("partition_index").orderBy(F.desc("at"), F.desc("turn"))
    from_here = backwards.rowsBetween(Window.unboundedPreceding, 0)
    with_next = both.withColumn("next_ms", F.last("moment_ms", ignorenulls=True).over(from_here))
    bounds = with_next.filter(F.col("turn") == 0).select(
        F.col("partition_index").alias("bound_partition"), F.col("at").alias("bound_at"), "next_ms"
    )
    known: Column = F.lit(now).cast("long")
    otherwise = F.when(known.isNotNull(), F.greatest(known, "first_timestamp"))
    return (
        rows.join(
            bounds,
            on=(F.col("partition_index") == F.col("bound_partition"))
            & (F.col("first_offset") == F.col("bound_at")),
            how="left",
        )
        .drop("bound_partition", "bound_at")
        .withColumn(
            "latest_append_ms",
            latest_reading(F.coalesce("next_ms", otherwise), F.lit(tolerance)),
        )
        .drop("next_ms")
    )
