"""Which blocks of offsets differ between replicas, from one number a block and copy.

Copies that agree have equal numbers, and cost no more than two passes over the few rows that the
decoder made of them.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from schemas.dump_partition import CLEANED, CLEANING_UNKNOWN
from schemas.topics import TXN_LOG_TOPIC
from udfs.rules.logic import surely

# Blocks of two copies that are read again: so many that differ, and so many that one copy lacks,
# in front of the last equal block, and behind it.
BLOCKS_READ_AGAIN = 8
PAIR = ["replica_set", "one_index", "other_index"]


def replica_copies(partition_info: DataFrame) -> DataFrame:
    """One row a copy: how far it can be compared, and how sure that is.

    may_be_fetched_cleaned: a compacted topic, in which its own cleaner is not known to have been. A
    new replica holds what the cleaner of its leader had left.
    """
    listed = F.col("clean_shutdown") & F.col("has_cleaner_checkpoint")
    unlisted = F.col("cleaner_checkpoint").isNull()
    may_be_cleaned = (F.col("cleaning") == CLEANED) & unlisted & ~listed
    compacted = F.col("internal_compacted") | F.col("compacted_once")
    return partition_info.filter(F.col("replica_set").isNotNull()).select(
        "replica_set", "partition_index", "topic", "partition", "broker", "topic_id",
        "metadata_file", "clean_shutdown", "comparable_from", "replicated_below", "created_once",
        "never_compacted", "log_start_offset", "log_end_offset", "cleaner_reach", "holes",
        (F.col("cleaning") == CLEANED).alias("compacted"),
        F.col("high_watermark").isNotNull().alias("high_watermark_known"),
        F.col("first_base").isNotNull().alias("has_files"),
        may_be_cleaned.alias("may_be_cleaned"),
        (compacted & unlisted).alias("may_be_fetched_cleaned"),
        (F.col("cleaning") == CLEANING_UNKNOWN).alias("cleaning_unknown"),
    )  # fmt: skip


def replica_sets(copies: DataFrame) -> DataFrame:
    """One row a partition: number of `copies`, and the lowest and highest of its topic ids.

    one_id, other_id: struct (topic_id, broker, metadata_file), null where no copy has one.
    """
    topic_id = F.when(
        F.col("topic_id").isNotNull(), F.struct("topic_id", "broker", "metadata_file")
    )
    return copies.groupBy("replica_set", "topic", "partition").agg(
        F.count("*").alias("copies"),
        F.min(topic_id).alias("one_id"),
        F.max(topic_id).alias("other_id"),
    )


def replica_pairs(copies: DataFrame, sets: DataFrame) -> DataFrame:
    """One row for two copies that must agree: replica_set, and all of both as one and other.

    Copies of different topics that had the same name need not agree. Where that has happened, a
    copy without a topic id is compared with none.
    """
    one, other = (
        copies.select("replica_set", F.struct(copies.columns).alias(name))
        for name in ("one", "other")
    )
    recreated = F.col("one_id.topic_id") != F.col("other_id.topic_id")
    same_topic = F.col("one.topic_id") == F.col("other.topic_id")
    comparable = F.coalesce(same_topic, ~surely(recreated))
    return (
        inner(
            inner(one, other, on="replica_set")
            .filter(F.col("one.partition_index") < F.col("other.partition_index"))
            .filter(~F.col("one.broker").eqNullSafe(F.col("other.broker")))
            .filter(F.col("one.has_files") & F.col("other.has_files")),
            sets.filter(F.col("topic") != TXN_LOG_TOPIC),
            on="replica_set",
        )
        .filter(comparable)
        .select("replica_set", "one", "other")
    )


def _ranges(copies: DataFrame, sets: DataFrame) -> DataFrame:
    """One row for two copies that must agree: PAIR, and the offsets [from, below) both have."""
    return (
        replica_pairs(copies, sets)
        .select(
            "replica_set",
            F.col("one.partition_index").alias("one_index"),
            F.col("other.partition_index").alias("other_index"),
            F.greatest("one.comparable_from", "other.comparable_from").alias("from"),
            F.least("one.replicated_below", "other.replicated_below").alias("below"),
        )
        .filter(F.col("from") < F.col("below"))
    )


def _blocks_of_sets(blocks: DataFrame, copies: DataFrame) -> DataFrame:
    """One row a block of a partition that has several copies: its offsets, and `present`.

    `present`: structs (partition_index, digest, batches, pieces) of the copies that have it.
    """
    of_set = copies.select("partition_index", "replica_set")
    piece = F.struct("file_index", "first_position", "end_position")
    by_copy = inner(
        blocks.groupBy("partition_index", "first_offset", "end_offset").agg(
            F.bit_xor("digest").alias("digest"),
            F.sum("batches").alias("batches"),
            F.array_sort(F.collect_list(piece)).alias("pieces"),
        ),
        small(of_set),
        on="partition_index",
    )
    present = F.struct("partition_index", "digest", "batches", "pieces")
    return by_copy.groupBy("replica_set", "first_offset", "end_offset").agg(
        F.collect_list(present).alias("present")
    )


def _of(index: str) -> Column:
    """The copy with that partition_index among `present`, null where it lacks the block."""
    return F.get(F.filter("present", lambda one: one["partition_index"] == F.col(index)), F.lit(0))


def suspicious_blocks(blocks: DataFrame, copies: DataFrame, sets: DataFrame) -> DataFrame:
    """One row a partition: `suspicious`, pairs of copies with blocks that should be the same.

    `blocks`: rows of `log_row.BLOCK_TYPE` with partition_index and file_index. A pair is a struct
    of PAIR and blocks: the first of its blocks that differ and of those that one copy lacks, by
    offset. A block is a struct of first_offset (of the pair) and end_offset of what is to be
    compared, block_offset, one_pieces, other_pieces; equal_again: a later block is the same in
    both.
    """
    one, other = F.col("one"), F.col("other")
    differ = ~one["digest"].eqNullSafe(other["digest"])
    differ |= ~one["batches"].eqNullSafe(other["batches"])
    same = F.when(~differ & one["digest"].isNotNull(), F.col("first_offset"))
    last_same = F.max(same).over(Window.partitionBy(*PAIR))
    beside = (
        inner(_blocks_of_sets(blocks, copies), small(_ranges(copies, sets)), on="replica_set")
        .filter((F.col("end_offset") > F.col("from")) & (F.col("first_offset") < F.col("below")))
        .withColumn("one", _of("one_index"))
        .withColumn("other", _of("other_index"))
        .withColumn("last_same", last_same)
        .filter(differ)
    )
    one_lacks_it = one["digest"].isNull() | other["digest"].isNull()
    equal_again = surely(F.col("last_same") > F.col("first_offset"))
    first = Window.partitionBy(*PAIR, one_lacks_it, equal_again).orderBy("first_offset")
    block = F.struct(
        F.col("from").alias("first_offset"),
        F.least("end_offset", "below").alias("end_offset"),
        F.col("first_offset").alias("block_offset"),
        one["pieces"].alias("one_pieces"),
        other["pieces"].alias("other_pieces"),
        equal_again.alias("equal_again"),
    )
    by_pair = (
        beside.withColumn("rank", F.row_number().over(first))
        .filter(F.col("rank") <= BLOCKS_READ_AGAIN)
        .groupBy(*PAIR)
        .agg(F.array_sort(F.collect_list(block)).alias("blocks"))
    )
    pair = F.struct("one_index", "other_index", "blocks")
    return by_pair.groupBy("replica_set").agg(F.collect_list(pair).alias("suspicious"))
