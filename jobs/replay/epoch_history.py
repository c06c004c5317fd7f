"""What the coordinator's log says of one epoch of a producer id: its transactions, as a whole."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.spark.joins import small
from schemas.coordinator_states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    NO_STATE,
    PREPARE_ABORT,
    PREPARE_COMMIT,
)
from udfs.rules.absence import reaches_behind
from udfs.rules.coordinator_step import EXHAUSTED_EPOCH, epoch_in_effect
from udfs.rules.producer_step import LAST_EPOCH

PREPARED = (PREPARE_COMMIT, PREPARE_ABORT)


def _epoch_of_data() -> Column:
    """Epoch of the data that a record is about: a Prepare record may raise it by one or two."""
    return F.when(
        F.col("state").isin(*PREPARED), F.coalesce("previous_epoch", "producer_epoch")
    ).otherwise(F.col("producer_epoch"))


def _begins() -> Column:
    """Whether no transaction of the epoch can lie before this record.

    InitProducerId gives an epoch that no data have; under transaction.version 2 so does every
    end of a transaction. A Complete record of the older protocols goes on with its epoch.
    """
    completed = F.col("state").isin(COMPLETE_COMMIT, COMPLETE_ABORT)
    return (F.col("state") == EMPTY) | (completed & (F.col("client_transaction_version") >= 2))


def _proven(previous_state: Column) -> Column:
    """The epoch that a record proves to be in effect for data of other epochs before it, at least.

    A tombstone proves nothing: where its append failed late the id stays in the coordinator's
    cache (`TransactionStateManager.writeTombstonesForExpiredTransactionalIds`), and the producer
    goes on. An Empty record of epoch 0 after it proves that the id was gone, unless its epochs
    were used up. Any other record is of an epoch that the id moved on to.
    """
    empty = F.col("state") == EMPTY
    given_anew = empty & (previous_state == NO_STATE) & (F.col("producer_epoch") == 0)
    return (
        F.when(F.col("state") == NO_STATE, F.lit(-1))
        .when(given_anew, F.lit(EXHAUSTED_EPOCH))
        .when(empty, epoch_in_effect(F.col("producer_epoch"), empty))
        .otherwise(LAST_EPOCH)
    )


def _by_epoch(readable: DataFrame) -> DataFrame:
    """One row an id, producer id and epoch of data in a copy: its first and last record."""
    state = F.when(F.col("tombstone"), F.lit(NO_STATE)).otherwise(F.col("status"))
    stated = readable.withColumn("state", state)
    by_id = Window.partitionBy("partition_index", "transactional_id").orderBy("ordinal", "offset")
    place = F.struct("ordinal", "offset", "file_index", "position", "length")
    linked = stated.select(
        "*",
        place.alias("here"),
        F.lag("producer_epoch").over(by_id).alias("previous_epoch"),
        F.lag("state").over(by_id).alias("previous_state"),
        F.lead(place).over(by_id).alias("next"),
    ).withColumn("proven", _proven(F.col("previous_state")))
    behind = by_id.rowsBetween(1, Window.unboundedFollowing)
    stepped = linked.select(
        "*",
        F.lead("proven").over(by_id).alias("proven_next"),
        F.max("proven").over(behind).alias("proven_behind"),
        F.first(F.when(F.col("proven") == LAST_EPOCH, F.col("here")), ignorenulls=True)
        .over(behind)
        .alias("settled"),
    ).filter(F.col("producer_id").isNotNull())
    repeated = F.col("previous_state") == F.col("state")
    decides = F.col("state").isin(*PREPARED) & ~F.coalesce(repeated, F.lit(False))
    return (
        stepped.withColumn("data_epoch", _epoch_of_data())
        .groupBy("partition_index", "transactional_id", "producer_id", "data_epoch")
        .agg(
            F.min(F.struct("here", _begins().alias("begins"))).alias("first"),
            F.max(F.struct("here", "next", "settled", "proven_next", "proven_behind")).alias(
                "last"
            ),
            F.array_distinct(F.flatten(F.collect_set("partitions"))).alias("listed"),
            F.sum(decides.cast("int")).alias("decisions"),
        )
    )


def epoch_histories(txn_log_records: DataFrame, partition_info: DataFrame) -> DataFrame:
    """One row a producer id and epoch of its data, from the copy that knows most.

    Only epochs whose records are all there: the first gives the epoch out, and no offset of the
    partition is missing from it to the record with which the id moved on. Where the next record
    does not prove that it did, none is missing up to that one; after it the cleaner may have
    passed, since it never takes the last record, but nothing may be lost or unreadable
    (`udfs.rules.absence`).

    Columns: producer_id, producer_epoch, transactional_id, listed (topic-partition of all
    partitions that any record of the epoch lists), decisions (transactions decided), moved_on
    (the id has another epoch by then: nothing can be added), broker, coordinator_up_to_ms and
    coordinator_clean_shutdown (the copy), record (place of the last record of the epoch).
    """
    unreadable = txn_log_records.filter(F.col("error").isNotNull())
    last_unreadable = unreadable.groupBy("partition_index").agg(
        F.max("offset").alias("last_unreadable")
    )
    # A record that cannot be read is one that is missing, and has no number of its own.
    grouped = _by_epoch(txn_log_records.filter(F.col("error").isNull()))

    def whole_to(record: Column) -> Column:
        distance = record["offset"] - F.col("first.here.offset")
        whole: Column = distance == record["ordinal"] - F.col("first.here.ordinal")
        return F.coalesce(whole, F.lit(False))

    none_missing = whole_to(F.coalesce("last.next", "last.here"))
    final = F.col("last.here.offset")
    none_lost = ~F.exists("holes", lambda hole: reaches_behind(hole["end"], final)) & F.coalesce(
        F.col("last_unreadable") < final, F.lit(True)
    )
    ends_there = F.coalesce(F.col("last.proven_next") > F.col("data_epoch"), F.lit(False))
    complete = whole_to(F.col("last.settled")) | (none_missing & (ends_there | none_lost))
    copies = partition_info.select(
        "partition_index",
        "broker",
        "holes",
        F.col("complete_up_to_ms").alias("coordinator_up_to_ms"),
        F.col("clean_shutdown").alias("coordinator_clean_shutdown"),
    )
    known = (
        grouped.join(small(copies), on="partition_index", how="inner")
        .join(small(last_unreadable), on="partition_index", how="left")
        .filter(F.col("first.begins") & complete)
        .select(
            "producer_id",
            F.col("data_epoch").alias("producer_epoch"),
            "transactional_id",
            "listed",
            "decisions",
            F.coalesce(F.col("last.proven_behind") > F.col("data_epoch"), F.lit(False)).alias(
                "moved_on"
            ),
            "broker",
            "coordinator_up_to_ms",
            "coordinator_clean_shutdown",
            F.col("last.here").alias("record"),
        )
    )
    best = known.groupBy("producer_id", "producer_epoch").agg(
        F.max_by(F.struct("*"), F.struct("moved_on", "coordinator_up_to_ms")).alias("best")
    )
    return best.select("best.*")
