"""What the decoder made of a dump: rows of many kinds, and views of them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyarrow import Table
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from jobs.model.cluster import Clusters
from jobs.model.plain_epochs import PlainEpochs
from jobs.spark.joins import small
from jobs.spark.local import local_frame, no_rows_like
from schemas import log_row
from schemas.columns import binary, table
from schemas.log_row import LOG_ROW
from udfs.arrow.blocks import (
    Unpack,
    unpack_blocks,
    unpack_epochs,
    unpack_marked,
    unpack_raised,
    unpack_rows_of_producers,
)

OF_PARTITION = [LOG_ROW["partition_index"], LOG_ROW["file_index"]]
UNPACKED = StructType([*OF_PARTITION, *log_row.REGULAR_TXN.fields])
UNPACKED_ABORTS = StructType([*OF_PARTITION, *log_row.REGULAR_ABORT.fields])
UNPACKED_ENTRIES = StructType([*OF_PARTITION, *log_row.ABORTED_ENTRY.fields])
KEYS = table(binary("keys", "some `blocks.epoch_keys`"))
UNPACKED_COMMITS = StructType(
    [*OF_PARTITION, LOG_ROW["split_start"], *log_row.OFFSET_COMMIT.fields]
)
# Fewer are rows before anything could be made of them packed.
MANY_ABORTS = 2_000
# Up to this many rows, a second task of a query costs more than it saves.
ROWS_OF_ONE_TASK = 50_000
# Up to so many records and decisions of the coordinator in blocks are unpacked once.
FEW_FOLDED = 200_000
# So many epochs go to every task.
MOST_CHOSEN = 4_000_000
EPOCH_BYTES = 8


def unpacked_when_asked(folded_rows: int) -> bool:
    """Whether what was folded away of the coordinator's log is too much to be kept as rows."""
    return folded_rows > FEW_FOLDED


@dataclass(frozen=True)
class Decoded:
    """Rows of `schemas.log_row.LOG_ROW`, read once and kept; one row is what its `kind` says.

    `parts`: the frames that were kept. `counts`: kind -> number of rows. `regular`: transactions
    that were folded away, `aborts` of them aborted. `index_entries`: entries of `.txnindex` files.
    `following`: runs that follow one of those. `offset_runs`: transactional runs of
    `__consumer_offsets`; `commits_at_seams`: transactional commits near a seam of its splits.
    `skipped_group_records`: records of newer kinds of groups, which are not decoded.
    `faults_left_out`: faults of the decoder that were only counted.
    `side_file_entries`: entries of indexes and leader-epoch-checkpoints that were compared.
    `folded_rows`: records and decisions of the coordinator that were folded away; `unevaluated`:
    its records that need no look. `snapshot_entries`: states of producers in producer snapshots;
    `snapshot_states`: these and what batches before one changed, which an empty one may lack.
    `producer_expiration_ms`: after how long a broker may have forgotten a producer, by what brokers
    were given and by the configuration. `splits`: of `schemas.log_row.SPLIT`, as they were read in
    the end. `clusters`: what `__cluster_metadata` tells. `plain`: epochs of which nothing needs to
    be unpacked; None where that was not asked.
    """

    rows: DataFrame
    parts: list[DataFrame]
    counts: dict[int, int]
    regular: int
    aborts: int
    index_entries: int
    following: int
    offset_runs: int
    commits_at_seams: int
    skipped_group_records: int
    faults_left_out: int
    side_file_entries: int
    folded_rows: int
    unevaluated: int
    snapshot_entries: int
    snapshot_states: int
    producer_expiration_ms: int
    splits: list[dict[str, object]]
    clusters: Clusters
    plain: PlainEpochs | None = None

    def kind(self, kind: int) -> DataFrame:
        """The rows of one kind; a kind without rows costs no pass and no join later on."""
        if self.counts.get(kind):
            return self.rows.filter(F.col("kind") == kind)
        return no_rows_like(self.rows)

    def nested(self, kind: int, column: str) -> DataFrame:
        """The rows of one kind with the fields of its struct as columns."""
        return self.kind(kind).select("partition_index", "file_index", "split_start", f"{column}.*")

    def runs(self) -> DataFrame:
        """Producer runs, one row a run."""
        names = [field.name for field in log_row.RUN_COLUMNS]
        return self.kind(log_row.RUN).select("partition_index", "file_index", "split_start", *names)

    def regular_aborts(self) -> DataFrame:
        """Regular transactions that were aborted: partition, file and `log_row.REGULAR_ABORT`."""
        return self._unpacked(self.aborts, log_row.REGULAR, "regular.aborted", UNPACKED_ABORTS)

    def aborted_entries(self) -> DataFrame:
        """Entries of `.txnindex` files: partition, file and `log_row.ABORTED_ENTRY`."""
        number = self.index_entries
        return self._unpacked(number, log_row.ABORTED, "aborted.entries", UNPACKED_ENTRIES)

    def aborts_are_many(self) -> bool:
        """Whether it pays to look through regular aborted transactions before they are rows."""
        return self.aborts >= MANY_ABORTS

    def matches_aborts(self) -> bool:
        """The same of holding them against indexes, of which there must be some."""
        return self.aborts_are_many() and self.index_entries > 0

    def packed_aborts(self) -> DataFrame:
        """Both, packed: partition_index, file_index, of_index (entries of an index), rows."""
        of_index = F.col("kind") == log_row.ABORTED
        blocks = self.rows.filter(of_index | (F.col("kind") == log_row.REGULAR)).select(
            "partition_index",
            "file_index",
            of_index.alias("of_index"),
            F.coalesce("regular.aborted", "aborted.entries").alias("rows"),
        )
        return blocks.filter(F.col("rows").isNotNull())

    def newest_entries(self) -> DataFrame:
        """file_index, newest_entry: the largest marker offset in each index."""
        entries = self.kind(log_row.ABORTED).groupBy("file_index")
        return entries.agg(F.max("aborted.newest").alias("newest_entry"))

    def regular_transactions(self) -> DataFrame:
        """Transactions that were folded away: partition, file and `log_row.REGULAR_TXN`."""
        return self._unpacked(self.regular, log_row.REGULAR, "regular.transactions", UNPACKED)

    def regular_of(self, producers: DataFrame) -> DataFrame:
        """Those of the producers (distinct, column producer_id); the others never leave Python."""
        if not self.regular:
            return self.regular_transactions()
        wanted = producers.agg(F.array_sort(F.collect_set("producer_id")).alias("wanted"))
        blocks = (
            self.kind(log_row.REGULAR)
            .select("partition_index", "file_index", "regular.transactions")
            .filter(F.col("transactions").isNotNull())
        )
        asked = blocks.crossJoin(F.broadcast(wanted)).select("wanted", *blocks.columns)
        return asked.mapInArrow(unpack_rows_of_producers, UNPACKED)

    def regular_in(self, partitions: DataFrame) -> DataFrame:
        """Those of some partitions (distinct, column partition_index); others stay packed."""
        if not self.regular:
            return self.regular_transactions()
        packed = self.kind(log_row.REGULAR).filter(F.col("regular.transactions").isNotNull())
        asked = packed.join(small(partitions), on="partition_index", how="left_semi")
        return asked.select("partition_index", "file_index", "regular.transactions").mapInArrow(
            unpack_blocks, UNPACKED
        )

    def regular_blocks(self) -> DataFrame | None:
        """All of them, packed: partition_index and the block; None where there are none."""
        if not self.regular:
            return None
        blocks = self.kind(log_row.REGULAR).select("partition_index", "regular.transactions")
        return blocks.filter(F.col("transactions").isNotNull())

    def decision_blocks(self) -> DataFrame:
        """Decisions that were folded away, packed: partition_index and the block."""
        blocks = self.kind(log_row.FOLDED).filter("folded.decisions > 0")
        return blocks.select("partition_index", "folded.decisions_block")

    def regular_not_plain(self) -> DataFrame:
        """The same as `regular_transactions`, without those of plain epochs."""
        if self.plain is None:
            return self.regular_transactions()
        number, unpack = self.regular if self.plain.keys.size else 0, unpack_marked(self.plain.keys)
        return self._unpacked(number, log_row.REGULAR, "regular.transactions", UNPACKED, unpack)

    def commits_of(self, epochs: NDArray[np.uint64] | None) -> DataFrame:
        """Those of them that were committed, the same columns; with `epochs` of those only.

        `epochs`: `blocks.epoch_keys` in ascending order. They are chosen where they are unpacked,
        so that Spark meets no other.
        """
        if epochs is None:
            return self.regular_transactions().filter("marker_commit")
        number, unpack = self.regular if epochs.size else 0, unpack_epochs(epochs, True)
        return self._unpacked(number, log_row.REGULAR, "regular.transactions", UNPACKED, unpack)

    def aborts_of(self, epochs: NDArray[np.uint64]) -> DataFrame:
        """The same of those that were aborted: columns of `regular_aborts`."""
        number, unpack = self.aborts if epochs.size else 0, unpack_epochs(epochs, False)
        return self._unpacked(number, log_row.REGULAR, "regular.aborted", UNPACKED_ABORTS, unpack)

    def undecided_epochs(self, history: Table) -> NDArray[np.uint64] | None:
        """Epochs of aborted transactions whose marker raised it, as `blocks.epoch_keys`.

        None where they are more than MOST_CHOSEN. `history`: producer_id, and the epochs
        known_above and newest_epoch between which all decisions are known; such are left out.
        """
        history = history.sort_by("producer_id")
        names = ("known_above", "producer_id", "newest_epoch")
        unpack = unpack_raised(*[history[name].to_numpy() for name in names])
        cells = self._unpacked(self.aborts, log_row.REGULAR, "regular.aborted", KEYS, unpack)
        if self.aborts > MOST_CHOSEN:
            size = cells.agg(F.sum(F.length("keys")).alias("bytes")).collect()[0].bytes or 0
            if size > MOST_CHOSEN * EPOCH_BYTES:
                return None
        keys = [np.frombuffer(row.keys, np.uint64) for row in cells.collect()]
        return np.unique(np.concatenate([np.empty(0, np.uint64), *keys]))

    def _unpacked(
        self, number: int, kind: int, blocks: str, schema: StructType,
        unpack: Unpack = unpack_blocks,
    ) -> DataFrame:  # fmt: skip
        """What lies packed in a column of a kind; of a `number` of 0 nothing is planned."""
        if not number:
            return local_frame(self.rows.sparkSession, [], schema)
        packed = self.kind(kind).filter(F.col(blocks).isNotNull())
        return packed.select("partition_index", "file_index", blocks).mapInArrow(unpack, schema)

    def commits(self) -> DataFrame:
        """Offset commits near the seams of splits: place of the split, `log_row.OFFSET_COMMIT`."""
        if not self.commits_at_seams:
            return local_frame(self.rows.sparkSession, [], UNPACKED_COMMITS)
        pending = self.nested(log_row.PENDING_COMMIT, "pending")
        return self.effective_commits().unionByName(pending)

    def effective_commits(self) -> DataFrame:
        """Commits that took effect near the ends of their split, the newest of each key among them.

        Columns: place of the split, `log_row.OFFSET_COMMIT`.
        """
        blocks = self.kind(log_row.COMMITS).select(
            "partition_index", "file_index", "split_start", "commits.commits"
        )
        return blocks.mapInArrow(unpack_blocks, UNPACKED_COMMITS)

    def unpacked_rows(self) -> int:
        """Rows of all kinds, without what is folded away or packed in them."""
        return sum(self.counts.values())

    def fits_one_task(self) -> bool:
        """Whether one task can go through all rows, those folded away included, in no time."""
        rows = self.unpacked_rows() + self.regular + self.index_entries + self.folded_rows
        return rows <= ROWS_OF_ONE_TASK

    def rows_to_replay(self) -> int:
        """Rows that window functions and checks will meet."""
        count = sum(
            self.counts.get(kind, 0)
            for kind in (log_row.RUN, log_row.TXN_LOG_RECORD, log_row.FRAME)
        )
        if self.counts.get(log_row.TXN_LOG_RECORD):
            # Decisions of the coordinator are held against every marker.
            count += self.regular if self.plain is None else self.plain.others
        if self.matches_aborts():
            return count + abs(self.aborts - self.index_entries)
        return count + self.aborts + self.index_entries

    def release(self) -> None:
        """Gives the memory of the rows back."""
        for part in self.parts:
            part.unpersist(blocking=True)
