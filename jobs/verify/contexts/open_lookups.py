"""What an open transaction is joined with: small tables of what the logs say about it.

Each is computed by itself. As one plan they would be read, compared and copied with every step of
the next one, and most of them are empty in most dumps, which a computed table shows.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.coordinator_listing import CoordinatorListing
from jobs.model.coordinator_log import CoordinatorLog
from jobs.model.lost_records import lost_up_to, moments_behind
from jobs.model.set_back_clocks import came_twice
from jobs.spark.joins import inner, small
from jobs.verify.contexts.append_bound import broker_moments
from jobs.verify.contexts.decided.window import nearest_markers
from jobs.verify.contexts.partition_count import no_multiple_fits
from schemas.topics import TXN_LOG_TOPIC
from udfs.rules.absence import ids_fit, partitions_proven
from udfs.rules.clock import BEYOND_CLOCKS_MS
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely

OF_TRANSACTION = ["partition_index", "producer_id", "transaction_number"]


def newest_decisions(opened: DataFrame, log: CoordinatorLog) -> DataFrame:
    """One row a producer id and partition that its Prepare records list (`listed`).

    Columns: producer_id, listed (topic-partition), decided_ms (timestamp of the newest Prepare
    record, ms), decided_until_ms and decided_before_ms (up to when that decision and the one before
    it wrote their markers; the latter null for none), decided_commit and decided_epoch (outcome and
    epoch of its marker), raised_epochs (epochs of data that a decision raised whose Complete record
    is there: it is to have a marker here, and other checks ask for it), decided_at (offset of the
    newest Prepare record), decided_unseen (it was carried out, as its id went on, and its Complete
    record is lost). `opened`: the open transactions.
    """
    own = ("producer_id", "producer_epoch", "offset", "timestamp", "partitions", "commit")
    decisions = (
        log.decisions_of(opened.select("producer_id").distinct())
        # A leader that was replaced without knowing sent no marker of what it decided then.
        .filter(~F.col("told_by_another"))
        .select(
            "producer_id",
            F.col("marker_epoch").alias("producer_epoch"),
            "data_epoch",
            F.col("prepare_offset").alias("offset"),
            F.col("prepare_timestamp").alias("timestamp"),
            "partitions",
            "commit",
            "pending",
            "complete_timestamp",
            "gave_way_at",
        )
        # Replicas of the log hold the same record, of which one may be the end of a copy.
        .groupBy(*own)
        .agg(
            F.min("pending").alias("pending"),
            F.max("complete_timestamp").alias("completed"),
            F.max("gave_way_at").alias("gave_way_at"),
            # A copy may lack the record before, which tells the epoch of the data.
            F.min("data_epoch").alias("data_epoch"),
        )
        .withColumn("listed", F.explode("partitions"))
    )
    order = Window.partitionBy("producer_id", "listed").orderBy("offset")
    # A marker may come long after its Prepare record, and what had no effect wrote none.
    until = F.coalesce("completed", F.when(F.col("gave_way_at").isNotNull(), F.col("timestamp")))
    carried_out = F.coalesce(until, F.lit(BEYOND_CLOCKS_MS))
    unseen = F.col("completed").isNull() & ~F.col("pending") & F.col("gave_way_at").isNull()
    raised = F.col("ended_ms").isNotNull() & (F.col("producer_epoch") > F.col("data_epoch"))
    ordered = _with_attempts(decisions).withColumns(
        {"until": carried_out, "before": F.lag(carried_out).over(order), "unseen": unseen}
    )
    newest = ("offset", "timestamp", "until", "before", "unseen", "commit", "producer_epoch")
    return (
        ordered.groupBy("producer_id", "listed")
        .agg(
            F.max(F.struct(*newest)).alias("decision"),
            F.collect_set(F.when(raised, F.col("data_epoch"))).alias("raised_epochs"),
        )
        .select(
            "producer_id",
            "listed",
            "raised_epochs",
            F.col("decision.timestamp").alias("decided_ms"),
            F.col("decision.until").alias("decided_until_ms"),
            F.col("decision.before").alias("decided_before_ms"),
            F.col("decision.offset").alias("decided_at"),
            F.col("decision.unseen").alias("decided_unseen"),
            F.col("decision.commit").alias("decided_commit"),
            F.col("decision.producer_epoch").alias("decided_epoch"),
        )
    )


def _with_attempts(decisions: DataFrame) -> DataFrame:
    """Decisions, each with what all attempts to decide its transaction say together.

    data_epoch: the lowest one; ended_ms: the moment of the Complete record, ms, null for none. An
    attempt that gave way is followed by the next one of the same transaction.
    """
    names = ("producer_id", "listed")
    before = Window.partitionBy(*names).orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    decided = F.coalesce(F.sum(F.col("gave_way_at").isNull().cast("int")).over(before), F.lit(0))
    of_transaction = Window.partitionBy(*names, "transactions_before")
    numbered = decisions.withColumn("transactions_before", decided)
    return numbered.withColumns(
        {
            "data_epoch": F.min("data_epoch").over(of_transaction),
            "ended_ms": F.max("completed").over(of_transaction),
        }
    )


def _last_markers(opened: DataFrame, states: DataFrame) -> DataFrame:
    """One row a partition with open transactions: last_marker_ms, that of its last marker.

    If its producer wrote nothing behind it in its split, it is there as a row; else what comes
    behind it is open, and knows it.
    """
    of_states = states.filter(F.col("has_marker") & ~F.col("initial")).select(
        "partition_index", F.struct("marker_offset", "marker_timestamp").alias("marker")
    )
    before = F.col("opening_marker")
    of_open = opened.filter(~before["initial"]).select(
        "partition_index", F.struct(before["offset"], before["timestamp"]).alias("marker")
    )
    return (
        inner(
            of_states.union(of_open),
            small(opened.select("partition_index").distinct()),
            on="partition_index",
        )
        .groupBy("partition_index")
        .agg(F.max("marker")["marker_timestamp"].alias("last_marker_ms"))
    )


def moments(opened: DataFrame, states: DataFrame, tolerance: int) -> DataFrame:
    """When the data of open transactions lay there at the latest, ms of brokers' clocks.

    Columns: OF_TRANSACTION; committed_before (in the partition of any open transaction of its
    producer a COMMIT stands in front of the data, else null); begun_by_ms and behind_data_ms (the
    broker's first moment after the first batch, and after the last, to which no clock came twice;
    null where none lies there); last_marker_ms: see `_last_markers`. Where no moment lies behind
    data, they are not older than that, however old their client says that they are. Client
    timestamps say nothing of either (`udfs.rules.clock`).
    """
    ends = opened.select(
        *OF_TRANSACTION, F.explode(F.array("first_offset", "last_offset")).alias("at_offset")
    )
    began = opened.groupBy("partition_index").agg(
        F.min("first_offset").alias("from_offset"), F.first("set_backs").alias("set_backs")
    )
    behind = (
        inner(broker_moments(states), small(began), on="partition_index")
        .filter(F.col("moment_offset") > F.col("from_offset"))
        .filter(~came_twice(F.col("moment_ms"), F.lit(tolerance)))
        .select("partition_index", F.col("moment_offset").alias("at_offset"), "moment_ms")
    )
    # The moment of a batch itself counts as one behind it.
    before = (
        Window.partitionBy("partition_index")
        .orderBy(F.desc("at_offset"), F.col("producer_id").isNotNull())
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    nearest = F.last("moment_ms", ignorenulls=True).over(before)
    return (
        ends.unionByName(behind, allowMissingColumns=True)
        .withColumn("behind_ms", nearest)
        .filter(F.col("producer_id").isNotNull())
        .groupBy(*OF_TRANSACTION)
        .agg(
            F.min_by("behind_ms", "at_offset").alias("begun_by_ms"),
            F.max_by("behind_ms", "at_offset").alias("behind_data_ms"),
        )
        .join(small(_last_markers(opened, states)), on="partition_index", how="left")
        .join(small(_committed(opened)), on="producer_id", how="left")
    )


def _committed(opened: DataFrame) -> DataFrame:
    """One row a producer id with a COMMIT in front of data that are open: committed_before."""
    committed = opened.filter(F.col("opening_marker.commit"))
    return committed.groupBy("producer_id").agg(F.lit(True).alias("committed_before"))


def decided_producers(opened: DataFrame, log: CoordinatorLog) -> DataFrame:
    """One row a producer id of which the coordinator's log has a decision: told_of.

    Whoever owned it then: the id may have expired since (`transactional.id.expiration.ms`), or gone
    on with another producer id.
    """
    decisions = log.decisions_of(_committed(opened).select("producer_id"))
    return decisions.groupBy("producer_id").agg(F.lit(True).alias("told_of"))


def gone_on(
    opened: DataFrame,
    states: DataFrame,
    owners: DataFrame,
    partition_info: DataFrame,
    tolerance: int,
) -> DataFrame:
    """From where on a partition is later than the record that its data's owner has gone on with.

    Columns: OF_TRANSACTION, gone_on_at: the offset of the first moment of a broker's clock that
    every leader has, and that is later than the last record of the owner for sure. What the
    coordinator wrote into the partition before that record lies before this offset: what is missing
    behind it holds no marker of what was completed then. Only of data in front of it, in partitions
    of which something is lost; null where a clock came to that moment twice. `tolerance`: of
    brokers' clocks, ms.
    """
    apart = F.lit(tolerance).cast("long")
    records = owners.select(
        "producer_id", "producer_epoch", F.try_add("record_timestamp", apart).alias("at_ms")
    )
    twice = came_twice(F.col("at_ms"), apart)
    asked = (
        inner(
            opened.filter(F.size("holes") > 0).select(
                *OF_TRANSACTION, "highest_epoch", "last_offset", "set_backs"
            ),
            small(records),
            on="producer_id",
        )
        .filter((F.col("producer_epoch") > F.col("highest_epoch")) & F.col("at_ms").isNotNull())
        .filter(~twice)
        .select(*OF_TRANSACTION, "last_offset", F.lit(False).alias("behind"), "at_ms", "set_backs")
    )
    stable = partition_info.select("partition_index", "replicated_below")
    kept = (
        inner(broker_moments(states), small(stable), on="partition_index")
        .filter(is_replicated(F.col("moment_offset"), F.col("replicated_below")))
        .select(
            "partition_index",
            F.col("moment_ms").alias("marker_timestamp"),
            F.col("moment_offset").alias("marker_offset"),
        )
    )
    found = nearest_markers(asked, kept, OF_TRANSACTION, apart)
    return (
        inner(asked, small(found), on=OF_TRANSACTION)
        .filter(F.col("before_marker") > F.col("last_offset"))
        .select(*OF_TRANSACTION, F.col("before_marker").alias("gone_on_at"))
    )


def _log_complete(listing: CoordinatorListing) -> Column:
    """Whether every partition of the coordinator's log is there; over the copies of that topic."""
    if listing.beyond or not listing.number:
        return F.lit(False)
    if listing.total is not None:
        return F.lit(listing.number == listing.total)
    ids = F.coalesce(F.sum("ids"), F.lit(0))
    misfits = F.coalesce(F.sum("misplaced_ids"), F.lit(0))
    divisors = F.flatten(F.collect_list("hash_divisors"))
    proven: Column = partitions_proven(
        F.lit(listing.number),
        F.lit(False),
        F.lit(listing.listed),
        ids_fit(ids - misfits, misfits),
        no_multiple_fits(listing.number, divisors),
    )
    return proven


def _none_lost_since(records: DataFrame, partition_info: DataFrame) -> DataFrame:
    """One row: none_lost_since_ms, from when on no partition of the log has lost a record, ms.

    0: none ever did; BEYOND_CLOCKS_MS where nothing stands behind what is lost. By the newest
    moment up to the first record behind it. Of several copies of a partition the one that lacks
    least tells; one that another copy outlasts lacks the end.
    """
    copies = (
        partition_info.filter((F.col("topic") == TXN_LOG_TOPIC) & ~F.col("outlasted"))
        .withColumn("lost_up_to", lost_up_to(F.col("unreadable_at")))
        .select("partition_index", "partition", "lost_up_to")
    )
    behind = moments_behind(records, copies.filter(F.col("lost_up_to") > 0), "lost_up_to")
    behind_ms = F.greatest(F.coalesce("behind_ms", F.lit(BEYOND_CLOCKS_MS)), F.lit(1))
    since = F.when(F.col("lost_up_to") > 0, behind_ms)
    by_partition = (
        copies.join(small(behind), on="partition_index", how="left")
        .groupBy("partition")
        .agg(F.min(F.coalesce(since, F.lit(0))).alias("since_ms"))
    )
    return by_partition.agg(F.max("since_ms").alias("none_lost_since_ms"))


def log_completeness(partition_info: DataFrame, listing: CoordinatorListing) -> DataFrame:
    """One row: coordinator_log_complete, see `log_ages`."""
    return _by_partition(partition_info).agg(
        _log_complete(listing).alias("coordinator_log_complete")
    )


def _by_partition(partition_info: DataFrame, *more: Column) -> DataFrame:
    """One row a partition of the coordinator's log: what `_log_complete` asks, and `more`."""
    of_log = partition_info.filter(F.col("topic") == TXN_LOG_TOPIC)
    ids = [F.max(name).alias(name) for name in ("ids", "misplaced_ids")]
    divisors = F.flatten(F.collect_list("hash_divisors")).alias("hash_divisors")
    return of_log.groupBy("partition").agg(*ids, divisors, *more)


def log_ages(
    records: DataFrame, partition_info: DataFrame, listing: CoordinatorListing
) -> DataFrame:
    """One row: how late the coordinator's log was copied, all of its partitions taken together.

    logs_until_ms: every partition of `__transaction_state` has a copy that is complete up to this
    moment; logs_stopped: and of a broker that was stopped cleanly and has no other beside it in its
    cluster. Null without the log. coordinator_log_complete: every partition of it is in the dump.
    coordinator_log_whole: each of them has a copy from offset 0 on, which no other outlasts, of
    which nothing is missing, and each record can be read. none_lost_since_ms: see
    `_none_lost_since`.
    """
    gapless = (F.size("missing") == 0) & F.col("unreadable_at").isNull()
    # The copy of a replica that has just been added is short, and lacks nothing.
    furthest = ~surely(F.col("outlasted"))
    whole = (F.col("first_base") == 0) & gapless & furthest
    stopped = F.col("clean_shutdown") & F.col("alone_in_cluster")
    by_partition = _by_partition(
        partition_info,
        F.max("complete_up_to_ms").alias("until_ms"),
        F.max(stopped).alias("stopped"),
        F.max(surely(whole)).alias("whole"),
    )
    of_all = by_partition.agg(
        # A copy of which nothing is known is as old as can be.
        F.min(F.coalesce("until_ms", F.lit(-1))).alias("logs_until_ms"),
        F.min("stopped").alias("logs_stopped"),
        F.min("whole").alias("coordinator_log_whole"),
        _log_complete(listing).alias("coordinator_log_complete"),
    )
    return of_all.crossJoin(F.broadcast(_none_lost_since(records, partition_info)))


def epochs(opened: DataFrame, log: CoordinatorLog) -> DataFrame:
    """What the coordinator's log says of the epoch of an open transaction, as a whole.

    Columns: producer_id, highest_epoch, listed_in_epoch (topic-partition of all partitions that its
    records list, all of which are there), to_commit, to_abort and last_listed (see
    `jobs.replay.epoch_history`); epoch_record: place of the last of them; epoch_copy: the copy of
    the log that tells it, which may end before the one that knows the newest record of the id.
    """
    return log.epochs_of(opened.select("producer_id").distinct()).select(
        "producer_id",
        F.col("producer_epoch").alias("highest_epoch"),
        F.col("listed").alias("listed_in_epoch"),
        "to_commit",
        "to_abort",
        "last_listed",
        F.col("record").alias("epoch_record"),
        F.struct(
            "moved_on", "replicated", "coordinator_up_to_ms", "coordinator_clean_shutdown"
        ).alias("epoch_copy"),
    )
