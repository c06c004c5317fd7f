"""`__transaction_state` as the decoder left it: records that need a look, others in blocks.

What was folded away (udfs/wire/coordinator/txn_log_chain.py) is most of a busy coordinator's log.
Where it is little it is unpacked once and kept; otherwise only what belongs to the producers asked
for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.model.coordinator_log import CoordinatorLog
from jobs.model.decoded import Decoded, unpacked_when_asked
from jobs.replay.decisions import decisions, with_what_is_replicated
from jobs.replay.epoch_history import epoch_histories
from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames
from jobs.spark.local import local_frame
from schemas import log_row
from udfs.arrow.blocks import unpack_blocks, unpack_marked, unpack_rows_of_producers
from udfs.rules.clock import counted_pause

PLACE = [log_row.LOG_ROW[name] for name in ("partition_index", "file_index", "split_start")]
RECORDS = StructType([*PLACE, *log_row.FOLDED_RECORD.fields])
DECISIONS = StructType([*PLACE, *log_row.DECISION.fields])


@dataclass(frozen=True)
class Folded:
    """What the decoder folded away. `blocks`: rows of FOLDED_TYPE with the place of their split.

    `rows`: records and decisions in them. `unevaluated`: records that need no look, in blocks or
    as rows. `keys`: epochs that are not plain (`jobs.model.plain_epochs`), None for all.
    """

    blocks: DataFrame
    rows: int
    unevaluated: int
    keys: NDArray[np.uint64] | None


def folded_away(decoded: Decoded) -> Folded:
    """What the decoder left of the log in blocks."""
    return Folded(
        blocks=decoded.nested(log_row.FOLDED, "folded"),
        rows=decoded.folded_rows,
        unevaluated=decoded.unevaluated,
        keys=None if decoded.plain is None else decoded.plain.keys,
    )


def coordinator_log(
    txn_log_records: DataFrame,
    folded: Folded,
    splits: DataFrame,
    partition_info: DataFrame,
    kept: KeptFrames,
) -> CoordinatorLog:
    """Puts the log together. `splits`: summaries, with base_offset."""
    before = _before_each(splits)
    placed = _placed(txn_log_records, before)
    if unpacked_when_asked(folded.rows):
        return _unpacked_when_asked(placed, folded, before, partition_info, kept)
    # A dozen plans begin with the records.
    return _kept(kept.keep(placed), folded, before, partition_info, kept)


def _kept(
    placed: DataFrame,
    folded: Folded,
    before: DataFrame,
    partition_info: DataFrame,
    kept: KeptFrames,
) -> CoordinatorLog:
    """A log that is unpacked once, whole."""
    made, whole = decisions(placed), placed
    if folded.rows:
        made = made.unionByName(_named(_all(folded, "decisions", DECISIONS)))
        unpacked = _placed(_all(folded, "records", RECORDS), before)
        whole = placed.unionByName(unpacked, allowMissingColumns=True)
    tables = kept.keep_all(
        decisions=with_what_is_replicated(made, partition_info),
        epochs=epoch_histories(whole, partition_info),
    )
    not_plain = tables["decisions"]
    if folded.rows and folded.keys is not None:
        others = decisions(placed).unionByName(_named(_not_plain(folded, folded.keys)))
        not_plain = with_what_is_replicated(others, partition_info)
    return CoordinatorLog(
        placed,
        folded.unevaluated,
        tables["decisions"],
        not_plain,
        lambda producers: tables["decisions"].join(producers, on="producer_id", how="left_semi"),
        lambda _: tables["epochs"],
    )


def _unpacked_when_asked(
    placed: DataFrame,
    folded: Folded,
    before: DataFrame,
    partition_info: DataFrame,
    kept: KeptFrames,
) -> CoordinatorLog:
    """A log of which only what belongs to some producers is unpacked, each time they are asked."""
    made = kept.keep(decisions(placed))

    def decisions_of(producers: DataFrame) -> DataFrame:
        mine = made.join(producers, on="producer_id", how="left_semi")
        asked = mine.unionByName(_named(_of(folded, "decisions", DECISIONS, producers)))
        return with_what_is_replicated(asked, partition_info)

    def epochs_of(producers: DataFrame) -> DataFrame:
        unpacked = _placed(_of(folded, "records", RECORDS, producers), before)
        known = epoch_histories(
            placed.unionByName(unpacked, allowMissingColumns=True), partition_info
        )
        return known.join(producers, on="producer_id", how="left_semi")

    def with_blocks(blocks: DataFrame) -> DataFrame:
        return with_what_is_replicated(made.unionByName(_named(blocks)), partition_info)

    every = with_blocks(_all(folded, "decisions", DECISIONS))
    not_plain = every if folded.keys is None else with_blocks(_not_plain(folded, folded.keys))
    return CoordinatorLog(placed, folded.unevaluated, every, not_plain, decisions_of, epochs_of)


def _before_each(splits: DataFrame) -> DataFrame:
    """One row a split with records: what the splits of its partition before it add up to.

    records_before (their number), alive_before (ms, the pause up to its first record included),
    latest_before (newest timestamp, ms; null for none).
    """
    order = Window.partitionBy("partition_index").orderBy("base_offset", "split_start")
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    summaries = splits.filter(F.col("coordinator").isNotNull()).select(
        "partition_index", "file_index", "split_start", "base_offset", "coordinator.*"
    )
    pause = F.try_subtract("first_timestamp", F.lag("last_timestamp").over(order))
    paused = summaries.withColumn("pause", F.coalesce(counted_pause(pause), F.lit(0)))
    return paused.select(
        "file_index",
        "split_start",
        F.coalesce(F.sum("records").over(before), F.lit(0)).alias("records_before"),
        (F.coalesce(F.sum("alive_ms").over(before), F.lit(0)) + F.sum("pause").over(order)).alias(
            "alive_before"
        ),
        F.max("latest_timestamp").over(before).alias("latest_before"),
    )


def _placed(txn_log_records: DataFrame, before: DataFrame) -> DataFrame:
    """Records numbered and dated from the beginning of their partition."""
    joined = inner(txn_log_records, small(before), on=["file_index", "split_start"])
    counted = joined.withColumn("ordinal", F.col("ordinal") + F.col("records_before"))
    if "alive_ms" in txn_log_records.columns:
        counted = counted.withColumns(
            {
                "alive_ms": F.col("alive_ms") + F.col("alive_before"),
                "latest_timestamp": F.greatest("latest_timestamp", "latest_before"),
            }
        )
    return counted.drop("records_before", "alive_before", "latest_before")


def _named(unpacked: DataFrame) -> DataFrame:
    """Unpacked decisions with the names of their place that all decisions have."""
    return unpacked.withColumnsRenamed(
        {"partition_index": "coordinator_index", "file_index": "record_file_index"}
    ).drop("split_start")


def _blocks(folded: Folded, what: str) -> DataFrame:
    place = [field.name for field in PLACE]
    return folded.blocks.filter(F.col(what) > 0).select(*place, f"{what}_block")


def _all(folded: Folded, what: str, rows: StructType) -> DataFrame:
    return _blocks(folded, what).mapInArrow(unpack_blocks, rows)


def _not_plain(folded: Folded, keys: NDArray[np.uint64]) -> DataFrame:
    """Decisions of the epochs with these keys."""
    blocks = _blocks(folded, "decisions")
    if not keys.size:
        return local_frame(blocks.sparkSession, [], DECISIONS)
    return blocks.mapInArrow(unpack_marked(keys), DECISIONS)


def _of(folded: Folded, what: str, rows: StructType, producers: DataFrame) -> DataFrame:
    """Rows of the blocks about the given producers only: the others never leave Python."""
    wanted = producers.agg(F.array_sort(F.collect_set("producer_id")).alias("wanted"))
    blocks = _blocks(folded, what).crossJoin(F.broadcast(wanted))
    columns = blocks.select("wanted", *[name for name in blocks.columns if name != "wanted"])
    return columns.mapInArrow(unpack_rows_of_producers, rows)
