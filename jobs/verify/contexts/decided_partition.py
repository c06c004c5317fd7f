"""Context `decided_partition`: one row is a decision of the coordinator and a partition of it."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.model.coordinator_log import CoordinatorLog
from jobs.verify.conditions import MAX_OFFSET, lost_between, missing_between, one_instant
from jobs.verify.contexts.context import Context, with_paths
from jobs.verify.contexts.transaction import Ages

# A file and a position in it as one number, so that aggregates stay numbers: hashed, not sorted.
POSITION_BITS = 31
# Above every leader epoch: a transaction that is not complete may have further coordinators.
ANY_LEADER_EPOCH = 2**31 - 1
KEY = ["partition_index", "producer_id", "marker_epoch", "commit"]


def _place_number(file_index: str, position: str) -> Column:
    return F.shiftleft(F.col(file_index).cast("long"), POSITION_BITS) + F.col(position)


def _file_of(place: str) -> Column:
    return F.shiftright(place, POSITION_BITS).cast("int")


def _position_of(place: str) -> Column:
    return F.col(place).bitwiseAND(F.lit((1 << POSITION_BITS) - 1))


# name -> how it is aggregated; null on the other side of the union.
OF_PREPARES = {
    "prepares": F.sum,
    "record_place": F.max,
    "complete_offset": F.max,
    "complete_timestamp": F.max,
    "earliest_prepare": F.min,
    "lowest_leader_epoch": F.min,
    "latest_leader_epoch": F.max,
    "with_protocol_1": F.max,
    "with_protocol_2": F.max,
    "pending": F.max,
}
OF_MARKERS = {
    "markers": F.sum,
    "marker_place": F.min,
    "marker_offset": F.min,
    "marker_length": F.min,
    "earliest_marker": F.min,
    "latest_marker": F.max,
    "lowest_coordinator_epoch": F.min,
    "highest_coordinator_epoch": F.max,
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
}


def _prepared(decided: DataFrame, facts: DataFrame) -> DataFrame:
    """Each Prepare record and a partition that it lists, on every broker with a copy of it."""
    listed = facts.select("partition_index", F.concat_ws("-", "topic", "partition").alias("listed"))
    return (
        decided.withColumn("listed", F.explode("partitions"))
        .join(F.broadcast(listed), on="listed", how="inner")
        .select(
            *KEY,
            F.lit(1).cast("long").alias("prepares"),
            _place_number("record_file_index", "record_position").alias("record_place"),
            "complete_offset",
            "complete_timestamp",
            F.col("prepare_timestamp").alias("earliest_prepare"),
            F.col("leader_epoch").alias("lowest_leader_epoch"),
            F.coalesce("complete_leader_epoch", F.lit(ANY_LEADER_EPOCH)).alias(
                "latest_leader_epoch"
            ),
            (~F.col("protocol_2")).cast("int").alias("with_protocol_1"),
            F.col("protocol_2").cast("int").alias("with_protocol_2"),
            F.col("pending").cast("int").alias("pending"),
        )
    )


def _marked(markers: DataFrame, known: DataFrame) -> DataFrame:
    """Each marker of a producer id that the coordinator's log names."""
    unraised = F.col("data_epoch") == F.col("marker_epoch")
    raised = F.col("data_epoch") < F.col("marker_epoch")
    place = _place_number("file_index", "marker_position")
    above = known.select("producer_id", "known_above")
    return markers.join(above, on="producer_id", how="inner").select(
        "partition_index",
        "producer_id",
        "marker_epoch",
        F.col("marker_commit").alias("commit"),
        F.lit(1).cast("long").alias("markers"),
        place.alias("marker_place"),
        "marker_offset",
        "marker_length",
        F.col("marker_timestamp").alias("earliest_marker"),
        F.col("marker_timestamp").alias("latest_marker"),
        F.col("coordinator_epoch").alias("lowest_coordinator_epoch"),
        F.col("coordinator_epoch").alias("highest_coordinator_epoch"),
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
        (F.col("marker_epoch") > F.col("known_above")).cast("int").alias("decidable"),
    )


def _matched(prepared: DataFrame, marked: DataFrame) -> DataFrame:
    """One row a decision and partition: what was prepared beside the markers that are there.

    A union and an aggregate instead of a full outer join, so that the transactions of one epoch
    (transaction.version 0 and 1) are not paired each with each.
    """
    both = prepared.unionByName(marked, allowMissingColumns=True)
    aggregates = [how(name).alias(name) for name, how in (OF_PREPARES | OF_MARKERS).items()]
    return both.groupBy(*KEY).agg(*aggregates)


def _regular() -> Column:
    """Decided once and marked so, in the order of time and of coordinator epochs."""
    is_prepared, is_marked = F.col("prepares").isNotNull(), F.col("markers").isNotNull()
    # Of its protocol: a fence may raise the epoch of what it aborts under each.
    unraised = F.col("unraised_offset").isNull() | (F.col("with_protocol_1") == 1)
    raised = ~F.col("commit") | F.col("raised_offset").isNull() | (F.col("with_protocol_2") == 1)
    counted = (F.col("markers") <= F.col("prepares")) | (F.col("with_protocol_1") == 0)
    agrees = (
        unraised
        & raised
        & (counted | (F.col("decidable") == 0))
        & (F.col("lowest_coordinator_epoch") >= F.col("lowest_leader_epoch"))
        & (F.col("highest_coordinator_epoch") <= F.col("latest_leader_epoch"))
        & (F.col("earliest_marker") >= F.col("earliest_prepare"))
    )
    undecidable = ~is_prepared & (F.col("decidable") == 0)
    return (is_prepared & is_marked & agrees) | undecidable


def _with_decision(selected: DataFrame, decided: DataFrame, known: DataFrame) -> DataFrame:
    """Adds the Prepare record of the row, and what the log says of its epochs elsewhere."""
    record = decided.select(
        _place_number("record_file_index", "record_position").alias("record_place"),
        "coordinator_index",
        "record_length",
        "prepare_offset",
        "leader_epoch",
        "transactional_id",
        "protocol_2",
        F.col("data_epoch").alias("prepared_data_epoch"),
    )
    of_epoch = decided.groupBy("producer_id", "marker_epoch").agg(
        F.max("commit").alias("decided_commit"),
        F.max(~F.col("commit")).alias("decided_abort"),
        F.max(~F.col("protocol_2")).alias("decided_with_protocol_1"),
        F.max(_place_number("record_file_index", "record_position")).alias("decided_place"),
        F.max("record_length").alias("decided_length"),
        F.max(F.struct("transactional_id")).getField("transactional_id").alias("decided_id"),
    )
    # The transaction whose data have the epoch of the marker, under transaction.version 2.
    later = decided.filter("commit and protocol_2").select(
        "producer_id",
        F.col("data_epoch").alias("marker_epoch"),
        F.explode("partitions").alias("listed"),
        _place_number("record_file_index", "record_position").alias("committed_place"),
        F.col("record_length").alias("committed_length"),
        F.col("transactional_id").alias("committed_id"),
        F.col("marker_epoch").alias("committed_epoch"),
        F.col("prepare_offset").alias("committed_offset"),
        F.col("coordinator_index").alias("committed_index"),
    )
    ended_otherwise = selected.filter(
        F.col("prepares").isNull() & (F.col("commit") | F.col("unraised_offset").isNull())
    ).select(
        "partition_index", "producer_id", "marker_epoch", (~F.col("commit")).alias("commit"),
        F.lit(True).alias("other_outcome"),
    )  # fmt: skip
    once = later.dropDuplicates(["producer_id", "marker_epoch", "listed"])
    return (
        selected.join(record.dropDuplicates(["record_place"]), on="record_place", how="left")
        .join(of_epoch, on=["producer_id", "marker_epoch"], how="left")
        .join(once, on=["producer_id", "marker_epoch", "listed"], how="left")
        .join(known, on="producer_id", how="left")
        .join(ended_otherwise, on=KEY, how="left")
    )


def _runs(states: DataFrame, regular: DataFrame) -> DataFrame:
    """The runs of transactional data and markers, those folded away included."""
    columns = (
        "partition_index", "producer_id", "producer_epoch", "first_offset", "last_offset",
        "file_index", "first_position", "first_length", "marker_offset", "marker_epoch",
        "marker_position", "marker_length", "has_data", "transactional",
    )  # fmt: skip
    folded = regular.withColumns({"has_data": F.lit(True), "transactional": F.lit(True)})
    return states.select(*columns).unionByName(folded.select(*columns))


def _with_data(selected: DataFrame, states: DataFrame) -> DataFrame:
    """Adds the data of the transaction in the partition and what lies around its marker.

    data_run: first batch of its epoch there; earlier_offset: the newest offset known of the
    producer below the marker's epoch; later_offset: the oldest one known of the next epoch.
    """
    data = states.filter(F.col("has_data") & F.col("transactional"))
    runs = data.groupBy("partition_index", "producer_id", "producer_epoch").agg(
        F.min(F.struct("first_offset", "file_index", "first_position", "first_length")).alias(
            "data_run"
        ),
        F.max("last_offset").alias("data_run_last"),
    )
    of_epoch = runs.withColumnRenamed("producer_epoch", "prepared_data_epoch")
    joined = selected.join(
        of_epoch, on=["partition_index", "producer_id", "prepared_data_epoch"], how="left"
    )
    epochs = states.select(
        "partition_index",
        "producer_id",
        F.greatest("producer_epoch", "marker_epoch").alias("run_epoch"),
        F.col("producer_epoch").alias("run_data_epoch"),
        F.greatest("last_offset", "marker_offset").alias("run_last"),
        F.coalesce("first_offset", "marker_offset").alias("run_first"),
        "file_index",
        F.coalesce("first_position", "marker_position").alias("run_position"),
        F.coalesce("first_length", "marker_length").alias("run_length"),
    )
    wanted = joined.filter(F.col("markers").isNull()).select(
        "partition_index", "producer_id", "marker_epoch", "commit", "protocol_2"
    )
    # Data of a new epoch wait, under version 2, until the transaction before is complete.
    behind = (F.col("run_epoch") > F.col("marker_epoch")) | (
        F.col("protocol_2") & (F.col("run_data_epoch") >= F.col("marker_epoch"))
    )
    around = (
        wanted.join(epochs, on=["partition_index", "producer_id"], how="inner")
        .groupBy("partition_index", "producer_id", "marker_epoch", "commit")
        .agg(
            F.max(F.when(F.col("run_epoch") < F.col("marker_epoch"), F.col("run_last"))).alias(
                "earlier_offset"
            ),
            F.min(
                F.when(behind, F.struct("run_first", "file_index", "run_position", "run_length"))
            ).alias("later_run"),
        )
    )
    return joined.join(around, on=["partition_index", "producer_id", "marker_epoch", "commit"],
                       how="left")  # fmt: skip


def _with_stale_markers(
    selected: DataFrame, decided: DataFrame, markers: DataFrame, tolerance: Column
) -> DataFrame:
    """Adds, under transaction.version 0 and 1, the first marker that came before its decision.

    stale_place, stale_offset, stale_first, stale_last: the first marker of the producer id and
    epoch that ended data when fewer transactions of the partition had been decided than ended.
    All of one epoch look alike, so they are counted in the order of time; a decision counts
    as made earlier by the tolerance. Only keys with more markers than decisions are counted.
    """
    more = (F.col("markers") > F.col("prepares")) & (F.col("with_protocol_2") == 0)
    keys = selected.filter(more & (F.col("decidable") == 1)).select(
        "partition_index", "listed", "producer_id", "marker_epoch"
    )
    keys = keys.distinct()
    of_producer = ["producer_id", "marker_epoch"]
    made = keys.join(
        decided.withColumn("listed", F.explode("partitions")), on=[*of_producer, "listed"]
    ).select(
        "partition_index", *of_producer,
        (F.col("prepare_timestamp") - tolerance).alias("time"), F.lit(1).alias("step"),
    )  # fmt: skip
    ended = (
        markers.filter(F.col("first_offset").isNotNull())
        .join(keys, on=["partition_index", *of_producer], how="inner")
        .select(
            "partition_index", *of_producer,
            F.col("marker_timestamp").alias("time"), F.lit(-1).alias("step"),
            F.struct(
                F.col("marker_offset").alias("offset"),
                _place_number("file_index", "marker_position").alias("place"),
                F.col("first_offset").alias("first"),
                F.col("last_offset").alias("last"),
                F.col("marker_commit").alias("commit"),
            ).alias("stale"),
        )
    )  # fmt: skip
    so_far = Window.partitionBy("partition_index", *of_producer).orderBy(
        "time", F.col("step").desc(), "stale.offset"
    )
    counted = made.unionByName(ended, allowMissingColumns=True).withColumn(
        "undecided", F.sum("step").over(so_far.rowsBetween(Window.unboundedPreceding, 0))
    )
    stale = (
        counted.filter((F.col("step") == -1) & (F.col("undecided") < 0))
        .groupBy("partition_index", *of_producer)
        .agg(F.min("stale").alias("stale"))
        .select(
            "partition_index", *of_producer, F.col("stale.commit").alias("commit"),
            *[F.col(f"stale.{name}").alias(f"stale_{name}")
              for name in ("place", "offset", "first", "last")],
        )
    )  # fmt: skip
    return selected.join(stale, on=KEY, how="left")


def _with_places(selected: DataFrame, files: DataFrame) -> DataFrame:
    """Takes the place numbers apart again: file index, path and position of each."""
    prefixes = ("marker", "record", "unraised", "wrong", "stale", "committed", "decided")
    of_protocol_2 = F.col("with_protocol_1") == 0
    wrong = selected.select(
        "*",
        *[
            F.when(of_protocol_2, F.col(f"unraised_{name}"))
            .otherwise(F.col(f"raised_{name}"))
            .alias(f"wrong_{name}")
            for name in ("place", "offset", "first", "last")
        ],
    )
    located = wrong.select(
        "*",
        *[_file_of(f"{prefix}_place").alias(f"{prefix}_file_index") for prefix in prefixes],
        *[_position_of(f"{prefix}_place").alias(f"{prefix}_position") for prefix in prefixes],
    )
    paths = {f"{prefix}_file": f"{prefix}_file_index" for prefix in prefixes}
    return with_paths(
        located, files, data_file="data_run.file_index", later_file="later_run.file_index", **paths
    )


def _lateness(tolerance: Column) -> list[Column]:
    """Whether the copies are late enough to miss something in them."""
    # What a copy of the coordinator's log from before all data holds is older than the data's.
    later = F.col("later_run").isNotNull() | (F.col("complete_offset") < F.col("earlier_end"))
    in_time = F.col("complete_up_to_ms") >= F.col("complete_timestamp") + tolerance

    def history_later(marker: str) -> Column:
        covers = F.col("history_covers_ms") >= F.col(marker) + tolerance
        later = one_instant("history_clean_shutdown") | covers
        return F.coalesce(later | (F.col("newest_epoch") > F.col("marker_epoch")), F.lit(False))

    held_from = F.coalesce("data_run_last", "earlier_offset")
    held_to = F.coalesce(F.col("later_run.run_first"), F.lit(MAX_OFFSET))
    # The cleaner keeps the marker of data that are still there.
    gone = F.when(F.col("data_run").isNull(), missing_between(held_from + 1, held_to)).otherwise(
        lost_between(held_from + 1, held_to)
    )
    return [
        F.coalesce(one_instant("coordinator_clean_shutdown") | in_time | later, F.lit(False)).alias(
            "copied_later"
        ),
        history_later("earliest_marker").alias("history_later"),
        history_later("latest_marker").alias("history_behind_all"),
        held_from.alias("held_from"),
        F.coalesce(gone, F.lit(False)).alias("marker_missing"),
    ]


def _enriched(selected: DataFrame, files: DataFrame, ages: Ages) -> DataFrame:
    """Paths, the place of a finding, and how late the copies are."""
    tolerance = F.lit(ages.clock_tolerance)
    now = F.least("history_covers_ms", F.lit(ages.now).cast("long"))
    marked = F.col("markers").isNotNull()
    return _with_places(selected, files).select(
        "*",
        *_lateness(tolerance),
        F.when(F.col("commit"), "COMMIT").otherwise("ABORT").alias("decision"),
        (now - F.col("earliest_prepare")).alias("pending_ms"),
        tolerance.alias("clock_tolerance_ms"),
        F.coalesce("transactional_id", "decided_id", "committed_id").alias("owner"),
        F.when(marked, F.coalesce("data_first", "marker_offset"))
        .otherwise(F.coalesce("data_run.first_offset", "later_run.run_first"))
        .alias("offset_first"),
        F.when(marked, F.col("marker_offset"))
        .otherwise(F.coalesce("data_run_last", "later_run.run_first"))
        .alias("offset_last"),
        F.coalesce("prepared_data_epoch", "marker_epoch").alias("producer_epoch"),
        F.coalesce("marker_file", "data_file", "later_file", "record_file").alias("file"),
        F.coalesce(
            "marker_position", "data_run.first_position", "later_run.run_position",
            "record_position",
        ).alias("byte_position"),
        F.coalesce(
            F.when(marked, F.col("marker_length")), "data_run.first_length", "later_run.run_length",
            "record_length",
        ).cast("int").alias("byte_length"),
    ).drop("transactional_id").withColumnRenamed("owner", "transactional_id")  # fmt: skip


def _replica_offsets(markers: DataFrame, places: DataFrame) -> DataFrame:
    """One row a marker of a topic partition: the highest offset it has on any broker."""
    placed = markers.join(F.broadcast(places), on="partition_index", how="inner")
    return placed.groupBy(
        "listed", "producer_id", "marker_epoch", F.col("marker_commit").alias("commit")
    ).agg(F.max("marker_offset").alias("replica_offset"))


def decided_partition_context(
    log: CoordinatorLog,
    history: DataFrame,
    states: DataFrame,
    markers: DataFrame,
    regular: DataFrame,
    facts: DataFrame,
    files: DataFrame,
    ages: Ages,
) -> Context:
    """Decisions of the coordinator beside the markers of each partition, one a broker's copy.

    A row is (partition_index, producer_id, marker_epoch, commit). `history`: producer ids,
    of `jobs.replay.decisions`; `markers`: those of
    `jobs.audit.audit.markers`; `states`: producer runs; `regular`: transactions that were folded
    away.

    prepares, markers: how many Prepare records list the partition, and markers it has; null for
    none. Under transaction.version 0 and 1 several transactions share a row.
    lowest_leader_epoch: that of their Prepare records; latest_leader_epoch: the highest of their
    Complete records, ANY_LEADER_EPOCH where one has none. pending: the last
    record of the id. decidable: the coordinator's log is whole where the decision would stand.
    unraised_*, raised_*: a marker with the epoch of its own data, or a higher one; wrong_*: that of
    them which the transaction.version of the decision does not make. stale_*: see
    `_with_stale_markers`. committed_*: the Prepare record that
    committed data of the marker's epoch here, under version 2. decided_*: Prepare records of the
    producer id and epoch, whatever they list. copied_later: the copy of the partition is later
    than the Complete record; history_later: that of the coordinator's log than the first marker,
    history_behind_all: than all markers.
    """
    places = facts.select("partition_index", F.concat_ws("-", "topic", "partition").alias("listed"))
    known = facts.select(
        "partition_index", "broker", "topic", "partition", "complete_up_to_ms", "clean_shutdown",
        "single_broker", "holes", "missing", "log_end_offset",
        "with_kraft",
    ).join(F.broadcast(places), on="partition_index", how="inner")  # fmt: skip
    coordinators = facts.select(
        F.col("partition_index").alias("deciding_index"),
        F.col("clean_shutdown").alias("coordinator_clean_shutdown"),
        F.col("stable_below").alias("coordinator_stable_below"),
        F.col("partition").alias("coordinator_partition"),
        "earlier_end",
    )
    rows = _matched(_prepared(log.decisions, facts), _marked(markers, history))

    def enrich(selected: DataFrame) -> DataFrame:
        producers = selected.select("producer_id").distinct()
        decided = log.decisions_of(producers)
        # What a snapshot tells lies before the log, where markers are not looked for.
        in_log = states.filter(~F.col("initial"))
        runs = _runs(in_log, regular.join(producers, on="producer_id", how="left_semi"))
        placed = selected.join(F.broadcast(known), on="partition_index", how="inner")
        deciding = F.coalesce("coordinator_index", "committed_index")
        with_decision = (
            _with_decision(placed, decided, history)
            .withColumn("deciding_index", deciding)
            .join(F.broadcast(coordinators), on="deciding_index", how="left")
        )
        replicas = _replica_offsets(markers, places)
        with_replicas = with_decision.join(
            replicas, on=["listed", "producer_id", "marker_epoch", "commit"], how="left"
        )
        tolerance = F.lit(ages.clock_tolerance)
        with_stale = _with_stale_markers(with_replicas, decided, markers, tolerance)
        return _enriched(_with_data(with_stale, runs), files, ages)

    return Context("decided_partition", rows, _regular, enrich, within_cluster=True)
