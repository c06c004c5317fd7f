"""The outcome of data whose marker the exported copy has lost: what else of the dump tells it.

The `.txnindex` of the copy lists aborted transactions, as a broker tells its consumers
(`LocalLog.addAbortedTransactions`). Another copy has the marker itself: followers have the bytes of
their leader, at its offsets.
"""

from collections import defaultdict
from itertools import pairwise

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from jobs.export.export import Range
from jobs.model.copies import topic_of_copies
from jobs.model.decoded import Decoded
from jobs.model.transactions import all_transactions
from jobs.spark.joins import inner, small
from jobs.spark.local import local_frame
from schemas import log_row
from udfs.rules.extent import MAX_OFFSET
from udfs.wire import bounds
from udfs.wire.batches import batch_layout as layout
from udfs.wire.batches.faults import NOT_REPLAYED
from udfs.wire.batches.records import ABORT, COMMIT

# Rows of OUTCOME_TOLD that the driver holds, of indexes and of other copies each.
MOST_TOLD = 100_000
Told = dict[int, list[dict[str, int]]]


def lost_markers(
    decoded: Decoded,
    damages: DataFrame,
    transactions: DataFrame,
    info: DataFrame,
    splits: DataFrame,
    asked: list[Range],
) -> Told:
    """partition_index -> rows of OUTCOME_TOLD; of two that contradict each other the later counts.

    What the index lists comes behind what it leaves out.

    `damages`: byte ranges that are no batch; `transactions`: those that were replayed; `info`: rows
    of partition_info; `splits`: summaries. Where nothing is lost in the ranges asked for, no
    index and no other copy is looked at.
    """
    spark = damages.sparkSession
    wanted = small(
        local_frame(spark, [(one.partition_index,) for one in asked], "partition_index int")
    )
    frames = decoded.nested(log_row.FRAME, "frame")
    unread = _unread(damages, frames, info).join(wanted, on="partition_index", how="left_semi")
    if unread.isEmpty():
        return {}
    told: Told = defaultdict(list)
    entries = decoded.aborted_entries()
    # One that a lost marker should have ended may have been folded away with the next marker.
    holed = decoded.regular_in(unread.select("partition_index").distinct())
    every = all_transactions(transactions, holed)
    for row in _in_front_of_entries(entries, every, unread):
        told[row.partition_index].append(
            {
                "producer_id": row.producer_id,
                "first_offset": row.first_offset,
                "last_offset": row.aborted_from,
                "commit": True,
            }
        )
    there = (F.col("last_offset") >= F.col("first")) & (F.col("last_offset") <= F.col("last"))
    names = ("producer_id", "first_offset", "last_offset")
    listed = inner(entries, small(unread), on="partition_index").filter(there)
    for row in listed.select("partition_index", *names).distinct().limit(MOST_TOLD).collect():
        told[row.partition_index].append({name: row[name] for name in names} | {"commit": False})
    if all(one.copies == 1 for one in asked):
        return told
    newest = splits.groupBy("partition_index").agg(F.max("final_leader_epoch").alias("led_in"))
    copies = inner(info, newest, on="partition_index").select(
        "partition_index", "missing", "led_in", *topic_of_copies()
    )
    for index, rows in _in_other_copies(decoded, transactions, every, copies, wanted).items():
        told[index] += rows
    return told


def _in_front_of_entries(
    entries: DataFrame, transactions: DataFrame, unread: DataFrame
) -> list[Row]:
    """Data that an ABORT seems to end, and that its entry in the index does not list.

    partition_index, producer_id, first_offset and aborted_from, where the entry begins. Offsets
    between the two cannot be read: the marker was among them. A consumer skips the records of an
    aborted producer from the first offset of the entry on (`CompletedFetch.consumeAbortedTxns`).
    """
    listed = entries.select(
        "partition_index",
        "producer_id",
        F.col("last_offset").alias("marker_offset"),
        F.col("first_offset").alias("aborted_from"),
    )
    aborted = transactions.filter(~F.col("marker_commit") & F.col("first_offset").isNotNull())
    begun = aborted.select("partition_index", "producer_id", "marker_offset", "first_offset")
    longer = inner(begun, listed, on=["partition_index", "producer_id", "marker_offset"])
    between = (F.col("first") < F.col("aborted_from")) & (F.col("last") >= F.col("first_offset"))
    lost = inner(
        longer.filter(F.col("aborted_from") > F.col("first_offset")),
        small(unread),
        on="partition_index",
    )
    names = ("partition_index", "producer_id", "first_offset", "aborted_from")
    return lost.filter(between).select(*names).distinct().limit(MOST_TOLD).collect()


def _unread(damages: DataFrame, frames: DataFrame, info: DataFrame) -> DataFrame:
    """Offsets at which a marker may be that cannot be read: partition_index, first, last."""
    lost = damages.select(
        "partition_index",
        (F.coalesce("previous_last_offset", F.lit(-1)) + 1).alias("first"),
        (F.coalesce("next_offset", F.lit(bounds.HIGHEST)) - 1).alias("last"),
    )
    control = F.col("attributes").bitwiseAND(F.lit(layout.CONTROL_MASK)) != 0
    read = F.col("found").isin(ABORT, COMMIT) & (F.col("fault_mask").bitwiseAND(NOT_REPLAYED) == 0)
    doubtful = frames.filter(control & ~read).select(
        "partition_index", F.col("base_offset").alias("first"), F.col("last_offset").alias("last")
    )
    missing = info.select("partition_index", F.explode("missing").alias("one")).select(
        "partition_index", "one.first", (F.col("one.end") - 1).alias("last")
    )
    return lost.unionByName(doubtful).unionByName(missing)


def _in_other_copies(
    decoded: Decoded,
    transactions: DataFrame,
    every: DataFrame,
    copies: DataFrame,
    wanted: DataFrame,
) -> Told:
    """Rows of OUTCOME_TOLD: markers that other copies have where the asked ones lack offsets.

    Only copies that end in the same leader epoch: an older one may have what a new leader cut off.
    `every`: transactions of partitions in which offsets cannot be read, and all that were replayed.
    `copies`: partition_index, missing, led_in (its newest leader epoch), `topic_of_copies`.
    """
    of_topic = ["replicas", "incarnation", "led_in"]
    mine = inner(copies, wanted, on="partition_index")
    ends = F.coalesce("marker_offset", F.lit(MAX_OFFSET))

    def between(first: Column, end: Column) -> Column:
        return F.exists("missing", lambda one: (one["first"] < end) & (one["end"] > first))

    def overlap(one: Column) -> Column:
        lies: Column = (one["first"] < ends) & (one["end"] > F.col("first_offset"))
        return lies

    torn = (
        inner(
            every.filter(F.col("first_offset").isNotNull()),
            small(mine),
            on="partition_index",
        )
        .filter(between(F.col("first_offset"), ends))
        .select(
            "partition_index",
            "producer_id",
            "first_offset",
            ends.alias("end"),
            F.filter("missing", overlap).alias("missing"),
            *of_topic,
        )
    )
    producers = torn.select("producer_id").distinct()
    others = inner(
        all_transactions(
            inner(transactions, small(producers), on="producer_id"),
            decoded.regular_of(producers),
        ).filter(F.col("marker_offset").isNotNull()),
        small(copies.drop("missing")),
        on="partition_index",
    )
    known = others.select(
        F.col("partition_index").alias("told_by"),
        "producer_id",
        "marker_offset",
        "marker_commit",
        *of_topic,
    )
    marker = F.col("marker_offset")
    found = (
        inner(known, torn, on=[*of_topic, "producer_id"])
        .filter(
            (F.col("told_by") != F.col("partition_index"))
            & (marker > F.col("first_offset"))
            & (marker < F.col("end"))
            & between(marker, marker + 1)
        )
        .select("partition_index", "producer_id", "first_offset", "marker_offset", "marker_commit")
    )
    return _pieces(found.distinct().limit(MOST_TOLD).collect())


def _pieces(markers: list[Row]) -> Told:
    """What each marker ends: from the marker before, or from the beginning of the data."""
    of_data: dict[tuple[int, int, int], dict[int, bool]] = defaultdict(dict)
    for index, producer, first, marker, commit in sorted(markers):
        of_data[index, producer, first][marker] = commit
    told: Told = defaultdict(list)
    for (index, producer, first), mine in of_data.items():
        for before, marker in pairwise([first, *mine]):
            told[index].append(
                {
                    "producer_id": producer,
                    "first_offset": before,
                    "last_offset": marker,
                    "commit": mine[marker],
                }
            )
    return told
