"""What the coordinator's log says of the epoch of a marker, beside the row itself."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.set_back_clocks import came_twice, covers_once
from jobs.spark.joins import small
from jobs.verify.contexts.decided.matching import KEY, in_effect, listed_decisions
from jobs.verify.contexts.decided.places import place_number
from jobs.verify.contexts.decided.unnamed import with_history
from schemas.topics import OFFSETS_TOPIC
from udfs.rules import attribution
from udfs.rules.extent import is_replicated
from udfs.rules.logic import surely

# In a record that tells no start of its transaction (`TransactionMetadata`).
NO_START = -1


def with_decision(
    selected: DataFrame,
    decided: DataFrame,
    known: DataFrame,
    naming: DataFrame | None,
    owners: DataFrame,
    tolerance: Column,
) -> DataFrame:
    """Adds the newest Prepare record of the row, and what the log says of its epochs elsewhere.

    `known`, `naming`: see `unnamed.with_history`; `tolerance`: of the clocks of brokers, ms.
    """
    record = decided.select(
        place_number("record_file_index", "record_position").alias("record_place"),
        "coordinator_index",
        "record_length",
        "prepare_offset",
        "leader_epoch",
        "transactional_id",
        "transaction_version_2",
        F.col("data_epoch").alias("prepared_data_epoch"),
    )
    # Of two outcomes the one that the marker has: of ids that share a producer id each has its own.
    # But the other one, where only a Complete record of the other outcome accuses the marker.
    contradicted = surely((F.col("contradicted_early") == 1) & (F.col("decidable") == 0))
    alike = F.when(F.col("commit"), F.col("newest_commit")).otherwise(F.col("newest_abort"))
    other = F.when(F.col("commit"), F.col("newest_abort")).otherwise(F.col("newest_commit"))
    named = F.when(contradicted, other).otherwise(F.coalesce(alike, other))
    any_id = F.when(~contradicted, F.col("decided_id"))
    running = owners.filter("state = 'Ongoing'").select(
        "producer_id",
        F.col("producer_epoch").alias("running_epoch"),
        F.col("partitions").alias("running_partitions"),
        F.coalesce("start_ms", F.lit(NO_START)).alias("running_start_ms"),
    )
    with_record = selected.join(
        record.dropDuplicates(["record_place"]), on="record_place", how="left"
    )
    in_epoch = _with_decided_in_epoch(with_record, decided, tolerance)
    return (
        with_history(in_epoch, known, naming)
        .join(_committed_alone(decided), on=["producer_id", "marker_epoch", "listed"], how="left")
        .join(_owners_of_data(decided), on=["producer_id", "prepared_data_epoch", "listed"],
              how="left")
        .join(_begun_later(decided), how="left",
              on=["producer_id", "prepared_data_epoch", "listed", "newest_prepare"])
        .join(small(running), on="producer_id", how="left")
        .withColumns({
            "decided_place": named["place"],
            "decided_length": named["length"],
            "decided_id": F.coalesce(named["transactional_id"], any_id),
        })
        .drop("newest_commit", "newest_abort")
    )  # fmt: skip


def _with_decided_in_epoch(rows: DataFrame, decided: DataFrame, tolerance: Column) -> DataFrame:
    """Adds what took effect with the producer id and epoch of a marker, whatever it lists.

    decided_commit, decided_abort, newest_commit, newest_abort: null for markers from before all of
    it (`udfs.rules.attribution.epoch_given_again`), which belong to a decision that is lost.
    """
    joined = rows.join(_decided_in_epoch(decided), on=["producer_id", "marker_epoch"], how="left")
    moments = F.col("latest_marker"), F.col("begun_ms")
    again = attribution.epoch_given_again(*moments, tolerance)
    twice = came_twice(moments[0], tolerance) | came_twice(moments[1], tolerance)
    of_lost = surely(F.col("prepares").isNull() & again & ~twice)
    outcomes = ("decided_commit", "decided_abort", "newest_commit", "newest_abort")
    return joined.withColumns({name: F.when(~of_lost, F.col(name)) for name in outcomes}).drop(
        "begun_ms"
    )


def _decided_in_epoch(decided: DataFrame) -> DataFrame:
    """One row a producer id and epoch of a marker: what is decided with it, and begun_ms.

    newest_commit, newest_abort: place, length and transactional_id of the newest Prepare record.
    several_ids: transactional ids share the producer id, as they never should. begun_ms: when the
    first transaction began, in effect or not; coordinator's clock, -1 where one does not tell.
    """
    place = place_number("record_file_index", "record_position")
    told = F.struct(
        place.alias("place"), F.col("record_length").alias("length"), "transactional_id"
    )

    def newest(commit: bool) -> Column:
        return F.max(F.when(in_effect() & (F.col("commit") == F.lit(commit)), told))

    return decided.groupBy("producer_id", "marker_epoch").agg(
        F.max(F.col("commit") & in_effect()).alias("decided_commit"),
        F.max(~F.col("commit") & in_effect()).alias("decided_abort"),
        F.max(~F.col("transaction_version_2")).alias("decided_with_transaction_version_1"),
        newest(commit=True).alias("newest_commit"),
        newest(commit=False).alias("newest_abort"),
        F.max("transactional_id").alias("decided_id"),
        (F.min("transactional_id") != F.max("transactional_id")).alias("several_ids"),
        F.min(_begun_ms()).alias("begun_ms"),
    )


def _begun_ms() -> Column:
    """When the transaction of a decision began; -1 where its record does not tell."""
    return F.least(F.coalesce("start_ms", F.lit(NO_START)), F.col("prepare_timestamp"))


def _committed_alone(decided: DataFrame) -> DataFrame:
    """The commit of transaction.version 2 that alone can own data of the epoch of a marker.

    Not where transactions of older versions have the epoch of its data and list the partition, too:
    data that arrived late hang until an operator aborts them, and may be of one of those.
    """
    of_version_2 = F.col("commit") & F.col("transaction_version_2")
    committed = F.struct(
        place_number("record_file_index", "record_position").alias("committed_place"),
        F.col("record_length").alias("committed_length"),
        F.col("transactional_id").alias("committed_id"),
        F.col("marker_epoch").alias("committed_epoch"),
        F.col("prepare_offset").alias("committed_offset"),
        F.col("complete_offset").isNotNull().alias("committed_complete"),
        F.col("coordinator_index").alias("committed_index"),
    )
    return (
        listed_decisions(decided.filter(in_effect()))
        .groupBy("producer_id", F.col("data_epoch").alias("marker_epoch"), "listed")
        .agg(
            F.max(F.when(of_version_2, committed)).alias("committed"),
            F.max(~of_version_2).alias("owned_otherwise"),
        )
        .filter(~F.col("owned_otherwise"))
        .select("producer_id", "marker_epoch", "listed", "committed.*")
    )


def _owners_of_data(decided: DataFrame) -> DataFrame:
    """The last decision that data of an epoch in a partition can belong to (`newest_owner`)."""
    return (
        listed_decisions(decided)
        .groupBy("producer_id", F.col("data_epoch").alias("prepared_data_epoch"), "listed")
        .agg(F.max("prepare_offset").alias("newest_owner"))
    )


def _begun_later(decided: DataFrame) -> DataFrame:
    """later_start_ms: when the first transaction behind a decision began that its data may be of.

    One row a decision (`newest_prepare`) and partition; coordinator's clock; null for none later.
    """
    of_data = ["producer_id", "prepared_data_epoch", "listed"]
    # From the end: Spark reads a frame that ends there anew for each of its rows.
    behind = (
        Window.partitionBy(*of_data)
        .orderBy(F.desc("prepare_offset"))
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        listed_decisions(decided)
        .withColumnRenamed("data_epoch", "prepared_data_epoch")
        .select(
            *of_data,
            F.col("prepare_offset").alias("newest_prepare"),
            F.min(_begun_ms()).over(behind).alias("later_start_ms"),
        )
        .groupBy(*of_data, "newest_prepare")
        .agg(F.min("later_start_ms").alias("later_start_ms"))
    )


def with_outcomes(rows: DataFrame, placed: DataFrame, tolerance: Column) -> DataFrame:
    """Adds what markers of the same producer id and epoch say in all partitions of the dump.

    committed_somewhere: a COMMIT marker ended data; raised_both_ways: markers with the epoch after
    that of their data committed in one partition and aborted in another, and the two alone prove
    it: in topics of clients where the coordinator's log lacks the decision about the abort (the
    context `torn_epoch`), or in `__consumer_offsets` and such a topic (`offset_transaction`).
    `placed`: markers with listed (topic-partition), topic and coordinator_topic of their partition;
    `tolerance`: of clocks, ms.
    """
    ended = F.col("first_offset").isNotNull()
    raised = ended & attribution.raised_by_one(F.col("marker_epoch"), F.col("data_epoch"))
    commit = F.col("marker_commit")
    of_client, of_offsets = ~F.col("coordinator_topic"), F.col("topic") == OFFSETS_TOPIC
    committed_at = F.when(raised & commit & of_client, F.col("listed"))
    aborted_at = F.when(raised & ~commit & of_client, F.col("listed"))
    apart = (F.min(committed_at) != F.max(aborted_at)) | (F.max(committed_at) != F.min(aborted_at))

    def in_both(outcome: Column) -> Column:
        there = F.max(F.when(raised & of_offsets, outcome))
        both: Column = surely(there & F.max(F.when(raised & of_client, ~outcome)))
        return both

    outcomes = placed.groupBy("producer_id", "marker_epoch").agg(
        F.max(ended & commit).alias("committed_somewhere"),
        surely(apart).alias("apart"),
        (in_both(commit) | in_both(~commit)).alias("against_offsets"),
        F.max(F.when(aborted_at.isNotNull(), F.col("marker_timestamp"))).alias("aborted_until"),
    )
    joined = rows.join(outcomes, on=["producer_id", "marker_epoch"], how="left")
    known = attribution.is_decision_known(
        F.col("marker_epoch"),
        F.col("known_above"),
        F.col("newest_epoch"),
        covers_once(F.col("history_covers_ms"), F.col("aborted_until"), tolerance),
    )
    told = surely(known) & ~F.col("unnamed")
    proven = (F.col("apart") & ~told) | F.col("against_offsets")
    return joined.withColumn("raised_both_ways", surely(proven)).drop(
        "apart", "against_offsets", "aborted_until"
    )


def with_other_outcome(rows: DataFrame) -> DataFrame:
    """Adds what the row of the other outcome lacks or has, of the same partition and epoch.

    Of that row: other_unmet: it must have a marker here, and has none; other_settled: the same
    where epochs alone prove it (transaction.version 2, its data are there, its Complete record is
    replicated); other_short: of several decisions that share the epoch one has no marker;
    other_outcome: it has a marker that nobody decided, in place of this row's; other_undecided: it
    has a COMMIT more than were decided; other_record_place, other_record_length: its newest Prepare
    record that lists the partition. Of this row: in_place: not all of its markers are older than
    the start of the transaction that lacks one there.
    Regular rows are not among `rows`: they have what they need.
    """
    opposite = Window.partitionBy(*[name for name in KEY if name != "commit"])

    def of_the_other(value: Column) -> Column:
        of_commit = F.max(F.when(F.col("commit"), value)).over(opposite)
        of_abort = F.max(F.when(~F.col("commit"), value)).over(opposite)
        other: Column = F.when(F.col("commit"), of_abort).otherwise(of_commit)
        return other

    short_placed = F.col("short_place").isNotNull()
    begun = of_the_other(
        F.when(short_placed, F.col("short_start")).otherwise(F.col("completed_start"))
    )
    in_place = ~surely(attribution.surely_before(F.col("latest_marker"), begun, F.col("apart_ms")))
    without_marker = (
        F.col("markers").isNull()
        & F.col("complete_offset").isNotNull()
        & F.col("held_from").isNotNull()
        & F.col("unproven").isNull()
        & ~F.col("marker_missing")
    )
    unmet = without_marker & F.col("copied_later")
    # A marker that is there contradicts it by epochs alone, whichever copy is older.
    settled = (
        without_marker
        & F.col("own_data_last").isNotNull()
        & (F.col("with_transaction_version_1") == 0)
        & is_replicated(F.col("complete_offset"), F.col("coordinator_replicated_below"))
    )
    short = short_placed & F.col("held_from").isNotNull() & ~F.col("marker_missing")
    # Of one that was carried out unseen the outcome is not known for sure.
    short &= ~F.col("short_as_read") & ~F.col("short_unseen")
    shared = ~surely(F.col("decided_with_transaction_version_1") == F.lit(False))
    replaces = (
        F.col("prepares").isNull()
        & F.col("in_place")
        & ((F.col("decidable") == 1) | (F.col("contradicted") == 1)
           | ((F.col("contradicted_early") == 1) & F.col("first_whole")))
        & (F.col("commit") | F.col("raised_offset").isNotNull() | F.col("unraised_offset").isNull()
           | (shared & F.col("history_later")))
    )  # fmt: skip

    def on_the_other_side(condition: Column) -> Column:
        return surely(of_the_other(condition))

    return rows.withColumn("in_place", in_place).select(
        "*",
        on_the_other_side(surely(unmet)).alias("other_unmet"),
        on_the_other_side(surely(settled)).alias("other_settled"),
        on_the_other_side(surely(short)).alias("other_short"),
        on_the_other_side(surely(replaces)).alias("other_outcome"),
        on_the_other_side(surely(F.col("commits_undecided"))).alias("other_undecided"),
        of_the_other(F.col("record_place")).alias("other_record_place"),
        of_the_other(F.col("record_length")).alias("other_record_length"),
    )
