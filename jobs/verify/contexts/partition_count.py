"""How many partitions `__transaction_state` has, found from where its ids lie.

The dump does not tell `transaction.state.log.num.partitions`. An id lies in the partition that
its hash gives modulo that number (`TransactionMetadataManager.partitionFor`), so the ids tell it:
with a number that is not the right one, few of them lie where they should.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

DEFAULT_COUNT = 50
# Nobody runs more; a search without an end would let one odd id cost minutes.
HIGHEST_COUNT = 5_000
IDS_ASKED = 100
# So many ids must agree for each that does not, before that one is wrong and not the number.
PROVEN_BY = 10


def partition_count(ids: DataFrame, highest_partition: DataFrame) -> DataFrame:
    """One row: `partition_count`, and `partition_count_proven`, whether the ids leave no other.

    `ids`: (partition, id_hash), one row an id or more. `highest_partition`: one row with that
    column, the highest partition of the topic in the dump, with or without records. Without ids
    the number is the default. Where all ids fit a number, it is one that fits all of them.
    """
    # Any hundred ids will do, but the same ones in every run.
    asked = ids.distinct().orderBy(F.hash("id_hash"), "id_hash", "partition").limit(IDS_ASKED)
    told = asked.agg(F.collect_list(F.struct("id_hash", "partition")).alias("ids")).crossJoin(
        F.broadcast(highest_partition)
    )
    lowest = F.coalesce("highest_partition", F.lit(-1)) + 1
    likely = F.filter(F.array(F.lit(DEFAULT_COUNT), lowest), lambda count: count >= lowest)
    best_likely = F.array_max(F.transform(likely, _fitting))
    possible = F.sequence(lowest, F.greatest(lowest, F.lit(HIGHEST_COUNT)))
    best = F.when(
        best_likely["fitting"] < F.size("ids"), F.array_max(F.transform(possible, _fitting))
    ).otherwise(best_likely)
    misfits = F.size("ids") - F.col("best.fitting")
    return told.select("ids", best.alias("best")).select(
        F.col("best.partition_count"),
        (
            (misfits == 0) | (F.col("best.fitting") >= F.greatest(misfits, F.lit(1)) * PROVEN_BY)
        ).alias("partition_count_proven"),
    )


def _fitting(count: Column) -> Column:
    """How many of the ids lie where they should with `count` partitions; more comes first."""
    fits = F.filter("ids", lambda one: one["id_hash"] % count == one["partition"])
    return F.struct(F.size(fits).alias("fitting"), count.alias("partition_count"))
