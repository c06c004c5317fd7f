"""What an incident did to readers: decisions of the coordinator beside what the logs have."""

from collections.abc import Collection
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.incidents.assign import PLACE, VIOLATION
from jobs.incidents.known import Known, shaped
from jobs.incidents.lost import lost
from jobs.incidents.misdecided import misdecided
from jobs.incidents.ranges import contiguous
from jobs.incidents.signature import BLOCKED, DIVERGED, LOST, MISSING_MARKER
from jobs.model.ending import NAMES, UNENDED, ending, older_epoch
from jobs.spark.joins import small
from jobs.spark.kept import Kept
from udfs.arrow.data_between import Between

TWICE = "duplicate_batch"
CUT = frozenset({LOST, DIVERGED})
RANGES_OF = ("incident", *PLACE)
WENT_BACK = frozenset({"offset_commit_regression", "offset_commit_outcome_mismatch"})


def consequences(placed: DataFrame, labels: Collection[str], known: Known, kept: Kept) -> DataFrame:
    """Rows of CONSEQUENCE without audit_id.

    `placed`: see `jobs.incidents.assign`; `labels`: of all findings of incidents. Of what no
    finding speaks nothing is asked.
    """
    mine = placed.filter(F.col("incident").isNotNull())
    frames = [_blocked(mine, known, kept)]
    if known.decisions is not None:
        frames += misdecided(mine, known.decisions, known, kept)
    if not CUT.isdisjoint(labels):
        frames += lost(mine, known, kept)
    if TWICE in labels:
        frames.append(_twice(mine))
    if not WENT_BACK.isdisjoint(labels):
        frames.append(_went_back(mine))
    return reduce(DataFrame.unionByName, frames)


def _blocked(placed: DataFrame, known: Known, kept: Kept) -> DataFrame:
    """Offsets behind a last stable offset that a transaction of the incident holds.

    Only where a proven finding is about that transaction itself, and in the copy that consumers
    read. `records` are all data there, of every producer: consumers at read_committed get none of
    them. `ended_by`: see `jobs.model.ending`.
    """
    end = F.coalesce("high_watermark", "log_end_offset")
    waiting = (
        known.states.drop("records")
        .withColumn("end", end)
        .filter(F.col("lso_producer_id").isNotNull() & (F.col("last_stable_offset") < F.col("end")))
        .join(small(_read(known)), on="partition_index", how="left_semi")
        .alias("s")
    )
    owned = known.owners.select(
        F.col("producer_id").alias("owned"), F.struct("*").alias("coordinator")
    )
    mine = (
        waiting.join(
            small(_unended(placed).alias("w")),
            F.col("s.broker").eqNullSafe(F.col("w.broker"))
            & (F.col("s.topic") == F.col("w.topic"))
            & (F.col("s.partition") == F.col("w.partition"))
            & (F.col("s.lso_producer_id") == F.col("w.producer_id"))
            & (F.col("w.last") >= F.col("s.lso_first_offset")),
        )
        .groupBy("s.partition_index")
        .agg(
            F.min_by("w.incident", "w.first").alias("incident"),
            F.max("w.owes_commit").alias("owes_commit"),
            F.max("w.owes_abort").alias("owes_abort"),
            F.max("w.late_of_abort").alias("late_of_abort"),
        )
    )
    rows = kept.keep(
        waiting.join(small(mine), on="partition_index")
        .join(small(owned), on=F.col("lso_producer_id") == F.col("owned"), how="left")
        .withColumn("ended_by", _ended_by())
        .withColumn("older_epoch", _older_epoch())
        .drop("coordinator", "owned")
    )
    return shaped(
        rows.join(small(_records_behind(rows, known)), on="partition_index", how="left"),
        F.lit(BLOCKED),
        first_offset=F.col("last_stable_offset"),
        last_offset=F.col("end") - 1,
        since_ms=F.col("lso_since_ms"),
        provable=F.lit(True),
        producer_id=F.col("lso_producer_id"),
        producer_epoch=F.col("lso_producer_epoch"),
        start_offset=F.col("lso_first_offset"),
        coordinator_epoch=F.col("older_epoch"),
    )


def _read(known: Known) -> DataFrame:
    """partition_index of the copies that reach furthest: that of the leader, and those like it.

    Nobody waits for what a follower lacks, or for what an old leader has beside its successor.
    """
    newest = known.splits.groupBy("partition_index").agg(
        F.max("final_leader_epoch").alias("leader_epoch")
    )
    reach = F.struct(F.coalesce("leader_epoch", F.lit(-1)), F.col("log_end_offset"))
    place = ("cluster_id", "topic", "partition")
    copies = known.info.select("partition_index", *place, "log_end_offset").join(
        small(newest), on="partition_index", how="left"
    )
    furthest = F.max(reach).over(Window.partitionBy(*place))
    compared = copies.select("partition_index", (reach == furthest).alias("is_furthest"))
    return compared.filter("is_furthest").select("partition_index")


def _unended(placed: DataFrame) -> DataFrame:
    """Proven findings that data lie open which nothing will end, or not as it was decided.

    Columns: PLACE, producer_id, incident, first and last (offsets), owes_commit and owes_abort (a
    decision of that outcome lacks its marker), late_of_abort (see `is_decided_abort`).
    """
    unmarked = F.col("label") == MISSING_MARKER
    found = placed.filter(F.col("label").isin(*UNENDED) & (F.col("verdict") == VIOLATION))
    return found.select(
        *PLACE,
        "producer_id",
        "incident",
        F.col("offset_first").alias("first"),
        F.coalesce("offset_last", "offset_first").alias("last"),
        (unmarked & F.col("decided_commit")).alias("owes_commit"),
        (unmarked & ~F.col("decided_commit")).alias("owes_abort"),
        (F.col("came_late") == "ABORT").alias("late_of_abort"),
    )


def _ended_by() -> Column:
    proven = [F.col(name) for name in ("owes_commit", "owes_abort", "late_of_abort")]
    number = ending("coordinator", "lso_producer_epoch", *proven)
    return F.element_at(F.array(*map(F.lit, NAMES)), number.cast("int") + 1)


def _older_epoch() -> Column:
    version = F.col("coordinator.client_transaction_version")
    return older_epoch(version, F.col("lso_coordinator_epoch"))


def _records_behind(rows: DataFrame, known: Known) -> DataFrame:
    """partition_index and records between the last stable offset and the end."""
    asked = rows.select("partition_index", "last_stable_offset", "end").collect()
    ranges = {
        row.partition_index: Between(row.last_stable_offset, row.end, transactional=True)
        for row in asked
    }
    return known.between(ranges).groupBy("partition_index").agg(F.sum("records").alias("records"))


def _twice(placed: DataFrame) -> DataFrame:
    """Batches that are stored a second time."""
    rows = placed.filter((F.col("label") == TWICE) & (F.col("verdict") == VIOLATION))
    size = F.sum(F.col("last_offset") - F.col("first_offset") + 1)
    return shaped(
        contiguous(_offsets(rows), RANGES_OF, size.alias("records")),
        F.lit("records_stored_twice"),
        provable=F.lit(True),
    )


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
