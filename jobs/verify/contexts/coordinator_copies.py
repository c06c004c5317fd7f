"""Context `coordinator_copies`: one row is a partition of `__transaction_state` in several copies.

Replicas of one partition hold the same record at the same offset, but each broker cleans at its own
time, so a record that one lacks proves nothing by itself. Two rules hold all the same: records of
two copies at one offset are equal, and each copy has the last record of an id, or a later one.
Copies are those of one topic: also this one may be deleted, and made again while a broker is down.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.contexts.context import Context, with_paths
from schemas.topics import TXN_LOG_TOPIC
from udfs.rules.extent import goes_on_with, is_replicated
from udfs.rules.logic import surely

OF_TOPIC = ["partition", "incarnation"]
# What two copies of one record have in common.
CONTENT = (
    "transactional_id", "tombstone", "producer_id", "producer_epoch", "timeout_ms", "status",
    "partitions", "last_update_ms", "start_ms", "next_producer_id", "client_transaction_version",
    "leader_epoch", "timestamp", "error",
)  # fmt: skip
# What a finding says of a record.
PLACE = (
    "offset", "broker", "partition_index", "file_index", "position", "length", "leader_epoch",
    "transactional_id", "producer_id", "producer_epoch", "clean_shutdown", "high_watermark_known",
)  # fmt: skip


def _copies(partition_info: DataFrame, copied: list[int]) -> DataFrame:
    """The partitions of `copied`, with the columns that say how far they can be compared."""
    # Without copies the planner sees at once that there is nothing to do.
    wanted = F.col("partition_index").isin(copied) if copied else F.lit(False)
    return partition_info.filter(wanted).select(
        "partition_index",
        *OF_TOPIC,
        "broker",
        "clean_shutdown",
        F.col("high_watermark").isNotNull().alias("high_watermark_known"),
        "replicated_below",
        "log_start_offset",
        "log_end_offset",
        "newest_base",
        "nameless_at",
    )


def _differences(records: DataFrame) -> DataFrame:
    """One row of OF_TOPIC: `difference`, the first offset at which copies differ, and how many.

    A struct (offset, one, other), where one and other are records of PLACE; `differences`.
    """
    record = F.struct(F.xxhash64(*CONTENT).alias("content"), F.struct(*PLACE).alias("place"))
    by_offset = (
        records.filter(is_replicated(F.col("offset"), F.col("replicated_below")))
        .groupBy(*OF_TOPIC, "offset")
        .agg(
            F.min(record).alias("one"),
            F.max(record).alias("other"),
            # An offset that one copy has twice is reported as offset_not_increasing.
            (F.count("*") == F.size(F.collect_set("partition_index"))).alias("once_a_copy"),
        )
        .filter(F.col("once_a_copy") & (F.col("one.content") != F.col("other.content")))
    )
    difference = F.struct(
        "offset", F.col("one.place").alias("one"), F.col("other.place").alias("other")
    )
    return by_offset.groupBy(*OF_TOPIC).agg(
        F.min(difference).alias("difference"), F.count("*").alias("differences")
    )


def _losses(records: DataFrame, copies: DataFrame) -> DataFrame:
    """One row of OF_TOPIC: `loss`, the first last record of an id that a copy lacks, and how many.

    A struct (offset, one, lacking): the record, and (broker, clean_shutdown, high_watermark_known,
    may_have_expired) of the copy without it; `losses`. A record that does not tell its id, damaged
    or with a key of an unknown version, is the last one of no id in its own copy, and of the other
    copy it may be the last one of any id from its offset down.
    """
    named = records.filter(F.col("transactional_id").isNotNull())
    last = named.groupBy(*OF_TOPIC, "partition_index", "transactional_id").agg(
        F.max(F.struct(*PLACE, "tombstone", "replicated_below", "log_end_offset")).alias("one")
    )
    others = copies.select(*OF_TOPIC, F.struct(copies.columns).alias("lacking"))
    theirs = last.select(
        F.col("partition_index").alias("other_index"),
        "transactional_id",
        F.col("one.offset").alias("their_offset"),
    )
    offset = F.col("one.offset")
    missing = (
        inner(last, small(others), on=OF_TOPIC)
        .filter(F.col("partition_index") != F.col("lacking.partition_index"))
        .withColumn("other_index", F.col("lacking.partition_index"))
        .join(theirs, on=["other_index", "transactional_id"], how="left")
        .filter(
            ~F.col("one.tombstone")
            & is_replicated(offset, F.col("one.replicated_below"))
            & is_replicated(offset, F.col("lacking.replicated_below"))
            & (offset >= F.col("lacking.log_start_offset"))
            & ~surely(goes_on_with(offset, F.greatest("their_offset", "lacking.nameless_at")))
        )
    )
    # A tombstone that the other copy cannot show may have removed the id, and then itself.
    unseen = F.col("lacking.newest_base") > F.col("one.log_end_offset")
    lacking = F.struct(
        "lacking.broker",
        "lacking.clean_shutdown",
        "lacking.high_watermark_known",
        F.coalesce(unseen, F.lit(True)).alias("may_have_expired"),
    )
    one = F.struct(*[F.col(f"one.{name}") for name in PLACE])
    return missing.groupBy(*OF_TOPIC).agg(
        F.min(F.struct(offset.alias("offset"), one.alias("one"), lacking.alias("lacking"))).alias(
            "loss"
        ),
        F.count("*").alias("losses"),
    )


def _enriched(selected: DataFrame, files: DataFrame) -> DataFrame:
    """The place of a finding: the first contradiction of the partition, in the copy that has it."""
    differs = F.col("difference").isNotNull()
    first = selected.select(
        "*",
        F.coalesce("difference.one", "loss.one").alias("one"),
        F.col("difference.other").alias("other"),
        F.coalesce("difference.other.broker", "loss.lacking.broker").alias("other_broker"),
        F.coalesce("difference.other.clean_shutdown", "loss.lacking.clean_shutdown").alias(
            "other_clean"
        ),
        F.coalesce(
            "difference.other.high_watermark_known", "loss.lacking.high_watermark_known"
        ).alias("other_high_watermark_known"),
        (~differs & F.col("loss.lacking.may_have_expired")).alias("may_have_expired"),
        F.coalesce("differences", "losses").alias("contradictions"),
    )
    named = with_paths(first, files, file="one.file_index", other_file="other.file_index")
    return named.select(
        "*",
        F.lit(TXN_LOG_TOPIC).alias("topic"),
        F.col("one.broker").alias("broker"),
        F.col("one.offset").alias("offset_first"),
        F.col("one.offset").alias("offset_last"),
        F.col("one.producer_id").alias("producer_id"),
        F.col("one.producer_epoch").alias("producer_epoch"),
        F.col("one.transactional_id").alias("transactional_id"),
        F.col("one.position").alias("byte_position"),
        F.col("one.length").alias("byte_length"),
        F.col("other.position").alias("other_position"),
        F.col("other.length").alias("other_length"),
        (F.col("one.high_watermark_known") & F.col("other_high_watermark_known")).alias(
            "both_high_watermarks_known"
        ),
        (F.col("one.clean_shutdown") & F.col("other_clean")).alias("both_clean"),
    )


def coordinator_copies_context(
    txn_log_records: DataFrame, copied: list[int], partition_info: DataFrame, files: DataFrame
) -> Context:
    """Partitions of `__transaction_state` of which the dump has several copies.

    `copied`: the partition_index of each of those copies. difference and loss: see `_differences`
    and `_losses`; null where the copies agree. one, other: the records of the first
    contradiction, other null where a copy lacks it. may_have_expired: the copy that lacks it may
    have had a tombstone of the id that no copy shows any more.
    """
    copies = _copies(partition_info, copied)
    records = inner(txn_log_records, small(copies), on="partition_index")
    rows = (
        copies.select(*OF_TOPIC)
        .distinct()
        .join(_differences(records), on=OF_TOPIC, how="left")
        .join(_losses(records, copies), on=OF_TOPIC, how="left")
    )

    def regular() -> Column:
        return F.col("difference").isNull() & F.col("loss").isNull()

    def enrich(selected: DataFrame) -> DataFrame:
        return _enriched(selected, files)

    return Context("coordinator_copies", rows, regular, enrich, within_cluster=True)
