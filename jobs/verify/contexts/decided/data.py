"""What a partition holds of the producer of a decision, and how far back the partition reaches."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.markers import Markers
from jobs.model.set_back_clocks import came_twice
from jobs.spark.joins import inner, small
from jobs.verify.conditions.copies import apart_ms
from jobs.verify.contexts.decided.matching import KEY, at_other_moments, lacks_markers
from udfs.rules import attribution
from udfs.rules.logic import surely

OF_DATA = ["partition_index", "producer_id", "prepared_data_epoch"]


def with_last_markers(rows: DataFrame, markers: Markers) -> DataFrame:
    """Adds the last marker of the partition, of any producer.

    last_marker_offset, last_marker_ms (broker's clock); null for none.
    """
    last = F.max(F.struct("marker_offset", "marker_timestamp")).alias("last")
    outer = (
        markers.rows.groupBy("partition_index")
        .agg(last)
        .select(
            "partition_index",
            F.col("last.marker_offset").alias("last_marker_offset"),
            F.col("last.marker_timestamp").alias("last_marker_ms"),
        )
    )
    return rows.join(small(outer), on="partition_index", how="left")


def _ended(markers: DataFrame) -> DataFrame:
    """What markers with the epoch of their data ended: up to where, and the first of it.

    One row a producer's epoch in a partition; columns as in `with_data`.
    """
    unraised = attribution.has_epoch_of_data(F.col("marker_epoch"), F.col("data_epoch"))
    return (
        markers.filter(F.col("first_offset").isNotNull() & unraised)
        .groupBy(
            "partition_index", "producer_id", F.col("marker_epoch").alias("prepared_data_epoch")
        )
        .agg(
            F.max("last_offset").alias("ended_run_last"),
            F.min(
                F.struct("marker_offset", "last_offset", "marker_timestamp", "marker_commit")
            ).alias("ended"),
        )
        .select(
            "partition_index",
            "producer_id",
            "prepared_data_epoch",
            "ended_run_last",
            F.col("ended.last_offset").alias("first_ended_last"),
            F.col("ended.marker_timestamp").alias("first_ended_ms"),
            F.col("ended.marker_commit").alias("first_ended_commit"),
        )
    )


def with_data(
    selected: DataFrame, states: DataFrame, markers: DataFrame, files: DataFrame
) -> DataFrame:
    """Adds the data of the transaction in the partition.

    data_run: first batch of its epoch there; data_first_sequence: its sequence (a run that was
    folded away begins its epoch with 0); data_begun_ms: its moment by the broker's clock, null
    where it has the client's; data_run_last: the last offset of that epoch; ended_run_last: the
    last of that epoch that a marker of the same epoch ended, null for none; open_run: first batch
    of that epoch behind all that such markers ended; own_marker_last: the last marker of the
    producer, of any epoch, null for none; first_ended_last, first_ended_ms,
    first_ended_commit: the last of what the first such marker ended, its moment and its outcome;
    data_file_end: where the file of the last data of that epoch ends, behind which the marker lies,
    an offset, exclusive, or null for the newest one; 0 where it is of several moments.
    """
    ended = _ended(markers)
    data = (
        states.filter(F.col("has_data") & F.col("transactional"))
        .withColumnRenamed("producer_epoch", "prepared_data_epoch")
        .join(ended.select(*OF_DATA, "ended_run_last"), on=OF_DATA, how="left")
    )
    batch = F.struct("first_offset", "file_index", "first_position", "first_length")
    unended = F.col("first_offset") > F.coalesce("ended_run_last", F.lit(-1))
    runs = data.groupBy(*OF_DATA).agg(
        F.min(batch).alias("data_run"),
        F.coalesce(F.min_by("first_sequence", "first_offset"), F.lit(0)).alias(
            "data_first_sequence"
        ),
        F.min_by(F.when(F.col("log_append_time"), F.col("first_timestamp")), "first_offset").alias(
            "data_begun_ms"
        ),
        F.max("last_offset").alias("data_run_last"),
        F.max_by("file_index", "last_offset").alias("data_file"),
        F.min(F.when(unended, batch)).alias("open_run"),
    )
    last_of_producer = markers.groupBy("partition_index", "producer_id").agg(
        F.max("marker_offset").alias("own_marker_last")
    )
    rows = (
        selected.join(runs, on=OF_DATA, how="left")
        .join(ended, on=OF_DATA, how="left")
        .join(last_of_producer, on=["partition_index", "producer_id"], how="left")
    )
    ends = files.select(
        F.col("file_index").alias("data_file"), F.col("next_base_offset").alias("data_file_end")
    )
    # Each run of a fetch goes on in the file of the one before.
    file_end = F.when(F.col("fetched"), F.lit(0).cast("long")).otherwise(F.col("data_file_end"))
    placed = rows.join(small(ends), on="data_file", how="left")
    return placed.withColumn("data_file_end", file_end).drop("fetched", "data_file")


def with_surroundings(
    rows: DataFrame, states: DataFrame, markers: DataFrame, tolerance: Column
) -> DataFrame:
    """Adds what lies around the marker of a row of `with_data`, where it may be missing.

    earlier_offset: the last marker of the producer with a lower epoch that is older than the
    decision (`_earlier`); later_run: its first batch or marker of a later epoch.
    """
    lacking = rows.filter(F.col("markers").isNull() | lacks_markers() | at_other_moments())
    wanted = lacking.select(
        *KEY,
        "transaction_version_2",
        "set_backs",
        "earliest_prepare",
        apart_ms(tolerance).alias("apart_ms"),
    )
    return rows.join(_earlier(wanted, markers, tolerance), on=KEY, how="left").join(
        _later(wanted, states), on=KEY, how="left"
    )


def _place_of_run(batch: str) -> Column:
    """Where the first batch of a run, or its marker, lies."""
    return F.struct(
        F.col(f"{batch}_offset").alias("run_first"),
        "file_index",
        F.col(f"{batch}_position").alias("run_position"),
        F.col(f"{batch}_length").alias("run_length"),
    )


def _earlier(wanted: DataFrame, markers: DataFrame, tolerance: Column) -> DataFrame:
    """earlier_offset of each of the rows.

    A producer's decisions have the order of their epochs. But a zombie's data may lie behind all of
    them: in a topic that was created again no state of the producer keeps a lower epoch out, and an
    operator ends them.
    """
    raised = attribution.raised(F.col("marker_epoch"), F.col("data_epoch"))
    of_coordinator = ~attribution.may_be_operators(F.col("marker_commit"), surely(raised))
    ended = markers.select(
        "partition_index",
        "producer_id",
        F.col("marker_epoch").alias("ended_epoch"),
        "marker_offset",
        "marker_timestamp",
        of_coordinator.alias("of_coordinator"),
        F.col("data_epoch").isNotNull().alias("ended"),
    )
    older = attribution.marked_before(
        F.col("marker_timestamp"),
        F.col("earliest_prepare"),
        F.col("apart_ms"),
        F.col("of_coordinator"),
        F.col("ended"),
    )
    return (
        inner(wanted, ended, on=["partition_index", "producer_id"])
        .filter(F.col("ended_epoch") < F.col("marker_epoch"))
        .filter(older & ~came_twice(F.col("marker_timestamp"), tolerance))
        .groupBy(*KEY)
        .agg(F.max("marker_offset").alias("earlier_offset"))
    )


def _later(wanted: DataFrame, states: DataFrame) -> DataFrame:
    """later_run of each of the rows."""
    epochs = states.select(
        "partition_index",
        "producer_id",
        F.greatest("producer_epoch", "marker_epoch").alias("run_epoch"),
        F.col("producer_epoch").alias("run_data_epoch"),
        "first_offset",
        _place_of_run("first").alias("data"),
        _place_of_run("marker").alias("marker"),
    )
    # Data of a new epoch wait, under version 2, until the transaction before is complete.
    data_later = F.col("first_offset").isNotNull() & (
        (F.col("run_data_epoch") > F.col("marker_epoch"))
        | F.col("transaction_version_2") & (F.col("run_data_epoch") >= F.col("marker_epoch"))
    )
    # A fence may end data of this epoch: of their run only the marker is later.
    marker_later = F.col("run_epoch") > F.col("marker_epoch")
    first = F.when(data_later, F.col("data")).when(marker_later, F.col("marker"))
    return (
        inner(wanted, epochs, on=["partition_index", "producer_id"])
        .groupBy(*KEY)
        .agg(F.min(first).alias("later_run"))
    )
