"""Context `snapshot`: one row is an unusable snapshot, or a producer it is wrong about.

A broker's state at a snapshot is that of the snapshot before, followed by what the batches between
the two change. So each range between two snapshots is judged by itself, from packed states: a
segment of many splits and producers is a few rows, and only producers that differ become rows.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import inner, small
from jobs.spark.local import local_frame
from jobs.verify.conditions.missing import gone_between, missing_between, unread_between
from jobs.verify.contexts.context import Context, with_paths
from schemas.columns import boolean, string, table
from schemas.dump_partition import CLEANED, NEVER_CLEANED
from udfs.arrow.snapshot_ranges import OF_RANGE, RANGE, SNAPSHOT_DIFFERENCE, compare_ranges
from udfs.rules.absence import within_reach
from udfs.rules.logic import surely

CORRUPT = "corrupt"
SNAPSHOT_FINDING = table(
    *SNAPSHOT_DIFFERENCE.fields,
    boolean("newest", "of a corrupt one: no snapshot of the partition has a higher offset"),
    string("detail", "of a corrupt one: what is stored, and what was expected"),
)


def _whole(start: Column, end: Column) -> Column:
    """Whether the cleaner took nothing there but markers, whose batches it may have left empty.

    In a live copy it may have passed its checkpoint. And that goes back where the end of the log
    was lost (`LogCleanerManager.cleanableOffsets`), while what a pass had left stays.
    """
    above_reach = (F.col("cleaning") == CLEANED) & F.col("clean_shutdown")
    above_reach &= ~within_reach(start, F.greatest("cleaned_below", "thinned_below"))
    nothing_missing = ~F.col("cleaner_traces") & ~missing_between(start, end - 1)
    whole: Column = (F.col("cleaning") == NEVER_CLEANED) | above_reach | nothing_missing
    return whole


def _ranges(states: DataFrame, partition_info: DataFrame) -> DataFrame:
    """Rows of RANGE with their states. A snapshot ends one range and begins the next.

    Left out: ranges that reach beyond what was copied. legacy: messages of magic 0 or 1 lie behind
    the beginning: up to 3.x a broker that loads a log whose format was lowered takes snapshots
    without any producer (`UnifiedLog.rebuildProducerState`), and goes on from there.
    """
    of_snapshot = surely(F.col("of_snapshot"))
    ended = F.struct(F.col("start_offset").alias("start"), F.col("end_offset").alias("end"))
    begun = F.struct(F.col("end_offset").alias("start"), F.col("next_offset").alias("end"))
    ranges = F.array(
        F.when(F.col("start_offset").isNotNull(), ended),
        F.when(of_snapshot & F.col("next_offset").isNotNull(), begun),
    )
    needed = partition_info.select(
        "partition_index", "cleaning", "cleaned_below", "clean_shutdown", "gone", "missing",
        "emptied", "cleaner_traces", "thinned_below", "data_end_offset",
        "log_start_offset", "last_legacy_offset",
    )  # fmt: skip
    placed = inner(
        states.select("*", F.explode(F.filter(ranges, lambda one: one.isNotNull())).alias("range")),
        small(needed),
        on="partition_index",
    ).filter(F.col("range.end") <= F.col("data_end_offset"))
    start, end = F.col("range.start"), F.col("range.end")
    judged = of_snapshot & (F.col("end_offset") == end)
    return placed.select(
        "partition_index",
        start.alias("start_offset"),
        end.alias("end_offset"),
        of_snapshot.alias("of_snapshot"),
        surely(F.col("of_log_start")).alias("of_log_start"),
        (_whole(start, end) & ~gone_between(start, end - 1)).alias("whole"),
        surely(F.col("in_text")).alias("in_text"),
        surely(F.col("last_legacy_offset") >= start).alias("legacy"),
        F.when(judged, unread_between(start, end - 1)).alias("unread"),
        "file_index",
        "segment_base",
        "split_start",
        F.coalesce("left_out", F.lit(0)).cast("long").alias("left_out"),
        surely(F.col("below_log_start")).alias("below_log_start"),
        "log_start_offset",
        "doubted",
        "states",
    )


def _differences(
    states: DataFrame, partition_info: DataFrame, expiration_ms: int, now: int | None
) -> DataFrame:
    """Rows of SNAPSHOT_DIFFERENCE."""
    # Groups for `applyInArrow` would be a stream each, which takes as long as comparing them.
    ranges = _ranges(states, partition_info).select(*RANGE.names, "states")
    together = ranges.repartition(*OF_RANGE).sortWithinPartitions(*OF_RANGE)
    return together.mapInArrow(compare_ranges(expiration_ms, now), SNAPSHOT_DIFFERENCE)


def _corrupt(faults: DataFrame, files: DataFrame) -> DataFrame:
    """Snapshots that cannot be used, with the columns of a difference that they have."""
    offsets = files.select("file_index", F.col("base_offset").alias("snapshot_offset"))
    return inner(faults, small(offsets), on="file_index").select(
        "partition_index",
        "file_index",
        "snapshot_offset",
        "newest",
        "detail",
        F.lit(CORRUPT).alias("fault"),
        "position",
        F.col("size").alias("length"),
    )


def snapshot_context(
    states: DataFrame | None,
    faults: DataFrame | None,
    entries: int,
    partition_info: DataFrame,
    files: DataFrame,
    expiration_ms: int,
    now: int | None,
) -> Context:
    """Rows of SNAPSHOT_FINDING with all that is known of their partition.

    `fault`: differs, foreign, forgotten (see `udfs.arrow.snapshot_ranges`) or corrupt.
    `reported_before`: the snapshot before, from which the state was replayed, differs about this
    producer itself. `entries`: how many states were compared.
    """
    rows = local_frame(partition_info.sparkSession, [], SNAPSHOT_FINDING)
    if states is not None:
        differing = _differences(states, partition_info, expiration_ms, now)
        rows = rows.unionByName(differing, allowMissingColumns=True)
    if faults is not None:
        rows = rows.unionByName(_corrupt(faults, files), allowMissingColumns=True)

    def enrich(selected: DataFrame) -> DataFrame:
        order = Window.partitionBy("partition_index", "producer_id").orderBy("snapshot_offset")
        before = F.lag("snapshot_offset").over(order)
        known = partition_info.drop("batches", "records")
        named = with_paths(
            inner(
                selected.withColumn("reported_before", surely(before == F.col("start_offset"))),
                small(known),
                on="partition_index",
            ),
            files,
            file="file_index",
            log_file="log_file_index",
        )
        return named.select(
            "*",
            F.col("snapshot_offset").alias("offset_first"),
            F.col("snapshot_offset").alias("offset_last"),
            F.col("position").alias("byte_position"),
            F.col("length").alias("byte_length"),
            F.lit(None).cast("string").alias("transactional_id"),
        )

    return Context("snapshot", rows, lambda: F.lit(False), enrich, folded=entries)
