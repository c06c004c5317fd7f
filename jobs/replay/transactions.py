"""Transactions of each producer on each partition, and what a read_committed consumer sees."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.in_memory import held
from jobs.model.owners import with_coordinator
from jobs.model.transactions import all_transactions
from jobs.replay.producers import is_transactional_data
from jobs.spark.joins import inner, small
from udfs.rules.aborted_list import stable_at_abort
from udfs.rules.extent import MAX_OFFSET, is_replicated
from udfs.rules.logic import surely
from udfs.rules.memory import may_be_gone_with_the_head

BUCKET_BITS = 20
ABORT_COLUMNS = (
    "partition_index",
    "producer_id",
    "first_offset",
    "first_kept",
    "marker_offset",
    "marker_epoch",
    "highest_epoch",
    "records",
    "oldest_other",
    "marker_file_index",
    "marker_position",
    "marker_length",
)


def transactions(states: DataFrame) -> DataFrame:
    """One row a transaction or a marker that ended none, from `producers.producer_states`.

    Columns: partition_index, producer_id, transaction_number, first_offset, last_offset (null for a
    marker alone), lowest_epoch, highest_epoch (of the data), batches, records, all_batches (data of
    any kind since the marker before), timestamps in ms (of data: a client's; last_append_ms is the
    broker's of the last batch, null where it has none), outcome (commit, abort, open; null where
    only non-transactional data follow the last marker), the columns of the marker, oldest_other
    (see LOG_ROW), previous_marker, previous_data (the newest before the run of the marker: last
    offset, epoch, timestamp, absent_to_last), state_has_batches (the state still has them) and
    newest_begin, as of producer_states, epoch_goes_on (data of the epoch of the marker come next),
    previous_closed_data (previous_marker ended a transaction with data), opening_marker
    (the nearest marker before the first batch, for open ones too; null for one in front of the
    log), opening_marker_ended (highest epoch of the data that marker ended, null for none),
    state_timestamp (of the state before the transaction), earlier_epoch (highest data or marker
    epoch before the marker), highest_coordinator_epoch, first_file_index, first_position,
    first_length, first_sequence, marker_epoch_before (see LOG_ROW), last_file_index, last_position,
    last_length, marker_file_index, first_kept (first offset of its data that do not lie below the
    log start; null where all do).
    """
    data = is_transactional_data()
    # Of the states at which the log begins, only what is still open is a transaction in it.
    replayed = states.filter(~F.col("initial") | ~F.col("has_marker") & data)
    grouped = replayed.groupBy("partition_index", "producer_id", "transaction_number").agg(
        *_of_data(),
        *_of_marker(),
        F.min(_opening()).alias("opening"),
        F.sum(F.coalesce("batches", F.lit(0))).alias("all_batches"),
        F.max("producer_epoch").alias("any_data_epoch"),
    )
    outcome = (
        F.when(F.col("marker.marker_commit"), F.lit("commit"))
        .when(F.col("marker").isNotNull(), F.lit("abort"))
        .when(F.col("first").isNotNull(), F.lit("open"))
    )
    earlier_epoch = F.greatest(
        "opening.highest_data_epoch", "opening.highest_marker_epoch", "any_data_epoch"
    )
    return grouped.select(
        "partition_index",
        "producer_id",
        "transaction_number",
        "first.*",
        "last.*",
        "marker.*",
        "first_kept",
        "lowest_epoch",
        "highest_epoch",
        "batches",
        "records",
        "all_batches",
        outcome.alias("outcome"),
        "previous_marker",
        "previous_data",
        "state_has_batches",
        "newest_begin",
        "epoch_goes_on",
        "previous_closed_data",
        "opening.state_timestamp",
        "opening.opening_marker",
        "opening.opening_marker_ended",
        earlier_epoch.alias("earlier_epoch"),
        "highest_coordinator_epoch",
    ).filter(F.col("outcome").isNotNull())


def _closes_data() -> Column:
    """Whether the marker before the run ended a transaction with data."""
    closes: Column = F.col("data_transaction_number") == F.col("transaction_number") - 1
    return closes


def _data_before() -> Column:
    """The newest data before the run, as a struct."""
    return F.struct(
        F.col("previous.last_offset").alias("offset"),
        F.col("previous.epoch").alias("epoch"),
        F.col("previous.last_timestamp").alias("timestamp"),
        F.col("previous.absent_to_last").alias("absent_to_last"),
    )


def _of_data() -> list[Column]:
    """Of the runs of a transaction, what its data are; `first` and `last`: structs."""
    data = is_transactional_data()

    def of_data(name: str) -> Column:
        return F.when(data, F.col(name))

    first = F.struct(
        "first_offset",
        F.col("file_index").alias("first_file_index"),
        "first_position",
        "first_length",
        "first_timestamp",
        "first_sequence",
        "marker_epoch_before",
    )
    last = F.struct(
        "last_offset",
        F.col("file_index").alias("last_file_index"),
        "last_position",
        "last_length",
        "last_timestamp",
        F.when(F.col("log_append_time"), F.col("last_timestamp")).alias("last_append_ms"),
    )
    kept = F.when(data & ~F.col("below_log_start"), F.col("first_offset"))
    return [
        F.min(F.when(data, first)).alias("first"),
        F.max(F.when(data, last)).alias("last"),
        F.min(kept).alias("first_kept"),
        F.min(of_data("producer_epoch")).alias("lowest_epoch"),
        F.max(of_data("producer_epoch")).alias("highest_epoch"),
        F.sum(of_data("batches")).alias("batches"),
        F.sum(of_data("records")).alias("records"),
    ]


def _of_marker() -> list[Column]:
    """Of the runs of a transaction, its marker (`marker`: struct) and what was before that."""

    def of_marker(value: Column) -> Column:
        return F.max(F.when(F.col("has_marker"), value))

    marker = F.struct(
        "marker_offset",
        "marker_epoch",
        "marker_commit",
        "coordinator_epoch",
        "marker_timestamp",
        F.col("file_index").alias("marker_file_index"),
        "marker_position",
        "marker_length",
        "oldest_other",
        "absent_to_marker",
    )
    return [
        of_marker(marker).alias("marker"),
        of_marker(F.col("previous_marker")).alias("previous_marker"),
        of_marker(_data_before()).alias("previous_data"),
        of_marker(F.col("state_has_batches")).alias("state_has_batches"),
        of_marker(F.col("newest_begin")).alias("newest_begin"),
        of_marker(F.col("next_data_epoch") == F.col("marker_epoch")).alias("epoch_goes_on"),
        of_marker(_closes_data()).alias("previous_closed_data"),
        of_marker(F.col("highest_coordinator_epoch")).alias("highest_coordinator_epoch"),
    ]


def _opening() -> Column:
    """What was known of the producer before a run, as a struct that sorts by its start."""
    return F.struct(
        "start_offset",
        "highest_data_epoch",
        "highest_marker_epoch",
        "state_timestamp",
        # Of a marker in front of the log a snapshot has neither place nor outcome.
        F.when(~F.col("previous_marker.initial"), F.col("previous_marker")).alias("opening_marker"),
        F.when(_closes_data(), F.col("previous.epoch")).alias("opening_marker_ended"),
    )


def abort_markers(transactions: DataFrame, regular_aborts: DataFrame) -> DataFrame:
    """One row an ABORT marker: its transaction, and the last stable offset when it was written.

    `regular_aborts`: aborted transactions that were folded away, of `log_row.REGULAR_ABORT`.

    `last_stable_offset` is the first offset of the oldest transaction still open at the marker,
    else marker + 1 (docs/kafka-rules.md); null for a marker without data. Of the transactions
    that began in its split the decoder found the oldest open one. One that is longer was not
    folded away, and is open at marker m when it ends after m: a running minimum from the end of
    the log, taken in two levels so that a large partition is many tasks.

    Those that were folded away go another way where they are many: over arrays
    (`udfs.wire.side_files.aborted_list.last_stable_offsets`), which is faster by far but needs all
    long ones of a partition in each task. So this way stays for the rows, and for dumps that have
    too many long ones (`jobs.replay.aborted_lists.MOST_LONG`). Both ask `stable_at_abort`.
    """
    aborts = all_transactions(
        transactions.filter(F.col("outcome") == "abort"),
        # None that lies below the log start is folded away.
        regular_aborts.withColumn("first_kept", F.col("first_offset")),
        "first_kept",
        "oldest_other",
    ).select(*ABORT_COLUMNS)
    long_ones = transactions.filter(F.col("first_offset").isNotNull()).select(
        "partition_index",
        F.coalesce("marker_offset", F.lit(MAX_OFFSET)).alias("end_offset"),
        F.col("first_offset").alias("began"),
    )
    events = aborts.withColumn("end_offset", F.col("marker_offset")).unionByName(
        long_ones, allowMissingColumns=True
    )
    judged = _oldest_ending_later(events).filter(F.col("marker_offset").isNotNull())
    oldest = F.least("oldest_other", "oldest_ending_later", F.lit(MAX_OFFSET))
    stable = stable_at_abort(F.col("marker_offset"), oldest)
    return judged.select(
        *[name for name in ABORT_COLUMNS if name != "oldest_other"],
        F.when(F.col("first_offset").isNotNull(), stable).alias("last_stable_offset"),
    )


def _oldest_ending_later(events: DataFrame) -> DataFrame:
    """Adds `oldest_ending_later`: the smallest `began` among the events that end after each one."""
    bucketed = events.withColumn("bucket", F.shiftright("end_offset", BUCKET_BITS))
    by_bucket = bucketed.groupBy("partition_index", "bucket").agg(
        F.min("began").alias("bucket_minimum")
    )
    later = (
        Window.partitionBy("partition_index")
        .orderBy(F.col("bucket").desc())
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    later_buckets = by_bucket.select(
        "partition_index", "bucket", F.min("bucket_minimum").over(later).alias("later_buckets")
    )
    inside = (
        Window.partitionBy("partition_index", "bucket")
        .orderBy(F.col("end_offset").desc())
        .rangeBetween(Window.unboundedPreceding, -1)
    )
    joined = inner(bucketed, small(later_buckets), on=["partition_index", "bucket"])
    oldest = F.least(F.min("began").over(inside), F.col("later_buckets"))
    return joined.withColumn("oldest_ending_later", oldest)


def undecided(partition_info: DataFrame, transactions: DataFrame) -> DataFrame:
    """Transactions that hold back a last stable offset, as the broker remembers them.

    Columns: partition_index, producer_id, highest_epoch, first_offset, first_timestamp, is_open,
    untold (all data lie below the log start, and no snapshot shows whether the broker forgot it),
    coordinator_epoch (of the newest marker of the producer in front of it, null for none).
    The newest snapshot is what the broker had in memory: of a transaction that lies below the log
    start it shows whether that is still open (`udfs.rules.memory`), also of one whose data have
    gone, where the log ends with it.
    """
    bounds = partition_info.select(
        "partition_index", "high_watermark", "log_start_offset", "log_end_offset",
        "newest_snapshot", "open_in_snapshot",
    )  # fmt: skip
    begun = transactions.filter(F.col("first_offset").isNotNull())
    # At or above the log end lies only what has a wrong offset.
    met = inner(begun, small(bounds), on="partition_index").filter("first_offset < log_end_offset")
    is_open = F.col("marker_offset").isNull()
    gone = is_open & may_be_gone_with_the_head(F.col("last_offset"), F.col("log_start_offset"))
    snapshot_says = surely(F.col("newest_snapshot") > F.col("last_offset"))
    remembered = held().isNotNull()
    # A broker that was killed sees a transaction begin above the log start.
    begins = F.when(
        held()["first_offset"].between(F.col("first_offset"), F.col("last_offset")),
        held()["first_offset"],
    )
    first_known = F.when(F.col("first_offset") < F.col("log_start_offset"), begins)
    replicated = is_replicated(F.col("marker_offset"), F.col("high_watermark"))
    undecided = met.filter(is_open | ~replicated)
    in_log = undecided.filter(~(gone & snapshot_says & ~remembered)).select(
        "partition_index",
        "producer_id",
        "highest_epoch",
        F.coalesce(first_known, "first_offset").alias("first_offset"),
        "first_timestamp",
        is_open.alias("is_open"),
        (gone & ~snapshot_says).alias("untold"),
        F.col("opening_marker.coordinator_epoch").alias("coordinator_epoch"),
    )
    in_memory = (
        partition_info.filter(F.col("newest_snapshot") >= F.col("data_end_offset"))
        .select("partition_index", "log_start_offset", F.explode("open_in_snapshot").alias("one"))
        .filter(F.col("one.first_offset") < F.col("log_start_offset"))
        .select(
            "partition_index",
            "one.producer_id",
            F.col("one.producer_epoch").alias("highest_epoch"),
            "one.first_offset",
            F.lit(None).cast("long").alias("first_timestamp"),
            F.lit(True).alias("is_open"),
            F.lit(False).alias("untold"),
            F.lit(None).cast("int").alias("coordinator_epoch"),
        )
    )
    return in_log.unionByName(in_memory)


def partition_states(
    partition_info: DataFrame, transactions: DataFrame, owners: DataFrame
) -> DataFrame:
    """Last stable offset of every partition and the transaction that holds it.

    The last stable offset is the smaller of the high watermark and the first offset of the oldest
    transaction that is open or whose marker is not replicated (`UnifiedLog.lastStableOffset`). What
    lies below the log start counts as far as the broker remembers it.
    Columns of the table partition_state, and partition_index. `owners`: of
    `jobs.replay.coordinator`.
    """
    holder = F.struct(
        "first_offset", "producer_id", "highest_epoch", "first_timestamp", "coordinator_epoch"
    )
    oldest = (
        undecided(partition_info, transactions)
        .groupBy("partition_index")
        .agg(
            F.min(holder).alias("holder"),
            F.count_distinct(F.when(F.col("is_open"), F.col("producer_id"))).alias(
                "open_transactions"
            ),
            F.max("untold").alias("untold"),
        )
    )
    joined = partition_info.join(small(oldest), on="partition_index", how="left")
    limit = F.coalesce("high_watermark", "log_end_offset")
    unstable = F.greatest("holder.first_offset", F.col("log_start_offset"))
    first_unstable = F.when(F.col("holder").isNotNull(), unstable)
    holds = surely(first_unstable < limit)
    named = with_coordinator(joined.withColumn("producer_id", F.col("holder.producer_id")), owners)

    def of_holder(field: str) -> Column:
        return F.when(holds, F.col(field))

    begun = of_holder("holder.first_timestamp")
    return named.select(
        "partition_index",
        "broker",
        "topic",
        "partition",
        "log_start_offset",
        "log_end_offset",
        "high_watermark",
        F.when(holds, first_unstable).otherwise(limit).alias("last_stable_offset"),
        first_unstable.alias("first_unstable_offset"),
        F.coalesce("open_transactions", F.lit(0)).alias("open_transactions"),
        F.when(F.col("high_watermark").isNull(), F.lit("log_end"))
        .when(holds & F.col("untold"), F.lit("log_start"))
        .otherwise(F.lit("high_watermark"))
        .alias("lso_basis"),
        of_holder("holder.producer_id").alias("lso_producer_id"),
        of_holder("holder.highest_epoch").alias("lso_producer_epoch"),
        of_holder("coordinator.transactional_id").alias("lso_transactional_id"),
        # A batch may have no timestamp (`RecordBatch.NO_TIMESTAMP`, -1).
        F.when(begun >= 0, begun).alias("lso_since_ms"),
        of_holder("holder.first_offset").alias("lso_first_offset"),
        of_holder("holder.coordinator_epoch").alias("lso_coordinator_epoch"),
        "furthest",
        "complete_up_to_ms",
        "batches",
        "records",
    )
