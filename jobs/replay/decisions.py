"""What the coordinator decided, and for which producer ids its log has the whole history."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.decided_data import (
    OF_STEP,
    epoch_of_data,
    recorded,
    records_of_id,
    step_of,
    told_by,
)
from jobs.model.lost_records import counted, is_only_here
from jobs.spark.joins import inner, small
from schemas.coordinator_states import COMPLETE_COMMIT, COMPLETED, PREPARE_COMMIT, PREPARED
from udfs.rules.absence import none_between
from udfs.rules.attribution import carried_out_unseen, has_leader_epoch, took_effect
from udfs.rules.coordinator_step import (
    TRANSACTION_VERSION_2,
    ended_otherwise,
    gave_way,
    is_completed_by,
)
from udfs.rules.decision_epoch import epoch_in_effect, may_have_raised, shares_epoch
from udfs.rules.extent import is_replicated, is_told_by_another
from udfs.rules.logic import surely
from udfs.rules.producer_step import LAST_EPOCH

# Below every epoch: the history of the producer id is known from its beginning.
FROM_THE_BEGINNING = -1
OF_FIRST = (
    "offset", "status", "producer_epoch", "client_transaction_version", "transactional_id",
    "start_ms",
)  # fmt: skip


def decisions(txn_log_records: DataFrame) -> DataFrame:
    """One row a Prepare record of `__transaction_state`, each copy of the log by itself.

    Those that the decoder took out of their split already (`decided`) are left out: they lie in
    blocks. Columns: coordinator_index (its partition_index), record_file_index, and those of
    `schemas.log_row.DECISION`.
    """
    by_id = records_of_id()
    before = F.struct("status", *OF_STEP)
    after = F.struct("offset", "ordinal", "timestamp", "leader_epoch", "status", *OF_STEP)
    stepped = (
        txn_log_records.filter(F.col("transactional_id").isNotNull() & F.col("error").isNull())
        .select(
            "*", F.lag(before).over(by_id).alias("before"), F.lead(after).over(by_id).alias("next")
        )
        .withColumn("told_by", told_by(by_id, "before"))
    )
    transaction_version_2 = F.col("client_transaction_version") >= TRANSACTION_VERSION_2
    missing = ~none_between(counted(), counted("next."))
    # A text that tells no start does not tell the transaction of what stands behind a gap.
    untold = F.col("start_ms").isNull() | F.col("next.start_ms").isNull()
    completed = (
        took_effect(F.col("status"), F.col("next.status"))
        & is_completed_by(step_of(""), step_of("next."))
        & ~(missing & untold)
    )
    prepare, before_it = recorded(""), recorded("told_by.")
    otherwise = missing & ended_otherwise(step_of(""), step_of("next."))
    goes_on = gave_way(step_of(""), step_of("next.")) | surely(otherwise)
    starts = F.col("start_ms"), F.col("next.start_ms")
    unseen = carried_out_unseen(F.col("next.status"), *starts, surely(completed), goes_on)
    prepared = F.col("status").isin(*PREPARED) & ~F.col("decided")
    return stepped.filter(prepared).select(
        F.col("partition_index").alias("coordinator_index"),
        F.col("file_index").alias("record_file_index"),
        F.col("position").alias("record_position"),
        F.col("length").alias("record_length"),
        F.col("offset").alias("prepare_offset"),
        F.col("timestamp").alias("prepare_timestamp"),
        "start_ms",
        "leader_epoch",
        "transactional_id",
        "producer_id",
        F.col("producer_epoch").alias("marker_epoch"),
        epoch_of_data(prepare, before_it).alias("data_epoch"),
        (F.col("status") == PREPARE_COMMIT).alias("commit"),
        surely(transaction_version_2).alias("transaction_version_2"),
        may_have_raised(prepare, before_it).alias("may_have_raised"),
        shares_epoch(prepare, before_it).alias("shares_epoch"),
        "partitions",
        F.when(completed, F.col("next.offset")).alias("complete_offset"),
        F.when(completed, F.col("next.timestamp")).alias("complete_timestamp"),
        F.when(
            completed & has_leader_epoch(F.col("next.leader_epoch")), F.col("next.leader_epoch")
        ).alias("complete_leader_epoch"),
        F.col("next").isNull().alias("pending"),
        F.when(goes_on, F.col("next.offset")).alias("gave_way_at"),
        F.when(unseen, F.col("next.offset")).alias("went_on_at"),
        F.when(unseen, F.col("next.timestamp")).alias("went_on_ms"),
    )


def with_what_is_replicated(decided: DataFrame, partition_info: DataFrame) -> DataFrame:
    """`pending` of decisions, also where nothing that is replicated follows on the record.

    A coordinator that was replaced without knowing may have gone on with the transaction. What it
    wrote after its high watermark is truncated, and the next one carries the decision out. Nor does
    the id go on with such a record (`went_on_at`). Added: told_by_another, see `udfs.rules.extent`.
    """
    copies = partition_info.select(
        F.col("partition_index").alias("coordinator_index"),
        "replicated_below",
        "outlasted",
        "only_here",
    )
    replicated = is_replicated(F.col("prepare_offset"), F.col("replicated_below"))
    only_here = is_only_here(F.col("prepare_offset"))
    told = surely(is_told_by_another(replicated, F.col("outlasted"), only_here))
    taken_back = ~is_replicated(F.col("gave_way_at"), F.col("replicated_below"))
    kept = surely(is_replicated(F.col("went_on_at"), F.col("replicated_below")))
    return (
        decided.join(small(copies), on="coordinator_index", how="left")
        .withColumn("pending", F.col("pending") | surely(taken_back))
        .withColumn("went_on_at", F.when(kept, F.col("went_on_at")))
        .withColumn("told_by_another", told)
        .drop("replicated_below", "outlasted", "only_here")
    )


def _first_outcome() -> list[Column]:
    """How the transaction of the first record ended, null where that does not tell."""
    status = F.col("first.status")
    completed = status.isin(*COMPLETED)
    tells = completed & (F.col("first.client_transaction_version") >= TRANSACTION_VERSION_2)
    return [
        F.when(tells, F.col("first.producer_epoch")).alias("first_epoch"),
        F.when(tells, status == COMPLETE_COMMIT).alias("first_commit"),
        F.when(tells, F.col("first.transactional_id")).alias("first_id"),
        F.when(tells, F.col("first.start_ms")).alias("first_start"),
        F.when(tells, F.col("first.offset") >= F.col("tail_from")).alias("first_whole"),
    ]


def histories(txn_log_records: DataFrame, partition_info: DataFrame) -> DataFrame:
    """One row a producer id: above which epoch every record that names it is still there.

    After the last missing offset of a copy of `__transaction_state` every record is there, and a
    producer's epochs only rise: what happened above the lowest epoch found there was recorded
    there. Whether the log begins at offset 0 says nothing by itself (`udfs.rules.absence`).

    Columns: producer_id, known_above (-1: no offset from 0 on is missing; 32767: it is not
    named after the last missing one), newest_epoch (highest one in effect by replicated records;
    null for none), history_covers_ms (the copy is complete up to this moment),
    history_clean_shutdown, and, where the first record that names it is a Complete record of
    transaction.version 2, whose Prepare record is gone: first_epoch, first_commit, first_id,
    first_start (ms), first_whole (none after it is missing). known_from_ms, known_to_ms: the
    moments of the first record that names it and behind which none is missing, and of the last
    one: every decision in between is there.
    """
    found = txn_log_records.groupBy("partition_index").agg(F.min("offset").alias("first_offset"))
    copies = inner(
        partition_info.select(
            "partition_index",
            F.array_max("missing.end").alias("behind_missing"),
            (F.col("unreadable_at") + 1).alias("behind_errors"),
            F.col("complete_up_to_ms").alias("history_covers_ms"),
            F.col("clean_shutdown").alias("history_clean_shutdown"),
            "replicated_below",
        ),
        small(found),
        on="partition_index",
    )
    tails = copies.withColumn(
        "tail_from", F.greatest("first_offset", "behind_missing", "behind_errors")
    )
    named = txn_log_records.filter(F.col("producer_id").isNotNull() & F.col("error").isNull())
    readable = inner(named, small(tails), on="partition_index")
    in_tail = F.col("offset") >= F.col("tail_from")
    # A coordinator that was replaced may have fenced; the next one knows nothing of that.
    replicated = is_replicated(F.col("offset"), F.col("replicated_below"))
    by_copy = readable.groupBy(
        "producer_id", "partition_index", "tail_from", "history_covers_ms", "history_clean_shutdown"
    ).agg(
        F.min(F.when(in_tail, F.col("producer_epoch"))).alias("lowest_epoch"),
        F.max(F.when(replicated, epoch_in_effect(recorded("")))).alias("newest_epoch"),
        F.min(F.struct(*OF_FIRST)).alias("first"),
        F.min(F.when(in_tail, F.struct("offset", "timestamp"))).alias("known_from"),
        F.max(F.when(in_tail, F.struct("offset", "timestamp"))).alias("known_to"),
    )
    known_above = (
        F.when(F.col("tail_from") == 0, F.lit(FROM_THE_BEGINNING))
        # No epoch is above it: nothing is known for sure.
        .when(F.col("lowest_epoch").isNull(), F.lit(LAST_EPOCH))
        .otherwise(F.col("lowest_epoch"))
    )
    newest = F.max(
        F.struct(
            "history_covers_ms",
            "newest_epoch",
            known_above.alias("known_above"),
            "history_clean_shutdown",
            *_first_outcome(),
            F.col("known_from.timestamp").alias("known_from_ms"),
            F.col("known_to.timestamp").alias("known_to_ms"),
        )
    )
    return (
        by_copy.groupBy("producer_id").agg(newest.alias("newest")).select("producer_id", "newest.*")
    )
