"""What an incident did to readers: decisions of the coordinator beside what the logs have."""

from collections.abc import Collection
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE
from jobs.incidents.known import Known, shaped
from jobs.incidents.lost import lost
from jobs.incidents.misdecided import misdecided
from jobs.incidents.ranges import contiguous
from jobs.incidents.remembered import as_brokers_go_by
from jobs.incidents.signature import (
    AGAIN,
    BLOCKED,
    CLEANED_DATA,
    DAMAGED_BATCH,
    DIVERGED,
    FORGOTTEN,
    IN_NONE,
    LOST,
)
from jobs.incidents.whose import of_one_producer, same_place
from jobs.model.ending import FENCED_DATA, NAMES, UNENDED, ending, older_epoch
from jobs.model.incident import UNREADABLE
from jobs.model.owners import with_coordinator
from jobs.spark.joins import inner, small
from jobs.spark.kept import KeptFrames
from schemas.verdicts import VIOLATION
from udfs.arrow.data_between import Between
from udfs.rules.logic import surely

TWICE = frozenset({"duplicate_batch", *AGAIN})
CUT = frozenset({LOST, DIVERGED})
RANGES_OF = ("incident", *PLACE)
WENT_BACK = frozenset({"offset_commit_regression", "offset_commit_outcome_mismatch"})


def consequences(
    placed: DataFrame, labels: Collection[str], known: Known, kept: KeptFrames
) -> DataFrame:
    """Rows of CONSEQUENCE without audit_id.

    `placed`: see `jobs.incidents.assign`; `labels`: of all findings of incidents. Of what no
    finding speaks nothing is asked.
    """
    mine = placed.filter(F.col("incident").isNotNull())
    if CLEANED_DATA in labels:
        known = as_brokers_go_by(mine, known, kept)
    frames = [_blocked(mine, known, kept)]
    gone = [] if CUT.isdisjoint(labels) else [kept.keep(one) for one in lost(mine, known, kept)]
    if known.decisions is not None:
        told = misdecided(mine, labels, known.decisions, known, kept)
        frames += [_not_lost(one, *gone) for one in told] if gone else told
    frames += gone
    if IN_NONE in labels:
        frames.append(_in_none(mine))
    if not TWICE.isdisjoint(labels):
        frames.append(_twice(mine))
    if not set(DAMAGED_BATCH).isdisjoint(labels):
        frames.append(_unreadable(mine, known))
    if not WENT_BACK.isdisjoint(labels):
        frames.append(_went_back(mine))
    return reduce(DataFrame.unionByName, frames)


def _not_lost(told: DataFrame, *gone: DataFrame) -> DataFrame:
    """`told` without what only a copy has that nobody reads any more: that is lost.

    Both: rows of CONSEQUENCE.
    """
    lost_there = reduce(DataFrame.unionByName, gone).select(*PLACE, "first_offset", "last_offset")
    inside = F.col("t.first_offset").between(F.col("l.first_offset"), F.col("l.last_offset"))
    return told.alias("t").join(
        small(lost_there.alias("l")), same_place("t", "l") & inside, "left_anti"
    )


def _blocked(placed: DataFrame, known: Known, kept: KeptFrames) -> DataFrame:
    """Offsets behind an open transaction that nothing ends, or not as it was decided.

    A row a transaction: only where a proven finding is about itself, and in the copy that consumers
    read. `records` are all data behind the first of a copy, of every producer: consumers at
    read_committed get none of them. `ended_by`: see `jobs.model.ending`.
    """
    waiting = _waiting(known).alias("s")
    mine = (
        waiting.join(
            small(_unended(placed).alias("w")),
            of_one_producer("s", "w")
            & (F.col("w.last") >= F.col("s.start_offset"))
            & ~surely(F.col("w.fenced_from") > F.col("s.start_offset")),
        )
        .groupBy("s.partition_index", "s.producer_id")
        .agg(
            F.min_by("w.incident", "w.first").alias("incident"),
            F.max("w.all_aborted").alias("all_aborted"),
        )
    )
    hanging = inner(waiting, small(mine), on=["partition_index", "producer_id"])
    rows = kept.keep(
        with_coordinator(hanging, known.owners)
        .withColumn("ended_by", _ended_by())
        .withColumn("transactional_id", F.col("coordinator.transactional_id"))
        .withColumn("older_epoch", _older_epoch())
        .withColumn("foremost", F.min("first_offset").over(Window.partitionBy("partition_index")))
        .drop("coordinator")
    )
    is_first = F.col("first_offset") == F.col("foremost")
    return shaped(
        rows.join(small(_records_behind(rows, known)), on="partition_index", how="left"),
        F.lit(BLOCKED),
        last_offset=F.col("end") - 1,
        records=F.when(is_first, F.col("records")),
        provable=F.lit(True),
        coordinator_epoch=F.col("older_epoch"),
    )


def _waiting(known: Known) -> DataFrame:
    """Open transactions in the copies that consumers read, with data behind their first offset.

    Columns: partition_index, PLACE, producer_id, producer_epoch, since_ms, first_offset (what lies
    below the log start nobody reads), start_offset, end (exclusive), marker_coordinator_epoch.
    """
    # Nobody waits for what a follower lacks, or an old leader has beside its successor.
    copies = known.states.filter("furthest").select(
        "partition_index",
        *PLACE,
        "log_start_offset",
        F.coalesce("high_watermark", "log_end_offset").alias("end"),
    )
    # What lies below the log start a snapshot has, too.
    one = F.struct("first_offset", "highest_epoch", "first_timestamp", "coordinator_epoch")
    once = known.open.groupBy("partition_index", "producer_id").agg(F.min(one).alias("one"))
    opened = once.select(
        "partition_index",
        "producer_id",
        F.col("one.highest_epoch").alias("producer_epoch"),
        F.col("one.first_timestamp").alias("since_ms"),
        F.col("one.first_offset").alias("start_offset"),
        F.col("one.coordinator_epoch").alias("marker_coordinator_epoch"),
    )
    return (
        inner(opened, small(copies), on="partition_index")
        .withColumn("first_offset", F.greatest("start_offset", "log_start_offset"))
        .filter(F.col("first_offset") < F.col("end"))
    )


def _unended(placed: DataFrame) -> DataFrame:
    """Proven findings that data lie open which nothing will end, or not as it was decided.

    Columns: PLACE, producer_id, incident, first and last (offsets), fenced_from (of data of an old
    epoch: they are the transaction only if it begins with them), all_aborted (ABORT is proven to be
    what was decided about all that lies open).
    """
    fenced = F.col("label").isin(*FENCED_DATA, *AGAIN)
    about_open = F.col("label").isin(*UNENDED, FORGOTTEN) | fenced
    found = placed.filter(about_open & (F.col("verdict") == VIOLATION))
    return found.select(
        *PLACE,
        "producer_id",
        "incident",
        F.col("offset_first").alias("first"),
        F.coalesce("offset_last", "offset_first").alias("last"),
        F.when(fenced, F.col("offset_first")).alias("fenced_from"),
        "all_aborted",
    )


def _ended_by() -> Column:
    number = ending("coordinator", F.col("all_aborted"))
    return F.element_at(F.array(*map(F.lit, NAMES)), number.cast("int") + 1)


def _older_epoch() -> Column:
    version = F.col("coordinator.client_transaction_version")
    return older_epoch(version, F.col("marker_coordinator_epoch"))


def _records_behind(rows: DataFrame, known: Known) -> DataFrame:
    """partition_index and records between the first row of a copy and the end."""
    asked = rows.select("partition_index", "foremost", "end").distinct().collect()
    ranges = {
        row.partition_index: Between(row.foremost, row.end, transactional=True) for row in asked
    }
    return known.between(ranges).groupBy("partition_index").agg(F.sum("records").alias("records"))


def _in_none(placed: DataFrame) -> DataFrame:
    """Offsets of records that were replicated, and that no replica has; nothing tells how many."""
    rows = placed.filter((F.col("label") == IN_NONE) & (F.col("verdict") == VIOLATION))
    ranges = contiguous(_offsets(rows), RANGES_OF)
    return shaped(ranges, F.lit("replicated_records_lost"), provable=F.lit(False))


def _twice(placed: DataFrame) -> DataFrame:
    """Batches that are stored a second time."""
    rows = placed.filter(F.col("label").isin(*TWICE) & (F.col("verdict") == VIOLATION))
    size = F.sum(F.col("last_offset") - F.col("first_offset") + 1)
    return shaped(
        contiguous(_offsets(rows), RANGES_OF, size.alias("records")),
        F.lit("records_stored_twice"),
        provable=F.lit(True),
    )


def _unreadable(placed: DataFrame, known: Known) -> DataFrame:
    """Offsets of damaged batches in copies that consumers may read: those of the newest leader.

    `records` is how many offsets there are, as nothing tells what was in them.
    """
    named = F.col("label").isin(*DAMAGED_BATCH) & F.col("offset_last").isNotNull()
    rows = placed.filter(named & (F.col("verdict") == VIOLATION)).alias("f")
    read = known.states.filter("furthest").select(*PLACE).alias("r")
    there = rows.join(small(read), same_place("f", "r"), "left_semi")
    ranges = contiguous(_offsets(there), RANGES_OF)
    size = F.col("last_offset") - F.col("first_offset") + 1
    return shaped(ranges, F.lit(UNREADABLE), records=size, provable=F.lit(True))


def _went_back(placed: DataFrame) -> DataFrame:
    """Commits of offsets that went back, or that do not share the fate of their output."""
    rows = placed.filter(F.col("label").isin(*WENT_BACK))
    number = F.count("*").alias("records")
    proven = F.max(F.col("verdict") == VIOLATION).alias("proven")
    ranges = contiguous(_offsets(rows), RANGES_OF, number, proven)
    return shaped(ranges, F.lit("offsets_went_back"), provable=F.col("proven"))


def _offsets(rows: DataFrame) -> DataFrame:
    """Findings with their offsets named as those of consequences."""
    return rows.withColumnsRenamed({"offset_first": "first_offset", "offset_last": "last_offset"})
