"""Markers of producers that no record of the coordinator's log names, though it would be there.

Behind a marker that ended data its Complete record is written, which has the producer id; as long
as that is not there, the Prepare record is the last one of its transactional id, which no cleaner
takes. So where the log has all of its partitions, and lacks nothing from some moment on, it names
the producers of all later markers that ended data. If it does not, their records are lost, as where
a broker came back without a partition of that log, or with an older copy of it.

Or another cluster decided them, and the topic was taken over from there with its markers: those
are older than all that the coordinators of this one wrote to the topic.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.lost_records import lost_up_to, moments_behind
from jobs.model.plain_epochs import PlainEpochs
from jobs.model.set_back_clocks import came_twice
from jobs.spark.joins import inner, small
from schemas.topics import TXN_LOG_TOPIC
from udfs.rules import attribution
from udfs.rules.clock import BEYOND_CLOCKS_MS
from udfs.rules.logic import surely
from udfs.rules.producer_step import LAST_EPOCH


def named_moments(
    records: DataFrame, partition_info: DataFrame, completeness: DataFrame
) -> DataFrame:
    """One row: between which moments the coordinator's log names the producers of all markers.

    named_from_ms, named_to_ms: by the clocks of coordinators; named_stopped: all is of brokers that
    were stopped cleanly, each alone in its cluster. No row where the log may have other partitions,
    or copies are of several topics.
    `records`: of the log; `partition_info`: of all copies; `completeness`: of
    `jobs.verify.contexts.open_lookups.log_completeness`.
    """
    copies = partition_info.filter(F.col("topic") == TXN_LOG_TOPIC).select(
        "partition_index",
        "partition",
        "topic_id",
        # A replica that has just been added is short, and lacks nothing.
        (surely(F.col("outlasted")) | F.col("of_deleted_topic") | _may_lack_more()).alias("short"),
        _gone_up_to().alias("gone_up_to"),
        F.coalesce("complete_up_to_ms", F.lit(-1)).alias("until_ms"),
        surely(F.col("clean_shutdown") & F.col("alone_in_cluster")).alias("stopped"),
    )
    behind = moments_behind(records, copies, "gone_up_to")
    since = F.when(F.col("gone_up_to") == 0, F.lit(0)).otherwise(F.col("behind_ms"))
    told = copies.join(small(behind), on="partition_index", how="left").select(
        "partition",
        F.coalesce(F.when(~F.col("short"), since), F.lit(BEYOND_CLOCKS_MS)).alias("from_ms"),
        F.col("until_ms"),
        "stopped",
    )
    # Of several copies the one that lacks least, and of those the latest.
    best = F.min_by(F.struct("until_ms", "stopped"), F.struct("from_ms", -F.col("until_ms")))
    moments = (
        told.groupBy("partition")
        .agg(F.min("from_ms").alias("from_ms"), best.alias("best"))
        .agg(
            F.max("from_ms").alias("named_from_ms"),
            F.min("best.until_ms").alias("named_to_ms"),
            F.min("best.stopped").alias("named_stopped"),
        )
    )
    # An older topic of that name lacks what was decided since, and a newer one the rest.
    topics = copies.agg((F.count_distinct("topic_id") < 2).alias("of_one_topic"))
    complete = completeness.crossJoin(F.broadcast(topics)).filter(
        F.col("coordinator_log_complete") & F.col("of_one_topic")
    )
    return moments.crossJoin(F.broadcast(complete.select(F.lit(True).alias("all")))).drop("all")


def _may_lack_more() -> Column:
    """Whether a copy may lack what no cleaner takes: the last record of an id, too.

    The copy of a follower may not reach the record for which the leader's cleaner took the one
    before, nor one that was made while the cleaner passed.
    """
    lost = ~surely(F.col("first_base") == 0) | (lost_up_to(F.col("unreadable_at")) > 0)
    of_one_moment = surely(F.col("one_moment_from") == 0) & surely(F.col("of_leader"))
    return lost | ((_gone_up_to() > 0) & ~of_one_moment)


def _gone_up_to() -> Column:
    """Offset of a copy, exclusive, up to which a cleaner may have taken records."""
    missing = F.coalesce(F.array_max("missing.end"), F.lit(0))
    return F.greatest(missing, "files_cleaned_below")


def with_history(rows: DataFrame, known: DataFrame, naming: DataFrame | None) -> DataFrame:
    """Adds the columns of `known` to rows with a producer_id; null where nothing is known.

    `known`: of `jobs.replay.decisions.histories`, with `matching.with_last_outcomes`. `naming`: of
    `named_moments`, None where the log cannot name all producers. unnamed: it does not name this
    one. Then history_covers_ms and history_clean_shutdown are of the log as a whole; named_from_ms
    is null otherwise, as where the log has other partitions.
    """
    beside = rows.join(known, on="producer_id", how="left")
    unnamed = F.col("known_above").isNull()
    if naming is None:
        never = F.lit(None).cast("bigint")
        return beside.withColumn("unnamed", unnamed).withColumn("named_from_ms", never)
    # Of no rows a row of nulls.
    one = naming.agg(*[F.max(name).alias(name) for name in naming.columns])

    def of(log: str, producer: str) -> Column:
        return F.when(F.col("unnamed"), F.col(log)).otherwise(F.col(producer))

    return (
        beside.crossJoin(F.broadcast(one))
        .withColumn("unnamed", unnamed)
        .withColumns(
            {
                "history_covers_ms": of("named_to_ms", "history_covers_ms"),
                "history_clean_shutdown": of("named_stopped", "history_clean_shutdown"),
                "named_from_ms": F.when(F.col("unnamed"), F.col("named_from_ms")),
            }
        )
        .drop("named_to_ms", "named_stopped")
    )


def would_be_named(tolerance: Column) -> Column:
    """Whether the coordinator's log would name the producer of a marker of `with_history`.

    If its copies are later than the marker (history_covers_ms). Not with the last epoch of a
    producer id: the Complete record of such a transaction names the next one
    (`TransactionMetadata.prepareComplete`). `tolerance`: of the clocks of brokers, ms.
    """
    later = attribution.surely_before(F.col("named_from_ms"), F.col("marker_timestamp"), tolerance)
    ended = F.col("first_offset").isNotNull()
    named: Column = surely(later & ended & (F.col("marker_epoch") < LAST_EPOCH))
    return F.col("unnamed") & named


def with_cluster(
    rows: DataFrame,
    decided: DataFrame,
    plain: PlainEpochs | None,
    topics: DataFrame,
    tolerance: Column,
) -> DataFrame:
    """Adds of_another_cluster: the row is `unnamed`, and another cluster may have decided it.

    No marker that was decided here is in front in the partition; nor, if it has none, earlier in
    the topic. Also where a clock of the dump came to the moment of its marker twice.
    `decided`: rows of the context with as many markers as decisions, in order; `plain`: epochs that
    need none; `topics`: told_id by partition_index; `tolerance`: of the clocks of brokers, ms.
    """
    of_marker = ("partition_index", "marker_offset", F.col("latest_marker").alias("decided_ms"))
    # About a topic of this name that was here before there may be decisions of the same producers.
    by_then = F.col("latest_marker") <= F.col("complete_timestamp") + tolerance
    met = decided.filter(by_then).select(*of_marker)
    if plain is not None:
        moment = F.col("marker_timestamp").alias("decided_ms")
        met = met.unionByName(plain.first_ended.select(*of_marker[:2], moment))
    first = (
        inner(met, small(topics), on="partition_index")
        .groupBy("partition_index", "told_id")
        .agg(F.min("marker_offset").alias("first_decided"), F.min("decided_ms").alias("decided_ms"))
    )
    earliest = first.groupBy("told_id").agg(F.min("decided_ms").alias("in_topic_ms"))
    in_topic = topics.join(small(earliest), on="told_id", how="left")
    behind = F.col("first_decided") < F.col("marker_offset")
    later = F.col("first_decided").isNull() & attribution.surely_before(
        F.col("in_topic_ms"), F.col("earliest_marker"), tolerance
    )
    twice = came_twice(F.col("earliest_marker"), tolerance)
    return (
        rows.join(small(first.drop("told_id", "decided_ms")), on="partition_index", how="left")
        .join(small(in_topic.drop("told_id")), on="partition_index", how="left")
        .withColumn("of_another_cluster", F.col("unnamed") & (twice | ~surely(behind | later)))
        .drop("first_decided", "in_topic_ms")
    )
