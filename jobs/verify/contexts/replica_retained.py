"""Where replicas contradict each other in what the cleaner left: `udfs.arrow.retained_differences`.

The decoder has packed what copies of a cleaned partition hold into buckets; one task compares a
bucket of all copies. Only contradictions become rows, one a bucket and pair of copies.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.contexts.replica_blocks import replica_pairs
from udfs.arrow.retained_differences import (
    BUCKET,
    CONTRADICTION,
    COPY,
    find_contradictions,
)
from udfs.arrow.retained_records import KEY, UNREAD
from udfs.rules.logic import surely


def _unread(retained_records: DataFrame, splits: DataFrame) -> DataFrame:
    """One row a copy of which parts were not read: partition_index, unread (true)."""
    damaged = retained_records.filter(F.col("compared") == UNREAD).select("partition_index")
    cut_off = splits.filter(F.col("error").isNotNull() | F.col("shrank")).select("partition_index")
    return damaged.unionByName(cut_off).distinct().select("*", F.lit(True).alias("unread"))


def _copies_to_compare(copies: DataFrame, unread: DataFrame) -> DataFrame:
    """The copies with the columns that COPY adds."""
    return copies.join(small(unread), on="partition_index", how="left").withColumns(
        {
            "unread": surely(F.col("unread")),
            "one_instant": F.col("clean_shutdown") & F.col("high_watermark_known"),
        }
    )


def _buckets(retained_records: DataFrame, copies: DataFrame, sets: DataFrame) -> DataFrame:
    """Rows of BUCKET."""

    def copy(name: str) -> Column:
        return F.struct(*[F.col(f"{name}.{field}") for field in COPY.names]).alias(name)

    pairs = (
        replica_pairs(copies, sets)
        .groupBy("replica_set")
        .agg(
            F.collect_list(F.struct(copy("one"), copy("other"))).alias("pairs"),
            F.first("one.cleaner_reach").alias("reach"),
        )
    )
    of_set = copies.select("partition_index", "replica_set")
    cell = F.struct("partition_index", "file_index", "retained_records")
    read = retained_records.filter(F.col("compared") != UNREAD)
    cells = (
        inner(read, small(of_set), on="partition_index")
        .groupBy("replica_set", "compared", "bucket")
        .agg(F.collect_list(cell).alias("cells"))
    )
    return inner(cells, small(pairs), on="replica_set").select(*BUCKET.names)


def contradictions(
    retained_records: DataFrame, copies: DataFrame, sets: DataFrame, splits: DataFrame
) -> DataFrame:
    """One row a partition: `contradictions`, one a bucket and pair of copies.

    `retained_records`: rows of `log_row.RETAINED_RECORDS_TYPE` with partition_index and file_index.
    """
    compared = _copies_to_compare(copies, _unread(retained_records, splits))
    found = _buckets(retained_records, compared, sets).mapInArrow(_find, CONTRADICTION)
    return found.groupBy("replica_set").agg(
        F.collect_list(F.struct(*CONTRADICTION.names)).alias("contradictions")
    )


def _find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return find_contradictions(batches)


def first_contradictions(selected: DataFrame) -> DataFrame:
    """Rows of CONTRADICTION, the first of each kind of a partition.

    contradicting: how many offsets, of the two copies that have most of them.
    Where records or outcomes contradict each other, so do keys: that is not reported again.
    """
    other_kinds = F.collect_set("row.difference").over(Window.partitionBy("row.replica_set"))
    pair = Window.partitionBy(
        "row.replica_set", "row.difference", "row.one_index", "row.other_index"
    )
    return (
        selected.select(F.explode("contradictions").alias("row"))
        .withColumn("implied", (F.col("row.difference") == KEY) & (F.size(other_kinds) > 1))
        .filter(~F.col("implied"))
        .withColumn("of_pair", F.sum("row.number").over(pair))
        .groupBy("row.replica_set", "row.difference")
        .agg(
            F.min_by("row", F.struct("row.offset", "row.one_index", "row.other_index")).alias(
                "first"
            ),
            F.max("of_pair").alias("contradicting"),
        )
        .select("first.*", "contradicting")
    )
