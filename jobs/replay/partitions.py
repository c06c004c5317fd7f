"""What is known of each partition on each broker: range, stability, cleaning, holes."""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from jobs.model.copies import topic_of_copies
from jobs.model.set_back_clocks import before_set_back, set_backs, set_backs_of_split
from jobs.replay.holes import absent
from jobs.spark.joins import small
from schemas.dump_partition import CLEANED, CLEANING_UNKNOWN, DUMP_PARTITION, NEVER_CLEANED
from udfs.rules.absence import (
    first_pass_possible,
)
from udfs.rules.clock import clocks_apart, complete_to
from udfs.rules.extent import is_outlasted, manifest_counts, reaches_copying
from udfs.rules.logic import surely
from udfs.wire.batches.batch_layout import MAX_OFFSET_SPAN

# So long a controller writes nothing at most, and clocks differ.
METADATA_IDLE_MS = 60_000
# Columns that `partition_info` takes over from its inputs.
LOOKED_UP = (
    "emptied", "last_legacy_offset", "earlier_end", "newest_snapshot", "open_in_snapshot",
)  # fmt: skip


def partition_info(
    static: DataFrame,
    splits: DataFrame,
    holes_by_partition: DataFrame,
    earlier: DataFrame,
    starts: DataFrame,
    clock_tolerance: int,
) -> DataFrame:
    """One row a partition and broker, everything that verdicts about it depend on.

    `static`: of `jobs.replay.stopped`; `earlier`: see
    `earlier_ends`; `starts`: see `known_states`; `clock_tolerance`: how far brokers' clocks may be
    apart, ms.

    Columns: those of `static`, of which those that rest on `__cluster_metadata` hold only where its
    copy is late enough; log_start_offset, log_end_offset (exclusive); those of `_stability`,
    `_beginning`, `_cleaner`, `_log_start_known` and `absent`; broker_timestamp (ms);
    first_dated_offset, first_dated_ms (the first batch of magic 2 with a moment of a broker's
    clock); set_backs (see `jobs.model.set_back_clocks`); those of `_extent`;
    emptied (see `holes`; null: no marker emptied); last_legacy_offset (of magic 0 or 1);
    earlier_end (log end of the copy of a `__transaction_state` partition that was taken before all
    data, null for none); newest_snapshot, open_in_snapshot (see `known_states`; null where no
    snapshot says); batches, records; of a partition of `__transaction_state`, else null: ids,
    misplaced_ids (transactional ids in it, and those that belong elsewhere), hash_divisors (of its
    splits, see `schemas.log_row.COORDINATOR_TYPE`), unreadable_at,
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
        "started_again",
        "log_start_offset",
        "log_end_offset",
        *_stability(),
        *_beginning(),
        *_cleaner(),
        _log_start_known(),
        *absent(),
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
        "hash_divisors",
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
        F.max(_within_its_file()).alias("last_offset"),
        F.max("broker_timestamp").alias("broker_timestamp"),
        F.max("newest_timestamp").alias("newest_timestamp"),
        F.max("replicated_timestamp").alias("replicated_timestamp"),
        F.min(moments("first")).getField("clock").alias("first_moment"),
        last("last").alias("last_moment"),
        last("last_replicated").alias("last_replicated"),
        F.flatten(F.collect_list(set_backs_of_split())).alias("own_set_backs"),
        F.max("final_leader_epoch").alias("final_leader_epoch"),
        F.max(F.col("cleaner_traces").cast("int")).alias("cleaner_traces"),
        F.max("thinned_to").alias("thinned_to"),
        F.max("last_legacy_offset").alias("last_legacy_offset"),
        F.sum("batches").alias("batches"),
        F.sum("records").alias("records"),
        F.max("coordinator.ids").alias("ids"),
        F.sum("coordinator.misplaced_ids").alias("misplaced_ids"),
        F.collect_set("coordinator.hash_divisor").alias("hash_divisors"),
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

    It lacks a policy that was set later, and a later topic of the same name: clients' clocks count
    as well as brokers', whose newest moment may be an old marker, as they can only weaken a
    verdict. It also lacks a broker that joined later. What is compared with the clock of a broker
    that is alone was written by brokers, in any partition of its cluster, so the newest moment of
    those counts, and no event time. Adds copies_begun_ms: when the copy of the partition was begun
    that was begun first, null where one is not dated. Whether the leader is in the dump is asked of
    that moment; without it nothing tells that the list is as late, unless all brokers had stopped.
    """
    copies = Window.partitionBy(*topic_of_copies())
    undated = F.max(F.col("copied_at_ms").isNull()).over(copies)
    begun = F.when(~undated, F.min("copied_at_ms").over(copies))
    of_cluster = F.max("broker_timestamp").over(Window.partitionBy("cluster_id"))
    written = F.greatest("broker_timestamp", "newest_timestamp", "copied_at_ms")
    brokers = _is_later("registered_up_to_ms", F.greatest(of_cluster, "copied_at_ms"))
    dated = begun.isNotNull() & _is_later("registered_up_to_ms", begun)
    leader = F.col("registered_up_to_ms").isNull() | dated
    # A policy may be changed while a partition is copied, and records be deleted then.
    told_to = F.try_subtract("metadata_up_to_ms", F.lit(METADATA_IDLE_MS))
    behind_copy = told_to >= F.col("copied_until_ms")
    return rows.withColumns(
        {
            "never_compacted": F.col("never_compacted") & _is_later("metadata_up_to_ms", written),
            "created_once": F.col("created_once") & _is_later("metadata_up_to_ms", written),
            "never_deleted": F.col("never_deleted") & surely(behind_copy),
            "every_replica": F.col("every_replica") & _is_later("metadata_up_to_ms", written),
            "alone_in_cluster": F.col("alone_in_cluster") & brokers,
            "single_broker": F.col("single_broker") & brokers,
            "every_broker": F.col("every_broker") & leader,
            "copies_begun_ms": begun,
        }
    )


def _within_its_file() -> Column:
    """The last offset of a split, as far as its segment may reach (`LogSegment.append`).

    No checksum covers a base offset: a changed bit of one would move the end of the log.
    """
    longest = F.try_add("base_offset", F.lit(MAX_OFFSET_SPAN))
    end = F.least("last_offset", F.coalesce(F.col("next_base_offset") - 1, longest))
    return F.when(F.col("last_offset").isNotNull(), end)


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
    checkpoint, within the log; null where there is none. replicated_below: offsets below are
    replicated, as far as known: without a high watermark all but the last record, of a broker that
    is alone in its cluster all.
    """
    mark = F.greatest(
        F.least("checkpoint_high_watermark", "log_end_offset"), F.col("log_start_offset")
    )
    high_watermark = F.when(F.col("checkpoint_high_watermark").isNotNull(), mark)
    data_end = F.coalesce(F.col("last_offset") + 1, F.lit(0))
    without = F.when(F.col("alone_in_cluster"), data_end).otherwise(F.col("last_offset"))
    replicated_below = F.coalesce(high_watermark, without, F.lit(0))
    return [
        data_end.alias("data_end_offset"),
        high_watermark.alias("high_watermark"),
        replicated_below.cast(LongType()).alias("replicated_below"),
    ]


def _beginning() -> list[Column]:
    """from_beginning: the log begins at offset 0.

    start_known: what this replica had of every producer in front of the log is known: there was
    none, or the snapshot at the first offset of the log has it, and is not empty.
    """
    from_beginning = F.coalesce("first_base", F.lit(0)) == 0
    return [
        from_beginning.alias("from_beginning"),
        (from_beginning | surely(F.col("from_snapshot"))).alias("start_known"),
    ]


def _cleaner() -> list[Column]:
    """What the cleaner did.

    cleaning: never, cleaned or unknown (see `_cleaning`). first_pass_possible: see
    `udfs.rules.absence`. passed_by_none: no cleaner of a broker in the dump has ended a pass over
    the partition, nor left gaps in files, and the dump has all brokers of its cluster; one that
    gave its replica away may have. cleaner_traces: batches are there that only a cleaner leaves;
    thinned_below: up to where batches of data lie that lack records, exclusive; 0 for none.
    """
    traces = F.coalesce("cleaner_traces", F.lit(0)) == 1
    listed = F.col("cleaner_checkpoint").isNotNull()
    first_pass = first_pass_possible(
        F.col("has_cleaner_checkpoint"), listed, F.col("clean_shutdown"), F.col("never_compacted")
    )
    # Gaps that the cleaner explains are a trace of one, too.
    cleaned = surely(F.size("missing") > F.coalesce(F.size("holes"), F.lit(0)))
    unlisted = F.col("has_cleaner_checkpoint") & F.col("clean_shutdown") & ~listed
    no_pass = unlisted & ~traces & ~cleaned
    by_none = F.min(no_pass).over(Window.partitionBy(*topic_of_copies()))
    return [
        _cleaning(traces, listed).alias("cleaning"),
        first_pass.alias("first_pass_possible"),
        (by_none & F.col("every_broker")).alias("passed_by_none"),
        traces.alias("cleaner_traces"),
        F.coalesce(F.col("thinned_to") + 1, F.lit(0)).alias("thinned_below"),
    ]


def _log_start_known() -> Column:
    """log_start_known: no cleaner passed with a log start above log_start_offset in memory.

    A running broker writes its log start to the checkpoint once a minute
    (`LogManager.checkpointLogStartOffsets`), and the checkpoint may be copied before the log; one
    that stops writes it last. A dump without that file does not tell it, whoever stopped. Where
    cleanup.policy never had delete nothing raises the log start: the leader refuses DeleteRecords
    (`Partition.deleteRecordsOnLeader`) and retention is off (`UnifiedLog.deleteOldSegments`).
    Internal topics refuse DeleteRecords, too (`ReplicaManager.deleteRecordsOnLocalLog`), but their
    policy may be changed as any other, so it is asked.
    """
    written_last = F.col("clean_shutdown") & F.col("has_log_start_checkpoint")
    return (written_last | F.col("never_deleted")).alias("log_start_known")


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
    another copy of the partition goes on after the end of this one, or the topic is deleted and
    another one has its name. furthest: none of its topic in the cluster does, texts included:
    consumers read the leader's copy, or one like it. of_leader: see `reaches_copying`. nowhere_from
    and nowhere_last: offsets below the high watermark of this copy that no replica has, all of them
    copied after a clean stop; null for none, or where a replica is not in the dump. all_stopped:
    each replica is in the dump, and was copied after a clean stop.
    """
    alone = F.col("alone_in_cluster")
    by_broker = Window.partitionBy("cluster_id", "broker")
    copies = Window.partitionBy(*topic_of_copies())
    outlasted = _outlasted(copies) | F.col("of_deleted_topic")
    of_name = ("cluster_id", "topic", "partition", "incarnation")
    longest_of_all = F.max("log_end_offset").over(copies)
    counts = manifest_counts(
        F.col("every_broker"), outlasted, F.col("log_end_offset"), longest_of_all
    )
    tolerance = F.lit(clock_tolerance)
    # The moment of a manifest is of the machine that copied. Who compares moments of one broker
    # allows for no other clock.
    begun = F.col("copies_begun_ms") - F.when(F.col("single_broker"), tolerance).otherwise(0)
    # A broker that is alone has one clock.
    to_the_end = complete_to(
        F.col("broker_timestamp"),
        F.col("last_moment"),
        F.lit(int(clocks_apart(True, clock_tolerance))),
    )
    replicated = complete_to(F.col("replicated_timestamp"), F.col("last_replicated"), tolerance)
    while_running = F.greatest(
        # Nobody else can have led what a broker alone in its cluster has.
        F.when(alone, to_the_end).otherwise(replicated),
        # As late as the copy that was begun first; where one is not dated, nothing is known.
        F.when(counts, begun),
    )
    # What had stopped, stopped with the rest of its broker, but for what was still running.
    stopped = F.col("clean_shutdown") & alone
    complete_up_to: Column = F.greatest(
        F.when(stopped, F.max(F.when(stopped, F.col("broker_timestamp"))).over(by_broker)),
        before_set_back(while_running, tolerance),
    )
    # The checkpoint of a broker that stopped is not older than its log.
    whole = F.min(F.col("every_replica") & F.col("clean_shutdown")).over(copies)
    nowhere = whole & (F.col("checkpoint_high_watermark") > longest_of_all)
    of_leader = reaches_copying(alone, surely(F.col("fetched")), counts)
    return [
        complete_up_to.alias("complete_up_to_ms"),
        outlasted.alias("outlasted"),
        (~_outlasted(Window.partitionBy(*of_name)) & ~F.col("of_deleted_topic")).alias("furthest"),
        of_leader.alias("of_leader"),
        surely(whole | stopped).alias("all_stopped"),
        F.when(nowhere, longest_of_all).alias("nowhere_from"),
        F.when(nowhere, F.col("checkpoint_high_watermark") - 1).alias("nowhere_last"),
    ]


def _outlasted(copies: WindowSpec) -> Column:
    """Whether another one of these copies goes on after the end of this one."""
    leader_epoch = F.coalesce("final_leader_epoch", F.lit(-1))
    newest = F.max(F.struct(leader_epoch.alias("epoch"), "log_end_offset")).over(copies)
    outlasted: Column = is_outlasted(
        leader_epoch, F.col("log_end_offset"), newest["epoch"], newest["log_end_offset"]
    )
    return outlasted
