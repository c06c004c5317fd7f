"""Context `txn_index_entry`: one row is a `.txnindex` entry beside what replay says, or lacks."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.verify.conditions.missing import lost_between, marker_lost, missing_between
from jobs.verify.contexts.context import Context, with_paths
from udfs.rules import aborted_list
from udfs.rules.logic import surely


def _entries(aborted_entries: DataFrame, files: DataFrame) -> DataFrame:
    """Entries with the names of their file."""
    names = files.filter(F.col("kind") == "txn_index").select(
        "file_index", F.col("base_offset").alias("segment_base")
    )
    return inner(aborted_entries, small(names), on="file_index").select(
        F.col("partition_index").alias("entry_partition"),
        F.col("producer_id").alias("entry_producer"),
        F.col("last_offset").alias("entry_last"),
        F.struct(
            "file_index",
            "position",
            "length",
            "version",
            F.col("first_offset").alias("first"),
            F.col("last_offset").alias("last"),
            "last_stable_offset",
            "segment_base",
            "previous_last",
        ).alias("entry"),
    )


def _segments_of_markers(newest: DataFrame, files: DataFrame) -> DataFrame:
    """What stands beside each segment: marker_file_index and what follows.

    marker_segment_end: base offset of the next segment, null for the newest. newest_entry: largest
    marker offset in its index, null for none; `newest` has it by file_index. side_files_missing:
    a broker makes `.index` and `.timeindex` with the segment (`LogSegment.open`); where neither is
    there, the copy left out what lay beside the segment, and the `.txnindex` with it.
    """
    segment = F.col("kind") == "segment"
    beside = F.col("kind").isin("offset_index", "time_index", "txn_index")
    return (
        files.filter(beside | segment)
        .join(small(newest), on="file_index", how="left")
        .groupBy("partition_index", "base_offset")
        .agg(
            F.max(F.when(segment, F.col("file_index"))).alias("marker_file_index"),
            F.max(F.when(segment, F.col("next_base_offset"))).alias("marker_segment_end"),
            F.max("newest_entry").alias("newest_entry"),
            (F.count_if(beside) == 0).alias("side_files_missing"),
        )
        .filter("marker_file_index is not null")
        .select("marker_file_index", "marker_segment_end", "newest_entry", "side_files_missing")
    )


@dataclass(frozen=True)
class IndexedAborts:
    """What indexes say and what they should say; each frame is described in jobs/replay.

    `aborts`: ABORT markers; `entries`: those of indexes. Neither has the `agreed` pairs, which
    were matched before. `newest`: file_index, newest_entry (largest marker offset in that index).
    """

    aborts: DataFrame
    entries: DataFrame
    newest: DataFrame
    agreed: int


def txn_index_entry_context(
    given: IndexedAborts, partition_info: DataFrame, files: DataFrame
) -> Context:
    """Entries and ABORT markers, matched by partition, producer id and marker offset.

    `entry`: struct (file_index, position, length, version, first, last, last_stable_offset,
    segment_base, previous_last), null where the index has none. `marker_offset` is null where
    the log has no such ABORT marker; `first_offset` is null where its transaction has no data
    in the log, `first_kept` where all of it lies below the log start; `last_stable_offset` is the
    recomputed one. next_segment_base: base offset of the segment after the entry's; segment_end:
    the same where there is no entry, of the segment after the marker's; null for the newest.
    newest_entry: largest marker offset in the index of the marker's segment, null for none.
    """
    entries = _entries(given.entries, files)
    matched = given.aborts.join(
        entries,
        on=(F.col("partition_index") == F.col("entry_partition"))
        & (F.col("producer_id") == F.col("entry_producer"))
        & (F.col("marker_offset") == F.col("entry_last")),
        how="full",
    ).select(
        F.coalesce("partition_index", "entry_partition").alias("partition_index"),
        F.coalesce("producer_id", "entry_producer").alias("producer_id"),
        "marker_offset",
        F.coalesce("highest_epoch", "marker_epoch").alias("producer_epoch"),
        "marker_file_index",
        "marker_position",
        "marker_length",
        "first_offset",
        "first_kept",
        "records",
        "last_stable_offset",
        "entry",
    )
    segments = files.filter(F.col("kind") == "segment").select(
        F.col("partition_index").alias("segment_partition"),
        F.col("base_offset").alias("segment_base"),
        F.col("next_base_offset").alias("next_segment_base"),
    )
    rows = matched.join(
        small(segments),
        on=(F.col("partition_index") == F.col("segment_partition"))
        & (F.col("entry.segment_base") == F.col("segment_base")),
        how="left",
    )

    def enrich(selected: DataFrame) -> DataFrame:
        known = (
            inner(selected, small(partition_info.drop("records")), on="partition_index")
            .join(small(_segments_of_markers(given.newest, files)), "marker_file_index", "left")
            .withColumn(
                "segment_end",
                F.when(F.col("entry").isNull(), F.col("marker_segment_end")).otherwise(
                    F.col("next_segment_base")
                ),
            )
        )
        return _enrich(known, files)

    return Context("txn_index_entry", rows, _regular, enrich, folded=given.agreed)


def _entry() -> aborted_list.Entry:
    return aborted_list.Entry(*[F.col("entry")[name] for name in aborted_list.Entry._fields])


def is_malformed() -> Column:
    """Whether a row has an entry that breaks the format or the order of its file."""
    entry = F.col("entry")
    misplaced = aborted_list.is_misplaced(
        entry["last"], entry["segment_base"], F.col("next_segment_base")
    )
    answer: Column = surely(aborted_list.is_malformed(_entry()) | misplaced)
    return answer


def lies_behind_segment() -> Column:
    """Whether nothing else is wrong with an entry than that its marker is behind its segment."""
    behind = aborted_list.is_behind(F.col("entry.last"), F.col("next_segment_base"))
    answer: Column = surely(~aborted_list.is_malformed(_entry()) & behind)
    return answer


def _regular() -> Column:
    entry = F.col("entry")
    agrees = aborted_list.agrees(_entry(), F.col("first_offset"), F.col("last_stable_offset"))
    sound: Column = agrees & ~is_malformed()
    nothing_due = entry.isNull() & F.col("first_offset").isNull()
    return surely(sound) | surely(nothing_due)


def _enrich(selected: DataFrame, files: DataFrame) -> DataFrame:
    named = with_paths(
        selected, files, entry_file="entry.file_index", marker_file="marker_file_index"
    )
    at_marker = F.coalesce("marker_offset", "entry.last")
    return named.select(
        "*",
        F.coalesce("entry.first", "first_offset").alias("offset_first"),
        at_marker.alias("offset_last"),
        F.coalesce("entry_file", "marker_file").alias("file"),
        F.coalesce("entry.position", "marker_position").alias("byte_position"),
        F.coalesce("entry.length", "marker_length").alias("byte_length"),
        F.col("entry.position").alias("entry_position"),
        F.col("entry.length").alias("entry_length"),
        surely(lost_between(at_marker, at_marker)).alias("marker_missing"),
        # A marker that is missing there joins two transactions of the log into one.
        surely(
            marker_lost(F.col("first_offset"), F.least("entry.first", "first_offset"), at_marker)
        ).alias("data_missing"),
        surely(missing_between(F.col("entry.first"), F.col("entry.first"))).alias("start_missing"),
        F.lit(None).cast("string").alias("transactional_id"),
    )
