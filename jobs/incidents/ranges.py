"""Ranges of offsets that hold nothing but what is concerned.

Between two batches of one transaction, and between two transactions, records of others may lie:
whoever removes a range, or writes it again, must not take those with it.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.incidents.known import EPOCH, Known
from jobs.spark.joins import small
from udfs.arrow.data_between import Between, Written

# A range has one cause and one kind of consequence.
RANGES_OF = ("incident", *PLACE, "kind")
# So many transactions are read again; of more, the rest have one range from first to last.
MOST_READ_AGAIN = 10_000
OF_WRITTEN = ("partition_index", *EPOCH, "first_offset", "last_offset")


def sums() -> tuple[Column, Column]:
    """What a range has of its rows, whether their records can be counted or not."""
    return F.sum("transactions").alias("transactions"), F.min("since_ms").alias("since_ms")


def contiguous(rows: DataFrame, of: tuple[str, ...], *sums: Column) -> DataFrame:
    """One row a range of neighbouring offsets: `of`, first_offset, last_offset, and the sums.

    `rows`: of, first_offset, last_offset (inclusive), which may overlap. Those without offsets are
    one row.
    """
    order = Window.partitionBy(*of).orderBy("first_offset", "last_offset")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    reached = F.max("last_offset").over(before)
    none = F.col("first_offset").isNull()
    begins = F.when(none, F.row_number().over(order) == 1).otherwise(
        F.coalesce(F.col("first_offset") > reached + 1, F.lit(True))
    )
    numbered = rows.withColumn("begins", begins.cast("int")).withColumn(
        "range", F.sum("begins").over(order.rowsBetween(Window.unboundedPreceding, 0))
    )
    ranges = numbered.groupBy(*of, "range").agg(
        F.min("first_offset").alias("first_offset"),
        F.max("last_offset").alias("last_offset"),
        *sums,
    )
    return ranges.drop("range")


def without_others(rows: DataFrame, known: Known) -> DataFrame:
    """Rows of what producers wrote, each once a range without offsets of others.

    `rows`: the columns of `OF_WRITTEN`, records, since_ms, and transactions, which only the first
    range of a row keeps: the others have 0. Rows without records are as they were.
    """
    span = F.col("last_offset") - F.col("first_offset") + 1
    asked = (
        rows.filter(F.col("records") < span)
        .select(*OF_WRITTEN)
        .distinct()
        .orderBy(*OF_WRITTEN)
        .limit(MOST_READ_AGAIN)
        .collect()
    )
    if not asked:
        return rows
    written: dict[int, list[Written]] = {}
    for index, *one in asked:
        written.setdefault(index, []).append(Written(*one))
    ranges = {index: _asked(mine) for index, mine in written.items()}
    pieces = known.between(ranges).select(
        "partition_index",
        *EPOCH,
        F.col("written_from").alias("first_offset"),
        F.struct(
            F.col("first_offset").alias("first"), F.col("last_offset").alias("last"), "records"
        ).alias("piece"),
    )
    key = ("partition_index", *EPOCH, "first_offset")
    first = F.min("piece.first").over(Window.partitionBy(*key))
    told = pieces.withColumn("is_first", F.col("piece.first") == first)
    split = F.col("piece").isNotNull() & F.col("records").isNotNull()
    later = split & ~F.col("is_first")
    return (
        rows.join(small(told), on=[*key], how="left")
        .withColumns(
            {
                "transactions": F.when(later, F.lit(0)).otherwise(F.col("transactions")),
                "records": F.when(split, F.col("piece.records")).otherwise(F.col("records")),
                "last_offset": F.when(split, F.col("piece.last")).otherwise(F.col("last_offset")),
                "first": F.when(split, F.col("piece.first")).otherwise(F.col("first_offset")),
            }
        )
        .drop("first_offset", "piece", "is_first")
        .withColumnRenamed("first", "first_offset")
    )


def _asked(written: list[Written]) -> Between:
    begin = min(one.first_offset for one in written)
    end = max(one.last_offset for one in written) + 1
    return Between(begin, end, transactional=True, written=tuple(written))
