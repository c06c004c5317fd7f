"""Bytes to rows: reads every file once, and checks the seams of the splits."""

import pickle
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from jobs.decode.cluster_metadata import read_clusters
from jobs.decode.plain_epochs import plain_epochs
from jobs.decode.splits import pack_splits, plan_splits, seams_of_offsets
from jobs.model.cluster import Clusters
from jobs.model.decoded import Decoded
from jobs.model.dump import Dump
from jobs.model.settings import Settings
from jobs.model.superseded import Reach, leave_out, superseded
from jobs.model.unread import LeftOut, leave_out_unread
from jobs.spark.joins import inner
from jobs.spark.session import TASKS_A_CORE
from schemas import log_row
from schemas.log_row import LOG_ROW
from schemas.topics import OFFSETS_TOPIC
from udfs.arrow.batches import DecodeOptions
from udfs.arrow.read_pack import read_packs
from udfs.rules.logic import surely

# Bytes of a split that is the whole file.
WHOLE = 1 << 62
METADATA_KINDS = ("metadata_log", "metadata_snapshot")
# Counters of `Decoded`: the kind of rows that have it, and what is summed there.
COUNTED: dict[str, tuple[int, str | Column]] = {
    "regular": (log_row.REGULAR, "regular.number"),
    "aborts": (log_row.REGULAR, "regular.aborts"),
    "index_entries": (log_row.ABORTED, "aborted.number"),
    "following": (log_row.RUN, "bigint(follows)"),
    "commits": (log_row.COMMITS, "commits.transactional"),
    "pending": (log_row.PENDING_COMMIT, "pending.number"),
    "skipped_group_records": (log_row.SUMMARY, "summary.skipped_group_records"),
    "faults_left_out": (log_row.SUMMARY, "summary.faults_left_out"),
    "side_file_entries": (log_row.SUMMARY, "summary.side_file_entries"),
    "folded_rows": (log_row.FOLDED, "folded.records + folded.decisions"),
    "unevaluated": (log_row.SUMMARY, "summary.coordinator.unevaluated"),
    "snapshot_entries": (
        log_row.PRODUCER_STATES,
        "producer_states.number * int(producer_states.of_snapshot)",
    ),
    "snapshot_states": (log_row.PRODUCER_STATES, "producer_states.number"),
}


def decode_options(
    settings: Settings, depth: str, expiration_ms: int | None = None
) -> DecodeOptions:
    """What the decoder needs to know of the settings; `expiration_ms`: where brokers have less."""
    return DecodeOptions(
        max_batch_bytes=settings.max_batch_bytes,
        max_decompressed_bytes=settings.max_decompressed_bytes,
        producer_expiration_ms=expiration_ms or settings.producer_id_expiration_ms,
        with_records=depth == "records",
    )


def decode(spark: SparkSession, dump: Dump, settings: Settings, depth: str) -> Decoded:
    """Reads all files of the dump once; the rows are persisted and complete on return.

    Segments that the cleaner had replaced while the dump was copied are taken out of `dump`, and
    copies of partitions that were not read as they had been listed.
    """
    splits = plan_splits(dump, settings.split_bytes)
    clusters, parts = _metadata_first(spark, dump, settings, depth, splits)
    # Where a producer pauses is asked while batches are folded.
    shortest = clusters.shortest_expiration_ms(settings.producer_id_expiration_ms)
    options = decode_options(settings, depth, shortest)
    rest = [split for split in splits if not parts or split["kind"] not in METADATA_KINDS]
    parts.append(_read(spark, rest, options))
    reading = _Reading(spark, options, reduce(DataFrame.unionByName, parts), parts, splits)
    seams = _seams(reading.rows)
    gone = [leave_out_unread(dump, seams.unread)]
    broken = seams.broken - gone[0].files
    found = reading.again(broken, _splits_of(broken, dump, WHOLE))
    gone.append(leave_out_unread(dump, found.unread))
    # A split that began in the wrong place does not tell what its segment holds.
    told = {one: reach for one, reach in seams.reaching.items() if one not in broken}
    told |= found.reaching
    touched = leave_out(dump, superseded(dump, told, clusters), told)
    anew = _splits_of(touched & broken, dump, WHOLE)
    anew += _splits_of(touched - broken, dump, settings.split_bytes)
    gone.append(leave_out_unread(dump, reading.again(touched, anew).unread))
    rows, splits = reading.rows, reading.splits
    if any(split["file_index"] in broken and split["kind"] in METADATA_KINDS for split in splits):
        clusters = read_clusters(dump, rows).with_told(dump.told)
    for left_out in gone:
        rows = _without(left_out, rows)
        splits = [split for split in splits if split["file_index"] not in left_out.files]
        if left_out.metadata:
            clusters = read_clusters(dump, rows).with_told(dump.told)
    made = _counted(dump, rows, parts, splits, clusters, options.producer_expiration_ms)
    made = replace(made, plain=plain_epochs(made, dump, settings.clock_tolerance_ms))
    return replace(made, rows=rows.coalesce(1)) if made.fits_one_task() else made


def _splits_of(files: set[int], dump: Dump, split_bytes: int) -> list[dict[str, object]]:
    splits = plan_splits(dump, split_bytes) if files else []
    return [split for split in splits if split["file_index"] in files]


@dataclass
class _Reading:
    """The rows that were read so far, the frames that are kept for them, and their splits."""

    spark: SparkSession
    options: DecodeOptions
    rows: DataFrame
    parts: list[DataFrame]
    splits: list[dict[str, object]]

    def again(self, files: set[int], splits: list[dict[str, object]]) -> "Seams":
        """Reads `splits` in place of all that was read of `files` (file_index)."""
        if files:
            self.rows = self.rows.filter(~F.col("file_index").isin(*files))
            self.splits = [one for one in self.splits if one["file_index"] not in files] + splits
        if not splits:
            return Seams(set(), {}, set())
        self.parts.append(_read(self.spark, splits, self.options))
        self.rows = self.rows.unionByName(self.parts[-1])
        return _seams(self.parts[-1])


def _without(gone: LeftOut, rows: DataFrame) -> DataFrame:
    """The rows without those of partitions that were not read as they had been listed.

    The digests of their files stay, so that the audit is another one than that of the whole dump.
    """
    if not gone.files:
        return rows
    left_out = F.col("file_index").isin(*gone.metadata)
    if gone.partitions:
        of_partition = F.col("partition_index").isin(*gone.partitions)
        left_out |= surely(of_partition)
    summary = F.col("kind") == log_row.SUMMARY
    kept = rows.filter(~left_out | summary)
    return kept.withColumn("partition_index", F.when(~left_out, F.col("partition_index")))


def _counted(
    dump: Dump,
    rows: DataFrame,
    parts: list[DataFrame],
    splits: list[dict[str, object]],
    clusters: Clusters,
    expiration_ms: int,
) -> Decoded:
    """The rows with how many there are of each kind; counting them reads all files."""
    offsets = [p.partition_index for p in dump.partitions if p.topic == OFFSETS_TOPIC]
    in_offsets = F.col("partition_index").isin(*offsets)
    sums = COUNTED | {"offset_runs": (log_row.RUN, in_offsets.cast("long"))}
    counted = rows.groupBy("kind").agg(
        F.count("*").alias("rows"),
        *[
            F.sum(F.expr(number) if isinstance(number, str) else number).alias(name)
            for name, (_, number) in sums.items()
        ],
    )
    by_kind = {row.kind: row.asDict() for row in counted.collect()}
    found: dict[str, Any] = {
        name: by_kind.get(kind, {}).get(name) or 0 for name, (kind, _) in sums.items()
    }
    near_ends = found.pop("commits") + found.pop("pending")
    return Decoded(
        rows=rows,
        parts=parts,
        counts={kind: row["rows"] for kind, row in by_kind.items()},
        commits_at_seams=near_ends if seams_of_offsets(splits) else 0,
        producer_expiration_ms=expiration_ms,
        splits=splits,
        clusters=clusters,
        **found,
    )


def _metadata_first(
    spark: SparkSession,
    dump: Dump,
    settings: Settings,
    depth: str,
    splits: list[dict[str, object]],
) -> tuple[Clusters, list[DataFrame]]:
    """The facts of `__cluster_metadata` and of what brokers told, and the rows of the former."""
    first = [split for split in splits if split["kind"] in METADATA_KINDS]
    if not first:
        return Clusters().with_told(dump.told), []
    rows = _read(spark, first, decode_options(settings, depth))
    return read_clusters(dump, rows).with_told(dump.told), [rows]


def _read(
    spark: SparkSession, splits: list[dict[str, object]], options: DecodeOptions
) -> DataFrame:
    packs = pack_splits(splits, spark.sparkContext.defaultParallelism * TASKS_A_CORE)
    # Not in the tasks: each of the later queries over the rows would send them with every task.
    plans = spark.sparkContext.broadcast([zlib.compress(pickle.dumps(pack)) for pack in packs])
    numbers = spark.range(0, len(packs), 1, max(len(packs), 1))

    def read(batches: Iterator) -> Iterator:  # type: ignore[type-arg]
        chosen = (plans.value[one] for batch in batches for one in batch.column(0).to_pylist())
        return read_packs((pickle.loads(zlib.decompress(pack)) for pack in chosen), options)

    return numbers.mapInArrow(read, LOG_ROW).persist(StorageLevel.MEMORY_AND_DISK)


class Seams(NamedTuple):
    """Files by what is wrong where their splits meet, or the files themselves: file_index.

    `broken`: with a broken seam. `reaching`: that hold offsets of the next segment. `unread`: that
    were not read as they had been listed.
    """

    broken: set[int]
    reaching: dict[int, Reach]
    unread: set[int]


def _seams(rows: DataFrame) -> Seams:
    """What the summaries of the splits say when they are held against each other.

    A seam is broken where a split did not begin where the batches of those before it ended.

    A split in the middle of a segment finds its first batch by searching for one that can be
    proven; bytes inside a record may look like a batch too. The chain of batches from the start
    of the file is the truth, and each seam is held against it.
    """
    seams = Window.partitionBy("file_index").orderBy("split_start")
    before = seams.rowsBetween(Window.unboundedPreceding, -1)
    splits = rows.filter(F.col("kind") == log_row.SUMMARY).select(
        "file_index", "split_start",
        *[f"summary.{name}" for name in ("first_found", "end", "length", "reaches_next",
                                         "first_offset", "last_offset", "cleaner_traces", "absent",
                                         "shrank")],
    )  # fmt: skip
    # A split in which no batch starts passes on where the chain before it had arrived.
    arrived = F.when(F.col("first_found").isNotNull(), F.struct("end"))
    # What the cleaner took may lie between two splits.
    gap = F.col("first_offset") > F.last("last_offset", ignorenulls=True).over(before) + 1
    taken = F.col("cleaner_traces") | (F.col("absent") > 0) | gap
    judged = splits.withColumns(
        {"arrived": F.last(arrived, ignorenulls=True).over(before), "taken": surely(taken)}
    ).withColumn("cleaned", F.max("taken").over(Window.partitionBy("file_index")))
    other_first = F.col("arrived.end") != F.col("first_found")
    # The chain ends in a split where no batch starts: the bytes there are not reported yet.
    nothing_there = F.col("first_found").isNull() & (
        F.col("arrived.end") < F.col("split_start") + F.col("length")
    )
    broken = (F.col("split_start") > 0) & surely(other_first | nothing_there)
    found = judged.withColumn("broken", broken).filter(
        F.col("broken") | F.col("reaches_next") | F.col("shrank")
    )
    by_file = found.groupBy("file_index").agg(
        F.max("broken").alias("broken"),
        F.max("reaches_next").alias("reaches_next"),
        F.max("last_offset").alias("last_offset"),
        F.max("cleaned").alias("cleaned"),
        F.max("shrank").alias("shrank"),
    )
    totals = by_file.collect()
    reaching = {
        row.file_index: Reach(row.last_offset, bool(row.cleaned))
        for row in totals
        if row.reaches_next
    }
    return Seams(
        broken={row.file_index for row in totals if row.broken},
        reaching=reaching,
        unread={row.file_index for row in totals if row.shrank},
    )


def failures(decoded: Decoded, files: DataFrame) -> DataFrame:
    """Damaged byte ranges, joined over the splits of a file, with the offsets around them.

    Columns: partition_index, file_index, first_byte, end_byte (exclusive), reason, frame_bytes,
    previous_last_offset, next_offset, at_end. Where no batch of the file lies before or after,
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
    damaged = inner(
        decoded.nested(log_row.FAILURE, "failure"), around, on=["file_index", "split_start"]
    )
    names = files.select("file_index", "ends_at", "base_offset", "next_base_offset")
    joined = inner(damaged, names, on="file_index")
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
