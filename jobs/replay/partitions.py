"""What is known of each partition on each broker: range, stability, cleaning, holes."""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from jobs.model.set_back_clocks import before_set_back, set_backs, set_backs_of_split
from jobs.spark.joins import small
from schemas import log_row
from schemas.dump_partition import CLEANED, CLEANING_UNKNOWN, DUMP_PARTITION, NEVER_CLEANED, RANGES
from udfs.arrow.frames import ZERO_BYTES
from udfs.rules.absence import (
    MANY,
    RANGES_OF_PARTITION,
    first_pass_possible,
    is_gap,
    step_between,
    within_reach,
)
from udfs.rules.batch_order import goes_back, leader_epoch_fell
from udfs.rules.clock import ADJUSTED_MS, complete_to
from udfs.rules.extent import is_outlasted, manifest_counts, reaches_copying
from udfs.rules.logic import surely

# So long a controller writes nothing at most, and clocks differ.
METADATA_IDLE_MS = 60_000
# Of ranges of offsets: see `holes`.
KINDS = ("holes", "gone", "unexplained", "missing", "emptied")
OWNER = ("producer_id", "producer_epoch")
# Of runs: how many offsets are missing up to them.
COUNTED = ("absent_to_first", "absent_to_last", "absent_to_marker")
# Columns that `partition_info` takes over from its inputs.
LOOKED_UP = (
    "emptied", "last_legacy_offset", "earlier_end", "newest_snapshot", "open_in_snapshot",
)  # fmt: skip


def named_splits(rows_of_summary: DataFrame, files: DataFrame) -> DataFrame:
    """The summaries of the splits of segments with base_offset, next_base_offset and starts_at.

    newest_before: the largest broker_timestamp of the splits of the partition before, ms.
    """
    names = files.filter(F.col("kind") == "segment").select(
        "file_index", "base_offset", "next_base_offset", "starts_at"
    )
    before = _in_order().rowsBetween(Window.unboundedPreceding, -1)
    return rows_of_summary.join(small(names), on="file_index", how="inner").withColumn(
        "newest_before", F.max("broker_timestamp").over(before)
    )


def _in_order() -> WindowSpec:
    return Window.partitionBy("partition_index").orderBy("base_offset", "split_start")


def _seams(splits: DataFrame) -> DataFrame:
    """Each split beside the last batch of the nearest earlier split that holds one.

    `unread`: the base offset of a file between the two that has bytes and no batch that can be
    read; of several the first, null for none.
    """
    order = _in_order()
    before = order.rowsBetween(Window.unboundedPreceding, -1)
    tail = F.struct(
        "file_index",
        "final_last_offset",
        "final_leader_epoch",
        "final_position",
        # After the last batch of the split, open or up to its end.
        F.coalesce(
            F.col("final_position") + F.col("final_length") < F.col("end"), F.col("end").isNull()
        ).alias("in_damage"),
        F.lead(F.struct("file_index", "base_offset", "batches", "length"))
        .over(order)
        .alias("next"),
    )
    with_batches = splits.withColumn("tail", F.when(F.col("batches") > 0, tail))
    between = (
        (F.col("before.next.batches") == 0)
        & (F.col("before.next.length") > 0)
        & (F.col("before.next.file_index") != F.col("before.file_index"))
    )
    return (
        with_batches.withColumn("before", F.last("tail", ignorenulls=True).over(before))
        .filter((F.col("batches") > 0) & F.col("before").isNotNull())
        .withColumn("unread", F.when(between, F.col("before.next.base_offset")))
    )


def all_discontinuities(splits: DataFrame, inside: DataFrame) -> DataFrame:
    """Every place where offsets or leader epochs do not follow: in splits, and between them.

    `splits`: see `named_splits`; `inside`: those that the decoder met. Columns: partition_index,
    file_index, discontinuity (gap, overlap, leader_epoch, segment_missing), previous_file_index,
    previous_last_offset, base_offset, previous_leader_epoch, leader_epoch, previous_position,
    position, length, at_seam (of two splits).
    """
    seams = _seams(splits)
    previous = F.col("before.final_last_offset")
    crossing = F.col("before.file_index") != F.col("file_index")
    # A file whose first batch does not stand at its start begins with damage.
    behind_damage = F.col("before.in_damage") | (
        crossing & (F.col("first_found") > F.col("starts_at"))
    )
    # What an unreadable file held is damage; a file in front of it may be missing, too.
    begins, name = F.coalesce("unread", "first_offset"), F.coalesce("unread", "base_offset")
    missing = crossing & is_gap(previous, name) & is_gap(previous, begins) & ~behind_damage
    kinds = F.array(
        F.when(missing, F.lit("segment_missing")),
        F.when(is_gap(previous, F.col("first_offset")) & ~behind_damage & ~missing
               & F.col("unread").isNull(), F.lit("gap")),
        F.when(goes_back(previous, F.col("first_offset")), F.lit("overlap")),
        F.when(leader_epoch_fell(F.col("before.final_leader_epoch"), F.col("first_leader_epoch")),
               F.lit("leader_epoch")),
    )  # fmt: skip
    told = seams.withColumn("kind", F.explode(F.filter(kinds, lambda name: name.isNotNull())))
    at_seams = told.select(
        "partition_index",
        "file_index",
        F.col("kind").alias("discontinuity"),
        F.col("before.file_index").alias("previous_file_index"),
        previous.alias("previous_last_offset"),
        F.when(F.col("kind") == "segment_missing", begins)
        .otherwise(F.col("first_offset"))
        .alias("base_offset"),
        F.col("before.final_leader_epoch").alias("previous_leader_epoch"),
        F.col("first_leader_epoch").alias("leader_epoch"),
        F.col("before.final_position").alias("previous_position"),
        F.col("first_found").alias("position"),
        F.col("first_length").alias("length"),
        F.lit(True).alias("at_seam"),
    )
    met = inside.select(
        "partition_index",
        "file_index",
        "discontinuity",
        F.col("file_index").alias("previous_file_index"),
        "previous_last_offset",
        "base_offset",
        "previous_leader_epoch",
        "leader_epoch",
        "previous_position",
        "position",
        "length",
        F.lit(False).alias("at_seam"),
    )
    return met.unionByName(at_seams)


def holes(
    splits: DataFrame, discontinuities: DataFrame, failures: DataFrame, static: DataFrame
) -> DataFrame:
    """Offsets that are missing between others, one row a partition: arrays of KINDS.

    Arrays of structs (first, end, producer_id): first missing offset, first offset present after
    them, and whose they are (null: anybody's); sorted, at most `RANGES_OF_PARTITION`. `missing`:
    all, whatever took them. `holes`: what is not known to be the cleaner's: damage, gaps above its
    reach, whole files, and batches that are there and say nothing (`lost`), which are those of the
    producer in their header; `gone`: the same without these; `unexplained`: the same without files
    between others that the cleaner may have emptied. Offsets between the base offset of the
    first segment and its first batch are missing too: a producer snapshot of that base offset says
    nothing of what happened there. `emptied`: markers whose batch is there
    without a record, with producer_id and producer_epoch (null: of several).
    """
    reach = small(
        static.select("partition_index", "cleaned_below", "cleaner_checkpoint", "clean_shutdown")
    )
    first = F.col("previous_last_offset") + 1
    # Between two files the name of the second does not tell how far the first one was cleaned.
    at_files = F.coalesce("cleaner_checkpoint", "cleaned_below")
    between_files = F.col("discontinuity") == "segment_missing"
    reached = F.when(between_files, at_files).otherwise(F.col("cleaned_below"))
    beyond = ~within_reach(first, reached)
    stepped = (
        discontinuities.filter(F.col("discontinuity").isin("gap", "segment_missing"))
        .join(reach, on="partition_index", how="inner")
        .select(
            "partition_index",
            first.alias("first"),
            F.col("base_offset").alias("end"),
            # A file that is not there may also be one that was not copied.
            ((F.col("discontinuity") != "gap") | beyond).alias("hole"),
            beyond.alias("unexplained"),
            F.col("at_seam").alias("missing"),
            F.lit(False).alias("emptied"),
        )
    )
    behind = F.coalesce("previous_last_offset", F.lit(-1)) + 1
    # At the end of the log a running broker may be writing; one that stopped cleanly had written.
    at_end = F.when(F.col("clean_shutdown") & (F.col("reason") != ZERO_BYTES), behind + 1)
    end = F.coalesce("next_offset", at_end)
    ranges = failures.join(reach, on="partition_index", how="inner").withColumn("end", end)
    damaged = ranges.filter(F.col("end").isNotNull()).select(
        "partition_index",
        behind.alias("first"),
        "end",
        F.lit(True).alias("hole"),
        F.lit(True).alias("missing"),
        F.lit(False).alias("emptied"),
    )
    at_head = (
        splits.groupBy("partition_index")
        .agg(F.min("base_offset").alias("first"), F.min("first_offset").alias("end"))
        .filter(F.col("first") < F.col("end"))
        .join(reach, on="partition_index", how="inner")
        .select(
            "partition_index",
            "first",
            "end",
            (~within_reach(F.col("first"), F.col("cleaned_below"))).alias("hole"),
            F.lit(True).alias("missing"),
            F.lit(False).alias("emptied"),
        )
    )
    in_splits = splits.select("partition_index", F.inline("missing")).select(
        "*", F.col("lost").alias("hole"), (~F.col("emptied")).alias("missing")
    )
    beside = stepped.unionByName(damaged.unionByName(at_head), allowMissingColumns=True)
    return _merged(in_splits.unionByName(beside, allowMissingColumns=True))


def counted_on(runs: DataFrame, splits: DataFrame) -> DataFrame:
    """Runs with how many offsets are missing in their whole log up to them: COUNTED.

    `splits`: see `named_splits`. Steps from split to split count as those from batch to batch
    (`udfs.rules.absence.running`). What lies in front of the first batch does not. Null for states
    in front of the log, and where two stretches of a text begin in one line.
    """
    held = splits.filter(F.col("batches") > 0)
    step = step_between(F.lag("final_last_offset").over(_in_order()), F.col("first_offset"))
    first = F.row_number().over(_in_order()) == 1
    # Where a split begins is not known of a wrapper that cannot be opened.
    taken = F.when(first, F.lit(0)).otherwise(
        F.least(F.abs(F.coalesce(step, F.lit(MANY))), F.lit(MANY))
    )
    before = _in_order().rowsBetween(Window.unboundedPreceding, -1)
    counted = (
        held.select("*", taken.alias("taken"))
        .select(
            "file_index",
            "split_start",
            F.try_add(
                F.try_sum("taken").over(_in_order().rowsBetween(Window.unboundedPreceding, 0)),
                F.coalesce(F.try_sum("absent").over(before), F.lit(0)),
            ).alias("absent"),
        )
        .groupBy("file_index", "split_start")
        .agg(F.when(F.count("*") == 1, F.max("absent")).alias("absent_before"))
    )
    joined = runs.join(small(counted), on=["file_index", "split_start"], how="left")
    sums = {name: F.try_add(name, F.col("absent_before")) for name in COUNTED}
    return joined.withColumns(sums).drop("absent_before")


def _merged(found: DataFrame) -> DataFrame:
    """Rows of ranges as those arrays, one row a partition.

    Columns: first, end, hole, missing, emptied, OWNER, lost (null: no), unexplained (null: hole).

    Of more than are kept apart, those of a kind with the fewest offsets between them become one.
    """
    gone = F.col("hole") & ~surely(F.col("lost"))
    unexplained = F.coalesce("unexplained", "hole")
    are = (F.col("hole"), gone, unexplained, F.col("missing"), F.col("emptied"))
    kinds = F.array(*[F.when(is_one, kind) for is_one, kind in zip(are, KINDS, strict=True)])

    def shared(name: str) -> Column:
        told = F.count(name) == F.count("*")
        return F.when(told & (F.min(name) == F.max(name)), F.min(name)).alias(name)

    of_kind, begin = Window.partitionBy("partition_index", "kind"), Window.unboundedPreceding
    in_order = of_kind.orderBy("first", "end")
    before = F.max("end").over(in_order.rowsBetween(begin, -1))
    widest_first = of_kind.orderBy(
        F.desc_nulls_first("between"), F.desc("end"), F.desc("first"), *OWNER
    )
    apart = F.row_number().over(widest_first) <= RANGES_OF_PARTITION
    merged = (
        found.withColumn("kind", F.explode(F.filter(kinds, lambda kind: kind.isNotNull())))
        .withColumn("between", F.try_subtract("first", before))
        .withColumn("apart", apart.cast("int"))
        .withColumn("number", F.sum("apart").over(in_order.rowsBetween(begin, 0)))
        .groupBy("partition_index", "kind", "number")
        .agg(
            F.min("first").alias("first"),
            F.max("end").alias("end"),
            *[shared(name) for name in OWNER],
        )
    )
    fields: dict[str, tuple[str, ...]] = dict.fromkeys(KINDS, ("first", "end", "producer_id"))
    fields["emptied"] = ("first", "end", *OWNER)
    return merged.groupBy("partition_index").agg(
        *[
            F.array_sort(
                F.collect_list(F.when(F.col("kind") == kind, F.struct(*fields[kind])))
            ).alias(kind)
            for kind in KINDS
        ]
    )


def earlier_ends(rows_of_summary: DataFrame, files: DataFrame) -> DataFrame:
    """One row a partition of `__transaction_state` that was copied before all data, too.

    Columns: topic, partition, earlier_end (log end offset of that copy).
    """
    earlier = files.filter(F.col("kind") == "earlier_coordinator_log").select(
        "file_index", "topic", "partition"
    )
    found = rows_of_summary.join(small(earlier), on="file_index", how="inner")
    return found.groupBy("topic", "partition").agg((F.max("last_offset") + 1).alias("earlier_end"))


def known_states(rows_of_summary: DataFrame, files: DataFrame) -> DataFrame:
    """One row a partition with producer snapshots.

    Columns: partition_index, from_snapshot (its log begins with one); of the newest one, if it can
    be read, newest_snapshot and open_in_snapshot (array of log_row.OPEN_IN_SNAPSHOT).
    """
    offsets = files.select("file_index", F.col("base_offset").alias("newest_snapshot"))
    snapshots = rows_of_summary.filter(F.col("starts_log").isNotNull()).join(
        small(offsets), on="file_index", how="inner"
    )
    newest = F.col("open_in_snapshot").isNotNull()
    return snapshots.groupBy("partition_index").agg(
        F.max("starts_log").alias("from_snapshot"),
        F.max(F.when(newest, F.col("newest_snapshot"))).alias("newest_snapshot"),
        F.flatten(F.collect_list("open_in_snapshot")).alias("open_in_snapshot"),
    )


def partition_info(
    static: DataFrame,
    splits: DataFrame,
    holes_by_partition: DataFrame,
    earlier: DataFrame,
    starts: DataFrame,
    clock_tolerance: int,
) -> DataFrame:
    """One row a partition and broker, everything that verdicts about it depend on.

    `static` has the columns of `schemas.dump_partition.DUMP_PARTITION`; `earlier`: see
    `earlier_ends`; `starts`: see `known_states`; `clock_tolerance`: how far brokers' clocks may be
    apart, ms.

    Columns: DUMP_PARTITION, of which those that rest on `__cluster_metadata` hold here only where
    its copy is late enough; log_start_offset, log_end_offset (exclusive); those of `_stability`,
    `_beginning`, `_cleaner` and `_absent`; broker_timestamp (ms); first_dated_offset,
    first_dated_ms (the first batch of magic 2 with a moment of a broker's clock); set_backs (see
    `jobs.model.set_back_clocks`); those of `_extent`;
    emptied (see `holes`; null: no marker emptied); last_legacy_offset (of magic 0 or 1);
    earlier_end (log end of the copy of a `__transaction_state` partition that was taken before all
    data, null for none); newest_snapshot, open_in_snapshot (see `known_states`; null where no
    snapshot says); batches, records; of a partition of `__transaction_state`, else null: ids,
    misplaced_ids (transactional ids in it, and those that belong elsewhere), unreadable_at,
    nameless_at (offsets of the last record that cannot be decoded, and of the last of these that
    does not tell its id; null for none).
    """
    of_copies = static.join(small(_seen(splits)), on="partition_index", how="left").join(
        small(holes_by_partition), on="partition_index", how="left"
    )
    with_known = (
        _with_ends(_dated(of_copies))
        .join(small(earlier), on=["topic", "partition"], how="left")
        .join(small(starts), on="partition_index", how="left")
        .crossJoin(F.broadcast(set_backs(splits, clock_tolerance)))
    )
    return with_known.select(
        *[field.name for field in DUMP_PARTITION],
        "log_start_offset",
        "log_end_offset",
        *_stability(),
        *_beginning(),
        *_cleaner(),
        *_absent(),
        "broker_timestamp",
        F.col("first_moment.first_offset").alias("first_dated_offset"),
        F.col("first_moment.first").alias("first_dated_ms"),
        "set_backs",
        *_extent(clock_tolerance),
        *LOOKED_UP,
        F.coalesce("batches", F.lit(0)).alias("batches"),
        F.coalesce("records", F.lit(0)).alias("records"),
        "ids",
        "misplaced_ids",
        "unreadable_at",
        "nameless_at",
    )


def _seen(splits: DataFrame) -> DataFrame:
    """What the splits of a partition hold together, one row a partition.

    head: base_offset, split_start and first_offset of its first split with a batch. first_moment:
    first and first_offset of the first batch of magic 2 with a moment of a broker's clock;
    last_moment, last_replicated: of the last batches with one, ms.
    """
    head = F.when(F.col("batches") > 0, F.struct("base_offset", "split_start", "first_offset"))

    def moments(name: str) -> Column:
        here = F.struct("base_offset", "split_start", F.col("clock").alias("clock"))
        return F.when(F.col(f"clock.{name}").isNotNull(), here)

    def last(name: str) -> Column:
        return F.max(moments(name)).getField("clock").getField(name)

    return splits.groupBy("partition_index").agg(
        F.max("last_offset").alias("last_offset"),
        F.max("broker_timestamp").alias("broker_timestamp"),
        F.max("newest_timestamp").alias("newest_timestamp"),
        F.max("replicated_timestamp").alias("replicated_timestamp"),
        F.min(moments("first")).getField("clock").alias("first_moment"),
        last("last").alias("last_moment"),
        last("last_replicated").alias("last_replicated"),
        F.flatten(F.collect_list(set_backs_of_split())).alias("own_set_backs"),
        F.max("final_leader_epoch").alias("final_leader_epoch"),
        F.max(F.col("cleaner_traces").cast("int")).alias("cleaner_traces"),
        F.max("last_legacy_offset").alias("last_legacy_offset"),
        F.sum("batches").alias("batches"),
        F.sum("records").alias("records"),
        F.max("coordinator.ids").alias("ids"),
        F.sum("coordinator.misplaced_ids").alias("misplaced_ids"),
        F.max("coordinator.unreadable_at").alias("unreadable_at"),
        F.max("coordinator.nameless_at").alias("nameless_at"),
        F.min(head).alias("head"),
    )


def _is_later(up_to_ms: str, than_ms: Column) -> Column:
    """Whether a copy of `__cluster_metadata` is not known to be older than something, both in ms.

    The controller writes a record at least every `metadata.max.idle.interval.ms` (3.3 and later).
    """
    later = F.try_add(F.col(up_to_ms), F.lit(METADATA_IDLE_MS)) >= than_ms
    known: Column = F.coalesce(later, F.lit(True))
    return known


def _dated(rows: DataFrame) -> DataFrame:
    """What rests on `__cluster_metadata`, where its copy is as late as what is judged by it.

    It lacks a policy that was set later: clients' clocks count as well as brokers', whose newest
    moment may be an old marker, as they can only weaken a verdict. It also lacks a broker that
    joined later. What is compared with the clock of a broker that is alone was written by brokers,
    in any partition of its cluster, so the newest moment of those counts, and no event time. Adds
    copies_begun_ms: when the copy of the partition was begun that was begun first, null where one
    is not dated. Whether the leader is in the dump is asked of that moment; without it nothing
    tells that the list is as late, unless all brokers had stopped.
    """
    copies = Window.partitionBy(F.coalesce("replica_set", -1 - F.col("partition_index")))
    undated = F.max(F.col("copied_at_ms").isNull()).over(copies)
    begun = F.when(~undated, F.min("copied_at_ms").over(copies))
    of_cluster = F.max("broker_timestamp").over(Window.partitionBy("cluster_id"))
    written = F.greatest("broker_timestamp", "newest_timestamp", "copied_at_ms")
    brokers = _is_later("registered_up_to_ms", F.greatest(of_cluster, "copied_at_ms"))
    dated = begun.isNotNull() & _is_later("registered_up_to_ms", begun)
    leader = F.col("registered_up_to_ms").isNull() | dated
    return rows.withColumns(
        {
            "never_compacted": F.col("never_compacted") & _is_later("metadata_up_to_ms", written),
            "alone_in_cluster": F.col("alone_in_cluster") & brokers,
            "single_broker": F.col("single_broker") & brokers,
            "every_broker": F.col("every_broker") & leader,
            "copies_begun_ms": begun,
        }
    )


def _with_ends(rows: DataFrame) -> DataFrame:
    """Adds log_start_offset and log_end_offset (exclusive)."""
    log_start = F.greatest(
        F.coalesce("first_base", F.lit(0)), F.coalesce("checkpoint_log_start", F.lit(0))
    )
    end = F.greatest(
        F.coalesce(F.col("last_offset") + 1, F.lit(0)), F.coalesce("newest_base", F.lit(0))
    )
    return rows.withColumns(
        {
            "log_start_offset": log_start,
            "log_end_offset": F.greatest(end, log_start),
        }
    )


def _stability() -> list[Column]:
    """Up to where records are replicated.

    data_end_offset: after the last record, 0 for an empty log. high_watermark: that of the
    checkpoint, within the log; null where there is none. stable_below: offsets below are
    replicated, as far as known.
    """
    mark = F.greatest(
        F.least("checkpoint_high_watermark", "log_end_offset"), F.col("log_start_offset")
    )
    high_watermark = F.when(F.col("checkpoint_high_watermark").isNotNull(), mark)
    stable_below = F.coalesce(high_watermark, "last_offset", F.lit(0)).cast(LongType())
    return [
        F.coalesce(F.col("last_offset") + 1, F.lit(0)).alias("data_end_offset"),
        high_watermark.alias("high_watermark"),
        stable_below.alias("stable_below"),
    ]


def _beginning() -> list[Column]:
    """from_beginning: the log begins at offset 0.

    start_known: the state of every producer in front of the log is known: there was none, or the
    snapshot at the first offset of the log has it.
    """
    from_beginning = F.coalesce("first_base", F.lit(0)) == 0
    return [
        from_beginning.alias("from_beginning"),
        (from_beginning | surely(F.col("from_snapshot"))).alias("start_known"),
    ]


def _cleaner() -> list[Column]:
    """What the cleaner did.

    cleaning: never, cleaned or unknown (see `_cleaning`). first_pass_possible: see
    `udfs.rules.absence`. cleaner_traces: batches are there that only a cleaner leaves.
    """
    traces = F.coalesce("cleaner_traces", F.lit(0)) == 1
    listed = F.col("cleaner_checkpoint").isNotNull()
    first_pass = first_pass_possible(
        F.col("has_cleaner_checkpoint"), listed, F.col("clean_shutdown"), F.col("never_compacted")
    )
    return [
        _cleaning(traces, listed).alias("cleaning"),
        first_pass.alias("first_pass_possible"),
        traces.alias("cleaner_traces"),
    ]


def _cleaning(traces: Column, listed: Column) -> Column:
    """Whether the cleaner was there; `traces`: only it leaves them; `listed`: in its checkpoint.

    The cleaner writes its checkpoint after every pass, so it never compacted a partition that it
    does not list. A follower may have fetched what another broker's cleaner had left, though; it
    did where there are traces of that. None compacted what was never configured for it.
    """
    telling = F.col("has_cleaner_checkpoint") & ~F.col("internal_compacted")
    return (
        F.when(listed, F.lit(CLEANED))
        .when(F.col("never_compacted"), F.lit(NEVER_CLEANED))
        .when(telling & ~traces, F.lit(NEVER_CLEANED))
        .when(traces | F.col("internal_compacted"), F.lit(CLEANED))
        .otherwise(F.lit(CLEANING_UNKNOWN))
    )


def _extent(clock_tolerance: int) -> list[Column]:
    """How late the copy is: rules of `udfs.rules.extent` and `clock`.

    complete_up_to_ms: the moment of a broker's clock up to which it is complete, ms. outlasted:
    another copy of the partition goes on after the end of this one. furthest: none of its name in
    the cluster does, texts included: consumers read the leader's copy, or one like it. of_leader:
    see `reaches_copying`.
    """
    alone = F.col("alone_in_cluster")
    by_broker = Window.partitionBy("cluster_id", "broker")
    copies = Window.partitionBy(F.coalesce("replica_set", -1 - F.col("partition_index")))
    outlasted = _outlasted(copies)
    longest_of_all = F.max("log_end_offset").over(copies)
    counts = manifest_counts(
        F.col("every_broker"), outlasted, F.col("log_end_offset"), longest_of_all
    )
    tolerance = F.lit(clock_tolerance)
    # A broker that is alone has one clock.
    to_the_end = complete_to(
        F.col("broker_timestamp"), F.col("last_moment"), F.lit(min(clock_tolerance, ADJUSTED_MS))
    )
    replicated = complete_to(F.col("replicated_timestamp"), F.col("last_replicated"), tolerance)
    while_running = F.greatest(
        # Nobody else can have led what a broker alone in its cluster has.
        F.when(alone, to_the_end).otherwise(replicated),
        # As late as the copy that was begun first; where one is not dated, nothing is known.
        F.when(counts, F.col("copies_begun_ms")),
    )
    complete_up_to: Column = F.greatest(
        F.when(
            F.col("clean_shutdown") & alone,
            F.max(F.when(alone, F.col("broker_timestamp"))).over(by_broker),
        ),
        before_set_back(while_running, tolerance),
    )
    of_leader = reaches_copying(alone, surely(F.col("fetched")), counts)
    return [
        complete_up_to.alias("complete_up_to_ms"),
        outlasted.alias("outlasted"),
        (~_outlasted(Window.partitionBy("cluster_id", "topic", "partition"))).alias("furthest"),
        of_leader.alias("of_leader"),
    ]


def _outlasted(copies: WindowSpec) -> Column:
    """Whether another one of these copies goes on after the end of this one."""
    leader_epoch = F.coalesce("final_leader_epoch", F.lit(-1))
    newest = F.max(F.struct(leader_epoch.alias("epoch"), "log_end_offset")).over(copies)
    outlasted: Column = is_outlasted(
        leader_epoch, F.col("log_end_offset"), newest["epoch"], newest["log_end_offset"]
    )
    return outlasted


def _missing_at_ends() -> Column:
    """Ranges of RANGES between the names of the outer segments and the batches in them.

    And between the last batch and the high watermark of a copy that a broker made when it stopped:
    what lies below it was replicated. Other copies may be older than their checkpoint.
    """
    newest = F.col("last_offset") + 1
    replicated = F.when(F.col("clean_shutdown"), F.col("checkpoint_high_watermark"))
    end = F.greatest("newest_base", replicated)
    anyone = F.lit(None).cast("bigint").alias("producer_id")
    return F.filter(
        F.array(
            F.when(
                F.col("head.first_offset") > F.col("first_base"),
                F.struct(
                    F.col("first_base").alias("first"),
                    F.col("head.first_offset").alias("end"),
                    anyone,
                ),
            ),
            F.when(end > newest, F.struct(newest.alias("first"), end.alias("end"), anyone)),
        ),
        lambda one: one.isNotNull(),
    )


def _absent() -> list[Column]:
    """Offsets that are missing: missing, holes and gone, see `holes`.

    Also what is missing in front of the first and after the last batch. lost_to: end of the last
    range of `unexplained`, exclusive; 0 for none.
    """
    at_ends = _missing_at_ends()
    not_the_cleaners = F.filter(
        at_ends, lambda one: ~within_reach(one["first"], F.col("cleaned_below"))
    )

    def ranges(inside: str, outside: Column) -> Column:
        return F.array_sort(F.concat(F.coalesce(inside, F.array().cast(RANGES)), outside))

    lost_to = F.array_max(ranges("unexplained", not_the_cleaners)["end"])
    return [
        ranges("missing", at_ends).alias("missing"),
        ranges("holes", not_the_cleaners).alias("holes"),
        ranges("gone", not_the_cleaners).alias("gone"),
        F.coalesce(lost_to, F.lit(0)).alias("lost_to"),
    ]


def summaries(rows: DataFrame) -> DataFrame:
    """The summary rows of a decode pass with their fields as columns."""
    return rows.filter(F.col("kind") == log_row.SUMMARY).select(
        "partition_index", "file_index", "split_start", "summary.*"
    )


def newest_broker_timestamp(partition_info: DataFrame) -> int | None:
    """The newest broker timestamp of the whole dump, ms: the moment ages refer to by default."""
    row = partition_info.agg(F.max("broker_timestamp").alias("newest")).collect()[0]
    return row.newest if row.newest is None else int(row.newest)
