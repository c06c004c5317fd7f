"""Bytes to rows: plans the splits, reads every file once, and checks the seams of the splits."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyarrow import Table
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from pyspark.sql.window import Window

from jobs._dump import Dump, DumpFile, DumpPartition, cleaned_below
from jobs._dump_layout import BESIDE_A_SEGMENT
from jobs._replicas import Cleaned, cleaned, coordinator_copies, cuts
from jobs._settings import Settings
from schemas import log_row
from schemas.columns import binary, table
from schemas.log_row import LOG_ROW, PACK
from schemas.topics import OFFSETS_TOPIC, TXN_LOG_TOPIC
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.blocks import Unpack, unpack_blocks, unpack_epochs, unpack_raised
from udfs.arrow.byte_range import DIGEST_BLOCK_BYTES
from udfs.arrow.read_pack import read_packs

OF_PARTITION = [LOG_ROW["partition_index"], LOG_ROW["file_index"]]
UNPACKED = StructType([*OF_PARTITION, *log_row.REGULAR_TXN.fields])
UNPACKED_ABORTS = StructType([*OF_PARTITION, *log_row.REGULAR_ABORT.fields])
UNPACKED_ENTRIES = StructType([*OF_PARTITION, *log_row.ABORTED_ENTRY.fields])
KEYS = table(binary("keys", "some `blocks.epoch_keys`"))
UNPACKED_COMMITS = StructType(
    [*OF_PARTITION, LOG_ROW["split_start"], *log_row.OFFSET_COMMIT.fields]
)
# offsets.topic.num.partitions by default.
USUAL_OFFSETS_PARTITIONS = 50
# Reading a small file costs about as much as decoding this many bytes.
COST_OF_A_FILE = 65_536
TASKS_A_CORE = 3
# Fewer are rows before anything could be made of them packed.
MANY_ABORTS = 2_000
# So many epochs go to every task.
MOST_CHOSEN = 4_000_000
EPOCH_BYTES = 8
SPLIT_KINDS = ("segment", "metadata_log", "metadata_snapshot")


@dataclass(frozen=True)
class Decoded:
    """Rows of `schemas.log_row.LOG_ROW`, read once and kept; one row is what its `kind` says.

    `counts`: kind -> number of rows. `regular`: transactions that were folded away,
    `aborts` of them aborted. `index_entries`: entries of `.txnindex` files.
    `following`: runs that follow one of those. `offset_runs`: transactional runs of
    `__consumer_offsets`; `commits_at_seams`: transactional commits near a seam of its splits.
    `skipped_group_records`: records of newer kinds of groups, which are not decoded.
    `side_entries`: entries of indexes and leader-epoch-checkpoints that were compared.
    `folded_rows`: records and decisions of the coordinator that were folded away; `unevaluated`:
    its records that need no look. `snapshot_entries`: states of producers in producer snapshots.
    `splits`: of `schemas.log_row.SPLIT`, as they were read in the end.
    """

    rows: DataFrame
    counts: dict[int, int]
    regular: int
    aborts: int
    index_entries: int
    following: int
    offset_runs: int
    commits_at_seams: int
    skipped_group_records: int
    side_entries: int
    folded_rows: int
    unevaluated: int
    snapshot_entries: int
    splits: list[dict[str, object]]

    def kind(self, kind: int) -> DataFrame:
        """The rows of one kind; a kind without rows costs no pass and no join later on."""
        if self.counts.get(kind):
            return self.rows.filter(F.col("kind") == kind)
        return self.rows.sparkSession.createDataFrame([], LOG_ROW)

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
        """partition_index, newest_entry: the largest marker offset in the indexes."""
        entries = self.kind(log_row.ABORTED).groupBy("partition_index")
        return entries.agg(F.max("aborted.newest").alias("newest_entry"))

    def regular_transactions(self) -> DataFrame:
        """Transactions that were folded away: partition, file and `log_row.REGULAR_TXN`."""
        return self._unpacked(self.regular, log_row.REGULAR, "regular.transactions", UNPACKED)

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

        None where they are more than MOST_CHOSEN. `history`: producer_id and known_above, the
        epoch above which it is known what was decided; such epochs are left out.
        """
        history = history.sort_by("producer_id")
        producers, above = (history[name].to_numpy() for name in ("producer_id", "known_above"))
        cells = self._unpacked(
            self.aborts, log_row.REGULAR, "regular.aborted", KEYS, unpack_raised(above, producers)
        )
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
            return self.rows.sparkSession.createDataFrame([], schema)
        packed = self.kind(kind).filter(F.col(blocks).isNotNull())
        return packed.select("partition_index", "file_index", blocks).mapInArrow(unpack, schema)

    def commits(self) -> DataFrame:
        """Offset commits near the seams of splits: place of the split, `log_row.OFFSET_COMMIT`."""
        if not self.commits_at_seams:
            return self.rows.sparkSession.createDataFrame([], UNPACKED_COMMITS)
        blocks = self.kind(log_row.COMMITS).select(
            "partition_index", "file_index", "split_start", "commits.commits"
        )
        pending = self.nested(log_row.PENDING_COMMIT, "pending")
        return blocks.mapInArrow(unpack_blocks, UNPACKED_COMMITS).unionByName(pending)

    def rows_to_replay(self) -> int:
        """Rows that window functions and checks will meet."""
        told = sum(self.counts.get(kind, 0) for kind in (log_row.RUN, log_row.ENTRY, log_row.FRAME))
        if self.counts.get(log_row.ENTRY):
            # Decisions of the coordinator are held against every marker.
            told += self.regular
        if self.matches_aborts():
            return told + abs(self.aborts - self.index_entries)
        return told + self.aborts + self.index_entries

    def release(self) -> None:
        """Gives the memory of the rows back."""
        self.rows.unpersist()


def plan_splits(dump: Dump, split_bytes: int) -> list[dict[str, object]]:
    """Splits of all files that are read: segments in pieces, everything else whole."""
    step = max(split_bytes - split_bytes % DIGEST_BLOCK_BYTES, 1) if split_bytes else 1
    if split_bytes < DIGEST_BLOCK_BYTES:
        step = max(split_bytes, 1)
    partitions = {p.partition_index: p for p in dump.partitions}
    of_offsets = offsets_partitions(dump)
    compared = offsets_compared(dump)
    cleaned_copies = copies_cleaned(dump)
    copied = coordinator_copies(dump)
    beside = files_beside(dump)
    bounds = snapshot_bounds(dump)
    splits = []
    for file in dump.files:
        if file.status == "skipped":
            continue
        owner = None if file.partition_index is None else partitions[file.partition_index]
        size = max(file.size, 1)
        piece = step if file.kind in SPLIT_KINDS and file.text is None else size
        for start in range(0, size, piece):
            split = _split(file, owner, start, min(piece, file.size - start))
            split["cuts"] = compared.get(file.partition_index)
            passed = cleaned_copies.get(file.partition_index)
            split["cleaner_reach"] = passed.reach if passed else None
            split["buckets"] = passed.buckets if passed else None
            split["single_copy"] = file.partition_index not in copied
            split["beside"] = beside.get(file.file_index)
            split["snapshots"] = _bounds_of(file, bounds.get(file.partition_index, []))
            splits.append(split | {"topic_partitions": of_offsets})
    return splits


def files_beside(dump: Dump) -> dict[int, list[dict[str, object]]]:
    """file_index of a segment -> the side files that are held against its batches."""
    named: dict[tuple[int | None, int | None], list[dict[str, object]]] = defaultdict(list)
    for file in dump.files:
        if file.kind in BESIDE_A_SEGMENT and file.status == "audited":
            named[file.partition_index, file.base_offset].append(
                {
                    "kind": file.kind,
                    "file_index": file.file_index,
                    "path": file.below_root,
                    "size": file.size,
                    "first_byte": file.text.first_byte if file.text else None,
                    "first_line": file.text.first_line if file.text else None,
                }
            )
    return {
        segment.file_index: [
            *named[one.partition_index, None],
            *named[one.partition_index, segment.base_offset],
        ]
        for one in dump.partitions
        for segment in one.segments
    }


def _compared_sets(dump: Dump) -> list[list[DumpPartition]]:
    """Copies of one partition that are compared with each other.

    `__transaction_state` is not: its records are (context `coordinator_copies`).
    """
    sets: dict[int, list[DumpPartition]] = defaultdict(list)
    for one in dump.partitions:
        if one.replica_set is not None and one.topic != TXN_LOG_TOPIC:
            sets[one.replica_set].append(one)
    return list(sets.values())


def offsets_compared(dump: Dump) -> dict[int | None, list[int]]:
    """partition_index -> where its blocks end, for all that are compared with other replicas."""
    bounded = [(copies, cuts(copies)) for copies in _compared_sets(dump)]
    return {one.partition_index: cut for copies, cut in bounded for one in copies if cut}


def copies_cleaned(dump: Dump) -> dict[int | None, Cleaned]:
    """partition_index -> how far the cleaner came, for all with several copies of what it left."""
    passed = [(copies, cleaned(copies)) for copies in _compared_sets(dump)]
    return {one.partition_index: reach for copies, reach in passed if reach for one in copies}


def snapshot_bounds(dump: Dump) -> dict[int | None, list[int]]:
    """partition_index -> offsets at which the state of its producers is known, in order.

    Those of its producer snapshots, and 0 where its log begins there. What lies in front of the
    first one cannot be replayed.
    """
    bases = {p.partition_index: p.segments[0].base_offset for p in dump.partitions if p.segments}
    found: dict[int | None, set[int]] = defaultdict(set)
    for file in dump.files:
        if file.kind != "producer_snapshot" or file.partition_index is None:
            continue
        base, offset = bases.get(file.partition_index), file.base_offset
        if base is not None and offset is not None and offset >= base:
            found[file.partition_index] |= {offset, 0} if base == 0 else {offset}
    return {partition: sorted(offsets) for partition, offsets in found.items()}


def _bounds_of(file: DumpFile, bounds: list[int]) -> list[int] | None:
    """Those in a segment or beside a snapshot, with the nearest before and behind.

    A partition may have thousands, and as many files.
    """
    if file.base_offset is None or file.kind not in ("segment", "producer_snapshot"):
        return None
    first, behind = file.base_offset, file.next_base_offset
    if file.kind == "producer_snapshot":
        first, behind = file.base_offset - 1, file.base_offset + 1
    start = max(bisect_right(bounds, first) - 1, 0)
    return bounds[start:] if behind is None else bounds[start : bisect_left(bounds, behind) + 1]


def offsets_partitions(dump: Dump) -> int | None:
    """How many partitions `__consumer_offsets` seems to have; None where the dump has none.

    A dump with all numbers up to its highest is taken for whole.
    """
    numbers = {p.partition for p in dump.partitions if p.topic == OFFSETS_TOPIC}
    if not numbers:
        return None
    seen = max(numbers) + 1
    return seen if len(numbers) == seen else max(seen, USUAL_OFFSETS_PARTITIONS)


def _seams_of_offsets(splits: list[dict[str, object]]) -> bool:
    """Whether a partition of `__consumer_offsets` is read in more than one split.

    A text is one split, but the decoder makes several of a long one.
    """
    of_topic = [
        split
        for split in splits
        if split["topic"] == OFFSETS_TOPIC and split["kind"] == "segment" and split["length"]
    ]
    read = [split["partition_index"] for split in of_topic]
    in_text = any(split["first_line"] is not None for split in of_topic)
    return in_text or len(read) > len(set(read))


def _split(
    file: DumpFile, owner: DumpPartition | None, start: int, length: int
) -> dict[str, object]:
    return {
        "partition_index": file.partition_index,
        "file_index": file.file_index,
        "root": file.root,
        "path": file.below_root,
        "kind": file.kind,
        "topic": file.topic,
        "partition": file.partition,
        "file_size": file.size,
        "base_offset": file.base_offset,
        "next_base_offset": file.next_base_offset,
        "cleaned_below": 0 if owner is None else cleaned_below(owner),
        "high_watermark": None if owner is None else owner.high_watermark,
        "log_base": owner.segments[0].base_offset if owner and owner.segments else None,
        "start": start,
        "length": length,
        "first_byte": file.text.first_byte if file.text else None,
        "first_line": file.text.first_line if file.text else None,
        "with_records": file.text.with_records if file.text else None,
        "decoded": file.text.decoded if file.text else None,
    }


def pack_splits(splits: list[dict[str, object]], tasks: int) -> list[list[dict[str, object]]]:
    """Spreads splits over about `tasks` packs of equal cost, keeping files of a folder together."""
    costs = [int(str(split["length"])) + COST_OF_A_FILE for split in splits]
    target = max(sum(costs) / max(tasks, 1), COST_OF_A_FILE * 16)
    packs: list[list[dict[str, object]]] = []
    filled = target
    for split, cost in zip(splits, costs, strict=True):
        if filled + cost / 2 > target:
            packs.append([])
            filled = 0
        packs[-1].append(split)
        filled += cost
    return packs


def decode_options(settings: Settings, depth: str) -> DecodeOptions:
    """What the decoder needs to know of the settings."""
    return DecodeOptions(
        max_batch_bytes=settings.max_batch_bytes,
        max_decompressed_bytes=settings.max_decompressed_bytes,
        producer_expiration_ms=settings.producer_id_expiration_ms,
        with_records=depth == "records",
    )


def decode(spark: SparkSession, dump: Dump, settings: Settings, depth: str) -> Decoded:
    """Reads all files of the dump once; the rows are persisted and complete on return."""
    options = decode_options(settings, depth)
    splits = plan_splits(dump, settings.split_bytes)
    rows = _read(spark, splits, options)
    broken = _files_with_broken_seams(rows)
    if broken:
        whole = plan_splits(dump, 1 << 62)
        again = [split for split in whole if split["file_index"] in broken]
        repaired = _read(spark, again, options)
        rows = rows.filter(~F.col("file_index").isin(*broken)).unionByName(repaired)
        splits = [split for split in splits if split["file_index"] not in broken] + again
    offsets = [p.partition_index for p in dump.partitions if p.topic == OFFSETS_TOPIC]
    in_offsets = F.col("partition_index").isin(*offsets)
    counted = rows.groupBy("kind").agg(
        F.count("*").alias("rows"),
        F.sum("regular.number").alias("regular"),
        F.sum("regular.aborts").alias("aborts"),
        F.sum("aborted.number").alias("index_entries"),
        F.sum(F.col("follows").cast("long")).alias("following"),
        F.sum(in_offsets.cast("long")).alias("offset_runs"),
        F.sum("commits.transactional").alias("commits"),
        F.sum("pending.number").alias("pending"),
        F.sum("summary.skipped_group_records").alias("skipped"),
        F.sum("summary.side_entries").alias("side_entries"),
        F.sum(F.col("folded.entries") + F.col("folded.decisions")).alias("folded"),
        F.sum("summary.coordinator.unevaluated").alias("unevaluated"),
        F.sum(F.expr("producer_states.number * int(producer_states.of_snapshot)")).alias("entries"),
    )
    told = {row.kind: row.asDict() for row in counted.collect()}

    def of(kind: int, name: str) -> int:
        return told[kind][name] or 0 if kind in told else 0

    near_ends = of(log_row.COMMITS, "commits") + of(log_row.PENDING_COMMIT, "pending")
    return Decoded(
        rows=rows,
        counts={kind: row["rows"] for kind, row in told.items()},
        regular=of(log_row.REGULAR, "regular"),
        aborts=of(log_row.REGULAR, "aborts"),
        index_entries=of(log_row.ABORTED, "index_entries"),
        following=of(log_row.RUN, "following"),
        offset_runs=of(log_row.RUN, "offset_runs"),
        commits_at_seams=near_ends if _seams_of_offsets(splits) else 0,
        skipped_group_records=of(log_row.SUMMARY, "skipped"),
        side_entries=of(log_row.SUMMARY, "side_entries"),
        folded_rows=of(log_row.FOLDED, "folded"),
        unevaluated=of(log_row.SUMMARY, "unevaluated"),
        snapshot_entries=of(log_row.PRODUCER_STATES, "entries"),
        splits=splits,
    )


def _read(
    spark: SparkSession, splits: list[dict[str, object]], options: DecodeOptions
) -> DataFrame:
    packs = pack_splits(splits, spark.sparkContext.defaultParallelism * TASKS_A_CORE)
    source = spark.createDataFrame(
        spark.sparkContext.parallelize([(pack,) for pack in packs], max(len(packs), 1)), PACK
    )

    def read(batches: Iterator) -> Iterator:  # type: ignore[type-arg]
        return read_packs(batches, options)

    return source.mapInArrow(read, LOG_ROW).persist(StorageLevel.MEMORY_AND_DISK)


def _files_with_broken_seams(rows: DataFrame) -> list[int]:
    """Files where a split did not begin where the batches of the splits before it ended.

    A split in the middle of a segment finds its first batch by searching for one that can be
    proven; bytes inside a record may look like a batch too. The chain of batches from the start
    of the file is the truth, and each seam is held against it.
    """
    seams = Window.partitionBy("file_index").orderBy("split_start")
    before = seams.rowsBetween(Window.unboundedPreceding, -1)
    splits = rows.filter(F.col("kind") == log_row.SUMMARY).select(
        "file_index", "split_start", "summary.first_found", "summary.end", "summary.length"
    )
    # A split in which no batch starts passes on where the chain before it had arrived.
    arrived = F.when(F.col("first_found").isNotNull(), F.struct("end"))
    judged = splits.withColumn("arrived", F.last(arrived, ignorenulls=True).over(before))
    other_first = F.col("arrived.end") != F.col("first_found")
    # The chain arrives in a split where no batch starts: what lies there nobody has told of.
    nothing_there = F.col("first_found").isNull() & (
        F.col("arrived.end") < F.col("split_start") + F.col("length")
    )
    broken = (F.col("split_start") > 0) & F.coalesce(other_first | nothing_there, F.lit(False))
    found = judged.filter(broken).select("file_index").distinct()
    return sorted(row.file_index for row in found.collect())


def failures(decoded: Decoded, files: DataFrame) -> DataFrame:
    """Damaged byte ranges, joined over the splits of a file, with the offsets around them.

    Columns: partition_index, file_index, first_byte, end_byte (exclusive), reason, frame_bytes,
    previous_last_offset, next_offset, at_end. Where no batch of the file lies before or behind,
    the offsets are those that the names of the segments promise. `files`: the listing.
    """
    splits = decoded.nested(log_row.SUMMARY, "summary").select(
        "file_index", "split_start", "first_found", "first_offset", "final_last_offset"
    )
    order = Window.partitionBy("file_index").orderBy("split_start")
    after = order.rowsBetween(1, Window.unboundedFollowing)
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    found = F.when(F.col("first_found").isNotNull(), F.struct("first_found", "first_offset"))
    around = splits.select(
        "file_index",
        "split_start",
        F.first(found, ignorenulls=True).over(after).alias("later"),
        F.last("final_last_offset", ignorenulls=True).over(before).alias("earlier_last_offset"),
    )
    damaged = decoded.nested(log_row.FAILURE, "failure").join(
        around, on=["file_index", "split_start"], how="inner"
    )
    names = files.select("file_index", "ends_at", "base_offset", "next_base_offset")
    joined = damaged.join(names, on="file_index", how="inner")
    end = F.coalesce("end_byte", "later.first_found", "ends_at")
    return joined.select(
        "partition_index",
        "file_index",
        "first_byte",
        end.alias("end_byte"),
        "reason",
        "frame_bytes",
        F.coalesce("previous_last_offset", "earlier_last_offset", F.col("base_offset") - 1).alias(
            "previous_last_offset"
        ),
        F.coalesce("next_offset", "later.first_offset", "next_base_offset").alias("next_offset"),
        (end >= F.col("ends_at")).alias("at_end"),
    )
