"""What a broker goes by whose log has lost a marker: its producer snapshot, and its index."""

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.incidents.known import Known
from jobs.incidents.signature import CLEANED_DATA, MALFORMED_INDEX
from jobs.incidents.whose import of_one_producer, same_place
from jobs.model.in_memory import ended_in_memory
from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames
from schemas.verdicts import VIOLATION
from udfs.rules.logic import surely

TRANSACTION = ["partition_index", "producer_id", "transaction_number"]
OF_PRODUCER = ["partition_index", "producer_id"]


def as_brokers_go_by(placed: DataFrame, known: Known, kept: KeptFrames) -> Known:
    """`known`, as the brokers have it of transactions whose marker their logs have surely lost.

    They still have them ended: these are not open, hold no last stable offset back, and have the
    outcome of `_ended`, though no marker. `placed`: see `jobs.incidents.assign`.
    """
    ended = kept.keep(_ended(placed, known))
    outcomes = ended.select(*TRANSACTION, "by_broker", F.lit(True).alias("told"))
    transactions = known.transactions.join(small(outcomes), on=TRANSACTION, how="left").withColumn(
        "outcome", F.when(F.col("told"), F.col("by_broker")).otherwise(F.col("outcome"))
    )
    others = known.open.join(small(ended.select(*OF_PRODUCER)), on=OF_PRODUCER, how="left_anti")
    held = others.groupBy("partition_index").agg(F.min("first_offset").alias("held_from"))
    concerned = ended.select("partition_index").distinct()
    bounds = concerned.join(small(held), on="partition_index", how="left")
    end = F.coalesce("high_watermark", "log_end_offset")
    stable = F.when(F.col("concerned"), F.least(end, "held_from"))
    states = known.states.join(
        small(bounds.withColumn("concerned", F.lit(True))), on="partition_index", how="left"
    ).withColumn("last_stable_offset", F.coalesce(stable, "last_stable_offset"))
    return replace(
        known,
        transactions=transactions.drop("by_broker", "told"),
        open=others,
        states=states.drop("concerned", "held_from"),
    )


def _ended(placed: DataFrame, known: Known) -> DataFrame:
    """The columns of TRANSACTION, and by_broker: the outcome that the broker goes by.

    It delivers their data (`jobs.model.in_memory`), unless its index lists them as aborted; null
    where the dump lacks the indexes of the partition, or one cannot be read, and where the data
    have several epochs, so that several markers may be lost. Below the log start nobody reads.
    """
    lost = placed.filter((F.col("label") == CLEANED_DATA) & (F.col("verdict") == VIOLATION))
    bounds = known.info.select(
        "partition_index", *PLACE, "log_start_offset", "log_end_offset", "newest_snapshot",
        "open_in_snapshot",
    )  # fmt: skip
    still_open = known.transactions.filter(F.col("outcome") == "open")
    ended = (
        inner(still_open, small(bounds), on="partition_index")
        .filter(ended_in_memory() & (F.col("last_offset") >= F.col("log_start_offset")))
        .alias("t")
        .join(
            small(lost.select(*PLACE, "producer_id", "offset_first").alias("p")),
            of_one_producer("t", "p") & (F.col("t.first_offset") == F.col("p.offset_first")),
            "left_semi",
        )
    )
    entries = known.indexed.select(*OF_PRODUCER, F.col("first_offset").alias("aborted_from"))
    listed = ended.join(small(entries), on=OF_PRODUCER, how="left").join(
        small(_without_indexes(placed, known)), on="partition_index", how="left"
    )
    inside = F.col("aborted_from").between(F.col("first_offset"), F.col("last_offset"))
    told = (F.col("lowest_epoch") == F.col("highest_epoch")) & F.col("unread").isNull()
    aborted = F.when(F.max(surely(inside)), F.lit("abort")).otherwise(F.lit("commit"))
    return listed.groupBy(*TRANSACTION).agg(F.when(F.bool_and(told), aborted).alias("by_broker"))


def _without_indexes(placed: DataFrame, known: Known) -> DataFrame:
    """Partitions of which the dump has no `.index` file, or a `.txnindex` that cannot be read."""
    indexes = known.files.filter(F.col("kind") == "offset_index").select("partition_index")
    malformed = placed.filter(F.col("label") == MALFORMED_INDEX).select(*PLACE)
    copies = known.info.select("partition_index", *PLACE)
    without = copies.join(small(indexes), on="partition_index", how="left_anti")
    wrong = copies.alias("i").join(small(malformed.alias("m")), same_place("i", "m"), "left_semi")
    return (
        without.unionByName(wrong).select("partition_index", F.lit(True).alias("unread")).distinct()
    )
