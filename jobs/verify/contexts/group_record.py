"""Context `group_record`: one row is a fault in the records of `__consumer_offsets`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.contexts.context import Context, with_paths
from jobs.verify.contexts.partition_count import known_count
from schemas.topics import OFFSETS_TOPIC

# The Euclidean algorithm on 32-bit numbers ends within so many steps.
EUCLID_STEPS = 48


def _greatest_common_divisor(one: Column, other: Column) -> Column:
    pair = F.struct(one.cast("long").alias("a"), other.cast("long").alias("b"))
    return F.aggregate(
        F.sequence(F.lit(1), F.lit(EUCLID_STEPS)),
        pair,
        lambda held, _: F.when(held["b"] == 0, held).otherwise(
            F.struct(held["b"].alias("a"), (held["a"] % held["b"]).alias("b"))
        ),
        lambda held: held["a"],
    )


def placement(splits: DataFrame, partition_info: DataFrame, assumed: int | None) -> DataFrame:
    """One row for the dump: what all splits together say of the number of partitions.

    some_number_fits: with the number in `__cluster_metadata`, or without it with any
    possible one, every group is where it belongs; most_fit: the number that the decoder assumed
    is that one, or without it the right one for more records than not. `assumed`: that number.
    """
    highest = partition_info.filter(F.col("topic") == OFFSETS_TOPIC).agg(
        F.max("partition").alias("highest_partition"), known_count().alias("known_count")
    )
    divisors = splits.agg(
        F.collect_set("group_divisor").alias("divisors"),
        F.sum("placed_records").alias("placed"),
        F.sum("misplaced_records").alias("misplaced"),
    )
    divisor = F.aggregate("divisors", F.lit(0).cast("long"), _greatest_common_divisor)
    joined = divisors.crossJoin(F.broadcast(highest)).withColumn("divisor", divisor)
    possible = (F.col("divisor") == 0) | (F.col("divisor") > F.col("highest_partition"))
    as_assumed = F.col("known_count") == F.lit(assumed)
    return joined.select(
        F.coalesce(F.col("divisor") % F.col("known_count") == 0, possible).alias(
            "some_number_fits"
        ),
        F.coalesce(as_assumed, F.col("placed") > F.col("misplaced")).alias("most_fit"),
    )


def _without_producer(rows: DataFrame) -> DataFrame:
    return rows.select(
        "*",
        F.lit(None).cast("long").alias("producer_id"),
        F.lit(None).cast("int").alias("producer_epoch"),
        F.lit(None).cast("string").alias("transactional_id"),
    )


def group_record_context(
    faults: DataFrame,
    splits: DataFrame,
    partition_info: DataFrame,
    files: DataFrame,
    assumed_partitions: int | None,
) -> Context:
    """Rows of `log_row.GROUP_FAULT_TYPE`, without key and alive.

    A group in a wrong partition is one row, at its first record, if it has more there than
    tombstones, as a deleted group has. A record that cannot be decoded is a row of its own. Added:
    some_number_fits and most_fit, see `placement`.
    """
    place = F.struct("offset", "position", "length", "file_index", "error")
    own = F.when(F.col("fault") == "undecodable", F.col("offset"))
    keys = faults.groupBy("partition_index", "fault", "group", "key", own.alias("own")).agg(
        F.min(place).alias("first"),
        F.coalesce(F.max_by("alive", "offset"), F.lit(True)).alias("alive"),
    )
    needed = partition_info.select(
        "partition_index", "topic", "partition", "broker", "replicated_below"
    )
    rows = inner(
        keys.groupBy("partition_index", "fault", "group", "own")
        .agg(F.min("first").alias("first"), F.max("alive").alias("alive"))
        .filter("alive")
        .select("partition_index", "fault", "group", "first.*"),
        small(needed),
        on="partition_index",
    )

    def enrich(selected: DataFrame) -> DataFrame:
        named = with_paths(selected, files, file="file_index")
        placed = named.crossJoin(F.broadcast(placement(splits, partition_info, assumed_partitions)))
        return _without_producer(placed).select(
            "*",
            F.col("offset").alias("offset_first"),
            F.col("offset").alias("offset_last"),
            F.col("position").alias("byte_position"),
            F.col("length").alias("byte_length"),
        )

    return Context("group_record", rows, lambda: F.lit(False), enrich, within_cluster=True)
