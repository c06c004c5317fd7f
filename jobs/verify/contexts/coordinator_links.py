"""A record of the coordinator beside records of other ids, other copies and other partitions.

Computed for irregular rows of `coordinator_step` only. The newest record of an id, and the first
with a producer id, are irregular by definition, so no row that needs these columns is left out.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import came_twice_within
from jobs.model.transactions import all_transactions
from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames, is_known_empty
from jobs.spark.local import local_frame
from jobs.verify.contexts.partition_count import known_count, partition_count
from schemas.coordinator_states import PREPARE_COMMIT, PREPARED
from schemas.topics import TXN_LOG_TOPIC
from udfs.rules.attribution import may_be_operators, raised, was_loaded, would_be_sent_again
from udfs.rules.extent import is_replicated, is_told_by_another
from udfs.rules.logic import surely

# What `_markers_found` tells.
FOUND = (
    "partition_index int, transactional_id string, marked_partitions int, marked_for_ms bigint, "
    "led_partitions int, led_until_ms bigint"
)


@dataclass(frozen=True)
class EndedTransactions:
    """Transactions with the markers that ended them, and what was decided about them.

    `rows`: of `jobs.replay.transactions`; `folded_in`: those that were folded away, of partitions
    (column partition_index); `decisions_of`: of `jobs.model.coordinator_log`.
    """

    rows: DataFrame
    folded_in: Callable[[DataFrame], DataFrame]
    decisions_of: Callable[[DataFrame], DataFrame]


def leader_epochs(txn_log_records: DataFrame, copies: DataFrame) -> DataFrame:
    """One row a partition of the coordinator's log: who led it, as far as the copy is replicated.

    leaders: array of structs (leader_epoch, alive_ms: `alive_ms` of its first record). `copies`:
    partition_index, kept_below.
    """
    known = copies.select("partition_index", "kept_below")
    counts = is_replicated(F.col("offset"), F.col("kept_below"))
    return (
        inner(txn_log_records, small(known), on="partition_index")
        .filter(F.coalesce(counts, F.lit(True)))
        .groupBy("partition_index", "leader_epoch")
        .agg(F.min("alive_ms").alias("alive_ms"))
        .groupBy("partition_index")
        .agg(F.collect_list(F.struct("leader_epoch", "alive_ms")).alias("leaders"))
    )


def with_links(
    selected: DataFrame,
    partition_info: DataFrame,
    leaders: DataFrame,
    ended: EndedTransactions,
    kept: KeptFrames,
    tolerance: int,
) -> DataFrame:
    """Adds what the docstrings of the functions below say.

    `leaders`: see `leader_epochs`; `tolerance`: how far brokers' clocks may be apart, ms.
    """
    beside = kept.keep_all(
        count=_partition_count(selected, partition_info),
        found=_markers_found(selected, partition_info, ended, kept, tolerance),
        leaders=leaders,
    )
    return (
        _with_loading(_with_copies(_with_users(selected)), beside["leaders"])
        .crossJoin(F.broadcast(beside["count"]))
        .join(small(beside["found"]), on=["partition_index", "transactional_id"], how="left")
        .withColumn("home_partition", F.col("id_hash") % F.col("partition_count"))
    )


def _with_users(rows: DataFrame) -> DataFrame:
    """Adds who else used the producer id of the record.

    first_user: struct (transactional_id, file_index, position, length, offset) of the record that
    used it first in the dump. first_use: no earlier record, nor one of another copy, has this id
    with this producer id. returns_to_producer_id: the id had it before, and then another one.
    """
    begins = ~F.col("previous.producer_id").eqNullSafe(F.col("producer_id"))
    used = begins & F.col("error").isNull() & (F.col("producer_id") >= 0)
    user = F.struct("transactional_id", "file_index", "position", "length", "offset")
    of_producer = Window.partitionBy("producer_id").orderBy("timestamp", "broker", "offset")
    of_both = Window.partitionBy("producer_id", "transactional_id").orderBy("offset", "broker")
    in_copy = Window.partitionBy("producer_id", "transactional_id", "partition_index")
    after_tombstone = F.col("previous.producer_id").isNull()
    another = F.when(after_tombstone, F.col("earlier.producer_id")).otherwise(
        F.col("previous.producer_id")
    )
    return rows.select(
        "*",
        F.first(F.when(used, user), ignorenulls=True).over(of_producer).alias("first_user"),
        (F.row_number().over(of_both) == 1).alias("first_use"),
        surely(
            used
            & (another != F.col("producer_id"))
            & (F.min("ordinal").over(in_copy) < F.col("ordinal"))
        ).alias("returns_to_producer_id"),
    )


def _partition_count(selected: DataFrame, partition_info: DataFrame) -> DataFrame:
    """The number of partitions of the topic: see `known_count` and `partition_count`."""
    ids = selected.filter(F.col("id_hash").isNotNull()).select("partition", "id_hash")
    of_topic = partition_info.filter(F.col("topic") == TXN_LOG_TOPIC)
    return partition_count(
        ids,
        of_topic.agg(
            F.max("partition").alias("highest_partition"), known_count().alias("known_count")
        ),
    )


def _with_copies(rows: DataFrame) -> DataFrame:
    """Adds what is later than the record.

    end_timestamp: the newest one of the partition. alive_for_ms: how long after the record the
    partition was written at least, pauses counted as `alive_ms` does; both as far as the copy is
    replicated (`udfs.rules.extent`). last_of_all: no copy of the partition has a later record of
    the id, but for what another copy tells better, and of the copies that have this one it is the
    copy that says most.
    """
    # The last record of a partition is the newest of its id, so it is among these rows. With a tail
    # that is not replicated another one is the last, perhaps an earlier one: that proves less.
    counts = F.coalesce(is_replicated(F.col("offset"), F.col("kept_below")), F.lit(True))
    end = F.max(F.when(counts, F.struct("ordinal", "alive_ms", "latest_timestamp")))
    ended = rows.withColumn("end", end.over(Window.partitionBy("partition_index")))
    lived = ended.select(
        *rows.columns,
        F.col("end.latest_timestamp").alias("end_timestamp"),
        (F.col("end.alive_ms") - F.col("alive_ms")).alias("alive_for_ms"),
    )
    told_by_another = surely(is_told_by_another(counts, F.col("outlasted"), F.col("only_here")))
    # A copy in which something follows on the record that comes first is outlasted.
    latest_first = Window.partitionBy("transactional_id", "partition").orderBy(
        told_by_another, F.desc("leader_epoch"), F.desc("offset"), F.desc("newest"),
        F.desc("alive_for_ms"), "lost_behind", "broker",
    )  # fmt: skip
    return lived.withColumn("last_of_all", F.row_number().over(latest_first) == 1)


def _with_loading(rows: DataFrame, leaders: DataFrame) -> DataFrame:
    """Adds loaded_for_ms: as alive_for_ms, but from where a coordinator that loaded it wrote.

    From the first record of a later leader epoch on; null for none. `leaders`: see `leader_epochs`.
    """
    later = F.filter(
        "leaders", lambda one: surely(was_loaded(F.col("leader_epoch"), one["leader_epoch"]))
    )
    loaded_at = F.array_min(F.transform(later, lambda one: one["alive_ms"]))
    return (
        rows.join(small(leaders), on="partition_index", how="left")
        .withColumn("loaded_for_ms", F.col("alive_for_ms") + F.col("alive_ms") - loaded_at)
        .drop("leaders")
    )


def is_unfinished() -> Column:
    """Whether the record is a decision that no later one of its copy completes."""
    return F.col("newest") & F.col("state").isin(*PREPARED)


def _markers_found(
    selected: DataFrame,
    partition_info: DataFrame,
    ended: EndedTransactions,
    kept: KeptFrames,
    tolerance: int,
) -> DataFrame:
    """One row an id, as FOUND: marked_partitions, how many listed partitions have its marker.

    And marked_for_ms, how long after the record its last marker came there, null where a clock was
    set back in between or near, as that may have taken any time; led_partitions, in how many of
    them its last marker would have been sent again (see `_led`), and led_until_ms, when the leader
    of the last of these is known to have been reached. Only ids with an unfinished decision and at
    least one such partition. The marker of the last transaction of a producer in a partition is
    never folded away.
    """
    copies = partition_info.select(
        F.col("partition_index").alias("listed_index"),
        F.concat_ws("-", "topic", "partition").alias("listed"),
        "replicated_below",
        "set_backs",
    )
    owed = inner(
        selected.filter(is_unfinished()).select(
            "partition_index",
            "partition",
            "transactional_id",
            "producer_id",
            "producer_epoch",
            "timestamp",
            (F.col("state") == PREPARE_COMMIT).alias("commit"),
            F.explode("partitions").alias("listed"),
        ),
        small(copies),
        on="listed",
    )
    markers = ended.rows.filter(F.col("marker_offset").isNotNull()).select(
        F.col("partition_index").alias("listed_index"),
        "producer_id",
        F.col("marker_epoch").alias("producer_epoch"),
        F.col("marker_commit").alias("commit"),
        "marker_offset",
        "marker_timestamp",
    )
    arrived = kept.keep(_arrived(markers, owed, tolerance))
    if is_known_empty(arrived):
        return local_frame(arrived.sparkSession, [], FOUND)
    users = selected.filter(F.col("producer_id") >= 0).select("partition", "producer_id").distinct()
    arrived_in = owed.join(arrived, on=["partition", "listed"], how="left_semi")
    led = _led(ended, arrived_in, users, tolerance)
    still_led = surely(
        (F.col("led.offset") > F.col("marked_at"))
        & would_be_sent_again(F.col("marked_ms"), F.col("led.at_ms"))
    )
    return (
        arrived.join(small(led), on=["partition", "listed"], how="left")
        .groupBy("partition_index", "transactional_id")
        .agg(
            F.count("*").cast("int").alias("marked_partitions"),
            _longest(),
            F.count_if(still_led).cast("int").alias("led_partitions"),
            F.max("led.at_ms").alias("led_until_ms"),
        )
    )


def _longest() -> Column:
    """The longest marked_for_ms of a group; null where one is not known."""
    all_dated = F.count("*") == F.count("marked_for_ms")
    return F.when(all_dated, F.max("marked_for_ms")).alias("marked_for_ms")


def _arrived(markers: DataFrame, owed: DataFrame, tolerance: int) -> DataFrame:
    """One row an id and partition of `owed` in which its marker is replicated.

    Added: marked_for_ms, see `_markers_found`; marked_ms and marked_at, moment and offset of the
    last such marker; timestamp, that of the decision.
    """
    took = F.try_subtract("marker_timestamp", "timestamp")
    dated = ~came_twice_within(F.col("timestamp"), F.col("marker_timestamp"), F.lit(tolerance))

    return (
        inner(markers, small(owed), on=["listed_index", "producer_id", "producer_epoch", "commit"])
        # The coordinator has its answer when the marker is replicated (acks=-1).
        .filter(is_replicated(F.col("marker_offset"), F.col("replicated_below")))
        # Before transaction.version 2 an earlier transaction has a marker of the same epoch.
        .filter(F.col("marker_timestamp") >= F.col("timestamp"))
        .withColumn("marked_for_ms", F.when(dated, took))
        # Copies of the partition hold the same one. It is sent again where no answer came, as
        # long as it lacks replicas.
        .groupBy("partition_index", "partition", "transactional_id", "listed")
        .agg(
            F.max("timestamp").alias("timestamp"),
            F.max("marker_timestamp").alias("marked_ms"),
            F.max("marker_offset").alias("marked_at"),
            _longest(),
        )
    )


def _led(
    ended: EndedTransactions, marked: DataFrame, users: DataFrame, tolerance: int
) -> DataFrame:
    """When a coordinator reached the leader of a partition, and again so late that all came anew.

    One row a partition of the coordinator's log and one that is listed, with such a moment:
    partition, listed, led (struct at_ms, offset: the last marker that this coordinator sent and
    that is replicated, and before another such one its marker would have been sent again). A marker
    of another coordinator, on the same broker or not, tells that there was a leader, and nothing of
    a connection between the two: the disk of one of them may be offline. `marked`: partition,
    listed, listed_index and replicated_below of copies of the listed partitions; `users`: partition
    and producer_id of what the coordinator's log names.
    """
    copies = marked.select("partition", "listed", "listed_index", "replicated_below").distinct()
    lying_in = copies.select(F.col("listed_index").alias("partition_index")).distinct()
    replicated = (
        inner(
            all_transactions(ended.rows, ended.folded_in(lying_in))
            .filter(F.col("marker_offset").isNotNull())
            .withColumnRenamed("partition_index", "listed_index"),
            small(copies),
            on="listed_index",
        )
        .filter(is_replicated(F.col("marker_offset"), F.col("replicated_below")))
        .join(users, on=["partition", "producer_id"], how="left_semi")
    )
    of_both = ("partition", "listed")
    last_ms = F.max("marker_timestamp").over(Window.partitionBy(*of_both))
    shown = F.struct(
        F.col("marker_timestamp").alias("at_ms"), F.col("marker_offset").alias("offset")
    )
    return (
        _sent_by_coordinator(replicated, ended, tolerance)
        .withColumn("last_ms", last_ms)
        .filter(would_be_sent_again(F.col("marker_timestamp"), F.col("last_ms")))
        .groupBy(*of_both)
        .agg(F.max(shown).alias("led"))
    )


def _sent_by_coordinator(markers: DataFrame, ended: EndedTransactions, tolerance: int) -> DataFrame:
    """Those of `markers` that the coordinator of their producer sent, and not an operator.

    One that may be an operator's counts where the coordinator completed an abort in the meantime,
    soon enough that its own marker came then, too.
    """
    raises = surely(raised(F.col("marker_epoch"), F.col("highest_epoch")))
    may_be = may_be_operators(F.col("marker_commit"), raises)
    asked = markers.filter(may_be).select("producer_id").distinct()
    soon = ~would_be_sent_again(F.col("prepare_timestamp"), F.col("complete_timestamp"))
    aborts = (
        ended.decisions_of(asked)
        .filter(~F.col("commit") & surely(soon))
        .select(
            "producer_id",
            "marker_epoch",
            (F.col("prepare_timestamp") - tolerance).alias("from_ms"),
            (F.col("complete_timestamp") + tolerance).alias("to_ms"),
            F.explode("partitions").alias("listed"),
        )
    )
    within = F.col("marker_timestamp").between(F.col("from_ms"), F.col("to_ms"))
    beside = inner(markers.filter(may_be), aborts, on=["producer_id", "marker_epoch", "listed"])
    decided = beside.filter(within).select(*markers.columns).distinct()
    return markers.filter(~may_be).unionByName(decided)
