"""How many partitions `__transaction_state` has, found from where its ids lie.

`__cluster_metadata` has the number; without a copy of that, no file of a dump states it
(`transaction.state.log.num.partitions`). An id lies in the partition of its hash modulo that number
(`TransactionStateManager.partitionFor`), so the number is the one with which the ids fit their
partitions: with a wrong one few of them do.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from udfs.rules.absence import DEFAULT_COORDINATOR_PARTITIONS, ids_fit

# More than any cluster has; without a limit the search for one odd id would take minutes.
HIGHEST_COUNT = 5_000
IDS_ASKED = 100


def known_count() -> Column:
    """How many partitions `__cluster_metadata` gives a topic; over all copies of that topic.

    Null where it is not known of each of them, where it differs, or before partitions were added.
    """
    count = F.col("topic_partitions")
    agreed = (F.min(count) == F.max(count)) & (F.count(count) == F.count("*"))
    return F.when(agreed & (F.max(count) > F.max("partition")), F.max(count))


def partition_count(ids: DataFrame, of_topic: DataFrame) -> DataFrame:
    """One row: `partition_count`, and `partition_count_proven`, whether no other is possible.

    `ids`: (partition, id_hash), one row an id or more. `of_topic`: one row of highest_partition,
    the highest one of the topic in the dump, with or without records, and `known_count`. Where
    that is null the ids decide; without ids the number is the default. Where all ids fit a number,
    it is one that fits all of them.
    """
    # Any hundred ids will do, but the same ones in every run.
    asked = ids.distinct().orderBy(F.hash("id_hash"), "id_hash", "partition").limit(IDS_ASKED)
    of_ids = asked.agg(F.collect_list(F.struct("id_hash", "partition")).alias("ids")).crossJoin(
        F.broadcast(of_topic)
    )
    lowest = F.coalesce("highest_partition", F.lit(-1)) + 1
    likely = F.filter(
        F.array(F.lit(DEFAULT_COORDINATOR_PARTITIONS), lowest), lambda count: count >= lowest
    )
    best_likely = F.array_max(F.transform(likely, _fitting))
    possible = F.sequence(lowest, F.greatest(lowest, F.lit(HIGHEST_COUNT)))
    best = F.when(
        best_likely["fitting"] < F.size("ids"), F.array_max(F.transform(possible, _fitting))
    ).otherwise(best_likely)
    misfits = F.size("ids") - F.col("best.fitting")
    return of_ids.select("ids", "known_count", best.alias("best")).select(
        F.coalesce("known_count", "best.partition_count").alias("partition_count"),
        (F.col("known_count").isNotNull() | ids_fit(F.col("best.fitting"), misfits)).alias(
            "partition_count_proven"
        ),
    )


def _fitting(count: Column) -> Column:
    """How many of the ids lie where they should with `count` partitions; more comes first."""
    fits = F.filter("ids", lambda one: one["id_hash"] % count == one["partition"])
    return F.struct(F.size(fits).alias("fitting"), count.alias("partition_count"))


def no_multiple_fits(number: int, divisors: Column) -> Column:
    """Whether the ids of a topic lie where they do with no multiple of a number of partitions.

    `divisors`: what divides hash minus partition of the ids of each split, 0 for any number.
    """
    another = F.sequence(F.lit(2 * number), F.lit(max(HIGHEST_COUNT, 2 * number)), F.lit(number))

    def fits(multiple: Column) -> Column:
        return F.forall(divisors, lambda divisor: divisor % multiple == 0)

    return ~F.exists(another, fits)
