"""What an incident did to readers: decisions of the coordinator beside what the logs have."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE, VIOLATION
from jobs.incidents.signature import LOST
from jobs.spark.joins import small
from jobs.spark.kept import Kept
from schemas.incident import CONSEQUENCE

COLUMNS = [field for field in CONSEQUENCE if field.name != "audit_id"]
TWICE, DIFFERS = "duplicate_batch", "replica_divergence"
CUT = frozenset({LOST, DIFFERS})
WENT_BACK = frozenset({"offset_commit_regression", "offset_commit_outcome_mismatch"})
EPOCH = ("producer_id", "producer_epoch")


@dataclass(frozen=True)
class Known:
    """What the replay knows of the producers of findings.

    `decisions`: of `jobs.replay.decisions`, completed or not, kept, None for none; `runs`: data
    runs (`jobs.replay.producers`); `transactions`: of `jobs.replay.transactions`; `regular`: folded
    ones; `info`: partition_info; `states`: rows of the table partition_state with partition_index;
    `files`: the listing; `splits`: summaries.
    """

    decisions: DataFrame | None
    runs: DataFrame
    transactions: DataFrame
    regular: DataFrame
    info: DataFrame
    states: DataFrame
    files: DataFrame
    splits: DataFrame


def consequences(placed: DataFrame, labels: Collection[str], known: Known, kept: Kept) -> DataFrame:
    """Rows of CONSEQUENCE without audit_id.

    `placed`: see `jobs.incidents.assign`; `labels`: of all findings of incidents. Of what no
    finding speaks nothing is asked.
    """
    mine = placed.filter(F.col("incident").isNotNull())
    frames = [_blocked(mine, known.states)]
    decided = known.decisions
    completed = decided is not None and _decided(decided).limit(1).count() > 0
    if decided is not None and completed:
        named = _decided(decided)
        cuts = first_differences(mine, "label", F.min("incident").alias("cut_by"))
        fates = kept.keep(_fates(_data(known), named, mine, cuts))
        frames.append(_misdecided(mine, fates, known.states))
        if not CUT.isdisjoint(labels):
            frames.append(_lost(_gone(mine, fates, known), fates, named))
    if TWICE in labels:
        frames.append(_twice(mine))
    if not WENT_BACK.isdisjoint(labels):
        frames.append(_went_back(mine))
    return reduce(DataFrame.unionByName, frames)


def _shaped(rows: DataFrame, kind: Column, **values: Column) -> DataFrame:
    """The columns of the table; what is not given is null."""
    given = {"kind": kind, **values}
    return rows.select(
        *[
            given.get(field.name, F.col(field.name) if field.name in rows.columns else F.lit(None))
            .cast(field.dataType)
            .alias(field.name)
            for field in COLUMNS
        ]
    )


def _data(known: Known) -> DataFrame:
    """One row a producer's epoch in a copy, by outcome: offsets, records, first timestamp."""
    ended = known.transactions.select(
        "partition_index", "producer_id", "transaction_number", "outcome"
    )
    in_log = known.runs.filter(F.col("has_data") & F.col("transactional") & ~F.col("initial"))
    replayed = in_log.join(ended, on=["partition_index", "producer_id", "transaction_number"])
    names = ("partition_index", *EPOCH, "outcome", "first_offset", "last_offset", "records",
             "first_timestamp")  # fmt: skip
    outcome = F.when(F.col("marker_commit"), "commit").otherwise("abort")
    folded = known.regular.withColumn("outcome", outcome).select(*names)
    place = known.info.select("partition_index", *PLACE)
    return (
        replayed.select(*names)
        .unionByName(folded)
        .groupBy("partition_index", *EPOCH, "outcome")
        .agg(
            F.min("first_offset").alias("first_offset"),
            F.max("last_offset").alias("last_offset"),
            F.sum("records").alias("records"),
            F.min("first_timestamp").alias("since_ms"),
        )
        .join(small(place), on="partition_index")
        .withColumn("listed", F.concat_ws("-", "topic", "partition"))
    )


def _decided(decisions: DataFrame) -> DataFrame:
    """Completed decisions about one epoch alone: producer_id, producer_epoch, listed, commit.

    Where several transactions share an epoch, a decision cannot be told from the next one.
    """
    return (
        decisions.filter(F.col("complete_offset").isNotNull() & ~F.col("shares_epoch"))
        .select(
            "producer_id",
            F.col("data_epoch").alias("producer_epoch"),
            F.col("commit").alias("decided_commit"),
            F.explode("partitions").alias("listed"),
        )
        .distinct()
    )


def _fates(data: DataFrame, decided: DataFrame, placed: DataFrame, cuts: DataFrame) -> DataFrame:
    """What a partition made of a decision, where it matters: columns of both, cut and cut_by.

    Outcomes that contradict it, whatever a copy has of transactions that another one lost, and
    what lies behind the offset (`cut`) from which on copies have different batches.
    """
    both = data.join(decided, on=[*EPOCH, "listed"])
    committed = F.col("outcome") == "commit"
    gone = _named_lost(placed).select(*EPOCH, "listed", F.lit(True).alias("gone"))
    known = both.join(small(gone.distinct()), on=[*EPOCH, "listed"], how="left")
    beside = known.join(small(cuts), on=["topic", "partition"], how="left")
    wrong = F.col("decided_commit") != committed
    behind = F.coalesce(F.col("first_offset") >= F.col("cut"), F.lit(False))
    kept = F.col("decided_commit") & (F.coalesce("gone", F.lit(False)) | behind)
    return beside.filter(wrong | kept)


def first_differences(rows: DataFrame, code: str = "code", *told: Column) -> DataFrame:
    """topic, partition, cut (the offset from which on copies provably differ), and what is told."""
    differ = rows.filter((F.col(code) == DIFFERS) & (F.col("verdict") == VIOLATION))
    return differ.groupBy("topic", "partition").agg(F.min("offset_first").alias("cut"), *told)


def _outlived(known: Known) -> DataFrame:
    """partition_index of copies that end in an older leader epoch than another of the partition."""
    newest = known.splits.groupBy("partition_index").agg(
        F.max("final_leader_epoch").alias("leader_epoch")
    )
    place = known.info.select("partition_index", "topic", "partition")
    of_partition = Window.partitionBy("topic", "partition")
    compared = newest.join(small(place), on="partition_index").withColumn(
        "highest", F.max("leader_epoch").over(of_partition)
    )
    return compared.filter("leader_epoch < highest").select(
        "partition_index", F.lit(True).alias("outlived")
    )


def _gone(placed: DataFrame, fates: DataFrame, known: Known) -> DataFrame:
    """Transactions that a partition lost: incident, topic, partition, listed, EPOCH.

    Those that findings name, and those behind a cut that only outlived copies have.
    """
    key = ("topic", "partition", "listed", *EPOCH)
    behind = fates.filter(
        F.col("decided_commit")
        & (F.col("outcome") == "commit")
        & (F.col("first_offset") >= F.col("cut"))
    )
    only_old = (
        behind.join(small(_outlived(known)), on="partition_index", how="left")
        .groupBy(*key)
        .agg(
            F.min("cut_by").alias("incident"),
            F.bool_and(F.coalesce("outlived", F.lit(False))).alias("gone"),
        )
        .filter("gone")
    )
    both = _named_lost(placed).unionByName(only_old.select(*key, "incident"))
    return both.groupBy(*key).agg(F.min("incident").alias("incident"))


def _whose(placed: DataFrame, name: str) -> DataFrame:
    """One row a place and producer: its incidents, and by the values of a column (`name`)."""
    known = placed.filter(F.col("producer_id").isNotNull())
    return known.groupBy(*PLACE, "producer_id").agg(
        F.min("incident").alias("any_incident"),
        F.collect_set(F.struct(F.col(name).alias("value"), "incident")).alias("by_value"),
    )


def _nearest(value: str) -> Column:
    """The incident of that value, of a row of `_whose` named w; else the first of its producer."""
    mine = F.filter("w.by_value", lambda one: one["value"] == F.col(value))
    exact = F.array_min(F.transform(mine, lambda one: one["incident"]))
    return F.coalesce(exact, F.col("w.any_incident"))


def _misdecided(placed: DataFrame, fates: DataFrame, states: DataFrame) -> DataFrame:
    """Records that readers get, or do not get, against the decision of the coordinator."""
    whose = _whose(placed, "producer_epoch")
    stable = states.select("partition_index", "last_stable_offset")
    rows = (
        fates.join(small(stable), on="partition_index")
        .alias("d")
        .join(
            small(whose).alias("w"),
            F.col("d.broker").eqNullSafe(F.col("w.broker"))
            & (F.col("d.topic") == F.col("w.topic"))
            & (F.col("d.partition") == F.col("w.partition"))
            & (F.col("d.producer_id") == F.col("w.producer_id")),
        )
        .select("d.*", _nearest("d.producer_epoch").alias("incident"))
    )
    reached = F.col("last_offset") < F.col("last_stable_offset")
    kind = F.when(
        ~F.col("decided_commit") & (F.col("outcome") == "commit") & reached,
        F.lit("aborted_records_visible"),
    ).when(
        F.col("decided_commit") & (F.col("outcome") != "commit"),
        F.lit("committed_records_invisible"),
    )
    found = rows.withColumn("kind", kind).filter(F.col("kind").isNotNull())
    summed = found.groupBy("incident", *PLACE, "kind").agg(
        F.min("first_offset").alias("first_offset"),
        F.max("last_offset").alias("last_offset"),
        F.count_distinct(*EPOCH).alias("transactions"),
        F.sum("records").alias("records"),
        F.min("since_ms").alias("since_ms"),
    )
    return _shaped(summed, F.col("kind"), provable=F.lit(True))


def _named_lost(placed: DataFrame) -> DataFrame:
    """Transactions of which findings say that a partition has nothing: the columns of `_gone`."""
    lost = placed.filter((F.col("label") == LOST) & (F.col("verdict") == VIOLATION))
    named = lost.withColumn("listed", F.concat_ws("-", "topic", "partition"))
    return named.groupBy("topic", "partition", "listed", *EPOCH).agg(
        F.min("incident").alias("incident")
    )


def _lost(gone: DataFrame, fates: DataFrame, decided: DataFrame) -> DataFrame:
    """Committed transactions of which a partition has nothing; counted where a copy has them.

    Offsets and records are those of the copy that has most of them; broker is the one that has.
    """
    known = gone.join(decided.filter("decided_commit"), on=[*EPOCH, "listed"])
    kept = fates.filter(F.col("outcome") == "commit").select(
        "broker", "listed", *EPOCH, "first_offset", "last_offset", "records", "since_ms"
    )
    copy = F.struct("records", "first_offset", "last_offset", "since_ms", "broker")
    one = (
        known.join(kept, on=[*EPOCH, "listed"], how="left")
        .groupBy("incident", "topic", "partition", *EPOCH)
        .agg(F.max(copy).alias("copy"))
    )
    summed = one.groupBy("incident", "topic", "partition").agg(
        F.count("*").alias("transactions"),
        F.count_if(F.col("copy.records").isNotNull()).alias("counted"),
        F.sum("copy.records").alias("records"),
        F.min("copy.first_offset").alias("first_offset"),
        F.max("copy.last_offset").alias("last_offset"),
        F.min("copy.since_ms").alias("since_ms"),
        F.min("copy.broker").alias("broker"),
    )
    whole = F.col("counted") == F.col("transactions")
    return _shaped(
        summed,
        F.lit("records_lost"),
        records=F.when(whole, F.col("records")),
        provable=whole,
    )


def _blocked(placed: DataFrame, states: DataFrame) -> DataFrame:
    """Offsets behind a last stable offset that a transaction of the incident holds."""
    held = _whose(placed, "offset_first").alias("w")
    end = F.coalesce("high_watermark", "log_end_offset")
    waiting = states.filter(
        F.col("lso_producer_id").isNotNull() & (F.col("last_stable_offset") < end)
    ).alias("s")
    rows = waiting.join(
        small(held),
        F.col("s.broker").eqNullSafe(F.col("w.broker"))
        & (F.col("s.topic") == F.col("w.topic"))
        & (F.col("s.partition") == F.col("w.partition"))
        & (F.col("s.lso_producer_id") == F.col("w.producer_id")),
    ).select("s.*", _nearest("s.first_unstable_offset").alias("incident"))
    return _shaped(
        rows,
        F.lit("records_blocked"),
        first_offset=F.col("last_stable_offset"),
        last_offset=end - 1,
        since_ms=F.col("lso_since_ms"),
        provable=F.lit(True),
    )


def _twice(placed: DataFrame) -> DataFrame:
    """Batches that are stored a second time."""
    rows = placed.filter((F.col("label") == TWICE) & (F.col("verdict") == VIOLATION))
    size = F.sum(F.col("offset_last") - F.col("offset_first") + 1)
    return _shaped(
        _spanned(rows, size.alias("records")),
        F.lit("records_stored_twice"),
        provable=F.lit(True),
    )


def _went_back(placed: DataFrame) -> DataFrame:
    """Commits of offsets that went back, or that do not share the fate of their output."""
    rows = placed.filter(F.col("label").isin(*WENT_BACK))
    number = F.count("*").alias("records")
    proven = F.max(F.col("verdict") == VIOLATION).alias("proven")
    return _shaped(
        _spanned(rows, number, proven), F.lit("offsets_went_back"), provable=F.col("proven")
    )


def _spanned(rows: DataFrame, *more: Column) -> DataFrame:
    return rows.groupBy("incident", *PLACE).agg(
        F.min("offset_first").alias("first_offset"),
        F.max("offset_last").alias("last_offset"),
        *more,
    )
