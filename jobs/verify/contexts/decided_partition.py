"""Context `decided_partition`: one row is what was decided for a partition, and its markers."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.model.lost_records import gone_before_newest, lost_up_to, unreadable_of_ids
from jobs.model.markers import Markers
from jobs.model.plain_epochs import PlainEpochs
from jobs.model.set_back_clocks import once
from jobs.model.transactions import all_runs
from jobs.spark.joins import inner, small
from jobs.verify.contexts.aborted_data import aborted_data
from jobs.verify.contexts.context import Context
from jobs.verify.contexts.decided.anchors import (
    with_anchors,
    with_copies,
    with_first_once,
)
from jobs.verify.contexts.decided.counts import with_counts
from jobs.verify.contexts.decided.data import with_data, with_last_markers, with_surroundings
from jobs.verify.contexts.decided.epochs import with_decision, with_outcomes
from jobs.verify.contexts.decided.findings import with_findings
from jobs.verify.contexts.decided.first_ended import completed, first_ended
from jobs.verify.contexts.decided.judged import lacks_batches, with_judged
from jobs.verify.contexts.decided.matching import (
    KEY,
    as_many_markers,
    matched,
    one_copy,
    regular,
    with_last_outcomes,
)
from jobs.verify.contexts.decided.unnamed import with_cluster
from jobs.verify.contexts.decided.unseen import with_unseen
from jobs.verify.contexts.decided.window import with_last_older, with_window
from jobs.verify.contexts.transaction import Ages
from schemas.topics import TXN_LOG_TOPIC
from udfs.rules.absence import reaches_behind
from udfs.rules.clock import BEYOND_CLOCKS_MS, within_clocks
from udfs.rules.extent import MAX_OFFSET, is_replicated
from udfs.rules.logic import surely


@dataclass(frozen=True)
class DecidedInputs:
    """What the context is built from.

    `history`: producer ids, of `jobs.replay.decisions`; `owners`: the ids that own producer ids;
    `states`: producer runs; `transactions`: of `jobs.replay.transactions`; `regular_of`:
    those of producers (distinct, column producer_id) that were folded away; `plain`: epochs that
    need no row, None for none. `naming`: of `decided.unnamed.named_moments`, None where the dump
    leaves out partitions of the coordinator's log. `several_copies`: a partition of that log is
    there on several brokers. `keep`: computes a frame that is read more than once, and begins a
    new plan.
    """

    log: CoordinatorLog
    history: DataFrame
    owners: DataFrame
    states: DataFrame
    transactions: DataFrame
    markers: Markers
    plain: PlainEpochs | None
    regular_of: Callable[[DataFrame], DataFrame]
    naming: DataFrame | None
    several_copies: bool
    keep: Callable[[DataFrame], DataFrame]

    @property
    def folded(self) -> int:
        """Rows of the context that plain epochs would have been."""
        return 0 if self.plain is None else self.plain.number


def _decisions(decided: DataFrame, several_copies: bool) -> DataFrame:
    names = ("prepare_timestamp", "start_ms", "complete_timestamp", "went_on_ms")
    safe = decided.withColumns({name: within_clocks(F.col(name)) for name in names})
    return one_copy(safe, several_copies)


def _topics(partition_info: DataFrame) -> DataFrame:
    """Of each copy of a partition: what its markers are compared by."""
    return partition_info.select(
        "partition_index", _listed(), "topic", "coordinator_topic", "replica_set", "high_watermark",
        "incarnation", _told_id(),
    )  # fmt: skip


def _told_id() -> Column:
    """Equal for copies that are surely of one topic: its id, or its name if it was created once.

    A copy that does not tell its id has that of the only topic of its name, as another one may tell
    it. Null, which is equal to nothing, where neither tells it: the folder of a deleted topic stays
    on a broker that is down, or from which a replica was moved while it was.
    """
    once = F.when(F.col("created_once"), F.coalesce("created_id", "topic"))
    return F.coalesce("topic_id", once).alias("told_id")


def _listed() -> Column:
    return F.concat_ws("-", "topic", "partition").alias("listed")


def _there_since(tolerance: Column) -> Column:
    """From when on the partition surely was there, ms of a broker's clock; null if nothing tells.

    Another partition of its topic, with the same number or a higher one, has a moment from then:
    partitions are created in the order of their numbers. Topics of the coordinators have all of
    theirs at once (`AutoTopicCreationManager`). The id tells that it is the same topic: also those
    of the coordinators may be deleted, and made again while a broker is down that keeps its folder.
    """
    dated = once(F.col("first_dated_ms"), tolerance)
    of_topic = Window.partitionBy("cluster_id", "topic", "topic_id")
    at_once = F.when(F.col("coordinator_topic"), F.min(dated).over(of_topic))
    above = F.min(dated).over(of_topic.orderBy(F.desc("partition")))
    return F.when(F.col("topic_id").isNotNull(), F.coalesce(at_once, above))


def _all_since(tolerance: Column) -> Column:
    """From when on the copy has had all of its partition but what it lacks between others, ms.

    Its log begins with the partition: no retention, nor DeleteRecords, took its head. That of the
    only topic with its name was there when a transaction listed it (`KafkaApis` asks its metadata
    for it, `TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue` the same later). Not so the
    topics of the coordinators: AddOffsetsToTxn does not ask whether `__consumer_offsets` is there,
    and a marker for it is skipped until it is.
    """
    from_start = (F.col("first_base") == 0) & (F.col("log_start_offset") == 0)
    # A later topic of that name would have another id.
    sole = surely(F.col("topic_id") == F.col("created_id")) & ~F.col("coordinator_topic")
    since = F.when(sole, F.lit(-2 * BEYOND_CLOCKS_MS)).otherwise(_there_since(tolerance))
    return F.when(from_start, since)


def _copies(partition_info: DataFrame, tolerance: Column) -> DataFrame:
    """What a row asks of the copy of its partition."""
    return partition_info.withColumn("all_since_ms", _all_since(tolerance)).select(
        "partition_index", "broker", "topic", "partition", "complete_up_to_ms", "clean_shutdown",
        "replicated_below", "of_leader", "first_dated_offset", "first_dated_ms", "set_backs",
        "single_broker", "alone_in_cluster", "holes", "missing",
        "emptied", "last_legacy_offset", "log_end_offset", "high_watermark", "kraft_only",
        "first_base", "log_start_offset", "log_start_known", "one_moment_from", "fetched",
        "coordinator_topic", "replica_set", "of_deleted_topic", "all_since_ms",
        _told_id(), _listed(),
    )  # fmt: skip


def _ends(partition_info: DataFrame) -> DataFrame:
    """Where copies end that may get what another copy has behind that: partition_index, listed.

    Not from a copy that this one outlasts, as its leader was replaced. Copies that are not known to
    be replicas, such as texts, are not compared.
    """
    may_lag = F.col("outlasted") | F.col("replica_set").isNull()
    return partition_info.filter(may_lag).select(
        "partition_index", "log_end_offset", F.col("incarnation").alias("of_end"), _listed()
    )


def _lost_records(partition_info: DataFrame) -> DataFrame:
    """One row a coordinator_partition: what may be lost of it, and what is not there.

    lost_to: up to where records that do not even tell their id may be lost, exclusive, 0 for none.
    Of several copies the one that lacks least tells, as decisions are taken from all of them; one
    that another copy outlasts lacks the end. coordinator_missing: the `missing` of each of these
    copies.
    """
    of_log = partition_info.filter((F.col("topic") == TXN_LOG_TOPIC) & ~F.col("outlasted"))
    return of_log.groupBy(F.col("partition").alias("coordinator_partition")).agg(
        F.min(lost_up_to(F.col("nameless_at"))).alias("lost_to"),
        F.collect_list("missing").alias("coordinator_missing"),
    )


def _with_lost_owners(rows: DataFrame, log: CoordinatorLog, partition_info: DataFrame) -> DataFrame:
    """Adds owner_may_be_lost: a later transaction, which may own the data, is not to be found.

    And id_went_on: a copy of the log, which may be another one, has a later record of the id.
    Its records are lost or cannot be decoded; or they are compacted away, where the id went on: of
    its records only the newest one must be there.
    """
    own = F.col("newest_id") == F.col("transactional_id")
    newest = F.when(own, F.col("newest_record")).otherwise(F.lit(MAX_OFFSET))
    ended = F.greatest("newest_prepare", "complete_offset")
    lost = reaches_behind(lost_up_to(F.col("own_unreadable_at")), ended + 1)
    gone = gone_before_newest(ended, newest, F.col("coordinator_missing"))
    of_ids = small(unreadable_of_ids(log.txn_log_records))
    return (
        rows.join(small(_lost_records(partition_info)), on="coordinator_partition", how="left")
        .join(of_ids, on="transactional_id", how="left")
        .withColumn("owner_may_be_lost", surely(lost) | surely(gone))
        .withColumn("id_went_on", surely(own & (F.col("newest_record") > F.col("newest_prepare"))))
        .drop("lost_to", "own_unreadable_at", "coordinator_missing")
    )


def _with_coordinators(rows: DataFrame, partition_info: DataFrame) -> DataFrame:
    """Adds deciding_index, and what `_coordinators` says of that copy."""
    deciding = F.coalesce("coordinator_index", "committed_index")
    return (
        rows.withColumn("deciding_index", deciding)
        .join(small(_coordinators(partition_info)), on="deciding_index", how="left")
        # A follower that lags ends earlier than it was copied.
        .withColumn("earlier_end", F.when(F.col("of_leader"), F.col("earlier_end")))
    )


def _coordinators(partition_info: DataFrame) -> DataFrame:
    """What a row asks of the copy of the coordinator's log that decided (`deciding_index`)."""
    return partition_info.select(
        F.col("partition_index").alias("deciding_index"),
        F.col("broker").alias("coordinator_broker"),
        F.col("clean_shutdown").alias("coordinator_clean_shutdown"),
        F.col("replicated_below").alias("coordinator_replicated_below"),
        F.col("partition").alias("coordinator_partition"),
        "earlier_end",
    )


def _gapped(partition_info: DataFrame) -> DataFrame:
    """The partitions in which a marker may be missing."""
    return partition_info.filter(lacks_batches()).select("partition_index")


def _with_replicas(rows: DataFrame, placed: DataFrame, ends: DataFrame) -> DataFrame:
    """Adds what other brokers have of the marker; null for none.

    behind_end_ms: the earliest moment, of a broker's clock, of those behind the end of this copy,
    which it may get; not from one of another topic of that name. marked_in_replica: the highest
    replicated offset in any replica that surely is one of the same topic. `placed`:
    markers of topic partitions; `ends`: of `_ends`.
    """
    of_topic = ["replica_set", "told_id", "producer_id", "marker_epoch", "commit"]
    of_another = (F.least("incarnation", "of_end") > 0) & (F.col("incarnation") != F.col("of_end"))
    there = placed.withColumnRenamed("marker_commit", "commit")
    behind = (
        inner(there.drop("partition_index"), small(ends), on="listed")
        .filter((F.col("marker_offset") >= F.col("log_end_offset")) & ~of_another)
        .groupBy(*KEY)
        .agg(F.min("marker_timestamp").alias("behind_end_ms"))
    )
    replicated = there.filter(is_replicated(F.col("marker_offset"), F.col("high_watermark")))
    highest = replicated.groupBy(*of_topic).agg(F.max("marker_offset").alias("marked_in_replica"))
    found = rows.join(behind, on=KEY, how="left").join(highest, on=of_topic, how="left")
    return found.drop("told_id")


def _of_producers(
    given: DecidedInputs, producers: DataFrame
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Decisions, markers and runs of some producers (distinct, column producer_id), kept."""
    decided = _decisions(given.log.decisions_of(producers), given.several_copies)
    # The states of a snapshot lie before the log, where markers are not looked for.
    in_log = given.states.filter(~F.col("initial"))
    mine = in_log.join(small(producers), on="producer_id", how="left_semi")
    runs = all_runs(mine, given.regular_of(producers))
    return given.keep(decided), given.keep(given.markers.of_producers(producers)), given.keep(runs)


def _with_clusters(
    rows: DataFrame,
    every: DataFrame,
    given: DecidedInputs,
    partition_info: DataFrame,
    tolerance: Column,
) -> DataFrame:
    """`unnamed.with_cluster`, of which nothing is planned where no row can be unnamed."""
    if given.naming is None:
        return rows.withColumn("of_another_cluster", F.lit(False))
    decided = every.filter(regular() & as_many_markers())
    topics = _topics(partition_info).select("partition_index", "told_id")
    return with_cluster(rows, decided, given.plain, topics, tolerance)


def _with_all_counts(
    in_copies: DataFrame,
    decided: DataFrame,
    markers: DataFrame,
    tolerance: Column,
    keep: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """`with_counts`, and `with_unseen` of decisions that cannot be counted."""
    counts = with_counts(in_copies, decided, markers, tolerance, keep)
    return keep(with_unseen(counts, in_copies, decided, markers, tolerance, keep))


def _with_open_data(
    rows: DataFrame,
    given: DecidedInputs,
    producers: DataFrame,
    partition_info: DataFrame,
    tolerance: int,
) -> DataFrame:
    """Adds all_aborted: the row aborts open data, about all of which ABORT is proven decided."""
    mine = given.transactions.join(small(producers), on="producer_id", how="left_semi")
    aborted = given.keep(aborted_data(mine, given.states, given.log, partition_info, tolerance))
    key = ["partition_index", "producer_id", "producer_epoch"]
    told = surely(F.col("open_aborted")) & ~F.col("commit")
    return rows.join(small(aborted), on=key, how="left").withColumn("all_aborted", told)


def decided_partition_context(
    given: DecidedInputs, partition_info: DataFrame, files: DataFrame, ages: Ages
) -> Context:
    """Decisions of the coordinator beside the markers of each partition, one a broker's copy.

    A row is (partition_index, producer_id, marker_epoch, commit). Which of them belong together is
    said in `udfs.rules.attribution`; what did not take effect is no decision here.

    prepares, completes, markers, closing: how many Prepare records list the partition, Complete
    records follow them, markers are there and ended data; null for none. Under transaction.version
    0 and 1 several transactions share a row.
    told_elsewhere: 1 where another copy of the coordinator's log tells one of its Prepare records.
    lowest_leader_epoch: that of their Prepare records; latest_leader_epoch: the highest of their
    Complete records, ANY_LEADER_EPOCH where one has none. pending: the Prepare record is the last
    record of its id. decidable: a decision with this epoch would be in the coordinator's log.
    unraised_*, raised_*: the first marker with the epoch of its own data, or a higher one; wrong_*:
    the one of the two that the transaction.version of the decision does not write. stale_*,
    undecided_*, short_*, odd_*: see `with_counts`; unseen_short: see `with_unseen`; early_*,
    misfit_*: see `decided.findings`. committed_*: the Prepare record that committed data of the
    marker's epoch here, under version 2. decided_*: Prepare records of the producer id and epoch,
    whatever they list. contradicted: see `with_last_outcomes`. lacking_*: the decision without its
    marker. goes_on: replicated data of a later epoch are there. copied_later, history_*: which
    copies are later than the Complete record and the markers: see `decided.anchors`. held_from,
    may_come: see `decided.judged`. last_older: see `decided.window`. unnamed, of_another_cluster:
    see `decided.unnamed`. all_aborted: see `_with_open_data`. id_went_on: see `_with_lost_owners`.
    """
    tolerance = F.lit(ages.clock_tolerance)
    copies = _copies(partition_info, tolerance)
    known_ends = with_last_outcomes(given.history, given.owners)
    known = known_ends, given.naming, given.owners, tolerance

    def beside(decisions: DataFrame, markers: DataFrame) -> DataFrame:
        each = _decisions(decisions, given.several_copies)
        return matched(each, partition_info, markers, known_ends, given.naming, tolerance)

    rows = beside(given.log.not_plain, given.markers.not_plain)

    def every_row() -> DataFrame:
        return beside(given.log.decisions, given.markers.every)

    def enrich(selected: DataFrame) -> DataFrame:
        producers = given.keep(selected.select("producer_id").distinct())
        decided, markers, runs = _of_producers(given, producers)
        placed = inner(markers, small(_topics(partition_info)), on="partition_index")
        dated = with_first_once(copies, given.markers, tolerance, given.keep)
        of_copies = inner(selected, small(dated), on="partition_index")
        of_log = _with_coordinators(with_decision(of_copies, decided, *known), partition_info)
        with_owners = _with_lost_owners(of_log, given.log, partition_info)
        gapped = given.keep(_gapped(partition_info))
        completed_ones = completed(rows, given.plain, every_row, copies, tolerance)
        ended = first_ended(completed_ones, _coordinators(partition_info))
        replicated = _with_replicas(with_owners, placed, _ends(partition_info))
        outcomes = with_outcomes(replicated, placed, tolerance)
        # Each of the three is joined with what is made of itself: kept, or its plan would double.
        owned = given.keep(with_data(outcomes, runs, markers, files))
        around = with_surroundings(owned, runs, markers, tolerance)
        beside = with_last_markers(around, given.markers).join(
            small(ended), on=["partition_index", "coordinator_partition"], how="left"
        )
        in_copies = given.keep(with_copies(beside, tolerance))
        counted = _with_all_counts(in_copies, decided, markers, tolerance, given.keep)
        placed_between = with_window(counted, gapped, given.markers, tolerance, given.keep)
        anchored = with_anchors(placed_between, tolerance)
        judged = given.keep(with_judged(anchored, tolerance))
        placed_behind = with_last_older(judged, given.markers, tolerance, given.keep)
        of_cluster = _with_clusters(placed_behind, rows, given, partition_info, tolerance)
        found = with_findings(of_cluster, markers, files, ages)
        return _with_open_data(found, given, producers, partition_info, ages.clock_tolerance)

    return Context("decided_partition", rows, regular, enrich, given.folded, within_cluster=True)
