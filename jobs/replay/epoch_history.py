"""What the coordinator's log says of one epoch of a producer id: its transactions, as a whole."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.decided_data import (
    OF_STEP,
    epoch_of_data,
    recorded,
    records_of_id,
    state_of_record,
    step_of,
    told_by,
)
from jobs.model.lost_records import counted, unreadable_of_ids
from jobs.spark.joins import inner, small
from schemas.coordinator_states import COMPLETED, EMPTY, NO_STATE, PREPARE_ABORT, PREPARED
from udfs.rules.absence import Counted, none_before, none_between, reaches_behind
from udfs.rules.coordinator_step import EXHAUSTED_EPOCH, TRANSACTION_VERSION_2
from udfs.rules.decision_epoch import Recorded, epoch_by_version, epoch_in_effect, is_tried_again
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely
from udfs.rules.producer_step import LAST_EPOCH

PLACE_OF_RECORD = ("ordinal", "offset", "file_index", "position", "length")
# Epochs of one producer id, as a number that rises with the producer ids of an id, too.
EPOCHS = LAST_EPOCH + 1
# So many records behind the last of an epoch are asked whether the id moved on.
LOOKED_AHEAD = 3
# delete.retention.ms of the topic, by default: so long a tombstone stays, at least.
TOMBSTONES_STAY_MS = 86_400_000


def _recorded(prefix: str = "") -> Recorded:
    return recorded(prefix, "state")


def _epoch_of_data() -> Column:
    """Epoch of the data that a record is about: a Prepare record may raise it by one or two."""
    return F.when(
        F.col("state").isin(*PREPARED), epoch_of_data(_recorded(), _recorded("told_by."))
    ).otherwise(F.col("producer_epoch"))


def _epochs_listed() -> Column:
    """Epochs of data for which a record lists its partitions: `data_epoch`, and one more.

    A Prepare record that is no fence tells the epoch of its data by itself. Where the record before
    has another one, that record is wrong, and the decision lists its partitions nevertheless.
    """
    by_version = epoch_by_version(_recorded())
    fence = (F.col("state") == PREPARE_ABORT) & (
        F.col("client_transaction_version") < TRANSACTION_VERSION_2
    )
    tells = F.col("state").isin(*PREPARED) & ~fence
    other = F.when(tells & (by_version != F.col("data_epoch")), by_version)
    return F.array_compact(F.array("data_epoch", other))


def _begins() -> Column:
    """Whether no transaction of the epoch can lie before this record.

    InitProducerId gives an epoch that no data have; under transaction.version 2 so does every
    end of a transaction. A Complete record of the older versions goes on with its epoch. A client
    that asks again gets the same epoch in a second Empty record
    (`TransactionMetadata.prepareIncrementProducerEpoch`), perhaps after a transaction in it: epoch
    0, too, where its producer id followed on one whose epochs were used up
    (`TransactionCoordinator.prepareInitProducerIdTransit`, 2.5 to 4.0). So the record before must
    be there, and show that the epoch was not in effect, or there is none. One of a higher epoch, or
    of a producer id that would follow, shows nothing: its append may have failed late. Under
    version 2 a transaction would have raised the epoch: an Empty record has the version of the
    transaction before it.
    """
    completed = F.col("state").isin(*COMPLETED)
    previous_next_to_it = none_between(counted("previous."), counted())
    # No record has an epoch below that in effect, and none goes back to a producer id of before.
    same_producer = F.col("previous.producer_id") == F.col("producer_id")
    raised = same_producer & (F.col("previous.producer_epoch") < F.col("producer_epoch"))
    anew = ~surely(same_producer) & (F.col("producer_epoch") == 0)
    risen = previous_next_to_it & (surely(raised) | anew)
    first_of_all = F.col("previous").isNull() & none_before(counted())
    of_version_2 = F.col("client_transaction_version") >= TRANSACTION_VERSION_2
    given = surely(of_version_2) | surely(risen) | first_of_all
    return F.when(F.col("state") == EMPTY, given).otherwise(completed & of_version_2)


def _proven() -> Column:
    """The epoch that a record proves to be in effect, as a number that `own` is compared with.

    A tombstone proves nothing: where its append failed late the id stays in the coordinator's
    cache (`TransactionStateManager.writeTombstonesForExpiredTransactionalIds`), and the producer
    goes on. An Empty record of epoch 0 after it proves that the id was gone, unless its epochs
    were used up. An Empty record of another producer id proves nothing alone, and so does what a
    new leader of the partition may take back.
    """
    empty = F.col("state") == EMPTY
    given_anew = empty & (F.col("previous.state") == NO_STATE) & (F.col("producer_epoch") == 0)
    in_effect = epoch_in_effect(_recorded())
    nothing = (F.col("state") == NO_STATE) | ~is_replicated(
        F.col("offset"), F.col("replicated_below")
    )
    before = F.col("generation") * EPOCHS
    return (
        F.when(nothing, F.lit(-1))
        .when(given_anew, before + EXHAUSTED_EPOCH)
        .when(empty & F.col("another"), F.lit(-1))
        .otherwise(before + in_effect)
    )


def _numbered(readable: DataFrame) -> DataFrame:
    """Adds to each record of an id its state, the record before (`previous`) and what it proves.

    told_by: the record that tells the data of a decision, see `jobs.model.decided_data`;
    generation: producer ids that a record other than Empty shows to be in use; another: the
    record is Empty and has one that is not yet.
    """
    by_id = records_of_id()
    in_use = F.when(~F.col("state").isin(EMPTY, NO_STATE), F.col("producer_id"))
    before = F.struct("offset", "ordinal", "state", *OF_STEP)
    used = (
        readable.withColumn("state", state_of_record())
        .withColumn("used", F.last(in_use, ignorenulls=True).over(by_id))
        .select("*", F.lag(before).over(by_id).alias("previous"))
    )
    changed = surely(F.col("used") != F.lag("used").over(by_id))
    return (
        used.withColumn("generation", F.sum(changed.cast("long")).over(by_id))
        .withColumn(
            "another",
            surely((F.col("state") == EMPTY) & (F.col("producer_id") != F.col("used"))),
        )
        .withColumn("proven", _proven())
        .withColumn("told_by", told_by(by_id, "previous", "state"))
        .withColumn("here", F.struct(*PLACE_OF_RECORD))
    )


def _by_epoch(readable: DataFrame) -> DataFrame:
    """One row an id, producer id and epoch of data in a copy: its first and last record.

    first and last are null of an epoch that only a decision about other data tells.
    """
    of_id = Window.partitionBy("partition_index", "transactional_id")
    by_id = records_of_id()
    # From the end: Spark reads a frame that ends there anew for each of its rows.
    backwards = of_id.orderBy(F.desc("ordinal"), F.desc("offset"))
    behind = backwards.rowsBetween(Window.unboundedPreceding, -1)
    record = F.struct("here", "proven")
    ahead = F.array(*[F.lead(record, n).over(by_id) for n in range(1, LOOKED_AHEAD + 1)])
    newest = F.struct("here", "timestamp")
    stepped = (
        _numbered(readable)
        .select(
            "*",
            ahead.alias("ahead"),
            F.max("proven").over(behind).alias("proven_behind"),
            F.max(newest).over(of_id).alias("newest"),
        )
        .filter(F.col("producer_id").isNotNull())
        .withColumn("data_epoch", _epoch_of_data())
    )
    tried_again = is_tried_again(step_of("", "state"), step_of("previous.", "state"))
    decides = F.col("state").isin(*PREPARED) & ~tried_again
    own = (F.col("generation") + F.col("another").cast("long")) * EPOCHS + F.col("data_epoch")
    last = F.struct("here", "ahead", "newest", "proven_behind", own.alias("own"), "partitions")
    # With the epoch of its data, as a client of version 0 or 1 aborts.
    unraised = (F.col("state") == PREPARE_ABORT) & (F.col("producer_epoch") == F.col("data_epoch"))
    listing = stepped.withColumn("listed_epoch", F.explode(_epochs_listed()))
    mine = F.col("listed_epoch") == F.col("data_epoch")
    commits, aborts = (F.col("state") == one for one in PREPARED)
    return listing.groupBy(
        "partition_index", "transactional_id", "producer_id", "listed_epoch"
    ).agg(
        F.min(F.when(mine, F.struct("here", _begins().alias("begins")))).alias("first"),
        F.max(F.when(mine, last)).alias("last"),
        F.array_distinct(F.flatten(F.collect_set("partitions"))).alias("listed"),
        F.flatten(F.collect_set(F.when(commits, F.col("partitions")))).alias("to_commit"),
        F.flatten(F.collect_set(F.when(mine & aborts, F.col("partitions")))).alias("to_abort"),
        F.flatten(F.collect_list(F.when(mine & decides & unraised, F.col("partitions")))).alias(
            "aborted"
        ),
        F.sum((mine & decides).cast("int")).alias("decisions"),
    )


def epoch_histories(txn_log_records: DataFrame, partition_info: DataFrame) -> DataFrame:
    """One row a producer id and epoch of its data, from the copy that knows most.

    Only epochs whose records are all there: the first gives the epoch out, and no offset of the
    partition is missing from it to the record that proves that the id moved on. Where none does,
    none is missing up to the last record of the id: after that the cleaner may have passed, since
    it never takes the last record, but nothing may be lost or unreadable (`udfs.rules.absence`).
    If the log goes on so long that a tombstone may have come and gone, nothing may be missing.

    Columns: producer_id, producer_epoch, transactional_id, listed (topic-partition of all
    partitions that any record of the epoch lists), decisions (transactions decided), aborted (the
    partitions of each abort among them whose markers have the epoch of the data), to_commit and
    to_abort (those that Prepare records of that outcome list, also ones without effect, the first
    of all copies), last_listed (those that the last record of the epoch lists), moved_on (the id
    has another epoch by then: nothing can be added), coordinator_up_to_ms and
    coordinator_clean_shutdown (the copy), record (place of the last record of the epoch),
    replicated (no leader can take that one back). Where several ids have the producer id, which
    no coordinator gives out twice, `listed` has what any of them lists; `decisions`,
    `aborted` and `to_abort` are null.
    """
    copies = partition_info.select(
        "partition_index",
        "holes",
        "missing",
        "replicated_below",
        "nameless_at",
        F.col("complete_up_to_ms").alias("coordinator_up_to_ms"),
        F.col("clean_shutdown").alias("coordinator_clean_shutdown"),
    )
    # A record that cannot be read is one that is missing, and has no number of its own.
    readable = inner(
        txn_log_records.filter(F.col("error").isNull()),
        small(copies.select("partition_index", "replicated_below")),
        on="partition_index",
    )
    by_copy = (
        inner(_by_epoch(readable), small(copies), on="partition_index")
        .join(small(unreadable_of_ids(txn_log_records)), on="transactional_id", how="left")
        .withColumn("known", F.when(F.col("first.begins") & _is_whole(), _known()))
    )
    return _from_all_copies(by_copy)


def _known() -> Column:
    """What the copy of a row of `_by_epoch` knows of the epoch, if all its records are there."""
    return F.struct(
        "decisions",
        "aborted",
        "to_abort",
        F.col("last.partitions").alias("last_listed"),
        surely(F.col("last.proven_behind") > F.col("last.own")).alias("moved_on"),
        "coordinator_up_to_ms",
        "coordinator_clean_shutdown",
        F.col("last.here").alias("record"),
        is_replicated(F.col("last.here.offset"), F.col("replicated_below")).alias("replicated"),
    )


def _from_all_copies(by_copy: DataFrame) -> DataFrame:
    """Columns as in `epoch_histories`; rows are those of `_by_epoch` with `known`."""
    said = F.struct("transactional_id", "known", "listed")
    by_epoch = by_copy.groupBy("producer_id", F.col("listed_epoch").alias("producer_epoch")).agg(
        F.max_by(
            said, F.struct("known.moved_on", "known.coordinator_up_to_ms", "transactional_id")
        ).alias("most"),
        F.collect_set(F.struct("transactional_id", "listed")).alias("all"),
        F.flatten(F.collect_set("to_commit")).alias("to_commit"),
    )
    others = F.filter("all", lambda one: one["transactional_id"] != F.col("most.transactional_id"))
    listed = F.concat(
        F.col("most.listed"), F.flatten(F.transform(others, lambda one: one["listed"]))
    )
    return by_epoch.filter(F.col("most.known").isNotNull()).select(
        "producer_id",
        "producer_epoch",
        "most.transactional_id",
        F.array_distinct(listed).alias("listed"),
        F.when(F.size(others) == 0, F.col("most.known.decisions")).alias("decisions"),
        F.when(F.size(others) == 0, F.col("most.known.aborted")).alias("aborted"),
        F.when(F.size(others) == 0, F.col("most.known.to_abort")).alias("to_abort"),
        "to_commit",
        "most.known.last_listed",
        "most.known.moved_on",
        "most.known.coordinator_up_to_ms",
        "most.known.coordinator_clean_shutdown",
        "most.known.record",
        "most.known.replicated",
    )


def _is_whole() -> Column:
    """Whether all records of the epoch of a row of `_by_epoch` are there."""

    def whole_to(record: Column) -> Column:
        here = Counted(record["offset"], record["ordinal"])
        whole: Column = surely(none_between(counted("first.here."), here))
        return whole

    moved_on = F.exists(
        "last.ahead",
        lambda one: surely(one["proven"] > F.col("last.own")) & whole_to(one["here"]),
    )
    newest = F.col("last.newest.here")
    behind = newest["offset"]
    none_lost = ~F.exists("holes", lambda hole: reaches_behind(hole["end"], behind)) & F.coalesce(
        F.greatest("nameless_at", "own_unreadable_at") < behind, F.lit(True)
    )
    cleaned = surely(F.exists("missing", lambda gap: reaches_behind(gap["end"], behind)))
    not_long = surely(
        F.try_subtract(F.col("coordinator_up_to_ms"), F.col("last.newest.timestamp"))
        < TOMBSTONES_STAY_MS
    )
    return moved_on | (whole_to(newest) & none_lost & (~cleaned | not_long))
