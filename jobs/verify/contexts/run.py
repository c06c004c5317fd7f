"""Context `run`: one row is a producer run with the state of its producer before it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.verify.conditions import missing_between, sequence_distance
from jobs.verify.contexts.context import Context, with_path


def run_context(
    states: DataFrame, facts: DataFrame, files: DataFrame, expiration_ms: int
) -> Context:
    """Runs with data, from `jobs.replay.producers.producer_states`.

    Added: client_data (sequences mean something), sequence_known (an earlier batch of the same
    epoch is known), state_may_have_expired, state_offset (offset of the newest batch or marker
    before), joins_earlier (the run goes on where the run before the previous one stopped: what
    is wrong is the previous run), same_split. `offset_last` is that of the whole run.
    """
    needed = facts.select(
        "partition_index",
        "topic",
        "partition",
        "broker",
        "coordinator_topic",
        "start_known",
        "stable_below",
        "cleaning",
        "cleaned_below",
        "holes",
    )
    rows = states.filter(F.col("has_data")).join(
        F.broadcast(needed), on="partition_index", how="inner"
    )
    known = F.col("previous").isNotNull() & (F.col("previous.epoch") == F.col("producer_epoch"))
    latest = F.greatest(
        "first_timestamp", F.col("marker_timestamp"), F.col("previous_marker.timestamp")
    )

    def regular():  # type: ignore[no-untyped-def]
        same = (F.col("producer_epoch") == F.col("state_epoch")) & known
        contiguous = F.col("coordinator_topic") | (
            F.col("first_sequence") == F.col("expected_sequence")
        )
        bumped = (F.col("producer_epoch") > F.col("state_epoch")) | (
            (F.col("producer_epoch") == F.col("state_epoch")) & ~known
        )
        restarted = F.col("coordinator_topic") | (F.col("first_sequence") == 0)
        mode = F.col("transactional") | ~F.col("open_transaction")
        bump_inside = F.col("open_transaction") & (
            F.col("producer_epoch") > F.col("previous.epoch")
        )
        first_ever = F.col("state_epoch").isNull() & restarted
        return (
            ((same & contiguous) | (bumped & restarted) | first_ever)
            & mode
            & ~F.coalesce(bump_inside, F.lit(False))
            & F.col("repeats_offset").isNull()
            & (F.col("producer_epoch") < 32767)
            & F.coalesce(
                F.col("first_timestamp") - F.col("state_timestamp") < expiration_ms, F.lit(True)
            )
        )

    def enrich(selected: DataFrame) -> DataFrame:
        after_earlier = sequence_distance(F.col("earlier.last_sequence"), F.col("first_sequence"))
        span = (
            sequence_distance(F.col("previous.first_sequence"), F.col("previous.last_sequence")) + 1
        )
        joins = (
            (F.col("earlier.epoch") == F.col("producer_epoch"))
            & (F.col("previous.batches") == 1)
            & ((after_earlier == 1) | (after_earlier == span + 1))
        )
        named = with_path(selected, files, "file_index", "file")
        for column in ("previous", "previous_marker"):
            index = f"{column}_file_index"
            named = with_path(
                named.withColumn(index, F.col(f"{column}.file_index")), files, index, f"{column}_file"
            )
        state_offset = F.greatest("previous.last_offset", "previous_marker.offset")
        return named.select(
            "*",
            (~F.col("coordinator_topic")).alias("client_data"),
            F.coalesce(known, F.lit(False)).alias("sequence_known"),
            F.coalesce(latest - F.col("state_timestamp") >= expiration_ms, F.lit(False)).alias(
                "state_may_have_expired"
            ),
            state_offset.alias("state_offset"),
            F.coalesce(
                missing_between(state_offset + 1, F.col("first_offset") - 1), F.lit(False)
            ).alias("missing_before"),
            F.coalesce(joins, F.lit(False)).alias("joins_earlier"),
            F.coalesce(
                (F.col("previous.file_index") == F.col("file_index"))
                & (F.col("previous.split_start") == F.col("split_start")),
                F.lit(False),
            ).alias("same_split"),
            F.col("first_offset").alias("offset_first"),
            F.col("last_offset").alias("offset_last"),
            F.col("first_position").alias("byte_position"),
            F.col("first_length").alias("byte_length"),
            F.col("previous.position").alias("previous_position"),
            F.col("previous.length").alias("previous_length"),
            F.col("previous_marker.position").alias("previous_marker_position"),
            F.col("previous_marker.length").alias("previous_marker_length"),
            F.lit(None).cast("string").alias("transactional_id"),
        )

    return Context("run", rows, regular, enrich)
