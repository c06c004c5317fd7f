"""Decisions and markers brought together: one row a partition, producer id, epoch and outcome."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from jobs.model.state_names import named
from jobs.spark.joins import inner, small
from jobs.verify.contexts.decided.places import place_number
from jobs.verify.contexts.decided.unnamed import with_history, would_be_named
from schemas.coordinator_states import COMPLETE_COMMIT, COMPLETED, STATE_NAMES
from udfs.rules import attribution
from udfs.rules.clock import ADJUSTED_MS, KEPT_IN_TIME_MS
from udfs.rules.coordinator_step import TRANSACTION_VERSION_2
from udfs.rules.logic import surely

KEY = ["partition_index", "producer_id", "marker_epoch", "commit"]
# What makes a record of the coordinator's log the same in every copy of it.
OF_RECORD = ["transactional_id", "producer_id", "marker_epoch", "commit", "prepare_offset"]

# name -> how it is aggregated; null on the other side of the union.
OF_PREPARES = {
    "prepares": F.sum,
    "completes": F.sum,
    "record_place": F.max,
    "newest_prepare": F.max,
    "newest_completed": F.max,
    "prepared_index": F.max,
    "complete_offset": F.max,
    "complete_timestamp": F.max,
    "earliest_prepare": F.min,
    "latest_prepare": F.max,
    "prepares_ms": F.sum,
    "completes_ms": F.sum,
    "completed_prepare": F.max,
    "completed_start": F.max,
    "lowest_leader_epoch": F.min,
    "highest_leader_epoch": F.max,
    "latest_leader_epoch": F.max,
    "epoch_shared": F.max,
    "with_transaction_version_1": F.max,
    "with_transaction_version_2": F.max,
    "with_untold_rise": F.max,
    "pending": F.max,
    "unseen": F.sum,
    "told_elsewhere": F.max,
}
OF_MARKERS = {
    "markers": F.sum,
    "closing": F.sum,
    "marker_place": F.min,
    "marker_offset": F.min,
    "marker_length": F.min,
    "earliest_marker": F.min,
    "latest_marker": F.max,
    "markers_ms": F.sum,
    "known_markers": F.sum,
    "known_closing": F.sum,
    "known_markers_ms": F.sum,
    "lowest_coordinator_epoch": F.min,
    "highest_coordinator_epoch": F.max,
    "lowest_raised_coordinator_epoch": F.min,
    "highest_raised_coordinator_epoch": F.max,
    # The first marker whose data have its own epoch: it raised none.
    "unraised_place": F.min,
    "unraised_offset": F.min,
    "unraised_first": F.min,
    "unraised_last": F.min,
    # The first marker whose epoch is above that of its data.
    "raised_place": F.min,
    "raised_offset": F.min,
    "raised_first": F.min,
    "raised_last": F.min,
    "data_first": F.min,
    "data_last": F.min,
    "decidable": F.max,
    "contradicted": F.max,
    "contradicted_early": F.max,
}


def one_copy(decided: DataFrame, several: bool) -> DataFrame:
    """Each decision once, from the copy of the log that knows most of it.

    `several`: the dump has copies of a partition of that log on several brokers.
    """
    if not several:
        return decided
    others = [name for name in decided.columns if name not in OF_RECORD]
    known = F.struct(
        F.col("complete_offset").isNotNull(),
        ~F.col("pending"),
        ~F.col("told_by_another"),
        -F.col("coordinator_index"),
    )
    newest = decided.groupBy(*OF_RECORD).agg(F.max_by(F.struct(*others), known).alias("known"))
    return newest.select(*OF_RECORD, "known.*").select(*decided.columns)


def in_effect() -> Column:
    """Whether a decision was carried out, or may still be (`pending`).

    One that is followed by neither its Complete record nor by more of its transaction was carried
    out: the Complete record is lost. An abort of nothing leads to no marker, and may have failed.
    """
    lost = F.col("gave_way_at").isNull() & (
        F.size(F.coalesce("partitions", F.array().cast("array<string>"))) > 0
    )
    return F.col("complete_offset").isNotNull() | F.col("pending") | lost


def listed_decisions(decided: DataFrame) -> DataFrame:
    """One row a decision and partition that it lists (`listed`, topic-partition)."""
    return decided.withColumn("listed", F.explode("partitions"))


def _prepared(decided: DataFrame, partition_info: DataFrame) -> DataFrame:
    """Each decision and a partition that it lists, on every broker with a copy of it."""
    listed = partition_info.select(
        "partition_index", F.concat_ws("-", "topic", "partition").alias("listed")
    )
    completed = F.col("complete_offset").isNotNull()
    return inner(listed_decisions(decided.filter(in_effect())), small(listed), on="listed").select(
        *KEY,
        F.lit(1).cast("long").alias("prepares"),
        completed.cast("long").alias("completes"),
        place_number("record_file_index", "record_position").alias("record_place"),
        F.col("prepare_offset").alias("newest_prepare"),
        F.when(completed, F.col("prepare_offset")).alias("newest_completed"),
        F.col("coordinator_index").alias("prepared_index"),
        "complete_offset",
        "complete_timestamp",
        F.col("prepare_timestamp").alias("earliest_prepare"),
        F.col("prepare_timestamp").alias("latest_prepare"),
        # As a double: sums of whatever stands in a file do not overflow.
        F.when(completed, F.col("prepare_timestamp")).cast("double").alias("prepares_ms"),
        F.col("complete_timestamp").cast("double").alias("completes_ms"),
        F.when(completed, F.col("prepare_timestamp")).alias("completed_prepare"),
        F.when(completed, F.col("start_ms")).alias("completed_start"),
        F.col("leader_epoch").alias("lowest_leader_epoch"),
        F.col("leader_epoch").alias("highest_leader_epoch"),
        F.coalesce("complete_leader_epoch", F.lit(attribution.ANY_LEADER_EPOCH)).alias(
            "latest_leader_epoch"
        ),
        F.col("shares_epoch").cast("int").alias("epoch_shared"),
        (~F.col("transaction_version_2")).cast("int").alias("with_transaction_version_1"),
        F.col("transaction_version_2").cast("int").alias("with_transaction_version_2"),
        F.col("may_have_raised").cast("int").alias("with_untold_rise"),
        F.col("pending").cast("int").alias("pending"),
        F.col("went_on_at").isNotNull().cast("long").alias("unseen"),
        F.col("told_by_another").cast("int").alias("told_elsewhere"),
    )


def with_last_outcomes(history: DataFrame, owners: DataFrame) -> DataFrame:
    """Adds the newest record of a producer id, and how its last transaction ended under version 2.

    newest_id, newest_record (its offset); last_epoch, last_commit, last_id, last_start (ms). The
    Complete record is left when all before is compacted away. A marker of its epoch with the other
    outcome that raised the epoch of its data contradicts it: an epoch is one transaction. `owners`:
    one row a producer.
    """
    ended = F.col("state").isin(*named(*COMPLETED)) & (
        F.col("client_transaction_version") >= TRANSACTION_VERSION_2
    )
    last = owners.select(
        "producer_id",
        F.col("transactional_id").alias("newest_id"),
        F.col("record_offset").alias("newest_record"),
        F.when(ended, F.col("producer_epoch")).alias("last_epoch"),
        F.when(ended, F.col("state") == STATE_NAMES[COMPLETE_COMMIT]).alias("last_commit"),
        F.when(ended, F.col("transactional_id")).alias("last_id"),
        F.when(ended, F.col("start_ms")).alias("last_start"),
    )
    return history.join(last, on="producer_id", how="left")


def may_have_epoch_of_data() -> Column:
    """Whether a marker ended data, and may have raised no epoch."""
    own = attribution.has_epoch_of_data(F.col("marker_epoch"), F.col("data_epoch"))
    return F.col("first_offset").isNotNull() & F.coalesce(own, F.lit(True))


def of_known_decision() -> Column:
    """Whether a marker is of the time from the first record of its id to the last one.

    Of the first one behind which none is missing: the log has each decision of that time.
    """
    known: Column = surely(
        (F.col("marker_timestamp") >= F.col("known_from_ms"))
        & (F.col("marker_timestamp") - ADJUSTED_MS <= F.col("known_to_ms"))
    )
    return known


def _decidable(raised: Column, tolerance: Column) -> list[Column]:
    """decidable, contradicted (by the last record of its id), contradicted_early (by the first).

    Of a marker of `_marked`, 0 or 1. What one of the two records would contradict, and is from
    before its transaction began, is of a decision that is lost: the log has none for it.
    """

    def contradicts(record: str) -> Column:
        contradicted = attribution.contradicts(
            F.col("marker_epoch") == F.col(f"{record}_epoch"),
            F.col("marker_commit") != F.col(f"{record}_commit"),
            raised,
        )
        known: Column = surely(contradicted)
        return known

    def of_lost(record: str) -> Column:
        moments = F.col("marker_timestamp"), F.col(f"{record}_start"), tolerance
        again: Column = contradicts(record) & surely(attribution.epoch_given_again(*moments))
        return again

    last, first = of_lost("last"), of_lost("first") & surely(F.col("first_whole"))
    recorded = attribution.is_recorded(F.col("marker_epoch"), F.col("known_above"))
    return [
        (surely(recorded) | F.col("unnamed") | last | first).cast("int").alias("decidable"),
        (contradicts("last") & ~last).cast("int").alias("contradicted"),
        (contradicts("first") & ~first).cast("int").alias("contradicted_early"),
    ]


def _marked(markers: DataFrame, tolerance: Column) -> DataFrame:
    """Each marker of `with_history` of a producer id of which the coordinator's log tells.

    `tolerance`: of the clocks of brokers, ms.
    """
    epochs = F.col("marker_epoch"), F.col("data_epoch")
    unraised, raised = attribution.has_epoch_of_data(*epochs), attribution.raised(*epochs)
    own = may_have_epoch_of_data()
    place = place_number("file_index", "marker_position")
    is_known = of_known_decision()
    told = ~F.col("unnamed") | would_be_named(tolerance)
    return markers.filter(told).select(
        "partition_index",
        "producer_id",
        "marker_epoch",
        F.col("marker_commit").alias("commit"),
        F.lit(1).cast("long").alias("markers"),
        F.col("first_offset").isNotNull().cast("long").alias("closing"),
        place.alias("marker_place"),
        "marker_offset",
        "marker_length",
        F.col("marker_timestamp").alias("earliest_marker"),
        F.col("marker_timestamp").alias("latest_marker"),
        F.col("marker_timestamp").cast("double").alias("markers_ms"),
        is_known.cast("long").alias("known_markers"),
        (is_known & F.col("first_offset").isNotNull()).cast("long").alias("known_closing"),
        F.when(is_known, F.col("marker_timestamp")).cast("double").alias("known_markers_ms"),
        F.col("coordinator_epoch").alias("lowest_coordinator_epoch"),
        F.col("coordinator_epoch").alias("highest_coordinator_epoch"),
        F.when(~own, F.col("coordinator_epoch")).alias("lowest_raised_coordinator_epoch"),
        F.when(~own, F.col("coordinator_epoch")).alias("highest_raised_coordinator_epoch"),
        F.when(unraised, place).alias("unraised_place"),
        F.when(unraised, F.col("marker_offset")).alias("unraised_offset"),
        F.when(unraised, F.col("first_offset")).alias("unraised_first"),
        F.when(unraised, F.col("last_offset")).alias("unraised_last"),
        F.when(raised, place).alias("raised_place"),
        F.when(raised, F.col("marker_offset")).alias("raised_offset"),
        F.when(raised, F.col("first_offset")).alias("raised_first"),
        F.when(raised, F.col("last_offset")).alias("raised_last"),
        F.col("first_offset").alias("data_first"),
        F.col("last_offset").alias("data_last"),
        *_decidable(raised, tolerance),
    )


def matched(
    decided: DataFrame,
    partition_info: DataFrame,
    markers: DataFrame,
    known: DataFrame,
    naming: DataFrame | None,
    tolerance: Column,
) -> DataFrame:
    """One row a decision and partition: what was decided beside the markers that are there.

    `known`, `naming`: see `unnamed.with_history`; `tolerance`: of the clocks of brokers, ms.
    A union and an aggregate instead of a full outer join, so that the transactions of one epoch
    (transaction.version 0 and 1) are not paired each with each.
    """
    both = _prepared(decided, partition_info).unionByName(
        _marked(with_history(markers, known, naming), tolerance), allowMissingColumns=True
    )
    aggregates = [how(name).alias(name) for name, how in (OF_PREPARES | OF_MARKERS).items()]
    return both.groupBy(*KEY).agg(*aggregates)


def lacks_markers() -> Column:
    """Whether transactions share the epoch, and fewer were ended here than were completed."""
    shared = F.col("with_transaction_version_1") == 1
    return surely(shared & (F.coalesce("closing", F.lit(0)) < F.col("completes")))


def at_other_moments() -> Column:
    """Whether transactions share the epoch, and markers do not lie where they were decided.

    By the first, the last and the sum of their moments: each marker lies between its Prepare and
    its Complete record. Two transactions that have each other's outcome move the sums of both.
    """
    shared = F.col("with_transaction_version_1") == 1
    early_end = F.col("latest_marker") + ADJUSTED_MS < F.col("completed_prepare")
    early_begin = F.col("earliest_marker") + ADJUSTED_MS < F.col("earliest_prepare")
    late_end = F.col("latest_marker") > F.col("complete_timestamp") + ADJUSTED_MS
    moved = early_begin | late_end | _moved(F.col("markers_ms"))
    return surely(shared & (early_end | (as_many_markers() & moved)))


def as_many_markers() -> Column:
    """Whether a row has as many markers as decisions, all complete; null where one is null."""
    each: Column = (F.col("markers") == F.col("prepares")) & (
        F.col("prepares") == F.col("completes")
    )
    return each


def _moved(markers_ms: Column) -> Column:
    """Whether the sum of as many markers as completed decisions, ms, is not between theirs."""
    apart = ADJUSTED_MS + KEPT_IN_TIME_MS * F.col("completes")
    early = markers_ms + apart < F.col("prepares_ms")
    late = markers_ms > F.col("completes_ms") + apart
    moved: Column = early | late
    return moved


def lacks_known() -> Column:
    """`lacks_markers` of those from the first to the last record of the id alone.

    Those in front of that belong to decisions that are compacted away, and those behind it to
    decisions that the copy of the coordinator's log is too old for. It rests on two clocks.
    """
    shared = F.col("with_transaction_version_1") == 1
    return surely(shared & (F.coalesce("known_closing", F.lit(0)) < F.col("completes")))


def known_at_other_moments() -> Column:
    """Whether the same markers are as many as the decisions, and do not lie where these were."""
    shared = F.col("with_transaction_version_1") == 1
    alike = F.col("known_markers") == F.col("completes")
    return surely(shared & alike & _moved(F.col("known_markers_ms")))


def has_too_many() -> Column:
    """Whether transactions share the epoch, and there are more markers than decisions of it."""
    shared = F.col("with_transaction_version_1") == 1
    more = F.col("markers") > F.col("prepares")
    return surely(shared & more & (F.col("decidable") == 1))


def changes_coordinator() -> Column:
    """Whether transactions that share the epoch were decided by several coordinators."""
    shared = F.col("with_transaction_version_1") == 1
    several = F.col("highest_leader_epoch") > F.col("lowest_leader_epoch")
    return surely(shared & several & F.col("markers").isNotNull())


def regular() -> Column:
    """Decided once and marked so, in the order of time and of coordinator epochs."""
    is_prepared, is_marked = F.col("prepares").isNotNull(), F.col("markers").isNotNull()
    # Of its protocol: a fence may raise the epoch of what it aborts under each.
    unraised = F.col("unraised_offset").isNull() | (F.col("with_transaction_version_1") == 1)
    raised = (
        ~F.col("commit")
        | F.col("raised_offset").isNull()
        | (F.col("with_transaction_version_2") == 1)
    )
    agrees = (
        unraised
        & raised
        & ~(lacks_markers() | lacks_known() | has_too_many() | changes_coordinator())
        & ~(at_other_moments() | known_at_other_moments())
        & attribution.marked_in_order(
            F.col("earliest_prepare"), F.col("earliest_marker"), F.col("lowest_leader_epoch"),
            F.col("lowest_coordinator_epoch"), F.col("highest_coordinator_epoch"),
            F.col("latest_leader_epoch"),
        )
    )  # fmt: skip
    contradicted = (F.col("contradicted") == 1) | (F.col("contradicted_early") == 1)
    undecidable = ~is_prepared & (F.col("decidable") == 0) & ~contradicted
    seen = F.col("unseen") == 0
    is_regular: Column = (is_prepared & is_marked & agrees & seen) | undecidable
    return is_regular
