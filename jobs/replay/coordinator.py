"""The transaction coordinator's log: the last record of every transactional id."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.model.lost_records import is_only_here, lost_behind, own_unreadable_at
from jobs.model.state_names import named, state_name
from jobs.spark.joins import inner, small
from schemas.coordinator_states import IN_TRANSACTION
from udfs.rules.extent import is_replicated, is_told_by_another


def last_states(txn_log_records: DataFrame, partition_info: DataFrame) -> DataFrame:
    """One row a transactional id and broker: its last record (see schemas/coordinator_txn.py).

    The last one that can be decoded, if any can. Additionally complete_up_to_ms, clean_shutdown and
    alone_in_cluster of the partition it lies in; lost_behind: later records may be lost or cannot
    be decoded, so that the copy ends with this one for what it says of the id (complete_up_to_ms is
    then the moment of this record, clean_shutdown is false); leader_epoch; whole_since_ms: from
    that moment on no record of the id is missing or cannot be decoded (0: none ever was);
    replicated: no leader can take the record back; told_by_another: see `udfs.rules.extent`;
    replicas: the same number for copies of one partition.
    """
    newest = (
        txn_log_records.filter(F.col("transactional_id").isNotNull())
        .groupBy("partition_index", "transactional_id")
        .agg(
            F.max(F.struct(F.col("error").isNull(), "offset", F.struct("*").alias("record"))).alias(
                "newest"
            ),
            own_unreadable_at().alias("own_unreadable_at"),
            F.max(F.when(F.col("error").isNotNull(), F.col("timestamp"))).alias("unreadable_ms"),
        )
    )
    names = ("partition_index", "broker", "partition", "complete_up_to_ms", "clean_shutdown",
             "alone_in_cluster", "replicated_below", "outlasted", "only_here", "lost_to",
             "nameless_at")  # fmt: skip
    of_copies = F.coalesce("replica_set", -1 - F.col("partition_index")).alias("replicas")
    place = small(partition_info.select(*names, of_copies))
    placed = (
        inner(newest, place, on="partition_index")
        .join(
            small(_whole_since(txn_log_records, partition_info)), on="partition_index", how="left"
        )
        .withColumn(
            "lost_behind",
            lost_behind(F.col("newest.offset"), F.greatest("own_unreadable_at", "nameless_at")),
        )
    )
    own_moment = F.col("newest.record.timestamp")
    replicated = is_replicated(F.col("newest.record.offset"), F.col("replicated_below"))
    told = is_told_by_another(
        replicated, F.col("outlasted"), is_only_here(F.col("newest.record.offset"))
    )
    behind_unreadable = F.coalesce(F.try_add("unreadable_ms", F.lit(1)), "unreadable_ms")
    return placed.select(
        "broker",
        "partition",
        "transactional_id",
        "newest.record.producer_id",
        "newest.record.producer_epoch",
        state_name(F.col("newest.record.status")).alias("state"),
        "newest.record.partitions",
        "newest.record.timeout_ms",
        "newest.record.start_ms",
        "newest.record.last_update_ms",
        F.col("newest.record.timestamp").alias("record_timestamp"),
        F.col("newest.record.offset").alias("record_offset"),
        "newest.record.leader_epoch",
        "newest.record.client_transaction_version",
        "newest.record.tombstone",
        F.when(F.col("lost_behind"), own_moment)
        .otherwise(F.col("complete_up_to_ms"))
        .alias("complete_up_to_ms"),
        (F.col("clean_shutdown") & ~F.col("lost_behind")).alias("clean_shutdown"),
        "alone_in_cluster",
        "lost_behind",
        F.greatest("whole_since_ms", behind_unreadable).alias("whole_since_ms"),
        replicated.alias("replicated"),
        told.alias("told_by_another"),
        "replicas",
    )


def _whole_since(txn_log_records: DataFrame, partition_info: DataFrame) -> DataFrame:
    """One row a partition of the log: the timestamp of its first record after the last gap, ms.

    Compaction leaves gaps; a record that does not even tell its id is one, too. 0 where the log
    begins at offset 0 and has none.
    """
    gaps = partition_info.select(
        "partition_index",
        F.greatest(F.array_max("missing.end"), F.col("nameless_at") + 1).alias("behind_gaps"),
    )
    beside = inner(txn_log_records, small(gaps), on="partition_index")
    kept = F.coalesce(F.col("offset") >= F.col("behind_gaps"), F.lit(True))
    starts = beside.groupBy("partition_index").agg(
        F.min(F.when(kept, F.col("timestamp"))).alias("since"),
        (F.max("behind_gaps").isNull() & (F.min("offset") == 0)).alias("whole"),
    )
    since = F.when(F.col("whole"), F.lit(0)).otherwise(F.col("since"))
    return starts.select("partition_index", since.alias("whole_since_ms"))


def last_of_all_copies(states: DataFrame) -> DataFrame:
    """One row an id and set of copies of its partition: its last record, tombstones included.

    Of the copies the one that goes furthest: records of a later leader are later, and of one leader
    those with higher offsets, whatever the clocks of the coordinators said; not what another copy
    tells better. Of several copies with the same record the one that is complete up to the latest
    moment. A record that cannot be decoded tells nothing where another copy has one.
    """
    decoded = F.col("tombstone") | F.col("producer_id").isNotNull()
    place = ("leader_epoch", "record_offset", "complete_up_to_ms", "record_timestamp")
    furthest = F.struct(decoded, ~F.col("told_by_another"), *place, F.struct("*").alias("state"))
    return (
        states.groupBy("replicas", "transactional_id")
        .agg(F.max(furthest).alias("last"))
        .select("last.state.*")
    )


def owners(states: DataFrame) -> DataFrame:
    """One row a producer id: the newest last record that names it, see `last_of_all_copies`.

    An id that went on with another producer id, or has none any more, does not own the former.
    `running_beside`: the last records of other ids that have the producer id, as none should, and
    run a transaction (array of structs with the columns of `states`).
    """
    named_ones = last_of_all_copies(states).filter(F.col("producer_id").isNotNull())
    own = ("told_by_another", "replicas")
    state = F.struct(*[name for name in states.columns if name not in own]).alias("state")
    place = ("leader_epoch", "record_offset", "complete_up_to_ms")
    runs = F.col("state").isin(*named(*IN_TRANSACTION))
    furthest = named_ones.groupBy("producer_id", "partition").agg(
        F.max(F.struct(*place, "record_timestamp", state)).alias("last"),
        F.collect_list(F.when(runs, state)).alias("running"),
    )
    # Only of ids in different partitions, as never should be, nothing but clocks tells an order.
    moments = [F.col(f"last.{name}") for name in ("record_timestamp", *place[1:], "state")]
    newest = furthest.groupBy("producer_id").agg(
        F.max(F.struct(*moments)).alias("newest"),
        F.array_sort(F.flatten(F.collect_list("running"))).alias("running"),
    )
    beside = F.filter(
        "running", lambda one: one["transactional_id"] != F.col("newest.state.transactional_id")
    )
    return newest.select("newest.state.*", beside.alias("running_beside"))


def with_owner(states: DataFrame, owners: DataFrame) -> DataFrame:
    """Adds `owner` to `last_states`: whether the row is one of `owners`, which is of them."""
    key = ("broker", "partition", "transactional_id", "producer_id", "record_offset")
    chosen = owners.select(*[F.col(name).alias(f"own_{name}") for name in key])
    same = [F.col(name).eqNullSafe(F.col(f"own_{name}")) for name in key]
    owned = F.col("own_producer_id").isNotNull()
    return states.join(small(chosen), on=same, how="left").select(
        *states.columns, owned.alias("owner")
    )
