"""The aborted transactions of each partition, and what the indexes of its segments say of them.

Most of both are packed and agree; only disagreeing ones and their neighbours become rows.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.model.decoded import UNPACKED_ABORTS, UNPACKED_ENTRIES
from jobs.replay.transactions import abort_markers
from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames
from jobs.spark.local import local_frame
from jobs.spark.session import FEWEST_SHUFFLE_PARTITIONS
from schemas.log_row import LOG_ROW
from udfs.arrow.aborted_lists import (
    ABORT,
    AGREED,
    AGREED_ROW,
    CELL,
    ENTRY,
    MATCHED,
    SEGMENT,
    match_segments,
)
from udfs.arrow.blocks import unpack_blocks
from udfs.wire.side_files.aborted_list import NEVER, LongTransactions, long_transactions

# Three numbers each, in every task.
MOST_LONG = 1_000_000
# Some sixty bytes each, packed.
ROWS_A_TASK = 500_000
ROWS = {
    ABORT: UNPACKED_ABORTS,
    ENTRY: UNPACKED_ENTRIES,
    AGREED: StructType([LOG_ROW["partition_index"], *AGREED_ROW.fields]),
}


@dataclass(frozen=True)
class FoldedAborts:
    """Aborted transactions and entries of indexes, as the decoder folded them away.

    `aborts`: rows of `log_row.REGULAR_ABORT`; `entries`: rows of `log_row.ABORTED_ENTRY`.
    `packed`: both in blocks, partition_index and the columns of `aborted_lists.CELL`; None where
    they are too few to be worth it; `number` rows in all. `newest`: file_index, newest_entry (the
    largest marker offset in that index).
    """

    aborts: DataFrame
    entries: DataFrame
    packed: DataFrame | None
    number: int
    newest: DataFrame


@dataclass(frozen=True)
class AbortedLists:
    """`markers`: rows of `transactions.abort_markers`; `entries`: rows of `log_row.ABORTED_ENTRY`.

    Neither has the `number` pairs of an aborted transaction and its entry that agree; those are
    in `agreed`, rows of `aborted_lists.AGREED_ROW`. `newest`: see FoldedAborts.
    """

    markers: DataFrame
    entries: DataFrame
    newest: DataFrame
    number: int = 0
    agreed: DataFrame | None = None

    def aborted(self) -> DataFrame:
        """Aborted transactions with data: what a broker answers a read_committed consumer.

        partition_index, producer_id, first_offset, marker_offset and last_stable_offset.
        """
        names = ["partition_index", *AGREED_ROW.names]
        of_markers = self.markers.filter(F.col("first_offset").isNotNull()).select(*names)
        return of_markers if self.agreed is None else of_markers.unionByName(self.agreed)


def aborted_lists(
    folded: FoldedAborts, transactions: DataFrame, files: DataFrame, kept: KeptFrames
) -> AbortedLists:
    """All ABORT markers and all entries of indexes. `transactions`: those that replay met."""
    long_ones = None if folded.packed is None else _long_ones(transactions)
    if folded.packed is None or long_ones is None:
        markers = kept.keep(abort_markers(transactions, folded.aborts))
        return AbortedLists(markers, folded.entries, folded.newest)
    # The blocks of all segments of a task are in memory at once.
    tasks = FEWEST_SHUFFLE_PARTITIONS + folded.number // ROWS_A_TASK
    matched = kept.keep(_matched(folded.packed, files, long_ones, tasks))
    counts = matched.groupBy("partition_index", "matched_as").agg(
        F.sum("number").alias("number"), F.max("outside").alias("outside")
    )
    rows = counts.collect()
    strange = sorted({row.partition_index for row in rows if row.outside})
    numbers = Counter[str]()
    for row in rows:
        numbers[row.matched_as] += 0 if row.partition_index in strange else row.number

    def unpacked(matched_as: str, whole: DataFrame | None = None) -> DataFrame:
        spark, schema = matched.sparkSession, ROWS[matched_as]
        blocks = matched.filter(
            (F.col("matched_as") == matched_as) & ~F.col("partition_index").isin(*strange)
        ).select("partition_index", "rows")
        known = (
            blocks.mapInArrow(unpack_blocks, schema)
            if numbers[matched_as]
            else local_frame(spark, [], schema)
        )
        if whole is None or not strange:
            return known
        return known.unionByName(whole.filter(F.col("partition_index").isin(*strange)))

    return AbortedLists(
        markers=kept.keep(abort_markers(transactions, unpacked(ABORT, folded.aborts))),
        entries=unpacked(ENTRY, folded.entries),
        newest=folded.newest,
        number=numbers[AGREED],
        agreed=unpacked(AGREED),
    )


def _matched(
    packed: DataFrame, files: DataFrame, long_ones: dict[int, LongTransactions], tasks: int
) -> DataFrame:
    """Rows of MATCHED: each segment held against its index."""

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return match_segments(batches, long_ones)

    places = files.select("file_index", "base_offset", "next_base_offset")
    segment = ["partition_index", "base_offset", "next_base_offset"]
    of_segment = (
        inner(packed, small(places), on="file_index")
        .repartition(tasks, *segment)
        .groupBy(*segment)
        .agg(F.collect_list(F.struct(*CELL.names)).alias("cells"))
    )
    return of_segment.select(*SEGMENT.names).mapInArrow(match, MATCHED)


def _long_ones(transactions: DataFrame) -> dict[int, LongTransactions] | None:
    """The transactions that are not regular, by partition; None where they are too many."""
    ends = F.coalesce("marker_offset", F.lit(NEVER))
    chosen = (
        transactions.filter(F.col("first_offset").isNotNull())
        .select("partition_index", ends.alias("ends"), "first_offset")
        .limit(MOST_LONG + 1)
        .toArrow()
    )
    if chosen.num_rows > MOST_LONG:
        return None
    partition, end, began = (chosen.column(name).to_numpy() for name in chosen.schema.names)
    order = np.argsort(partition, kind="stable")
    partitions, starts = np.unique(partition[order], return_index=True)
    return {
        int(one): long_transactions(end[mine], began[mine])
        for one, mine in zip(partitions, np.split(order, starts[1:]), strict=False)
    }
