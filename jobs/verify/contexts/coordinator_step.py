"""Context `coordinator_step`: one row is a record of a transactional id and the one before it."""

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.model.decided_data import epoch_of_data, recorded, records_of_id, state_of_record, told_by
from jobs.model.lost_records import counted, is_only_here, lost_behind
from jobs.model.state_names import state_name
from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames
from jobs.verify.contexts.context import Context, with_paths
from jobs.verify.contexts.coordinator_links import EndedTransactions, leader_epochs, with_links
from jobs.verify.contexts.open_coordinator import overdue_for
from jobs.verify.contexts.transaction import Ages
from jobs.verify.transitions import NAMES, from_older_state, is_plain, kept_columns
from schemas.coordinator_states import COMPLETED, NO_STATE, ONGOING
from udfs.rules.absence import none_before, none_between
from udfs.rules.decision_epoch import Recorded, shown_version
from udfs.rules.earlier_record import LOOKED_BACK
from udfs.rules.logic import surely
from udfs.rules.producer_ids import BLOCK_SIZE

# What a rule asks of the epoch of a record.
OF_EPOCH = ("state", "producer_id", "producer_epoch", "client_transaction_version")


def _record() -> Column:
    """What the rules need to know of a record."""
    return F.struct(
        "offset",
        "ordinal",
        "state",
        "tombstone",
        "producer_id",
        "producer_epoch",
        "timeout_ms",
        "partitions",
        "last_update_ms",
        "start_ms",
        "leader_epoch",
        "next_producer_id",
        "client_transaction_version",
        "file_index",
        "position",
        "length",
    )


def _taken_up() -> Column:
    """Whether a later step was taken from a record."""
    return F.struct("offset", "ordinal", *NAMES, *kept_columns())


def _regular() -> Column:
    """A plain step between two records that nothing separates."""
    return (
        F.col("error").isNull()
        & F.col("adjacent")
        & ~F.col("newest")
        & ~F.col("new_tag")
        & F.col("batch_shape").isNull()
        & is_plain()
    )


def _enriched(linked: DataFrame, files: DataFrame, ages: Ages) -> DataFrame:
    """Names of states and files, ages, and the place of a finding."""
    now = F.lit(ages.now).cast("long")
    placed = with_paths(
        linked,
        files,
        file="file_index",
        previous_file="previous.file_index",
        user_file="first_user.file_index",
    )
    # A follower that lagged ends before its broker did, so only a broker alone in its cluster says
    # more than the log itself.
    seen_up_to = F.greatest(
        "end_timestamp", F.when(F.col("single_broker"), F.col("complete_up_to_ms"))
    )
    return placed.select(
        "*",
        state_name(F.when(~F.col("tombstone"), F.col("status"))).alias("state_name"),
        state_name(F.when(F.col("previous.state") != NO_STATE, F.col("previous.state"))).alias(
            "previous_state_name"
        ),
        F.col("offset").alias("offset_first"),
        F.col("offset").alias("offset_last"),
        F.col("position").alias("byte_position"),
        F.col("length").alias("byte_length"),
        F.lit(ages.transaction_max_timeout).alias("limit_ms"),
        overdue_for(seen_up_to, ages.now, ages.late_slack).alias("overdue_ms"),
        F.col("previous.position").alias("previous_position"),
        F.col("previous.length").alias("previous_length"),
        F.col("first_user.position").alias("user_position"),
        F.col("first_user.length").alias("user_length"),
        epoch_of_data(recorded("", "state"), recorded("told_by.", "state")).alias("data_epoch"),
        F.try_subtract("producer_id", F.pmod("producer_id", F.lit(BLOCK_SIZE))).alias(
            "producer_id_block"
        ),
        F.try_subtract(now, "timestamp").alias("age_ms"),
        F.try_subtract(seen_up_to, "timestamp").alias("seen_for_ms"),
    ).drop("told_by")


def _with_shown_versions(stated: DataFrame, up_to_here: WindowSpec) -> DataFrame:
    """Records with the client's version as they tell or show it, see `shown_version`.

    `up_to_here`: the records of the id before it.
    """
    running = F.when((F.col("state") == ONGOING) & F.col("error").isNull(), F.struct(*OF_EPOCH))
    record, before = (
        Recorded(*[F.col(f"{prefix}{name}") for name in OF_EPOCH]) for prefix in ("", "running.")
    )
    version = shown_version(record, before)
    return (
        stated.withColumn("running", F.last(running, ignorenulls=True).over(up_to_here))
        .withColumn("client_transaction_version", version)
        .drop("running")
    )


def _stepped(txn_log_records: DataFrame) -> DataFrame:
    """Records beside earlier ones of their id, with the client's version as they show it.

    Added: state, new_tag, previous, earlier, newest; told_by (tells the data of a decision, see
    `jobs.model.decided_data`); newest_complete (of the records before, null for none), completes
    (their number) and since_complete (those after the newest one, in order, at most LOOKED_BACK),
    both as `_taken_up`.
    """
    by_offset = Window.partitionBy("partition_index").orderBy("offset", "position")
    before = by_offset.rowsBetween(Window.unboundedPreceding, -1)
    stated = txn_log_records.select(
        "*",
        surely(
            F.col("unknown_tag") > F.coalesce(F.max("unknown_tag").over(before), F.lit(-1))
        ).alias("new_tag"),
        state_of_record().alias("state"),
    )
    by_id = records_of_id()
    named = F.col("transactional_id").isNotNull() & F.col("error").isNull()
    up_to_here = by_id.rowsBetween(Window.unboundedPreceding, -1)
    complete = F.col("state").isin(*COMPLETED)
    stepped = _with_shown_versions(stated, up_to_here).select(
        "*",
        F.when(named, F.lag(_record()).over(by_id)).alias("previous"),
        F.when(named, F.lag(_record(), 2).over(by_id)).alias("earlier"),
        F.lead("ordinal").over(by_id).isNull().alias("newest"),
        F.last(F.when(complete, _taken_up()), ignorenulls=True)
        .over(up_to_here)
        .alias("newest_complete"),
        F.coalesce(F.sum(complete.cast("int")).over(up_to_here), F.lit(0)).alias("completes"),
    )
    since = (
        Window.partitionBy("partition_index", "transactional_id", "completes")
        .orderBy("ordinal", "offset")
        .rowsBetween(-LOOKED_BACK, -1)
    )
    return stepped.select(
        "*",
        F.collect_list(F.when(named, _taken_up())).over(since).alias("since_complete"),
        told_by(by_id, "previous", "state").alias("told_by"),
    )


def coordinator_step_context(
    log: CoordinatorLog,
    ended: EndedTransactions,
    partition_info: DataFrame,
    files: DataFrame,
    ages: Ages,
    kept: KeptFrames,
) -> Context:
    """Records of the coordinator's log beside earlier ones of the same id and partition.

    Steps that the decoder judged within a split are left out
    (udfs/wire/coordinator/txn_log_chain.py).

    `state`: the status byte, -1 for a tombstone. `client_transaction_version`: of a commit of value
    version 0 also what it shows (`udfs.rules.decision_epoch.shown_version`). `previous`,
    `earlier`: structs of the record before and the one before that, null for none. `adjacent`: no
    record of the partition is missing or undecodable between `previous` and this one
    (docs/kafka-rules.md). `first_of_log`: nothing is between offset 0 and this record, and it is
    the first of its id. `newest`: the last record of its id; `lost_behind`: later ones may be lost.
    `new_tag`: it has an unknown tag that no record of the partition before it has.
    `latest_timestamp`: the newest one up to the record. `alive_ms`: how long the partition was
    written up to the record, where a pause counts as one minute at most. A record that cannot be
    decoded has `error`.

    On irregular rows also `from_older_state`: see `jobs.verify.transitions`. `overdue_ms`: how long
    before the end of the copy its transaction should have been aborted, negative if it need not.
    `age_ms`, `seen_for_ms`: how long after the record the audit and the copy end. `data_epoch`:
    epoch of the data that a Prepare record decides about. `producer_id_block`: first producer id of
    the block. And what `coordinator_links` adds.
    """
    stepped = _stepped(log.txn_log_records).filter(~F.col("judged"))
    # kept_below: from there on a new leader may take records back; null where there is no other.
    needed = partition_info.select(
        "partition_index", "topic", "partition", "broker", "from_beginning", "replicated_below",
        "complete_up_to_ms", "outlasted", "only_here", "single_broker", "lost_to", "nameless_at",
        F.when(~F.col("alone_in_cluster"), F.coalesce("high_watermark", "cut_off_at"))
        .alias("kept_below"),
    )  # fmt: skip
    joined = inner(stepped, small(needed), on="partition_index")
    rows = joined.select(
        *(name for name in joined.columns if name not in ("lost_to", "nameless_at", "only_here")),
        is_only_here(F.col("offset")).alias("only_here"),
        lost_behind(F.col("offset"), F.col("nameless_at")).alias("lost_behind"),
        surely(none_between(counted("previous."), counted())).alias("adjacent"),
        (F.col("previous").isNull() & F.col("from_beginning") & none_before(counted())).alias(
            "first_of_log"
        ),
    )

    def enrich(selected: DataFrame) -> DataFrame:
        with_origin = selected.withColumn("from_older_state", from_older_state()).drop(
            "since_complete", "newest_complete", "completes"
        )
        tolerance = ages.clock_tolerance
        leaders = leader_epochs(log.txn_log_records, needed)
        linked = with_links(with_origin, partition_info, leaders, ended, kept, tolerance)
        return _enriched(linked, files, ages)

    return Context("coordinator_step", rows, _regular, enrich, log.unevaluated, within_cluster=True)
